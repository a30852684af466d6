"""Parsing of columns and values: names, SQL expressions, labels in the type of their column."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import click
import polars as pl

from streammetrics.base import reason
from streammetrics.data import ADVICE, Column, Files, readable, require_row_by_row

QUOTES = ' Put double quotes around names with spaces or symbols, such as "order date".'
DATES = "a date or time cannot be compared with text. Write DATE('2026-01-31'), or TIMESTAMP '2026-01-31 12:00:00'."
WHOLE = " DATE_TRUNC must be the whole column, such as DATE_TRUNC('week', day) AS week."
TRUNCATED = re.compile(r"\s*date_trunc\s*\(\s*'(\w+)'\s*,(.+)\)(?:\s+as\s+(\w+|\"[^\"]+\"))?\s*", re.I | re.DOTALL)
DATE_UNITS = {"day": "1d", "week": "1w", "month": "1mo", "quarter": "1q", "year": "1y"}
TIME_UNITS = {"hour": "1h", "minute": "1m", "second": "1s"}
# name=column; an expression has spaces around =
NAMED = re.compile(r"([^=<>!]*[^\s=<>!])=(?![=\s])(.+)", re.DOTALL)
UNQUOTED = r"(=|<>|\bin\s*\(|,)\s*\"?{}\b"  # a name after a comparison, optionally in double quotes
ALIAS = re.compile(r"\sas\s", re.IGNORECASE)
MAX_TERMS = 500  # names, values, and operators: at about 1,000, the recursion of Polars can end the process
QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`""")  # text and names
OF_TIMES = re.compile(
    QUOTED.pattern + r'|\b(?P<function>date|timestamp|datetime)\s*\(\s*(?P<name>\w+|"[^"]+")\s*\)', re.IGNORECASE
)
LISTED = re.compile(r"(?:''|-?\d[\w.]*)\s*,")  # values of IN (…), which can be many
TERM = re.compile(r"[\w.]+|''|\"\"|``|[()]|[^\w\s,.'\"`()]+")
UNCLEAR = re.compile(r"--|/\*|\B\$|\b(?:[a-z]|nq|u&)['\"]", re.IGNORECASE)  # whose end QUOTED does not find
SUBQUERY = re.compile(r"\bselect\b|\(\s*from\b|\(\s*values\s*\(", re.IGNORECASE)


@dataclass(frozen=True)
class Columns:
    """The columns of files, and the parsing of columns."""

    files: Files
    schema: pl.Schema

    @classmethod
    def read(cls, files: Files) -> Columns:
        """The columns of files.

        Raises:
            SourceError: If they cannot be read.
        """
        with readable(files.name):
            return cls(files, files.schema)

    def several(self, option: str, texts: Sequence[str]) -> list[Column]:
        """Return columns by their names or as SQL expressions."""
        for text in texts:
            names = [name.strip() for name in text.split(",")]
            if len(names) > 1 and text not in self.schema and set(names) <= set(self.schema):
                repeated = " ".join(f"{option} {shlex.quote(name)}" for name in names)
                raise click.UsageError(f"{option} accepts one column, got {text!r}. Repeat the option: {repeated}")
        return [self.one(text) for text in texts]

    def one(self, text: str) -> Column:
        """Return a column by its name, else as an SQL expression, named by its text without an alias."""
        if text in self.schema:
            return text
        expression = self.expression(text)
        bare = expression.meta.undo_aliases()
        if bare.meta.eq(expression):
            return expression.meta.output_name() if expression.meta.is_column() else expression.alias(text)
        return expression if ALIAS.search(text) else text  # SQL parses "p click" as p with the alias click

    def expression(self, text: str) -> pl.Expr:
        """An SQL expression of the columns.

        Raises:
            UsageError: If the text is not an SQL expression, or compares with text that has no quotes.
        """
        truncated = self._truncated(text)
        parsed = expression(OF_TIMES.sub(self._cast_times, text)) if truncated is None else truncated
        if truncated is None:
            self._require_one_clock(parsed, text)
        for name in parsed.meta.root_names():
            if name not in self.schema and re.search(UNQUOTED.format(re.escape(name)), text, re.IGNORECASE):
                raise click.UsageError(
                    f"Column {name!r} not found in {text!r}. Put single quotes around text: '{name}'."
                )
        return parsed

    def _truncated(self, text: str) -> pl.Expr | None:
        """``DATE_TRUNC('month', day) AS month``, which Polars supports only if it knows the type of the column.

        The result is the first day of the month, as a date, or the beginning of an hour, as a time.
        """
        match = TRUNCATED.fullmatch(text)
        if match is None or not _is_balanced(match[2]):
            return None
        unit, of, name = match.groups()
        every = (DATE_UNITS | TIME_UNITS).get(unit.lower())
        if every is None:
            units = ", ".join(DATE_UNITS | TIME_UNITS)
            raise click.UsageError(f"DATE_TRUNC does not support {unit!r}. Supported units: {units}.")
        time = self.expression(of)
        dtype = self._type(time, of.strip())
        if dtype == pl.String:
            raise click.UsageError(f"{of.strip()!r} is text. Write DATE_TRUNC('{unit}', DATE({of.strip()})).")
        if not (dtype == pl.Datetime or (dtype == pl.Date and unit.lower() in DATE_UNITS)):
            raise click.UsageError(f"DATE_TRUNC('{unit}', …) cannot be computed from {of.strip()!r}, which is {dtype}.")
        start = time.dt.truncate(every)
        start = start.dt.date() if unit.lower() in DATE_UNITS and dtype == pl.Datetime else start
        return start.alias(name.strip('"')) if name else start

    def _cast_times(self, call: re.Match[str]) -> str:
        """``DATE(time)`` of a column of times as a cast, since Polars reads only text with this function."""
        dtype = self.schema.get((call["name"] or "").strip('"'))
        if not isinstance(dtype, pl.Date | pl.Datetime):
            return call[0]
        if _zone(dtype) and call["function"].upper() == "DATE":  # a cast would be the date in UTC
            return f"DATE(STRFTIME({call['name']}, '%Y-%m-%d'))"
        return f"CAST({call['name']} AS {'DATE' if call['function'].upper() == 'DATE' else 'TIMESTAMP'})"

    def _require_one_clock(self, expression: pl.Expr, text: str) -> None:
        """Reject a time with a zone beside one without, which Polars compares in UTC, or not at all."""
        zones = {name: _zone(self.schema.get(name)) for name in expression.meta.root_names()}
        empty, parts = pl.DataFrame(schema=self.schema), [expression] if any(zones.values()) else []
        while parts:
            part = parts.pop()
            inside = part.meta.pop()
            parts += inside
            with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):  # told where it is computed
                types = [empty.select(each).dtypes[0] for each in inside]
                with suppress(pl.exceptions.PolarsError):  # a comparison that fails
                    types.append(empty.select(part).dtypes[0])
                types = [getattr(dtype, "inner", dtype) for dtype in types]  # of IN (…)
                times = [dtype for dtype in types if isinstance(dtype, pl.Date | pl.Datetime | pl.Time)]
                if len({_zone(dtype) is None for dtype in times}) > 1:
                    name = next(name for name, zone in zones.items() if zone)
                    raise click.UsageError(
                        f"Column {name!r} has the time zone {zones[name]}, and dates and times in {text!r} have none. "
                        f"Compare its text, such as STRFTIME({name}, '%Y-%m-%d %H:%M') >= '2026-01-31 12:00', or "
                        f"its date: DATE({name})."
                    )

    def condition(self, text: str) -> pl.Expr:
        """An SQL condition on rows."""
        parsed = self.expression(text)
        if (dtype := self._type(parsed, text)) != pl.Boolean:
            raise click.UsageError(f"--where must be a condition, but {text!r} is {dtype}. Compare it with a value.")
        require_row_by_row(f"The condition {text!r}", parsed)
        return parsed

    def named(self, texts: list[str], key: Callable[[str], Any]) -> Any:
        """A column, or with name=column a mapping of models or labels to columns."""
        pairs = [NAMED.fullmatch(text) for text in texts]
        if len(texts) == 1 and (texts[0] in self.schema or not pairs[0]):
            return self.one(texts[0])
        if not all(pairs):
            bare = texts[pairs.index(None)]
            raise click.UsageError(
                f"Write name=column for each of several columns, with the name of the model or label, such as a={bare}."
            )
        names = [pair[1] for pair in pairs if pair]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise click.UsageError(f"The name {twice!r} is given {names.count(twice)} times. Pass each name once.")
        return {key(pair[1]): self.one(pair[2]) for pair in pairs if pair}

    def value(self, text: str, column: Any) -> Any:
        """A label in the type of its column: a number among numbers, true or false among booleans, else text."""
        column = next(iter(column.values())) if isinstance(column, Mapping) else column
        dtype = (
            self.schema.get(column, pl.String())
            if isinstance(column, str)
            else self._type(column, column.meta.output_name())
        )
        if dtype == pl.Boolean:
            return {"true": True, "false": False}.get(text.lower(), text)
        number = label(text)
        return number if dtype.is_numeric() and not isinstance(number, bool) else text

    def _type(self, parsed: pl.Expr, text: str) -> pl.DataType:
        self.files.require(parsed.meta.root_names())
        try:
            return pl.DataFrame(schema=self.schema).select(parsed).dtypes[0]
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            dates = "cannot compare 'date" in str(error)
            raise click.UsageError(f"Cannot compute {text!r}: {DATES if dates else reason(error) + '.'}") from error


def _zone(dtype: pl.DataType | None) -> str | None:
    return dtype.time_zone if isinstance(dtype, pl.Datetime) else None


def _is_balanced(text: str) -> bool:
    depths = list(accumulate({"(": 1, ")": -1}.get(character, 0) for character in text))
    return min(depths, default=0) >= 0 and not sum(depths[-1:])


def label(text: str) -> Any:
    """Return a label as a number or a Boolean if it is one."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return value if isinstance(value, int | float) else text


def expression(text: str) -> pl.Expr:
    """An SQL expression.

    Raises:
        UsageError: If the text is not an SQL expression, is too long, or has a subquery.
    """
    _require_plain(text)
    try:
        return pl.sql_expr(text)
    except pl.exceptions.PolarsError as error:
        hint = WHOLE if "date_trunc" in text.lower() else "" if '"' in text else QUOTES
        raise click.UsageError(f"Cannot read {text!r} as a column or an SQL expression: {error}.{hint}") from error


def _require_plain(text: str) -> None:
    """Reject subqueries, which Polars evaluates while it parses them: they read files and addresses."""
    plain = QUOTED.sub(lambda quoted: quoted[0][0] * 2, text)
    if (terms := len(TERM.findall(LISTED.sub("", plain)))) > MAX_TERMS:
        raise click.UsageError(
            f"An SQL expression can have up to {MAX_TERMS} names, values, and operators besides lists, got {terms:,} "
            f"({text[:40]!r}…). {ADVICE}"
        )
    if UNCLEAR.search(plain):
        raise click.UsageError(f"Remove comments, $, and prefixes of text such as E'a' from the expression {text!r}.")
    if SUBQUERY.search(plain):
        raise click.UsageError(
            f"Subqueries are not supported in {text!r}. For the values of another file, join it in Python and pass the "
            "LazyFrame to streammetrics.evaluate."
        )

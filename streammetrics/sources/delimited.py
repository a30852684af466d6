"""CSV files: their header and separator, the form of their rows, and the columns that stay text."""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from glob import glob
from itertools import dropwhile, groupby
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics.errors import SourceError
from streammetrics.sources.marks import Marks, Ragged, marks_of

TYPED_BY = 100_000  # rows of text files that determine the types of columns
SMALL = 65_536  # bytes of a file that can consist of a header only
SEPARATORS = ",;\t|"
UNUSED = "\x1f"  # a separator that no line contains
BLANK = 8  # lines before the header, which Polars skips
PADDED = r"^[+-]?0\d+$"  # integers that differ as text, but not as numbers
WHOLE = r"^(0|-?[1-9]\d{0,17})$"  # integers as they are written again
PLAIN = r"^(0|-?[1-9]\d*|-?(0|[1-9]\d*)\.(0|\d*[1-9])|NaN|-?inf)$"  # floats as they are written again,
EXACT = 15  # up to this many digits
SKIPPING = ("skip_rows", "skip_lines", "skip_rows_after_header")  # options of scans that read other lines
FIX = "Quote each field that contains quotation marks, and double these marks (RFC 4180)."


@dataclass(frozen=True)
class Form:
    """How the rows of a CSV file are written: its separator, and whether it has some marks."""

    separator: str
    quoted: bool
    blank: bool
    zeros: bool


def form_of(path: Path) -> Form:
    """Return the form of a file. Rejects quotation marks that hide rows, and lines whose fields are shifted."""
    header = header_of(path)
    separator = separator_of(header)
    marks = marks_of(path, ord(separator))
    if marks.quoted and marks.stray:
        raise SourceError(f"{_unclear(path, marks)} {FIX}")
    if marks.ragged:
        raise SourceError(_shifted(path, marks.ragged, separator))
    several = separator in header  # in a file of one column, a blank line is a null
    return Form(separator, marks.quoted, marks.blank and several, marks.zeros)


def with_rows(paths: Sequence[Path]) -> list[Path]:
    """Return the files that have rows, or the first one."""
    header = header_of(paths[0])
    return [path for path in paths if not _has_only(header, path)] or [paths[0]]


def scan_csv(
    forms: Mapping[Path, Form],
    null_values: Sequence[str] = (),
    names: Sequence[Set[str]] = (),
    text: Collection[str] = (),
    columns: Sequence[str] = (),
    typed_by: int = TYPED_BY,
) -> pl.LazyFrame:
    """Scan CSV files, each in its form. Blank lines are skipped.

    Columns of ``text`` are text, and so are sets of ``names`` with any number that would not come back as it is
    written, such as 1.10. Of ``columns``, files without any value do not determine the type.
    """
    plans, known = [], _types_of_values(forms, null_values, [c for c in columns if c not in text], typed_by)
    for form, scan in _scans_of(forms, null_values):
        types: dict[str, Any] = {**known, **dict.fromkeys(text, pl.String)}
        if names:
            typed = scan(infer_schema_length=typed_by, schema_overrides=types)
            types |= _rewritten(scan(infer_schema=False), typed.collect_schema(), names)
        plan = scan(infer_schema_length=typed_by, schema_overrides=types)
        plans.append(plan.filter(~pl.all_horizontal(pl.all().is_null())) if form.blank else plan)
    return plans[0] if len(plans) == 1 else pl.concat(plans, how="vertical_relaxed")


def padded(forms: Mapping[Path, Form], null_values: Sequence[str]) -> list[str]:
    """Return the columns of CSV files that have integers such as 007, which as numbers would equal 7."""
    found: dict[str, None] = {}
    for form, scan in _scans_of(forms, null_values):
        if form.zeros:
            any_padded = scan(infer_schema=False).select(pl.all().str.contains(PADDED).any()).collect()
            found |= {name: None for name, is_padded in any_padded.row(0, named=True).items() if is_padded}
    return list(found)


def _types_of_values(
    forms: Mapping[Path, Form], null_values: Sequence[str], columns: Sequence[str], typed_by: int
) -> dict[str, pl.DataType]:
    """Types of columns that Polars takes for text only because they have no value in some of several files."""
    if len(forms) == 1 or not columns:
        return {}
    schemas = [scan(infer_schema_length=typed_by).collect_schema() for _, scan in _scans_of(forms, null_values)]
    found: dict[str, set[pl.DataType]] = {c: set() for c in columns if any(s.get(c) == pl.String for s in schemas)}
    for path, form in forms.items():
        if not found:
            break
        [(_, scan)] = _scans_of({path: form}, null_values)
        schema = scan(infer_schema_length=typed_by).collect_schema()
        texts = [name for name in found if schema.get(name) == pl.String]
        has_values = scan(infer_schema=False).select(pl.col(texts).count() > 0).collect() if texts else pl.DataFrame()
        for name in [*found]:
            if name not in texts:
                found[name] |= {schema[name]} if name in schema else set()
            elif has_values[name].item():  # it is text
                del found[name]
    numbers = {pl.Int64(), pl.Float64()}
    return {
        name: pl.Float64() if types == numbers else next(iter(types))
        for name, types in found.items()
        if len(types) == 1 or types == numbers
    }


def _scans_of(
    forms: Mapping[Path, Form], null_values: Sequence[str]
) -> Iterator[tuple[Form, Callable[..., pl.LazyFrame]]]:
    for form, alike in groupby(forms, forms.__getitem__):
        yield (
            form,
            partial(
                pl.scan_csv,
                list(alike),
                glob=False,
                separator=form.separator,
                quote_char='"' if form.quoted else None,
                null_values=list(null_values) or None,
            ),
        )


def _rewritten(texts: pl.LazyFrame, schema: pl.Schema, names: Sequence[Set[str]]) -> dict[str, type[pl.DataType]]:
    """Sets of columns, as text, of which a number would be written in another way, or several in the same."""
    numbers = sorted(name for name in set().union(*names) if name in schema and schema[name].is_numeric())
    checks = [_would_change(pl.col(name), schema[name]).alias(name) for name in numbers]
    found = texts.select(checks).collect().row(0, named=True) if checks else {}
    changed = {name for name, would in found.items() if would}
    return {name: pl.String for each in names if each & changed for name in each if name in schema}


def _would_change(text: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Whether a column of text would change if its values were numbers of a type."""
    if dtype == pl.Int128:  # which groups cannot have
        return pl.lit(True)
    if not dtype.is_float():
        return (~text.str.contains(WHOLE)).any()
    long = text.str.count_matches(r"\d") > EXACT
    inexact = long & (text != text.cast(pl.Float64, strict=False).cast(pl.String))
    both = text.str.contains(WHOLE).any() & text.str.ends_with(".0").any()  # 1 and 1.0
    return (~text.str.contains(PLAIN) | inexact).any() | both


def require_rows_of(plan: pl.LazyFrame) -> None:
    """Raise an error if stray quotation marks hide rows of the CSV files of a plan, which Polars does not tell."""
    if "Csv SCAN" not in plan.explain(optimized=False):
        return
    with warnings.catch_warnings(action="ignore"):
        try:
            nodes = json.loads(plan.serialize(format="json"))
        except pl.exceptions.PolarsError as error:
            raise SourceError("Cannot check the rows of an open CSV file. Pass its path to polars.scan_csv.") from error
    for scan in _scans(nodes):
        reader = scan["scan_type"]["Csv"]["options"]
        options, quote = reader["parse_options"], reader["parse_options"]["quote_char"]
        skipping = [name for name in SKIPPING if reader.get(name)] or options["comment_prefix"]
        for path in (path for source in scan["sources"].get("Paths", ()) for path in _local(source["inner"])):
            marks = marks_of(path, options["separator"], quote or 0, options["eol_char"])
            if marks.ragged and not (skipping or options["truncate_ragged_lines"]) and not (quote and marks.stray):
                raise SourceError(_shifted(path, marks.ragged, chr(options["separator"])))
            if quote and marks.stray:
                without = "No field begins with one: pass quote_char=None to polars.scan_csv."
                raise SourceError(f"{_unclear(path, marks)} {FIX if marks.quoted else without}")


def _shifted(path: Path, ragged: Ragged, separator: str) -> str:
    line, fields, width = ragged
    more = f"quote values that contain {separator!r}"
    fix = more if fields > width else "write an empty field for each missing value"
    found = f"{fields} fields" if fields > 1 else "1 field"
    return f"Cannot read {path}: line {line} has {found}, but the header has {width}. Fix the line, or {fix}."


def _unclear(path: Path, marks: Marks) -> str:
    fault = "neither closed nor doubled in a quoted field" if marks.quoted else "not part of a quoted field"
    return f"Cannot read {path}: line {marks.stray} has a quotation mark that is {fault}."


def _scans(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        if "Csv" in (node.get("scan_type") or ()):
            yield node
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        yield from _scans(part)


def _local(source: str) -> Iterator[Path]:
    """The files of a path, a folder, or a glob. None of a URL."""
    for path in map(Path, glob(source, recursive=True)):  # noqa: PTH207, since the pattern can be absolute
        yield from filter(Path.is_file, path.rglob("*") if path.is_dir() else [path])


def header_of(path: Path) -> str:
    """The first line of a CSV file, which can be compressed, after blank lines."""
    header = "".join(line or "" for line in _lines(path, 1))
    if "\x00" in header:
        raise SourceError(f"{str(path)!r} is UTF-16. Convert it to UTF-8, such as with iconv -f utf-16 -t utf-8.")
    if "\r" in header:
        raise SourceError(f"The lines of {str(path)!r} end in \\r. Convert the file, such as with tr '\\r' '\\n'.")
    return header


def names_of(path: Path) -> list[str]:
    """Names of the columns, including repeated names."""
    header = header_of(path)
    return next(csv.reader([header], delimiter=separator_of(header)), [])


def separator_of(header: str) -> str:
    """The separator of a CSV file: the most frequent one in its header, outside of quoted names.

    >>> separator_of('y,p,"a; b; c; d"')
    ','
    """
    return max(SEPARATORS, key=re.sub(r'(?<![^,;\t|])"([^"]|"")*"', "", header).count)


def _lines(path: Path, count: int) -> list[str | None]:
    lines = pl.scan_csv(
        path, glob=False, has_header=False, separator=UNUSED, quote_char=None, infer_schema=False, encoding="utf8-lossy"
    )
    found = lines.head(BLANK + count).collect().to_series().to_list()
    return list(dropwhile(lambda line: line is None, found))[:count]


def _has_only(header: str, path: Path) -> bool:
    """Whether a CSV file has no rows. Its columns would be text, and so would those of all files."""
    return path.stat().st_size <= SMALL and _lines(path, 2) == [header]

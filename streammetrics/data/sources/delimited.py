"""CSV files, read by pyarrow as text. In each batch, a column is numbers if all of its values are."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import AnyPath, Lazy, pa, translated
from streammetrics.data.rows.series import EXACT
from streammetrics.data.sources.kinds import decompressed
from streammetrics.errors import SourceError

pa_csv: Any = Lazy("pyarrow.csv")

BLOCK = 1 << 22  # bytes that pyarrow reads at a time
FIRST_BLOCK = 1 << 20
SEPARATORS = ",;\t|"
END = "\x1f\x1f"  # each value of a row after the last one
PADDED = r"^[+-]?0\d+$"  # integers that differ as text, but not as numbers
WHOLE = r"^(0|-?[1-9]\d{0,17})$"  # integers as they are written again
PLAIN = r"^(0|-?[1-9]\d*|-?(0|[1-9]\d*)\.(0|\d*[1-9])|NaN|-?inf)$"  # floats as they are written again,
DIGITS = 15  # up to this many digits
WHOLE_DIGITS = 18
BOOLEANS = ("^(true|false)$", "^(True|False)$", "^(TRUE|FALSE)$")
TRUTH = {"true": True, "false": False}
TYPES: tuple[pl.DataType, ...] = (pl.Boolean(), pl.Int64(), pl.Float64(), pl.String())  # from the strictest


@dataclass(frozen=True)
class Csv:
    """A CSV file by RFC 4180. Quotation marks inside of a value are text.

    ``null_values`` stand for null. All values of a column in ``types`` have that type.
    """

    path: AnyPath
    null_values: tuple[str, ...] = ()
    types: Mapping[str, pl.DataType] = field(default_factory=dict)

    @cached_property
    def _header(self) -> tuple[str, list[str]]:
        with _lines(self.path) as lines:
            first = next((line for line in lines if line.strip("\r\n")), "")
            if "\0" in first:
                raise SourceError(f"Cannot read {self.path}: it is not text in UTF-8. Convert it, or fix its suffix.")
            separator = separator_of(first)
            names = next(csv.reader(chain([first], lines), delimiter=separator), [])
        if not names:
            raise SourceError(f"Cannot read {self.path}: the file is empty.")
        return separator, names

    @property
    def names(self) -> list[str]:
        """The names of the columns, in which a name can be repeated."""
        return self._header[1]

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Batches of some columns, or of the first one. Types of later batches can only be wider, such as text."""
        types, rows = dict(self.types), 0
        for batch in self.texts(columns):
            yield pl.DataFrame([self._values(column, types, rows) for column in batch])
            rows += batch.height

    def _values(self, column: pl.Series, types: dict[str, pl.DataType], row: int) -> pl.Series:
        """A column of the rows from ``row`` in its type. Rejects integers among fractions that floats do not hold."""
        values = as_values(column, types.get(column.name))
        if values.dtype == pl.Float64 and (place := beyond_floats(column, values)) is not None:
            raise not_a_float(column.name, column[place], f"line {self.line(row + place)} of {self.path}")
        if values.null_count() < len(values):
            types[column.name] = values.dtype
        return values

    def texts(self, columns: Sequence[str], block: int = BLOCK) -> Iterator[pl.DataFrame]:
        """Batches of some columns, or of the first one, as text in the order of rows."""
        separator, names = self._header
        several = len(names) > 1  # in a file of one column, a blank line is a null
        used = list(dict.fromkeys(columns or names[:1]))
        with translated(SourceError, f"Cannot read {self.path}"), decompressed(self.path) as file:
            ended = _Ended(file, separator.join([END] * len(names)).encode())
            try:
                with pa_csv.open_csv(
                    ended,
                    pa_csv.ReadOptions(block_size=block),
                    pa_csv.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=several),
                    pa_csv.ConvertOptions(
                        include_columns=used,
                        column_types=dict.fromkeys(used, pa.string()),
                        null_values=["", *self.null_values],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=bool(self.null_values),
                    ),
                ) as reader:
                    yield from self._before_end(map(pl.DataFrame, reader), ended)
            except pa.ArrowInvalid as error:
                if fault := self._fault(encoded="UTF8" in str(error)):
                    raise SourceError(f"Cannot read {self.path}: {fault}") from error
                raise

    def _before_end(self, batches: Iterator[pl.DataFrame], ended: _Ended) -> Iterator[pl.DataFrame]:
        """Batches without the row after the last one, which an open quotation mark swallows."""
        last, rows = next(batches), 0
        for batch in batches:
            yield last
            rows += last.height
            last = batch
        is_end = last.height > 0 and {*last.row(-1)} == {END}
        # The opening mark of a later value can also close a mark, with line ends in between.
        if not is_end or rows + last.height != ended.lines:
            fault = self._fault()
            if fault or not is_end:
                raise SourceError(f"Cannot read {self.path}: {fault or 'a quotation mark is not closed.'}")
        if last.height > 1:
            yield last[:-1]

    def _fault(self, encoded: bool = False) -> str | None:
        """The first line with another number of fields than the header, or an open quotation mark."""
        with _lines(self.path) as lines:
            records = csv.reader(lines, delimiter=self._header[0], strict=True)
            line, width = 1, len(self.names)
            try:
                for record in records:
                    if encoded and re.search("[\udc80-\udcff]", "".join(record)):
                        return f"line {line} is not UTF-8. Convert the file, such as with iconv -f latin1 -t utf-8."
                    if record and len(record) != width:
                        return self._ragged(line, len(record), width)
                    line = records.line_num + 1
            except csv.Error:
                return (
                    f"line {line} has a quotation mark that is neither closed nor doubled in a quoted field. "
                    "Quote each field that contains quotation marks, and double these marks (RFC 4180)."
                )
        return None

    def _ragged(self, line: int, fields: int, width: int) -> str:
        more = f"quote values that contain {self._header[0]!r}"
        fix = more if fields > width else "write an empty field for each missing value"
        number = f"{fields} fields" if fields > 1 else "1 field"
        return f"line {line} has {number}, but the header has {width}. Fix the line, or {fix}."

    def line(self, row: int) -> int:
        """Return the line in which a row begins."""
        with _lines(self.path) as lines:
            records = csv.reader(lines, delimiter=self._header[0])
            line, number = 1, -1  # of the header
            for record in records:
                if record or (len(self.names) == 1 and number >= 0):
                    if number == row:
                        break
                    number += 1
                line = records.line_num + 1
        return line


class _Ended(io.RawIOBase):
    """A file with one more row at its end. Counts the ends of lines."""

    def __init__(self, file: Any, row: bytes) -> None:
        self._file, self._row, self._end = file, row, b""
        self._last = b"\n"
        self.lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Read as many bytes as asked for, except at the end: pyarrow ends at a block of a line end alone."""
        data: bytes = self._file.read(size)
        while 0 < len(data) < size and (more := self._file.read(size - len(data))):
            data += more
        self._last = data[-1:] or self._last
        if len(data) < size and self._row:
            self._end, self._row = (b"" if self._last in (b"\n", b"\r") else b"\n") + self._row, b""
        free = size - len(data)
        data, self._end = data + self._end[:free], self._end[free:]
        self.lines += data.count(b"\n")
        return data


@contextmanager
def _lines(path: AnyPath) -> Iterator[Iterator[str]]:
    """The lines of a file as text, of any length."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with translated(SourceError, f"Cannot read {path}"), decompressed(path) as file:
            yield io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
    finally:
        csv.field_size_limit(limit)


def separator_of(header: str) -> str:
    """Return the separator of a CSV file: the most frequent one in its header, outside of quoted names.

    >>> separator_of('y,p,"a; b; c; d"')
    ','
    """
    return max(SEPARATORS, key=re.sub(r'(?<![^,;\t|])"([^"]|"")*"', "", header).count)


def as_values(texts: pl.Series, least: pl.DataType | None = None) -> pl.Series:
    """Return text as numbers or Booleans, if all of it are. Integers such as 007 stay text.

    The result has the type ``least`` or a wider one.

    >>> as_values(pl.Series(["1", "2.5"])).to_list(), as_values(pl.Series(["1", "007"])).to_list()
    ([1.0, 2.5], ['1', '007'])
    """
    nulls = texts.null_count()
    if nulls == len(texts):
        return texts.cast(least or pl.String())
    for dtype in TYPES[TYPES.index(least or TYPES[0]) :]:
        if dtype == pl.Boolean:
            values = texts.str.to_lowercase().replace_strict(TRUTH, default=None, return_dtype=dtype)
        else:
            values = texts.cast(dtype, strict=False)
        if values.null_count() == nulls or values.null_count() == nulls + (texts == "").sum():
            padded = dtype == pl.Int64 and not _are_written_again(texts, values) and texts.str.contains(PADDED).any()
            return texts if padded else values
    return texts


def _are_written_again(texts: pl.Series, integers: pl.Series) -> bool:
    """Whether integers would be written as their texts are: all other texts, such as 007 and +7, are longer."""
    values = integers.drop_nulls().to_numpy()
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    longest = len(str(max(-low, high)))
    magnitudes = np.abs(values)
    digits = len(values) + sum(np.count_nonzero(magnitudes >= 10**power) for power in range(1, longest))
    length = digits + int(np.count_nonzero(values < 0))
    return longest <= WHOLE_DIGITS and int(texts.str.len_bytes().sum()) == length


def beyond_floats(texts: pl.Series, floats: pl.Series) -> int | None:
    """Return the first row with an integer that a 64-bit float does not hold, such as 2^53 + 1.

    >>> texts = pl.Series(["0.5", "9007199254740993"])
    >>> beyond_floats(texts, texts.cast(pl.Float64))
    1
    """
    if not (floats.abs() >= EXACT).any():
        return None
    integers = texts.str.contains(r"^-?\d+$") & (floats.cast(pl.Int128, strict=False).cast(pl.String) != texts)
    return next(iter(integers.fill_null(False).arg_true()), None)


def not_a_float(column: str, text: str, place: str) -> SourceError:
    """The error of an integer that a 64-bit float does not hold, in a column of floats."""
    return SourceError(
        f"Column {column!r} contains the integer {text} at {place}, which a 64-bit float cannot hold. Round it, or "
        "subtract an offset from the column."
    )


def types_of_names(files: Sequence[Csv], names: Sequence[Set[str]]) -> dict[str, pl.DataType]:
    """Return the types of some columns whose values are only names.

    Sets of columns are text if a number of one of them would be written in another way, or several in the same.
    """
    styles: dict[str, set[str]] = {name: set() for each in names for name in each}
    undecided = list(styles)
    for file in files:
        beginning = islice(file.texts(undecided, block=FIRST_BLOCK), 1)
        for texts in chain(beginning, file.texts(undecided)) if undecided else ():
            for name in undecided:
                styles[name].update(style for style, is_there in _styles(texts[name]).items() if is_there)
            undecided = [name for name in undecided if not _would_change(styles[name])]
            if not undecided:
                break
    integers = {name: pl.Int64() for name in undecided if styles[name] and "not whole" not in styles[name]}
    texts_of = {name: pl.String() for each in names if not each <= {*undecided} for name in each}
    return {**integers, **texts_of}


def _styles(texts: pl.Series) -> dict[str, bool]:
    """Which ways of writing numbers a column has, and which ones of writing Booleans it does not keep to."""
    texts = texts.drop_nulls()
    integers = texts.cast(pl.Int64, strict=False)
    if not integers.null_count() and _are_written_again(texts, integers):
        return {style: len(texts) > 0 for style in ("whole", *BOOLEANS)}
    integer = texts.str.contains(WHOLE)
    others = texts.filter(~integer)
    long = texts.filter(texts.str.len_bytes() > DIGITS)
    long = long.filter(long.str.count_matches(r"\d") > DIGITS)
    return {
        "whole": bool(integer.any()),
        "not whole": len(others) > 0,
        **{style: not texts.str.contains(style).all() for style in BOOLEANS},
        "not plain": not others.str.contains(PLAIN).all(),
        "one zero": bool(others.str.ends_with(".0").any()),
        "inexact": bool((long != long.cast(pl.Float64, strict=False).cast(pl.String)).any()),
    }


def _would_change(styles: Set[str]) -> bool:
    if not {"not whole", *BOOLEANS} <= styles:
        return False
    return bool({"not plain", "inexact"} & styles) or {"whole", "one zero"} <= styles

"""Reasons why files cannot be read: the first damaged file, or the first that differs from the others."""

from __future__ import annotations

import codecs
import gzip
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics.errors import ColumnError, SourceError, StreamMetricsError
from streammetrics.rows.conversions import not_numbers, null_instead_of
from streammetrics.sources import arrow
from streammetrics.sources.delimited import TYPED_BY
from streammetrics.sources.files import Files
from streammetrics.sources.kinds import COMPRESSED, CSV, IPC, NDJSON, PARQUET, kind_of
from streammetrics.text import few

UNREADABLE = (Exception, pl.exceptions.PanicException)  # of readers in Rust, whose panics are not an Exception
MAGIC: dict[bytes, tuple[str, tuple[str, ...]]] = {  # last bytes of complete files
    b"PAR1": ("Parquet", PARQUET),
    b"ARROW1": ("Arrow IPC", IPC),
}
ENCRYPTED = b"PARE"
CUT = re.compile("unexpected end of file|incomplete frame|Truncated")  # of gzip and Zstandard, in errors of readers
CONSTANTS = ("NaN", "Infinity", "-Infinity")  # that Python writes as JSON
OF_LABELS = "Class labels have different types"  # in an error
SAME = "Write all files with the same columns and types."


def diagnosis(files: Files, columns: Sequence[str], error: str) -> str:
    """Return the message of an error: the first unreadable file or value with the reason, or all files with the error.

    Files are examined, since errors of readers name neither their lines nor a fix.
    """
    name: Path | str = files.name
    with suppress(*UNREADABLE):  # such as a file that is being deleted
        path = files.paths[0] if len(files.paths) == 1 else _unreadable(files, columns)
        name = path or name
        if path is None and (found := _difference(files, columns)):
            return f"Cannot read {found}"
        if path is not None and (found := _damage(path, columns, error)):
            return f"Cannot read {path}: {found}"
        if files.kind in CSV and (misfit := files.misfit(columns)):
            return _of_another_type(*misfit)
    return f"Cannot read {name}: {error}"


def _of_another_type(column: str, text: str, place: str) -> str:
    """The fix of text that is not a number of the type that the first rows of a CSV file have."""
    number = not not_numbers(pl.Series([text])).item()  # such as a float after integers
    fault = f"a number of another type than in its first {TYPED_BY:,} rows" if number else "text that is not a number"
    typed = f"polars.scan_csv(schema_overrides={{{column!r}: polars.Float64}})"
    fix = f"In Python, pass {typed}" if number else null_instead_of(text)
    return f"Column {column!r} contains {fault} (first: {text!r} at {place}). {fix}."


def _unreadable(files: Files, columns: Sequence[str]) -> Path | None:
    """The first file that cannot be read by itself."""
    for path in files.paths:
        try:
            one = replace(files, paths=(path,))
            used = [name for name in one.schema if name in columns or not columns]
            for plan in one.scans(used):
                for _ in plan.select(used).collect_batches():
                    pass
        except UNREADABLE:
            return path
    return None


def _damage(path: Path, columns: Sequence[str], error: str) -> str | None:
    if not path.is_file():
        return None
    if not path.stat().st_size:
        return "the file is empty."
    if path.suffix.lower() in COMPRESSED and not (path.suffix.lower() == ".gz" and kind_of(path) in NDJSON):
        return "the file is truncated. Write or copy it again." if CUT.search(error) else None
    if kind_of(path) in CSV:
        return _damage_of_csv(path)
    if kind_of(path) in NDJSON:
        if CUT.search(error):
            return "the file is truncated. Write or copy it again."
        return _damage_of_ndjson(path) or _mixed(path, columns)
    for magic, (kind, suffixes) in MAGIC.items():
        if kind_of(path) in suffixes and not (_ends_with(path, magic, ENCRYPTED) or arrow.is_whole_stream(path)):
            return f"the file is truncated, or not in {kind} format. Write or copy it again."
    return None


def _ends_with(path: Path, *endings: bytes) -> bool:
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, max(map(len, endings))), 2)
        return file.read().endswith(endings)


def _damage_of_csv(path: Path) -> str | None:
    with path.open("rb") as file:
        for line, content in enumerate(file, 1):
            try:
                content.decode()
            except UnicodeDecodeError:
                return f"line {line} is not UTF-8. Convert the file, such as with iconv -f latin1 -t utf-8."
    return None


def _damage_of_ndjson(path: Path) -> str | None:
    """The first line of an NDJSON file that is not a JSON object, such as the last one of a truncated file."""
    with _opened(path) as file:
        for line, content in enumerate(file, 1):
            if content.startswith(codecs.BOM_UTF8):
                return "the file begins with a byte order mark. Save it as UTF-8 without one."
            try:
                whole = not content.strip() or isinstance(json.loads(content, parse_constant=_refuse), dict)
            except ValueError as error:
                if error.args[0] in CONSTANTS:
                    return f"line {line} contains {error}, which is not valid JSON. Write null instead."
                whole = False
            if not whole:
                return f"line {line} is not a JSON object. Fix or remove the line, or write the file again."
    return None


def _opened(path: Path) -> Any:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def _mixed(path: Path, columns: Sequence[str]) -> str | None:
    """The first line of an NDJSON file with a value that is not of the type of the first lines."""
    types = {name: dtype for name, dtype in Files((path,)).schema.items() if name in columns or not columns}
    with _opened(path) as file:
        for line, content in enumerate(file, 1):
            row = json.loads(content) if content.strip() else {}
            for name, dtype in types.items():
                value = row.get(name)
                if value is not None and not _fits(value, dtype):
                    return (
                        f"line {line} has {value!r:.80} in column {name!r}, which is {dtype} in the first rows. "
                        f"{_instead_of(name, value, dtype)}."
                    )
    return None


def _fits(value: Any, dtype: pl.DataType) -> bool:
    """Whether Polars reads a value of JSON as a type. It reads any value as text."""
    if dtype == pl.Boolean:
        return isinstance(value, bool)
    if dtype.is_integer():
        return isinstance(value, int) and not isinstance(value, bool)
    if dtype.is_numeric():
        return isinstance(value, int | float) and not isinstance(value, bool)
    return dtype != pl.Null


def _instead_of(name: str, value: Any, dtype: pl.DataType) -> str:
    wider = {str: "String", bool: "Boolean", int: "Int64", float: "Float64"}.get(type(value))
    if wider and (dtype == pl.Null or (dtype.is_integer() and isinstance(value, float))):
        return f"In Python, pass polars.scan_ndjson(path, schema_overrides={{{name!r}: polars.{wider}}})"
    return "Write values of one type"


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def difference(files: Files, columns: Sequence[str], error: StreamMetricsError) -> SourceError | None:
    """Return the error of the first file in which a column that an error names has a type of another kind."""
    named = [name for name in columns if repr(name) in str(error) or OF_LABELS in str(error)]
    if not isinstance(error, ColumnError) or len(files.paths) == 1 or kind_of(files.paths[0]) in CSV or not named:
        return None
    found = _difference(files, named)
    return SourceError(f"Cannot read {found}") if found else None


def _difference(files: Files, columns: Sequence[str]) -> str | None:
    first, *others = files.paths
    wanted = replace(files, paths=(first,)).schema
    for path in others:
        found = replace(files, paths=(path,)).schema
        used = list(columns or wanted)
        every = kind_of(path) in CSV  # whose columns must be equal, even those that are not in use
        names = (list(found), list(wanted)) if every else ([name for name in used if name in found], used)
        if how := _in_names(*names) or _in_types(found, wanted, used):
            return f"{path}: its columns differ from {first} ({how}). {SAME}"
    return None


def _in_names(found: list[str], wanted: list[str]) -> str | None:
    added = few([name for name in found if name not in wanted])
    missing = few([name for name in wanted if name not in found])
    if added and missing:
        return f"{added} instead of {missing}"
    if added or missing:
        return f"also {added}" if added else f"without {missing}"
    return None if found == wanted else f"{few(found)} instead of {few(wanted)}"


def _in_types(found: pl.Schema, wanted: pl.Schema, columns: Sequence[str]) -> str | None:
    for name in columns:
        one, other = (schema.get(name, pl.Null()) for schema in (found, wanted))
        if one != other and not _alike(one, other):
            return f"{name!r} is {one} instead of {other}"
    return None


def _alike(one: pl.DataType, other: pl.DataType) -> bool:
    if pl.Null() in (one, other):
        return True
    if isinstance(one, pl.Datetime) and isinstance(other, pl.Datetime):
        return one.time_zone == other.time_zone
    families = [(pl.String, pl.Categorical, pl.Enum), (pl.Duration,)]
    numbers = one.is_numeric() and other.is_numeric() and one.is_decimal() == other.is_decimal()
    return numbers or any(one in family and other in family for family in families)

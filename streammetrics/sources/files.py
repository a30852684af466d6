"""Files and tables of predictions: expansion of paths, and scans of each kind."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias, TypeVar

import polars as pl

from streammetrics.errors import Argument, SourceError
from streammetrics.rows.columns import OF_STATES
from streammetrics.sources.delimited import PADDED, TYPED_BY, names_of, scan_csv
from streammetrics.system.lazy import pa, to_install
from streammetrics.text import near_paths

PathLike: TypeAlias = str | Path
Part = TypeVar("Part")

ROW = "__streammetrics_row__"  # number of a row in its source, for the place of an invalid row
WIDER = pl.ScanCastOptions(  # if files differ in the width of numbers, the unit of times, or the coding of text
    integer_cast="upcast",
    float_cast="upcast",
    datetime_cast=("nanosecond-downcast", "millisecond-upcast"),
    categorical_to_string="allow",
)
TEXT = (pl.String, pl.Categorical, pl.Enum)
WILDCARDS = "*?["
TABLES = {"_delta_log": "Delta", "metadata/*.metadata.json": "Iceberg", ".hoodie": "Hudi"}  # by what their folders have
PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv")
NDJSON = (".ndjson", ".jsonl")
IPC = (".arrow", ".ipc", ".feather")
COMPRESSED = (".gz", ".zst")  # CSV or NDJSON
LINES_BEFORE = {**dict.fromkeys(CSV, 1), **dict.fromkeys(NDJSON, 0)}  # the rows of files in which each row is a line


@dataclass(frozen=True)
class Files:
    """Files of one kind, or folders of tables, as a source. ``null_values`` stand for null in CSV files."""

    paths: tuple[Path, ...]
    where: pl.Expr | None = None
    null_values: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The first path, and the number of other paths."""
        first, more = self.paths[0], len(self.paths) - 1
        return f"{first} (and {more} more)" if more else str(first)

    @property
    def known_rows(self) -> int | None:
        """Number of rows, if the files store it."""
        known = self.where is None and kind_of(self.paths[0]) in PARQUET
        return _rows_of(self.plan) if known else None

    @cached_property
    def plan(self) -> pl.LazyFrame:
        """All rows and columns, as a plan. Cached, since creating it reads headers or footers of all files."""
        kinds = {kind_of(path): path for path in self.paths}
        if unknown := [path for kind, path in kinds.items() if kind not in SCANS]:
            advice = SUPPORTED if unknown[0].suffix != ".state" else OF_STATES
            raise SourceError(f"Unknown file type: {str(unknown[0])!r}. {advice}")
        if len(kinds) > 1:
            raise SourceError(f"The files have different types ({', '.join(sorted(kinds))}). Read one type at a time.")
        if not self.null_values:
            return SCANS[min(kinds)](list(self.paths))
        if min(kinds) not in CSV:
            raise SourceError(Argument("null_values"), f" applies to CSV files, not to {str(self.paths[0])!r}.")
        return scan_csv(list(self.paths), self.null_values)

    def filtered(self, where: pl.Expr) -> Files:
        """The same files with only the rows of a condition, and with the plan that is there already."""
        found = replace(self, where=where)
        vars(found).update(plan=self.plan)  # headers, footers, and the bytes of CSV files are not read again
        return found

    @property
    def repeated(self) -> set[str]:
        """Names that several columns of CSV or Arrow IPC files share. Polars reads only the first."""
        names = _names(self.paths[0])
        return {name for name in names if names.count(name) > 1}

    def differing_zones(self, columns: Iterable[str]) -> str | None:
        """The first of some columns that has a time zone in some Parquet files only. Polars would read it as UTC."""
        if len(self.paths) == 1 or kind_of(self.paths[0]) not in PARQUET:
            return None
        times = [name for name in columns if isinstance(self.plan.collect_schema().get(name), pl.Datetime)]
        schemas = [pl.read_parquet_schema(path) for path in self.paths] if times else []
        zones = {name: {getattr(s[name], "time_zone", None) for s in schemas if name in s} for name in times}
        return next((name for name, found in zones.items() if len(found) > 1 and None in found), None)

    def place(self, row: int) -> str:
        """The file of a row, its number in the file, and its line if that is known."""
        row, path = in_parts(row, ((_rows_of(Files((path,)).plan), path) for path in self.paths))
        before = LINES_BEFORE.get(path.suffix.lower())
        line = f" (line {row + before + 1})" if before is not None and _lines_besides_rows(path) == before else ""
        return f"row {row}{line} of {path}"

    def find(self, column: str, text: str) -> str | None:
        """The place of the first row of CSV files with a given text in a column, or None."""
        texts = scan_csv(list(self.paths), typed_by=0).with_row_index(ROW)
        found = texts.filter(pl.col(column).str.strip_chars('"') == text).select(ROW).head(1).collect()
        return None if found.is_empty() else self.place(found.item())


def _lines_besides_rows(path: Path) -> int:
    """Number of lines of a text file that are not one per row: its header, and line breaks in values."""
    with path.open("rb") as file:
        return sum(1 for _ in file) - _rows_of(Files((path,)).plan)


def _rows_of(plan: pl.LazyFrame) -> int:
    rows: int = plan.select(pl.len()).collect().item()
    return rows


def in_parts(row: int, parts: Iterable[tuple[int, Part]]) -> tuple[int, Part]:
    """Return the number of a row within its part, and the part.

    >>> in_parts(12, [(10, "a.csv"), (5, "b.csv")])
    (2, 'b.csv')
    """
    for rows, part in parts:
        if row < rows:
            return row, part
        row -= rows
    raise IndexError(row)


def expand(pattern: PathLike) -> list[Path]:
    """Return the files and tables of a path, a folder, or a glob, in order.

    In folders and for wildcards, names that start with ``_`` or ``.`` are skipped, as engines do, except for partition
    columns (``_day=3``). Names that are written out in the pattern are read.
    """
    if not str(pattern):
        raise SourceError("A path must not be empty. Pass '.' for the current folder.")
    if "://" in str(pattern):
        raise SourceError(f"{str(pattern)!r} is a URL. In Python, pass a LazyFrame, such as polars.scan_parquet(url).")
    path = Path(pattern).expanduser()
    if path.is_dir():
        if not (found := list(_inside(path))):
            raise SourceError(f"Folder {str(pattern)!r} has no data files. {SUPPORTED}")
    elif path.is_file():
        found = [path]
    elif path.exists():
        raise SourceError(f"{str(pattern)!r} is neither a file nor a folder.")
    elif any(c in str(pattern) for c in WILDCARDS):
        matched = _matching(path)
        found = [path for path in matched if path.is_file() or _table(path) or not path.exists()]
        if matched and not found:
            raise SourceError(
                f"{str(pattern)!r} matches folders only. Add a pattern for their files, such as '/*.parquet'."
            )
    else:
        raise SourceError(f"File {str(pattern)!r} not found.{near_paths(pattern)}")
    if not found:
        raise SourceError(f"No file matches {str(pattern)!r}.")
    for folder in {folder for file in found for folder in file.absolute().parents}:
        if kind := _table(folder):
            raise SourceError(
                f"{str(pattern)!r} has files of the {kind} table {str(folder)!r}, whose rows may be deleted. "
                "Pass the folder of the table, or a LazyFrame of some of its rows."
            )
    return found


def _inside(folder: Path) -> Iterator[Path]:
    """Files of known kinds and tables in a folder, to any depth."""
    if _table(folder):
        yield folder
        return
    for path in sorted(folder.iterdir()):
        if _hidden(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _inside(path)
        elif kind_of(path) in SCANS and (path.is_file() or not path.exists()):
            yield path


def _matching(pattern: Path) -> list[Path]:
    """Files and folders that match a glob."""
    anchor = Path(pattern.anchor)
    wanted = pattern.relative_to(anchor).parts
    spelled = [part for part in wanted if _hidden(part)]

    def shown(path: Path) -> bool:
        parts = path.relative_to(anchor).parts
        return not any(_hidden(part) and not any(fnmatch.fnmatch(part, s) for s in spelled) for part in parts)

    found = sorted(anchor.glob(str(Path(*wanted))))
    return [path for path in found if shown(path)]


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _table(folder: Path) -> str | None:
    """The kind of table that a folder is, if it is one."""
    if not folder.is_dir():
        return None
    return next((kind for sign, kind in TABLES.items() if any(folder.glob(sign))), None)


def kind_of(path: Path) -> str:
    """Return the kind of a table, or the suffix of a file, without the suffix of its compression.

    >>> kind_of(Path("a.PARQUET")), kind_of(Path("a.csv.gz")), kind_of(Path("a.parquet.gz"))
    ('.parquet', '.csv', '.gz')
    """
    suffix, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    return _table(path) or (inner if suffix in COMPRESSED and inner in (*CSV, *NDJSON) else suffix)


def _scan_parquet(paths: list[Path]) -> pl.LazyFrame:
    scan = partial(pl.scan_parquet, schema=_widened(paths), extra_columns="ignore", cast_options=WIDER)
    return _with_folders(scan, paths)


def _with_folders(scan: Callable[..., pl.LazyFrame], paths: list[Path]) -> pl.LazyFrame:
    """A scan with the columns of folders such as ``shop=007``, as text if numbers would make values equal."""
    plan = scan(paths, glob=False, hive_partitioning=_partitioned(paths))
    cells = [part.partition("=") for path in paths for part in path.parent.parts if "=" in part]
    if not (padded := {name for name, _, value in cells if re.match(PADDED, value)}):
        return plan
    found = plan.collect_schema()
    schema = {name: pl.String() if name in padded else found[name] for name, *_ in cells}
    return scan(paths, glob=False, hive_partitioning=True, hive_schema=schema)


def _widened(paths: list[Path]) -> pl.Schema | None:
    """The columns of the first of several Parquet files, with wider types if another file has them."""
    if len(paths) == 1:
        return None
    first, *others = map(pl.read_parquet_schema, paths)
    found = dict(first)
    for other in others:
        found |= {name: wider(dtype, other[name]) for name, dtype in found.items() if other.get(name, dtype) != dtype}
    return None if found == first else pl.Schema(found)


def wider(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """Return the type that holds the values of two types of integers, floats, text, or times; otherwise the first.

    >>> wider(pl.Int32(), pl.UInt32()), wider(pl.Float64(), pl.Float32()), wider(pl.Int64(), pl.Float64())
    (Int64, Float64, Int64)
    >>> wider(pl.Categorical(), pl.String()), wider(pl.Null(), pl.Date()), wider(pl.Datetime("ns"), pl.Datetime("ms"))
    (String, Date, Datetime(time_unit='us', time_zone=None))
    """
    if pl.Null() in (one, other):
        return other if one == pl.Null() else one
    if one in TEXT and other in TEXT:
        return pl.String()
    if isinstance(one, pl.Datetime) and isinstance(other, pl.Datetime) and one.time_zone == other.time_zone:
        return pl.Datetime("us", one.time_zone)
    if not (one.is_integer() and other.is_integer()) and not (one.is_float() and other.is_float()):
        return one
    both = [pl.DataFrame(schema={"": dtype}) for dtype in (one, other)]
    found = pl.concat(both, how="vertical_relaxed").schema[""]
    return one if found == pl.Int128() else found  # which groups cannot have


def _scan_ipc(paths: list[Path]) -> pl.LazyFrame:
    return _with_folders(pl.scan_ipc, paths)


def _names(path: Path) -> list[str]:
    """Names of the columns of a CSV or Arrow IPC file, including repeated names. None for other files."""
    kind = kind_of(path)
    if kind in CSV:
        return names_of(path)
    if kind in IPC:
        with pa.OSFile(str(path)) as file:
            return list(pa.ipc.open_file(file).schema.names)
    return []


def _scan_delta(tables: list[Path]) -> pl.LazyFrame:
    _require_package("deltalake", "a Delta table", to_install("store"))
    return pl.concat([pl.scan_delta(table) for table in tables], how="vertical_relaxed")


def _scan_iceberg(tables: list[Path]) -> pl.LazyFrame:
    _require_package("pyiceberg", "an Iceberg table", "Install it with: pip install pyiceberg")
    for table in tables:
        if not (table / "metadata" / "version-hint.text").is_file():
            raise SourceError(
                f"The version of the Iceberg table {str(table)!r} is only known to its catalog. "
                "Pass a LazyFrame of polars.scan_iceberg."
            )
    return pl.concat([pl.scan_iceberg(str(table.absolute())) for table in tables], how="vertical_relaxed")


def _scan_hudi(tables: list[Path]) -> pl.LazyFrame:
    raise SourceError(f"Cannot read {str(tables[0])!r}: Hudi tables are not supported. Pass its rows.")


def _require_package(module: str, what: str, install: str) -> None:
    if find_spec(module) is None:
        raise SourceError(f"{what} requires the package {module!r}. {install}")


def _partitioned(paths: list[Path]) -> bool:
    """Whether folders have names such as ``day=2026-01-31``, as Hive and Spark write partition columns."""
    return any("=" in part for part in paths[0].parent.parts)


KINDS: dict[str, Callable[[list[Path]], pl.LazyFrame]] = {
    **dict.fromkeys(PARQUET, _scan_parquet),
    **dict.fromkeys(CSV, scan_csv),
    **dict.fromkeys(NDJSON, partial(pl.scan_ndjson, infer_schema_length=TYPED_BY)),
    **dict.fromkeys(IPC, _scan_ipc),
}
SUPPORTED = f"Supported: {', '.join(KINDS)}. CSV and NDJSON files can be compressed ({', '.join(COMPRESSED)})."
SCANS = KINDS | {"Delta": _scan_delta, "Iceberg": _scan_iceberg, "Hudi": _scan_hudi}

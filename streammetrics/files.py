"""Files of predictions: which ones a pattern stands for, and how each kind is scanned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import polars as pl

from streammetrics.errors import SourceError

PathLike: TypeAlias = str | Path

TYPED_BY = 100_000  # rows of text that decide on the types of columns
SEPARATORS = ",;\t|"
WIDER = pl.ScanCastOptions(integer_cast="upcast", float_cast="upcast")  # where files differ in the width of numbers


def _scan_parquet(paths: list[Path]) -> pl.LazyFrame:
    return pl.scan_parquet(
        paths, glob=False, hive_partitioning=_partitioned(paths), extra_columns="ignore", cast_options=WIDER
    )


def _scan_ipc(paths: list[Path]) -> pl.LazyFrame:
    return pl.scan_ipc(paths, glob=False, hive_partitioning=_partitioned(paths))


def _scan_csv(paths: list[Path]) -> pl.LazyFrame:
    with paths[0].open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    separator = max(SEPARATORS, key=header.count)
    return pl.scan_csv(paths, glob=False, infer_schema_length=TYPED_BY, separator=separator)


def _partitioned(paths: list[Path]) -> bool:
    """Whether folders are called ``day=2026-01-31``: columns by their names, as Hive and Spark write them."""
    return any("=" in part for part in paths[0].parent.parts)


SCANS: dict[str, Callable[[list[Path]], pl.LazyFrame]] = {
    ".parquet": _scan_parquet,
    ".pq": _scan_parquet,
    ".csv": _scan_csv,
    ".tsv": _scan_csv,
    ".ndjson": pl.scan_ndjson,
    ".jsonl": pl.scan_ndjson,
    ".arrow": _scan_ipc,
    ".ipc": _scan_ipc,
    ".feather": _scan_ipc,
}


def expand(pattern: PathLike) -> list[Path]:
    """The files that a path, a folder or a glob stands for, in order.

    Raises:
        SourceError: where there is none.
    """
    path = Path(pattern).expanduser()
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.suffix in SCANS and p.is_file())
    elif path.exists():
        found = [path]
    elif any(c in str(pattern) for c in "*?["):
        anchor = Path(path.anchor) if path.is_absolute() else Path()
        found = sorted(p for p in anchor.glob(str(path.relative_to(anchor))) if p.is_file())
    else:
        raise SourceError(f"there is no file {str(pattern)!r}.")
    if not found:
        raise SourceError(f"no file matches {str(pattern)!r}.")
    return found


def scan(paths: list[Path]) -> pl.LazyFrame:
    """The rows of files of one kind, as a plan.

    Raises:
        SourceError: for files of no known kind, or of several.
    """
    if unknown := [path for path in paths if path.suffix.lower() not in SCANS]:
        raise SourceError(f"{unknown[0]} is of no known kind; files may end in {', '.join(SCANS)}.")
    kinds = sorted({path.suffix.lower() for path in paths})
    if len(kinds) > 1:
        raise SourceError(f"the files are of different kinds ({', '.join(kinds)}); read one kind at a time.")
    return SCANS[kinds[0]](paths)


def knows_its_rows(path: Path) -> bool:
    """Whether a file of this kind says how many rows it has."""
    return path.suffix.lower() in (".parquet", ".pq")

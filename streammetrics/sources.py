"""Whatever holds batches, as a stream of batches that have just the columns in use."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from streammetrics.errors import ColumnError, SourceError
from streammetrics.files import PathLike, expand, knows_its_rows, scan
from streammetrics.lazy import pa

Source: TypeAlias = Any

ADVICE = re.compile(r"[.,]? (?:hint:|consider passing)", re.IGNORECASE)  # of Polars, to those who call Polars


@dataclass(frozen=True)
class Stream:
    """Batches to come, and how many rows they hold where that is known beforehand."""

    batches: Iterator[Any]
    rows: int | None = None


def open_stream(source: Source, columns: Sequence[str], chunk: int) -> Stream:
    """Open a source.

    Args:
        source: a path, a glob or a list of them (Parquet, CSV, NDJSON, Arrow IPC), a LazyFrame, a pyarrow Dataset or
            RecordBatchReader, one frame or table of any kind, or an iterable of batches.
        columns: the columns in use.
        chunk: rows of a batch, where the source leaves that open.

    Raises:
        SourceError: where nothing is there to be read.
        ColumnError: where a file or plan lacks a column.
    """
    if isinstance(source, (str, Path)):
        return _files([source], columns)
    if isinstance(source, pl.LazyFrame):
        return Stream(_scan(source, columns))
    if isinstance(source, pl.DataFrame):
        return Stream(source.iter_slices(chunk), source.height)
    if _is_dataset(source):
        require(columns, source.schema.names)
        with _readable("the dataset"):
            batches, rows = source.to_batches(columns=list(columns), batch_size=chunk), source.count_rows()
        return Stream(_guarded(batches, "the dataset"), rows)
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        table = pa.table(source) if isinstance(source, pa.RecordBatch) else source
        return Stream(iter(table.to_batches(max_chunksize=chunk)), table.num_rows)
    if isinstance(source, pa.RecordBatchReader):
        return Stream(_guarded(source, "the reader"))
    if isinstance(source, Iterator):
        return Stream(source)
    if isinstance(source, Mapping) or hasattr(source, "__dataframe__"):
        return Stream(iter([source]))
    if hasattr(source, "__arrow_c_stream__"):
        with _readable(f"the {type(source).__name__}"):
            return Stream(_guarded(pa.RecordBatchReader.from_stream(source), "the stream"))
    if hasattr(source, "__arrow_c_array__"):
        return Stream(iter([source]))
    if isinstance(source, Iterable):
        items = list(source)
        if items and all(isinstance(item, (str, Path)) for item in items):
            return _files(items, columns)
        return Stream(iter(items))
    raise SourceError(f"a source of type {type(source).__name__} cannot be read; pass paths, a frame or batches.")


def _is_dataset(source: Source) -> bool:
    """Whoever has a pyarrow Dataset has imported its module, which is too slow to import for everybody."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(source, module.Dataset)


def _files(patterns: Sequence[PathLike], columns: Sequence[str]) -> Stream:
    paths = [path for pattern in patterns for path in expand(pattern)]
    name = str(paths[0]) if len(paths) == 1 else f"{paths[0]} (and {len(paths) - 1} more)"
    with _readable(name):
        plan = scan(paths)
        rows = plan.select(pl.len()).collect().item() if knows_its_rows(paths[0]) else None
    return Stream(_scan(plan, columns, name), rows)


def _scan(plan: pl.LazyFrame, columns: Sequence[str], name: str = "the plan") -> Iterator[pl.DataFrame]:
    """Stream a plan in batches as it makes them, no more than a few of which wait to be taken."""
    with _readable(name):
        require(columns, plan.collect_schema().names())
        # Without any column (volume alone) rows would not be counted.
        batches = (plan.select(columns) if columns else plan).collect_batches(maintain_order=False)
    return _guarded(batches, name)


def _guarded(batches: Iterable[Any], name: str) -> Iterator[Any]:
    with _readable(name):
        yield from batches


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Errors of those who read a source, as errors of the source."""
    try:
        yield
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError) as error:
        first_line = str(error).strip().split("\n")[0]
        raise SourceError(f"{name} cannot be read: {ADVICE.split(first_line)[0]}") from error


def require(columns: Sequence[str], present: Sequence[str]) -> None:
    """Refuse a source that lacks a column.

    Raises:
        ColumnError: for the first one that is missing.
    """
    for column in columns:
        if column not in present:
            raise ColumnError(f"there is no column {column!r}; the source has: {', '.join(present) or 'none'}.")

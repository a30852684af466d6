"""Any source as a stream of batches with the columns in use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from streammetrics.base import ObjectPath, StorageOptions, few, pa, reason, require_each_once
from streammetrics.data.rows.arrow import is_relation, utc_times
from streammetrics.data.rows.batches import faults
from streammetrics.data.rows.columns import require_columns
from streammetrics.data.rows.frames import refuse_engines, to_frame
from streammetrics.data.rows.roles import Roles
from streammetrics.data.sources.files import UNREADABLE, Files, part_of_row
from streammetrics.data.sources.paths import PathLike, expand
from streammetrics.data.sources.scans import ROW, Part, frames, height_of, scan_delta
from streammetrics.errors import ColumnError, DataError, SourceError, StreamMetricsError

Source: TypeAlias = Any
FILE_ROW = ("file_row_number", "filename")  # columns that a DuckDB relation of Parquet files has besides their own
Name: TypeAlias = str | Callable[[], str]  # of a source in messages


@dataclass(frozen=True)
class Stream:
    """Batches, and their ``number`` of rows, or a function that returns it, if it is known in advance.

    ``again`` returns the same rows again, in order and numbered. ``place`` describes the place of a row by its number,
    and ``of`` is the unit of row counts in messages. Sources that can be read only once have no ``again`` and
    ``place``. ``close`` ends a pass that has not reached the last batch.
    """

    batches: Iterator[Any]
    number: int | Callable[[], int | None] | None = None
    again: Callable[[], Iterable[pl.DataFrame]] | None = None
    place: Callable[[int], str] = str
    of: str = "rows"
    close: Callable[[], None] = lambda: None

    @property
    def rows(self) -> int | None:
        """Number of rows, if it is known in advance. Of many files, it takes long."""
        return self.number() if callable(self.number) else self.number

    @contextmanager
    def naming_rows(self, roles: Sequence[Roles]) -> Iterator[None]:
        """Name the first bad row of the source in an error, rather than a row of a batch.

        Batches are processed in any order, so the row is searched for after an error.
        """
        try:
            yield
        except (ColumnError, DataError) as error:
            raise self._first_error(roles) or error from error.__cause__
        finally:
            self.close()

    def _first_error(self, roles: Sequence[Roles]) -> StreamMetricsError | None:
        """The first error in the order of rows. Its number of rows is that of the source up to there."""
        rows, batches = 0, iter(self.again() if self.again else ())
        try:
            for batch in batches:
                rows += batch.height
                if errors := [fault for role in roles for fault in faults(batch.drop(ROW), role)]:
                    first = min(errors, key=lambda fault: fault.row or 0)
                    beginning = "" if _ended(batches) else "the first "
                    return first.at(self.place(batch[ROW][first.row or 0]), f"{beginning}{rows:,} {self.of}")
        except StreamMetricsError as error:
            return error
        except UNREADABLE:  # such as a batch with a repeated column
            return None
        return None


def _ended(batches: Iterator[pl.DataFrame]) -> bool:
    try:
        return next(batches, None) is None
    except SourceError:
        return False


def open_stream(
    source: Source,
    columns: Sequence[str],
    chunk: int,
    names: Sequence[Set[str]] = (),
    storage_options: StorageOptions = None,
) -> Stream:
    """Open a source as a stream of batches. Batches have ``chunk`` rows, if the source does not determine it.

    Values of ``names`` are only names, such as groups, which stay as they are written in CSV files. Columns of one set
    have the same values.

    A source is a path, a glob, a file URI, or a list of them (Parquet, CSV, NDJSON, Arrow IPC, tables of Delta Lake or
    Iceberg), a DeltaTable, a LazyFrame, a pyarrow Dataset or RecordBatchReader, any data frame or table, or an iterable
    of batches or of rows.
    """
    refuse_engines(source, SourceError)
    if paths := paths_of(source):
        return _files(open_files(paths, storage_options=storage_options), columns, chunk, names)
    if isinstance(source, Files):
        return _files(source, columns, chunk, names)
    if isinstance(source, Stream):
        return source
    if isinstance(source, pl.LazyFrame):
        return _plan(source, columns, chunk, "the plan")
    if isinstance(source, pl.DataFrame):
        return _frame(source, columns, chunk, "row {} of the frame")
    if tables := _delta_tables(source):
        name = few([table.table_uri for table in tables])
        with readable(name):
            return _plan(scan_delta(tables), columns, chunk, name)
    if is_relation(source):
        return _relation(source, columns)
    datasets = sys.modules.get("pyarrow.dataset")  # slow to import, and imported if there is a Dataset
    if datasets is not None and isinstance(source, datasets.Dataset):
        return _dataset(source, columns, chunk)
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        table = pa.table(source) if isinstance(source, pa.RecordBatch) else source
        batches = table.to_batches(max_chunksize=chunk)
        return Stream(iter(batches), table.num_rows, lambda: numbered(batches, columns), "row {} of the table".format)
    if isinstance(source, pa.RecordBatchReader):
        return Stream(guarded(source, "the reader"))
    if isinstance(source, Iterator):
        return Stream(map(_batch, source))
    if isinstance(source, Mapping) or hasattr(source, "iloc"):
        return Stream(iter([source]))
    if hasattr(source, "__arrow_c_stream__"):
        with readable(f"the {type(source).__name__}"):
            return Stream(guarded(pa.RecordBatchReader.from_stream(source), "the stream"))
    if hasattr(source, "__arrow_c_array__") or hasattr(source, "__dataframe__"):
        return Stream(iter([source]))
    if isinstance(source, Iterable):
        items = list(source)
        if paths := paths_of(items):
            return _files(open_files(paths, storage_options=storage_options), columns, chunk, names)
        if items and all(map(_is_row, items)):
            with readable("the list of rows"):
                return _frame(to_frame(items, columns), columns, chunk, "row {} of the list")
        return Stream(map(_batch, items))
    raise SourceError(f"Unsupported source type {type(source).__name__}. Pass paths, a frame, or batches.")


def paths_of(source: Source) -> list[PathLike]:
    """Return the paths of a source that is a path or a list of them, and no paths of any other source."""
    items = [source] if isinstance(source, str | Path | ObjectPath) else source
    are_paths = isinstance(items, list | tuple) and all(isinstance(item, str | Path | ObjectPath) for item in items)
    return list(items) if are_paths else []


def _is_row(item: Any) -> bool:
    values = item.values() if isinstance(item, Mapping) else ()
    return any(isinstance(value, str | bytes) or not hasattr(value, "__len__") for value in values)


def _batch(item: Any) -> Any:
    return pl.DataFrame([item]) if _is_row(item) else item


def _frame(frame: pl.DataFrame, columns: Sequence[str], chunk: int, place: str) -> Stream:
    return Stream(frame.iter_slices(chunk), frame.height, lambda: numbered([frame], columns), place.format)


def _dataset(dataset: Any, columns: Sequence[str], chunk: int) -> Stream:
    require_columns(columns, dataset.schema.names)

    def batches() -> Iterator[Any]:
        return guarded(dataset.to_batches(columns=list(columns), batch_size=chunk), "the dataset")

    def place(row: int) -> str:
        try:
            row, path = part_of_row(row, ((part.count_rows(), part.path) for part in dataset.get_fragments()))
        except (ValueError, AttributeError, IndexError):  # some rows are filtered, or fragments are not files
            path = "the dataset"
        return f"row {row} of {path}"

    with readable("the dataset"):
        return Stream(batches(), dataset.count_rows(), lambda: numbered(batches(), columns), place)


def _delta_tables(source: Source) -> list[Any]:
    """The tables of a source that is a DeltaTable or a list of them, each of a version."""
    items = source if isinstance(source, list | tuple) else [source]
    are_tables = all(type(item).__name__ == "DeltaTable" and hasattr(item, "table_uri") for item in items)
    return list(items) if are_tables else []


def _relation(relation: Any, columns: Sequence[str]) -> Stream:
    """A relation of DuckDB, whose connection has one open result at a time."""
    require_columns(columns, relation.columns)
    column = import_module("duckdb").ColumnExpression
    used = relation.select(*map(column, columns)) if columns else relation  # volume alone requires rows of any column
    readers: list[Any] = []

    def close() -> None:
        while readers:
            readers.pop().close()

    def batches() -> Iterator[Any]:
        close()
        readers.append(pa.RecordBatchReader.from_stream(used))
        return guarded(map(utc_times, readers[0]), "the relation")

    def place(row: int) -> str:
        close()
        try:
            [(number, path)] = relation.select(*map(column, FILE_ROW)).limit(1, offset=row).fetchall()
        except Exception:  # of DuckDB: other relations than those of files do not have these columns
            return f"row {row} of the relation"
        return f"row {number} of {path}"

    with readable("the relation"):
        return Stream(batches(), again=lambda: numbered(batches(), columns), place=place, close=close)


def open_files(
    patterns: PathLike | Sequence[PathLike],
    null_values: Sequence[str] = (),
    text: Sequence[str] = (),
    storage_options: StorageOptions = None,
) -> Files:
    """The files and tables of paths, folders, and globs. Rejects repeated ones, including through links."""
    patterns = paths_of(patterns)
    with readable(few(map(str, patterns))):
        paths = [path for pattern in patterns for path in expand(pattern, storage_options)]
        require_each_once(paths, SourceError)
    return Files(tuple(paths), null_values=tuple(null_values), text=tuple(text))


def _files(files: Files, columns: Sequence[str], chunk: int, names: Sequence[Set[str]]) -> Stream:
    with readable(files.name):
        tested = files.where.meta.root_names() if files.where is not None else []
        used = (*columns, *tested)
        files.require(used)
        parts = files.parts(used, [each for each in names if each.isdisjoint(tested)])
    name = partial(files.unreadable, used)
    return _parts(parts, columns, chunk, name, lambda: files.known_rows, files.place, files.where)


def _plan(plan: pl.LazyFrame, columns: Sequence[str], chunk: int, name: str) -> Stream:
    with readable(name):
        require_columns(columns, plan.collect_schema().names())
    return _parts([plan], columns, chunk, name, None, lambda row: f"row {row} of {name}")


def _parts(
    parts: Sequence[Part],
    columns: Sequence[str],
    chunk: int,
    name: Name,
    rows: Callable[[], int | None] | None,
    place: Callable[[int], str],
    where: pl.Expr | None = None,
) -> Stream:
    """Stream parts, one after the other, in batches. Only a few of them wait to be processed."""

    def batches() -> Iterator[pl.DataFrame]:
        for part in parts:
            yield from guarded(frames(part, columns, chunk, where), name)

    def again() -> Iterator[pl.DataFrame]:
        before = 0
        for part in parts:
            yield from guarded(frames(part, columns, chunk, where, first=before), name)
            before += height_of(part) if part is not parts[-1] else 0

    return Stream(batches(), rows, again, place, "rows" if where is None else "filtered rows")


def numbered(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Batches with the numbers of their rows."""
    rows = 0
    for batch in batches:
        yield (numbered := to_frame(batch, columns).with_row_index(ROW, offset=rows))
        rows += numbered.height


def guarded(batches: Iterable[Any], name: Name) -> Iterator[Any]:
    """Batches of a reader, whose errors are raised as errors of the source."""
    with readable(name):
        yield from batches


@contextmanager
def readable(name: Name) -> Iterator[None]:
    """Raise errors of readers as errors of the source."""
    try:
        yield
    except (StreamMetricsError, GeneratorExit):
        raise
    except UNREADABLE as error:
        raise SourceError(f"Cannot read {name() if callable(name) else name}: {reason(error)}") from error

"""A Delta Lake table: opened, created, read, and changed by atomic commits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import unquote

import polars as pl

from streammetrics.base import directory, ds, near_paths, of_extra, pa, require_threads, settle, translated
from streammetrics.errors import ColumnError, StateError

ATTEMPTS = 50  # to commit, if other writers are first
BETWEEN = 20  # commits from one checkpoint to the next, which opening a table reads
PAUSE = 1.0  # seconds between attempts, at most
SMALL = 32 << 20  # bytes of a file, below which it is merged with others
T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """Location of a Delta Lake table. In its methods, ``table`` is one version of it."""

    uri: str | Path
    storage_options: dict[str, str] | None = field(default=None, repr=False)

    def beside(self, folder: str) -> Table:
        """Return the table in a subfolder, which Delta Lake ignores if its name begins with an underscore."""
        uri = self.uri
        return Table(uri / folder if isinstance(uri, Path) else f"{uri.rstrip('/')}/{folder}", self.storage_options)

    def find(self) -> Any:
        """Return the newest version of the table, or None."""
        require_threads()
        delta = deltalake()
        with self.reading():
            if (folder := directory(self.uri)) and folder.is_file():
                raise StateError(f"Cannot read the table at {self.uri}: a history is a folder, but this is a file.")
            try:
                return delta.DeltaTable(self.uri, storage_options=self.storage_options)
            except delta.exceptions.TableNotFoundError:
                return None

    def create(self, schema: Any, configuration: Mapping[str, str], parts: Sequence[str] = ()) -> None:
        """Create an empty table with an Arrow or Delta Lake schema, partitioned by some columns.

        Does nothing if another process has created it.
        """
        delta = deltalake()
        with self.writing():
            try:
                delta.DeltaTable.create(
                    self.uri,
                    schema,
                    partition_by=list(parts),
                    configuration={"delta.checkpointInterval": str(BETWEEN), **configuration},
                    storage_options=self.storage_options,
                    raise_if_key_not_exists=False,
                )
                self._settle(range(1))
            except (delta.exceptions.DeltaError, OSError):
                if self.find() is None:
                    raise

    def scan(self, table: Any) -> pl.LazyFrame:
        """Return the rows of one version."""
        if "%" not in table.table_uri:
            return pl.scan_delta(table, storage_options=self.storage_options)
        files = [unquote(file) for file in table.file_uris()]  # Polars looks for a directory with %20 in its name
        schema = pl.Schema(table.schema())
        if not files:
            return pl.LazyFrame(schema=schema)
        parts = {name: schema[name] for name in table.metadata().partition_columns}  # which only folder names contain
        rows = pl.scan_parquet(
            files,
            schema={name: kind for name, kind in schema.items() if name not in parts},
            missing_columns="insert",
            storage_options=self.storage_options,
            glob=False,
            hive_partitioning=bool(parts),
            hive_schema=parts or None,
        )
        return rows.select(schema.names())

    def commit(self, step: Callable[[Any], T], newest: Any = None) -> T:
        """Run a step that commits. If another writer was first, run it again on the new version.

        A table that was just opened can be passed, to save opening it again.
        """
        delta = deltalake()
        for attempt in range(ATTEMPTS):
            with self.writing():
                try:
                    table = self.find() if newest is None else newest
                    if table is None:
                        raise missing(self.uri)
                    before, done = table.version(), step(table)
                    self._settle(range(before + 1, table.version() + 1))
                    return done
                except delta.exceptions.CommitFailedError as error:
                    failure, newest = error, None
            time.sleep(random.uniform(0, min(PAUSE, 0.005 * 2**attempt)))
        raise StateError(f"Cannot commit to {self.uri} after {ATTEMPTS} attempts: {failure}") from failure

    def shrink(self, step: Callable[[Any], None], *, vacuum: bool) -> None:
        """Commit a step that removes rows, and delete files that have not been needed for a week, if asked for."""
        self.commit(step)
        if vacuum:
            self.commit(lambda table: table.vacuum(dry_run=False, full=True))

    def reading(self) -> AbstractContextManager[None]:
        """Name the table in errors of reading."""
        return translated(StateError, f"Cannot read the table at {self.uri}")

    def writing(self) -> AbstractContextManager[None]:
        """Name the table in errors of writing."""
        return translated(StateError, f"Cannot write the table at {self.uri}")

    def _settle(self, versions: range) -> None:
        """Wait until commits are on disk, if the table is in a directory."""
        if versions and (folder := directory(self.uri)):
            settle(folder, versions)


def write(
    table: Any,
    rows: Any,
    *,
    mode: Literal["append", "overwrite"] = "append",
    predicate: str | None = None,
    transactions: Sequence[Any] = (),
    row_group: int = 1_024,
) -> None:
    """Write rows in one commit. Overwriting replaces all rows, or those that a condition selects.

    New columns are added to the table.

    With transactions, the commit is the next version of the table, or fails. Otherwise, commits without conflicts are
    possible in between.
    """
    delta = deltalake()
    new = {*rows.schema.names} - {field.name for field in table.schema().fields}
    once = {"max_commit_retries": 0, "app_transactions": list(transactions)}
    delta.write_deltalake(
        table,
        rows,
        mode=mode,
        predicate=predicate,
        schema_mode="merge" if new else None,
        writer_properties=files(row_group),
        commit_properties=delta.CommitProperties(**once) if transactions else None,
    )


def add_columns(table: Any, schema: pa.Schema) -> None:
    """Add the columns of a schema that the table lacks, which are null in all its rows."""
    names = {field.name for field in table.schema().fields}
    if new := [field for field in deltalake().Schema.from_arrow(schema).fields if field.name not in names]:
        table.alter.add_columns(new)


def fitted(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return a column in its type in the table, which must fit every value."""
    try:
        cast = column.cast(kind)
        if cast.cast(column.dtype).equals(column):
            return cast
    except pl.exceptions.PolarsError:
        pass
    raise ColumnError(f"Column {column.name!r} must fit type {kind} of the table, got {column.dtype}.")


def one_of(values: pl.Series) -> pl.Expr:
    """Return whether the column of that name has one of these values, including null."""
    column, distinct = pl.col(values.name), values.drop_nulls().unique()
    low, high = (pl.lit(end, distinct.dtype) for end in (distinct.min(), distinct.max()))
    chosen = column.is_between(low, high) & column.is_in(distinct.implode())
    return chosen | column.is_null() if values.null_count() else chosen


def one_of_sql(values: pl.Series) -> str:
    """Return `one_of` for dates or times as SQL."""
    column = quoted(values.name)
    texts = ", ".join(f"'{value.isoformat()}'" for value in values.drop_nulls())
    return " OR ".join([f"{column} IN ({texts})"] * bool(texts) + [f"{column} IS NULL"] * bool(values.null_count()))


def quoted(name: str) -> str:
    """Return the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def values_in_small_files(table: Any, column: str) -> pl.Series:
    """Return the values of a column in small files, where a folder has several of them.

    `write` merges these files by replacing the rows of these values. ``optimize.compact`` of Delta Lake is no
    alternative: two at the same time both commit, and the rows are then in the table twice.
    """
    files, folder = pl.DataFrame(table.get_add_actions()), pl.col("path").str.replace("[^/]*$", "")
    small = files.filter(pl.col("size_bytes") < SMALL).filter(pl.len().over(folder) > 1)["path"].to_list()
    data = table.to_pyarrow_dataset()
    parts = [part for part in data.get_fragments() if part.path in {*small}]
    rows = ds.FileSystemDataset(parts, data.schema, data.format, data.filesystem).to_table([column])
    return pl.DataFrame(rows)[column].unique().sort()


def files(row_group: int) -> Any:
    """Properties of data files with this number of rows per row group."""
    return deltalake().WriterProperties(compression="ZSTD", max_row_group_size=row_group)


def missing(uri: str | Path) -> StateError:
    """The error for a missing table."""
    near = "" if "://" in str(uri) else near_paths(uri)
    return StateError(f"No history at {str(uri)!r}.{near or ' Check the path.'} The first append creates a history.")


def deltalake() -> Any:
    """Import the Delta Lake library."""
    return of_extra("store", "deltalake", "MetricStore requires")

"""A history of states: a Delta Lake table that workers append to, and that answers for any time range and segments."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import polars as pl

from streammetrics.accumulator import Accumulator, merge
from streammetrics.errors import Argument, SpecificationError, StateError
from streammetrics.history.layout import OWN, Layout, one_of, one_of_sql, quoted
from streammetrics.rows.roles import several
from streammetrics.system.disk import directory, require_whole_commits, require_whole_files, settle
from streammetrics.system.foreign import translated
from streammetrics.system.lazy import pa

ROWS = 1_024  # of the table that are read together
ATTEMPTS = 50  # to commit, where others are first
PAUSE = 1.0  # seconds between attempts, at most
T = TypeVar("T")


@dataclass(frozen=True)
class MetricStore:
    """A history of states in a Delta Lake table: append what was kept of an hour or a day, ask for any time range.

    One group column of the accumulators is the window, of type Date or Datetime; the others are segments. A row of the
    table holds a group of a batch: its group columns, ``batch_id``, ``ingested`` (when it came in, in UTC),
    ``version`` (the commit that brought it), and one nested column per statistic. Whatever reads Delta Lake reads it.
    The first batch makes the table, and says what all others must keep.

    Any number of processes may append, compact and ask at the same time. A commit happens entirely or not at all, and
    an answer is that of one version of the table.

    Args:
        uri: a directory, or the URI of an object store.
        window: the group column that is the window; the only one of type Date or Datetime unless given.
        storage_options: of the object store, as Delta Lake takes them.

    Raises:
        SpecificationError: without the extra ``store``, and for a directory whose path has one of ``[ ] ^ | \\``,
            control characters, or ``%`` before two hexadecimal digits, which Delta Lake cannot open.

    >>> from tempfile import TemporaryDirectory
    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p", by=[pl.col("ts").dt.date().alias("day"), "country"])
    >>> morning = {"y": [1, 0], "p": [0.9, 0.2], "ts": [datetime(2026, 1, 31, 9)] * 2, "country": ["DE", "FR"]}
    >>> with TemporaryDirectory() as directory:
    ...     store = sm.MetricStore(directory)
    ...     added = store.append(acc.update(morning), batch_id="2026-01-31 morning")
    ...     again = store.append(acc, batch_id="2026-01-31 morning")
    ...     january = store.query("2026-01-01", "2026-02-01")
    >>> added, again, january.finalize()["roc_auc"].value
    (True, False, 1.0)
    """

    uri: str | Path
    _: KW_ONLY
    window: str | None = None
    storage_options: dict[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _deltalake()
        if not isinstance(self.uri, str | Path) or not str(self.uri):
            raise SpecificationError(f"uri= must be a directory or the URI of an object store, got {self.uri!r}.")
        directory(self.uri)

    def append(self, acc: Accumulator, *, batch_id: str) -> bool:
        """Add what an accumulator has kept, in one commit. A batch that is known already changes nothing.

        Batches may come late, and in any order. In a directory, what was added is on the disk when this returns.

        Args:
            acc: an accumulator that is grouped by the window, and by segments if you like.
            batch_id: what tells this batch from all others, such as its hour and the number of the worker. It stays
                known when rows are added up or dropped.

        Returns:
            Whether something was added: not where the batch is known, nor where the accumulator has seen no row.

        Raises:
            MergeError: where the specification is not that of the table.
            ColumnError: where a column is of another type than in the table.
            DataError: where a date or time of a group lies outside of the years 1 to 9999.
            SpecificationError: where the first batch has no window, or several and none is named, and for what is no
                accumulator.
            StateError: where the table cannot be read or written, or a commit of it was cut off by a power loss.
        """
        if not isinstance(acc, Accumulator):
            raise SpecificationError(f"acc must be an Accumulator, got {type(acc).__name__}.")
        if not isinstance(batch_id, str) or not batch_id:
            raise SpecificationError(Argument("batch_id"), f" must be a text that is not empty, not {batch_id!r}.")
        if acc.state.groups.is_empty():
            return False
        newest = self._find()
        if newest is None:
            self._create(Layout.of(acc, self.window))

        def add(table: Any, layout: Layout) -> bool:
            if table.transaction_version(batch_id) is not None:
                return False
            version = table.version() + 1
            own = {"batch_id": batch_id, "ingested": datetime.now(UTC), "version": version}
            rows = layout.rows(acc).with_columns(pl.lit(own[name], kind).alias(name) for name, kind in OWN.items())
            delta = _deltalake()
            known = delta.Transaction(app_id=batch_id, version=version)
            delta.write_deltalake(
                table,
                rows.select(layout.columns).to_arrow(),
                mode="append",
                writer_properties=_files(),
                commit_properties=delta.CommitProperties(max_commit_retries=0, app_transactions=[known]),
            )
            return True

        return self._commit(add, newest)

    def query(
        self,
        since: date | str | None = None,
        until: date | str | None = None,
        *,
        by: str | Sequence[str] = (),
        every: str | None = None,
        where: pl.Expr | None = None,
    ) -> Accumulator:
        """What was kept of some windows, added up, late batches included.

        The windows are those from ``since`` on and before ``until``; one that is null only where neither is given. The
        answer does not change by a bit when the table is compacted: rows of a group are added up one after the other,
        in the order in which they were committed.

        Args:
            since: a date, a datetime, or ISO text of one; in the time zone of the window unless it has its own.
            until: likewise.
            by: group columns to keep.
            every: keep the window too, truncated to multiples of this, such as ``"1d"`` or ``"1w"``.
            where: an expression over the group columns: which groups to take.

        Returns:
            An accumulator, grouped by the window if ``every`` is given, and ``by``. Models stay apart.

        Raises:
            SpecificationError: for what is no time, no group column, or no expression over some.
            StateError: where there is no table yet, or it cannot be read.
        """
        table, layout = self._open()
        columns: list[str | pl.Expr] = list(several(by))
        if every is not None:
            columns.insert(0, layout.truncated(every))
        empty = layout.empty.rollup(*columns)
        if where is not None:
            layout.empty.filter(where)  # which says what is wrong with it
        with self._reading():
            rows = self._scan(table).filter(*layout.between(since, until))
            keys = rows.select(layout.groups).unique().collect()
            if where is not None:
                keys = keys[layout.keys(keys).with_row_index("group").filter(where)["group"]]
            parts = map(layout.fold, layout.parts(rows, keys))
            return merge(chain([empty], (part.rollup(*columns) for part in parts)))

    def windows(self) -> pl.DataFrame:
        """What is there: for each window the number of groups, of rows seen, of parts that hold them, which `compact`
        brings down to the number of groups, and when the last came in.

        Raises:
            StateError: where there is no table yet, or it cannot be read.
        """
        table, layout = self._open()
        seen = pl.col("row_counts").list.first().struct.field("rows").sum() // len(layout.empty.roles.models)
        groups = pl.struct(layout.groups).n_unique().alias("groups")
        found = {"parts": pl.len(), "ingested": pl.max("ingested")}
        with self._reading():
            parts = self._scan(table).group_by(layout.window).agg(groups, seen, **found)
            return layout.keys(parts.sort(layout.window).collect())

    def compact(self, *, vacuum: bool = True) -> None:
        """Add up the rows of each group, and put small files together. No answer changes by a bit.

        Windows whose groups have one row each are left alone. Others may append meanwhile.

        Args:
            vacuum: delete the files that were last needed a week ago.

        Raises:
            StateError: where there is no table yet, or it cannot be read or written.
        """

        def add_up(table: Any, layout: Layout) -> None:
            rows = self._scan(table)
            several = rows.group_by(layout.groups).len("group").filter(pl.col("group") > 1)
            windows = several.select(layout.window).unique().collect()[layout.window]
            if windows.is_empty():
                return
            keys = rows.select(layout.groups).filter(one_of(windows)).unique().collect()
            parts = (layout.added_up(part).to_arrow() for part in layout.parts(rows, keys))
            first = next(parts)
            batches = (batch for part in chain([first], parts) for batch in part.to_batches())
            _deltalake().write_deltalake(
                table,
                pa.RecordBatchReader.from_batches(first.schema, batches),
                mode="overwrite",
                predicate=f"version <= {table.version()} AND ({one_of_sql(windows)})",  # at odds with no append
                writer_properties=_files(),
            )

        self._commit(add_up)
        self._commit(lambda table, layout: table.optimize.compact(writer_properties=_files()))
        self._vacuum(vacuum)

    def retain(self, since: date | str, *, vacuum: bool = True) -> None:
        """Drop the windows before a time. Their batches stay known.

        Args:
            since: a date, a datetime, or ISO text of one, as in `query`.
            vacuum: delete the files that were last needed a week ago.

        Raises:
            SpecificationError: for what is no time.
            StateError: where there is no table yet, or it cannot be read or written.
        """

        def drop(table: Any, layout: Layout) -> None:
            before = f"{quoted(layout.window)} < '{layout.moment(since).isoformat()}'"
            table.delete(f"version <= {table.version()} AND {before}", writer_properties=_files())

        self._commit(drop)
        self._vacuum(vacuum)

    def _vacuum(self, wanted: bool) -> None:
        if wanted:
            self._commit(lambda table, layout: table.vacuum(dry_run=False, full=True))

    def _scan(self, table: Any) -> pl.LazyFrame:
        if folder := directory(self.uri):
            require_whole_files(folder, table)
        if "%" not in table.table_uri:
            return pl.scan_delta(table, storage_options=self.storage_options)
        files = [unquote(file) for file in table.file_uris()]  # Polars looks for a directory with %20 in its name
        if not files:
            return pl.LazyFrame(schema=pl.Schema(table.schema()))
        return pl.scan_parquet(files, storage_options=self.storage_options, glob=False)

    def _find(self) -> Any:
        """The newest version of the table; None where there is none."""
        delta = _deltalake()
        with self._reading():
            if folder := directory(self.uri):
                require_whole_commits(folder)
            try:
                return delta.DeltaTable(self.uri, storage_options=self.storage_options)
            except delta.exceptions.TableNotFoundError:
                return None

    def _open(self, newest: Any = None) -> tuple[Any, Layout]:
        table = self._find() if newest is None else newest
        if table is None:
            raise StateError(f"there is no table at {self.uri} yet; the first append makes it.")
        with self._reading():
            layout = Layout.read(table.metadata().configuration)
        if self.window not in (None, layout.window):
            raise SpecificationError(f"the window of the table is {layout.window!r}, not {self.window!r}.")
        return table, layout

    def _create(self, layout: Layout) -> None:
        """Make a table without rows, unless another process has made it."""
        delta = _deltalake()
        none = layout.rows(layout.empty).with_columns(pl.lit(None, kind).alias(name) for name, kind in OWN.items())
        with self._writing():
            try:
                delta.DeltaTable.create(
                    self.uri,
                    none.select(layout.columns).to_arrow().schema,
                    configuration=layout.configuration,
                    storage_options=self.storage_options,
                    raise_if_key_not_exists=False,
                )
                self._settle(range(1))
            except (delta.exceptions.DeltaError, OSError):
                if self._find() is None:
                    raise

    def _commit(self, step: Callable[[Any, Layout], T], newest: Any = None) -> T:
        """Run a step that commits; where another writer was first, run it again on what that has left.

        The table that was just found need not be opened again.
        """
        delta = _deltalake()
        for attempt in range(ATTEMPTS):
            with self._writing():
                try:
                    table, layout = self._open(newest)
                    before, done = table.version(), step(table, layout)
                    self._settle(range(before + 1, table.version() + 1))
                    return done
                except delta.exceptions.CommitFailedError as error:
                    failure, newest = error, None
            time.sleep(random.uniform(0, min(PAUSE, 0.005 * 2**attempt)))
        raise StateError(f"{ATTEMPTS} commits to {self.uri} have failed: {failure}") from failure

    def _settle(self, versions: range) -> None:
        """Wait until commits are on the disk, where the table is in a directory."""
        if versions and (folder := directory(self.uri)):
            settle(folder, versions)

    def _reading(self) -> AbstractContextManager[None]:
        """Say which table it is that cannot be read."""
        return translated(StateError, f"the table at {self.uri} cannot be read")

    def _writing(self) -> AbstractContextManager[None]:
        """Say which table it is that cannot be written."""
        return translated(StateError, f"the table at {self.uri} cannot be written")


def _files() -> Any:
    """How data files are written."""
    return _deltalake().WriterProperties(compression="ZSTD", max_row_group_size=ROWS)


def _deltalake() -> Any:
    try:
        import deltalake
    except ImportError as error:
        raise SpecificationError(
            "a store of states needs the extra 'store': pip install 'streammetrics[store]'."
        ) from error
    return deltalake

"""The history of states, stored in a Delta Lake table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import SpecificationError
from streammetrics.history.batches import RETENTION, Batches, Named, Origin, offset, origin_of
from streammetrics.history.layout import OWN, Layout, one_of, one_of_sql, quoted
from streammetrics.history.table import Table, deltalake, files, in_small_files, missing, write
from streammetrics.history.versions import Versions
from streammetrics.history.windows import Windows
from streammetrics.rows.roles import Column, several
from streammetrics.system.disk import directory
from streammetrics.system.lazy import pa
from streammetrics.system.public import publish
from streammetrics.system.writing import write_file

if TYPE_CHECKING:
    from streammetrics.history.rules import Rule

T = TypeVar("T")


@dataclass(frozen=True)
class MetricStore:
    """A history of evaluation states, stored in a Delta Lake table.

    One group column of type Date or Datetime is the time window; the others are segments. The first append creates the
    table. Appends are atomic, and any number of processes can append, query, and compact concurrently. A query, a
    check, and a page read one version of the table.

    A row of the table is a group of an append: its group columns, ``batch_id``, ``ingested`` (time of the append, in
    UTC), ``version`` (commit of the append), and one nested column per statistic. Any Delta Lake reader can read it.
    Later appends can have other segments, models, thresholds, or statistics; `describe` lists these versions.

    Args:
        uri: A directory, or the URI of an object store.
        window: Name of the time window column. Defaults to the only Date or Datetime group column.
        storage_options: Options of the object store, as for Delta Lake.

    Raises:
        SpecificationError: If the ``store`` extra is not installed, or the path of a directory contains one of
            ``[ ] ^ | \\``, control characters, or ``%`` before two hexadecimal digits, which Delta Lake cannot open.

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
        deltalake()
        if not isinstance(self.uri, str | Path) or not str(self.uri):
            raise SpecificationError(f"uri= must be a directory or the URI of an object store, got {self.uri!r}.")
        directory(self.uri)

    def append(
        self,
        acc: Accumulator,
        *,
        batch_id: str | None = None,
        source: str | None = None,
        start: int | None = None,
        upto: int | None = None,
    ) -> bool:
        """Append the state of an accumulator in one commit. Repeating an append changes nothing.

        Appends can be late, and in any order. In a directory, the data is on disk when this method returns.

        An append is identified either by ``batch_id``, or by offsets of a source with numbered rows, such as a
        partition of a Kafka topic. The offset is stored with the rows. A restarted job can therefore continue from
        `offset` without losing or repeating rows. Appends of a source must be in order.

        Args:
            acc: An accumulator grouped by the window, and optionally by segments.
            batch_id: Unique ID of this append, such as the hour and the number of the worker. It is remembered after
                compaction and retention.
            source: Name of the source, such as ``"topic/3"``.
            start: Offset of the first row. If it differs from the stored offset, for example because another job has
                read the source, nothing is appended. Defaults to the stored offset.
            upto: Offset after the last row.

        Returns:
            True if the state was appended. False if ``batch_id`` already exists, or the source is stored up to ``upto``
            or beyond. Also False if the accumulator is empty; with a source, only if there is no table yet.

        Raises:
            MergeError: If the accumulator differs from the table in anything except segments, models, thresholds, and
                statistics, such as labels or weights.
            ColumnError: If a column has another type than in the table.
            DataError: If a date or time of a group is outside the years 1 to 9999, or ``start`` is not the stored
                offset.
            SpecificationError: If ``acc`` is not an accumulator, or the first append has no window, or several and none
                is selected.
            StateError: If the table cannot be read or written, or a commit was truncated by a power loss.
        """
        return self._bring([acc], origin_of(batch_id, source, start, upto))

    def replace(
        self,
        acc: Accumulator,
        *,
        window: date | str | tuple[date | str, date | str],
        batch_id: str | None = None,
        source: str | None = None,
        start: int | None = None,
        upto: int | None = None,
    ) -> bool:
        """Replace the state of a window in one commit, for example after reprocessing a day.

        Concurrent queries never see the window empty or doubled. IDs of replaced appends are remembered.

        Args:
            acc: The new state of the window. If it is empty, the window is dropped.
            window: The window, or a ``(start, end)`` pair, ``end`` exclusive. Dates, datetimes, or ISO 8601 strings.
            batch_id: Unique ID of this replacement, also among appends.
            source: Name of the source of the rows, instead of ``batch_id``, as in `append`.
            start: As in `append`.
            upto: As in `append`.

        Returns:
            True if the window was replaced; False if ``batch_id`` already exists, or the source is stored up to
            ``upto``.

        Raises:
            DataError: If the accumulator has groups of other windows, or ``start`` is not the stored offset.
            MergeError: As in `append`.
            SpecificationError: If ``window`` is not a time or a pair of times.
            StateError: If there is no table yet, or it cannot be read or written.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p", by="day")
        >>> day = {"y": [1, 0], "p": [0.2, 0.9], "day": [date(2026, 1, 31)] * 2}
        >>> with TemporaryDirectory() as directory:
        ...     store = sm.MetricStore(directory)
        ...     added = store.append(acc.empty().update(day), batch_id="2026-01-31")
        ...     corrected = acc.empty().update(day | {"p": [0.9, 0.2]})
        ...     replaced = store.replace(corrected, window="2026-01-31", batch_id="2026-01-31, corrected")
        ...     print(store.query().finalize()["roc_auc"].value)
        1.0
        """
        return self._bring([acc], origin_of(batch_id, source, start, upto), window)

    def offset(self, source: str) -> int | None:
        """Return the offset up to which all rows of a source are stored, or None if the history has no rows of it.

        Raises:
            StateError: If the table cannot be read.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p", by="day")
        >>> acc = acc.update({"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 30), date(2026, 1, 31)]})
        >>> with TemporaryDirectory() as directory:
        ...     store = sm.MetricStore(directory)
        ...     added = store.append(acc, source="clicks/0", upto=2)
        ...     print(store.offset("clicks/0"))
        2
        """
        table = self._table.find()
        return None if table is None else offset(table, source)

    def _bring(self, accs: Sequence[Accumulator], origin: Origin, replacing: Any = None) -> bool:
        """Append states in one commit, unless they are known, or replace some windows."""
        for acc in accs:
            if not isinstance(acc, Accumulator):
                raise SpecificationError(f"acc= must be an Accumulator, got {type(acc).__name__}.")
        filled, newest = [acc for acc in accs if acc.state.groups.height], self._table.find()
        if not filled and replacing is None and (newest is None or isinstance(origin, Named)):
            return False
        if newest is None:
            if replacing is not None:
                raise missing(self.uri)
            first = Versions((Layout.of(filled[0], self.window),))
            none = first.stored(1, first.newest.rows(first.newest.empty))
            self._table.create(none.to_arrow().schema, first.told | RETENTION)

        def bring(table: Any, versions: Versions) -> bool | None:
            """Return whether it was appended, or None after adding its specification as a new version."""
            if origin.is_known(table, Batches.of(self._table)):
                return False
            version = table.version() + 1
            name = origin.batch_id if isinstance(origin, Named) else None
            own = {"batch_id": name, "ingested": datetime.now(UTC), "version": version}
            parts, predicate = [], None
            for acc in filled or [versions.newest.empty]:
                number, with_it = versions.taking(acc)
                rows = with_it[number].rows(acc)
                predicate = None if replacing is None else with_it[number].only(acc, replacing)
                if with_it is not versions:
                    table.alter.set_table_properties(with_it.told, raise_if_not_exists=False)
                    return None
                rows = rows.with_columns(pl.lit(own[column], kind).alias(column) for column, kind in OWN.items())
                parts.append(versions.stored(number, rows))
            write(
                table,
                pl.concat(parts).to_arrow(),
                mode="append" if replacing is None else "overwrite",
                predicate=predicate,
                transactions=[origin.transaction(version)],
                together=versions.together,
            )
            return True

        while (done := self._commit(bring, newest)) is None:
            newest = None
        return done

    def query(
        self,
        since: date | str | None = None,
        until: date | str | None = None,
        *,
        by: str | Sequence[str] = (),
        every: str | None = None,
        where: pl.Expr | None = None,
    ) -> Accumulator:
        """Return the merged state of a time range.

        Rows with a null window are included only without ``since`` and ``until``. Compaction does not change the
        result, bit for bit, since rows of a group are always merged in the order of commits.

        If windows have different versions (see `describe`), the result has the statistics of the newest version and of
        these windows. Metrics are null if some rows lack them. Histograms have the smallest capacity.

        Args:
            since: Start of the time range: a date, datetime, or ISO 8601 string. The time zone defaults to that of the
                window column. An ambiguous hour means the first one; pass an offset for the other, as in
                ``"2026-10-25T02:00+01:00"``.
            until: End of the time range, exclusive. Same formats as ``since``.
            by: Group columns of the result. Defaults to none.
            every: Duration such as ``"1d"`` or ``"1w"``. The result is then also grouped by the window, truncated to
                multiples of it.
            where: Expression over the group columns that selects groups.

        Returns:
            An accumulator grouped by ``by``, and by the window with ``every``. Models stay separate.

        Raises:
            SpecificationError: If a time, a group column, or an expression is invalid.
            StateError: If there is no table yet, or it cannot be read.
        """
        return self._query(self._open(), since, until, by, every, where)

    def save_html(
        self,
        path: str | Path,
        *,
        metrics: Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        rules: Rule | Sequence[Rule] = (),
        scores: MetricStore | None = None,
        reference: str | tuple[date | str, date | str] | None = None,
        confidence: float | None = 0.95,
        title: str = "History",
    ) -> None:
        """Write the history as one HTML page, which needs no server and no network.

        It lists the breaches of rules, and shows every metric over time, with certified bounds and confidence
        intervals, limits of rules and breaches, the number of rows, and the drift (PSI): of all rows, and of each
        segment. Of many segments, it shows those with the latest breaches, and the worst.

        Args:
            path: File to write.
            metrics: Metrics to show, in addition to those of the rules. Defaults to the first of each statistic.
            by: Group columns whose values are shown as segments, one column at a time. Defaults to all. Those of rules
                are added.
            since: Start of the time range. Same formats as in `query`.
            until: End of the time range, exclusive.
            rules: Rules whose breaches are shown. Each is checked at the end of every window.
            scores: History of the same rows without labels, such as of `predictions`. The page then shows the share of
                rows with labels, and the drift of all rows.
            reference: Reference period of the drift, as in `drift_over`. Defaults to the first quarter of the windows,
                at most 28.
            confidence: Confidence level of the intervals, or None for no intervals.
            title: Title of the page.

        Raises:
            SpecificationError: If ``scores`` is not a history of the same windows and models, a rule has the window
            among its segments, ``reference`` is not a period, or the ``plot`` extra is not installed.
            MetricError: If a metric is not available.
            StateError: If there is no table yet, it cannot be read, or it has no windows in the time range.
            SourceError: If the file cannot be written.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> days = {"day": [date(2026, 1, 1), date(2026, 1, 2)], "y": [1, 0], "p": [0.7, 0.2]}
        >>> with TemporaryDirectory() as directory:
        ...     store = sm.MetricStore(f"{directory}/history")
        ...     added = store.append(sm.binary(y_true="y", y_score="p", by="day").update(days), batch_id="January")
        ...     store.save_html(f"{directory}/history.html", rules=sm.Rule("accuracy >= 0.8"))
        """
        from streammetrics.history.course import course  # when they are needed
        from streammetrics.history.page import history_page

        if scores is not None:
            require_history("scores", scores)
        early = None if scores is None else scores._windows()
        shown = course(self._windows(), metrics, by, (since, until), rules, early, reference, confidence)
        write_file(path, history_page(shown, title).encode())

    def windows(self) -> pl.DataFrame:
        """Return the windows of the history, with their size and last append.

        Returns:
            One row per window: the window column, ``groups``, ``rows``, ``parts`` (table rows, which `compact` reduces
                to the number of groups), and ``ingested`` (the time of the last append, in UTC).

        Raises:
            StateError: If there is no table yet, or it cannot be read.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p", by="day")
        >>> acc = acc.update({"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 30), date(2026, 1, 31)]})
        >>> with TemporaryDirectory() as directory:
        ...     store = sm.MetricStore(directory)
        ...     added = store.append(acc, batch_id="first")
        ...     print(store.windows().select("day", "groups", "rows", "parts").rows())
        [(datetime.date(2026, 1, 30), 1, 1, 1), (datetime.date(2026, 1, 31), 1, 1, 1)]
        """
        table, versions = self._open()
        window, seen = versions.newest.window, pl.col("row_counts").list.first().struct.field("rows")
        groups = pl.struct(versions.groups).n_unique().alias("groups")
        found = {"parts": pl.len(), "ingested": pl.max("ingested")}
        with self._table.reading():
            rows = versions.scanned(self._table.scan(table))
            parts = rows.group_by(window).agg(groups, (seen / versions.models).sum().round().cast(pl.Int64), **found)
            return versions.keys(parts.sort(window).collect())

    def describe(self) -> pl.DataFrame:
        """Return the versions of the specification. Appending an accumulator with another specification adds one.

        Versions can add segments, and add or drop models, thresholds, and statistics. In windows of other versions,
        missing segments are null, and missing models and metrics have no values. The notes of a report name these
        windows. Accumulators of an earlier version can still be appended.

        Returns:
            One row per version: ``version``, its ``first`` and ``last`` window (null if none), the number of
            ``windows``, and ``changes`` from the previous version.

        Raises:
            StateError: If there is no table yet, or it cannot be read.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> day = {"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 31)] * 2, "country": ["DE", "FR"]}
        >>> with TemporaryDirectory() as directory:
        ...     store = sm.MetricStore(directory)
        ...     for by in (["day"], ["day", "country"]):
        ...         added = store.append(sm.binary(y_true="y", y_score="p", by=by).update(day), batch_id=f"{by}")
        ...     store.describe().select("version", "windows", "changes").rows()
        [(1, 1, ''), (2, 1, '+ segment country')]
        """
        table, versions = self._open()
        with self._table.reading():
            return versions.described(versions.scanned(self._table.scan(table)))

    def compact(self, *, vacuum: bool = True) -> None:
        """Merge the rows of each group, and small files. Query results do not change, bit for bit.

        Windows in large files whose groups have a single row each are skipped. Other processes can append, replace,
        and compact at the same time.

        Args:
            vacuum: Whether to delete files that have not been in use for a week.

        Raises:
            StateError: If there is no table yet, or it cannot be read or written.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p", by="day")
        >>> acc = acc.update({"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 30), date(2026, 1, 31)]})
        >>> with TemporaryDirectory() as directory:
        ...     store = sm.MetricStore(directory)
        ...     added = [store.append(acc, batch_id=name) for name in ("first", "second")]
        ...     store.compact()
        ...     print(store.windows()["parts"].to_list(), store.query().seen)
        [1, 1] 4
        """

        def add_up(table: Any, versions: Versions) -> None:
            rows, window = versions.scanned(self._table.scan(table)), versions.newest.window
            cell = [*versions.groups, *versions.own[len(OWN) :]]  # equal in rows that are merged
            several = rows.group_by(cell).len("group").filter(pl.col("group") > 1).select(window)
            windows = pl.concat([several.collect()[window], in_small_files(table, window)]).unique()
            if windows.is_empty():
                return
            parts = (part.to_arrow() for part in versions.added_up(rows.filter(one_of(windows))))
            first = next(parts)
            batches = (batch for part in chain([first], parts) for batch in part.to_batches())
            rows_added_up = pa.RecordBatchReader.from_batches(first.schema, batches)
            before = f"version <= {table.version()} AND ({one_of_sql(windows)})"  # no conflict with appends
            write(table, rows_added_up, mode="overwrite", predicate=before, together=versions.together)

        self._retire_batches()
        self._commit(add_up)
        self._vacuum(vacuum)

    def retain(self, since: date | str, *, vacuum: bool = True) -> None:
        """Drop the windows before a time. IDs of their appends are remembered.

        Args:
            since: Start of the windows to retain. Same formats as in `query`.
            vacuum: Whether to delete files that have not been in use for a week.

        Raises:
            SpecificationError: If ``since`` is not a time.
            StateError: If there is no table yet, or it cannot be read or written.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> acc = sm.binary(y_true="y", y_score="p", by="day")
        >>> acc = acc.update({"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 30), date(2026, 1, 31)]})
        >>> with TemporaryDirectory() as directory:
        ...     store = sm.MetricStore(directory)
        ...     added = store.append(acc, batch_id="first")
        ...     store.retain("2026-01-31")
        ...     print(store.windows()["day"].to_list())
        [datetime.date(2026, 1, 31)]
        """

        def drop(table: Any, versions: Versions) -> None:
            before = f"{quoted(versions.newest.window)} < '{versions.newest.moment(since).isoformat()}'"
            table.delete(f"version <= {table.version()} AND {before}", writer_properties=files(versions.together))

        self._retire_batches()
        self._commit(drop)
        self._vacuum(vacuum)

    @property
    def _table(self) -> Table:
        return Table(self.uri, self.storage_options)

    def _vacuum(self, wanted: bool) -> None:
        if wanted:
            self._commit(lambda table, versions: table.vacuum(dry_run=False, full=True))

    def _retire_batches(self) -> None:
        """Limit the number of transactions of the table."""
        table, _ = self._open()
        self._table.settle(table)  # known IDs must not be lost
        with self._table.reading():
            ids = self._table.scan(table).select(pl.col("batch_id").drop_nulls().unique()).collect()["batch_id"]
        Batches.of(self._table).retire(self._table, ids)

    def _windows(self) -> Windows:
        """What rules and pages read: one version of the table, even if other processes append meanwhile."""
        table, versions = opened = self._open()
        with self._table.reading():
            found = self._table.scan(table).select(pl.col(versions.newest.window).unique()).collect()
        starts = versions.keys(found).to_series().drop_nulls().sort()
        return Windows(
            str(self.uri), starts, partial(self._query, opened), versions.newest.empty, versions.names_of_models
        )

    def _query(
        self,
        opened: tuple[Any, Versions],
        since: Any,
        until: Any,
        by: str | Sequence[str],
        every: str | None,
        where: pl.Expr | None = None,
    ) -> Accumulator:
        table, versions = opened
        columns: list[Column] = list(several(by))
        if every is not None:
            columns.insert(0, versions.newest.truncated(every))
        between = versions.newest.between(since, until)
        with self._table.reading():
            rows = versions.scanned(self._table.scan(table)).filter(*between)
            return versions.answer(rows, columns, where)

    def _open(self) -> tuple[Any, Versions]:
        table = self._table.find()
        if table is None:
            raise missing(self.uri)
        return table, self._versions(table)

    def _require(self, acc: Accumulator) -> None:
        """Reject an accumulator that cannot be appended. The first append can be any with a window."""
        table, filled = self._table.find(), acc.state.groups.height
        if table is not None:
            versions = self._versions(table)
            versions.require(acc)
            if filled:
                number, versions = versions.taking(acc)
                versions[number].rows(acc)
        elif filled:
            Layout.of(acc, self.window).rows(acc)

    def _kept(self) -> list[Accumulator]:
        """Accumulators without rows, one for each version of the history, the newest first."""
        table = self._table.find()
        return [] if table is None else [layout.empty for layout in reversed(self._versions(table).layouts)]

    def _versions(self, table: Any) -> Versions:
        with self._table.reading():
            versions = Versions.read(table.metadata().configuration)
        window = versions.newest.window
        if self.window not in (None, window):
            raise SpecificationError(f"The window of the table is {window!r}, not {self.window!r}.")
        return versions

    def _commit(self, step: Callable[[Any, Versions], T], newest: Any = None) -> T:
        return self._table.commit(lambda table: step(table, self._versions(table)), newest)


def require_history(name: str, given: object) -> None:
    """Reject an argument that is not a history."""
    if not isinstance(given, MetricStore):
        raise SpecificationError(f"{name}= must be a MetricStore, got {type(given).__name__}.")


publish("streammetrics", MetricStore)

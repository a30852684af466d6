"""A history of states: a Delta Lake table that workers append to, and that answers for any time range and segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import SpecificationError
from streammetrics.history.batches import RETENTION, Batches, Named, Origin, offset, origin_of
from streammetrics.history.layout import OWN, Layout, one_of, one_of_sql, quoted
from streammetrics.history.table import Table, deltalake, files, missing, write
from streammetrics.history.versions import Versions
from streammetrics.history.windows import Windows
from streammetrics.rows.roles import Column, several
from streammetrics.system.disk import directory
from streammetrics.system.lazy import pa
from streammetrics.system.writing import write_file

if TYPE_CHECKING:
    from streammetrics.history.rules import Rule

T = TypeVar("T")


@dataclass(frozen=True)
class MetricStore:
    """A history of states in a Delta Lake table: append what was kept of an hour or a day, ask for any time range.

    One group column of the accumulators is the window, of type Date or Datetime; the others are segments. A row of the
    table holds a group of a batch: its group columns, ``batch_id``, ``ingested`` (when it came in, in UTC),
    ``version`` (the commit that brought it), and one nested column per statistic. Whatever reads Delta Lake reads it.
    The first batch makes the table. A later one may keep something else: other segments, models, thresholds, or
    statistics; `describe` tells these versions.

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
        """Add what an accumulator has kept, in one commit. What is there already changes nothing.

        Batches may come late, and in any order. In a directory, what was added is on the disk when this returns.

        A batch has either an ID of its own, or is a stretch of a source whose rows are numbered, such as a partition of
        a Kafka topic. The offset of a source is stored with the rows, so a job that died goes on from `offset` and
        neither loses nor doubles a row. Batches of a source come in order.

        Args:
            acc: an accumulator that is grouped by the window, and by segments if you like.
            batch_id: what tells this batch from all others, such as its hour and the number of the worker. It stays
                known when rows are added up or dropped.
            source: Name of the source, such as ``"topic/3"``.
            start: Offset of the first row of the batch. If it is given and not the stored offset, nothing is added:
                another job has read the source meanwhile. Defaults to the stored offset.
            upto: Offset after the last row of the batch.

        Returns:
            True if the batch was added. False if it is known: a known ``batch_id``, or a source stored up to ``upto``
            or beyond. False also if the accumulator has seen no row; of a source, only if there is no table yet.

        Raises:
            MergeError: If the accumulator differs from the table in more than segments, models, thresholds, and
                statistics, such as in the labels or the weights.
            ColumnError: where a column is of another type than in the table.
            DataError: where a date or time of a group lies outside of the years 1 to 9999, and where ``start`` is not
                the stored offset.
            SpecificationError: where the first batch has no window, or several and none is named, and for what is no
                accumulator.
            StateError: where the table cannot be read or written, or a commit of it was cut off by a power loss.
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
        """Put an accumulator in place of all that the history has of a window, in one commit.

        For a day that was processed again: nobody ever sees the window empty, or doubled. Batches that were replaced
        stay known.

        Args:
            acc: What the window holds from now on. Without rows, the window is dropped.
            window: The window, or a ``(start, end)`` pair, ``end`` exclusive. Dates, datetimes, or ISO 8601 strings.
            batch_id: Unique ID of this replacement, among those of all batches.
            source: Name of a source whose rows led to it, in place of ``batch_id``, as in `append`.
            start: As in `append`.
            upto: As in `append`.

        Returns:
            True if the window was replaced; False if ``batch_id`` is known, or the source is stored up to ``upto``.

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
        """Return the offset up to which all rows of a source are stored, or None if there are none yet.

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
        """Add what accumulators have kept, once and in one commit, or put it in place of some windows."""
        for acc in accs:
            if not isinstance(acc, Accumulator):
                raise SpecificationError(f"acc must be an Accumulator, got {type(acc).__name__}.")
        filled, newest = [acc for acc in accs if acc.state.groups.height], self._table.find()
        if not filled and replacing is None and (newest is None or isinstance(origin, Named)):
            return False
        if newest is None:
            if replacing is not None:
                raise missing(self.uri)
            self._create(Layout.of(filled[0], self.window))

        def bring(table: Any, versions: Versions) -> bool | None:
            """Whether it was added; None if what it keeps is a new version, which is known from now on."""
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
        """What was kept of some windows, added up, late batches included.

        The windows are those from ``since`` on and before ``until``; one that is null only where neither is given. The
        answer does not change by a bit when the table is compacted: rows of a group are added up one after the other,
        in the order in which they were committed.

        Where windows differ in what was kept of them (see `describe`), the answer has all that the newest version
        keeps, and what these windows have besides. Metrics of rows that partly lack them are null. Of a histogram the
        smallest capacity counts.

        Args:
            since: a date, a datetime, or ISO text of one; in the time zone of the window unless it has its own. Of an
                hour that clocks repeat, the first; the offset names either, as in ``"2026-10-25T02:00+01:00"``.
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
        table, versions = self._open()
        columns: list[Column] = list(several(by))
        if every is not None:
            columns.insert(0, versions.newest.truncated(every))
        between = versions.newest.between(since, until)
        with self._table.reading():
            rows = versions.scanned(self._table.scan(table)).filter(*between)
            return versions.answer(rows, columns, where)

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

        A chart shows any metric of any segment over any range of time, with its certified bounds and its confidence
        interval. Below it are the windows in which rules were breached, the number of rows, and the drift (PSI).

        Args:
            path: File to write.
            metrics: Metrics to choose from, besides those of the rules. Defaults to the first of each statistic. Each
                takes about 2.5 bytes of the file per segment and window.
            by: Group columns whose values are segments, each column by itself. Defaults to all. Those of rules are
                added.
            since: Start of the time range. Same formats as in `query`.
            until: End of the time range, exclusive.
            rules: Rules whose breaches are shown. Each is checked at the end of every window.
            scores: History of the same rows without labels, such as of `predictions`. The page then shows what share
                of the rows has labels, and the drift of all.
            reference: Reference period of the drift, as in `drift_over`. Defaults to the first quarter of the windows,
                at most 28.
            confidence: Confidence level of the intervals, or None for no intervals.
            title: Title of the page.

        Raises:
            SpecificationError: If ``scores`` has other windows or models, a rule has the window among its segments,
                ``reference`` is not a period, or the last window is that of 9999-12-31.
            MetricError: If a metric is not kept.
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
        from streammetrics.history.page import course  # when it is needed
        from streammetrics.html.history import history_page

        given: Any = rules if isinstance(rules, list | tuple) else [rules]
        early = None if scores is None else scores._windows()
        shown = course(self._windows(), metrics, by, (since, until), given, early, reference, confidence)
        write_file(path, history_page(shown, title).encode())

    def windows(self) -> pl.DataFrame:
        """What is there: for each window the number of groups, of rows seen, of parts that hold them, which `compact`
        brings down to the number of groups, and when the last came in.

        Raises:
            StateError: where there is no table yet, or it cannot be read.

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
            return versions.newest.keys(parts.sort(window).collect())

    def describe(self) -> pl.DataFrame:
        """The versions of what the history keeps. Appending an accumulator that keeps something else adds one.

        Versions may add segments, and add or drop models, thresholds, and statistics. Windows have null in a segment
        that they lack, no rows of a model, and no value of a metric; the notes of a report say which windows. An
        accumulator of an earlier version can still be appended.

        Returns:
            A row for each version: ``version``; its ``first`` and ``last`` window, null if it has none; the number of
            ``windows``; and ``changes`` from the version before.

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
        """Add up the rows of each group, and put small files together. No answer changes by a bit.

        Windows whose groups have one row each are left alone. Others may append meanwhile.

        Args:
            vacuum: delete the files that were last needed a week ago.

        Raises:
            StateError: where there is no table yet, or it cannot be read or written.

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
            several = rows.group_by(versions.cell).len("group").filter(pl.col("group") > 1)
            windows = several.select(window).unique().collect()[window]
            if windows.is_empty():
                return
            parts = (part.to_arrow() for part in versions.added_up(rows.filter(one_of(windows))))
            first = next(parts)
            batches = (batch for part in chain([first], parts) for batch in part.to_batches())
            rows_added_up = pa.RecordBatchReader.from_batches(first.schema, batches)
            before = f"version <= {table.version()} AND ({one_of_sql(windows)})"  # at odds with no append
            write(table, rows_added_up, mode="overwrite", predicate=before, together=versions.together)

        self._retire_batches()
        self._commit(add_up)
        self._commit(lambda table, versions: table.optimize.compact(writer_properties=files(versions.together)))
        self._vacuum(vacuum)

    def retain(self, since: date | str, *, vacuum: bool = True) -> None:
        """Drop the windows before a time. Their batches stay known.

        Args:
            since: a date, a datetime, or ISO text of one, as in `query`.
            vacuum: delete the files that were last needed a week ago.

        Raises:
            SpecificationError: for what is no time.
            StateError: where there is no table yet, or it cannot be read or written.

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
        """Keep the transactions of the table few."""
        table, _ = self._open()
        self._table.settle(table)  # what is known must not be lost
        with self._table.reading():
            ids = self._table.scan(table).select(pl.col("batch_id").drop_nulls().unique()).collect()["batch_id"]
        Batches.of(self._table).retire(self._table, ids)

    def _windows(self) -> Windows:
        """What rules and pages read."""
        _, versions = self._open()
        starts = self.windows().to_series(0).drop_nulls().sort()

        def ask(since: Any, until: Any, by: tuple[str, ...], every: str | None) -> Accumulator:
            return self.query(since, until, by=by, every=every)

        return Windows(str(self.uri), starts, ask, versions.newest.empty)

    def _open(self) -> tuple[Any, Versions]:
        table = self._table.find()
        if table is None:
            raise missing(self.uri)
        return table, self._versions(table)

    def _require(self, acc: Accumulator) -> None:
        """Refuse an accumulator that the history cannot take; before its first batch it takes any that has a window."""
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
            raise SpecificationError(f"the window of the table is {window!r}, not {self.window!r}.")
        return versions

    def _create(self, layout: Layout) -> None:
        """Make a table without rows, unless another process has made it."""
        none = layout.rows(layout.empty).with_columns(pl.lit(None, kind).alias(name) for name, kind in OWN.items())
        self._table.create(none.select(layout.columns).to_arrow().schema, layout.configuration | RETENTION)

    def _commit(self, step: Callable[[Any, Versions], T], newest: Any = None) -> T:
        return self._table.commit(lambda table: step(table, self._versions(table)), newest)

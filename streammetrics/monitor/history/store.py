"""The history of states, stored in a Delta Lake table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import directory, pa, publish, write_file
from streammetrics.errors import Argument, SpecificationError, StateError
from streammetrics.monitor.history.batches import Batch, stored_offset
from streammetrics.monitor.history.history import History
from streammetrics.monitor.history.specification import COMMIT, Specification
from streammetrics.monitor.history.table import Table, add_columns, deltalake, files, missing, one_of_sql, write
from streammetrics.show import of_frame

if TYPE_CHECKING:
    from streammetrics.monitor.history.rules import Rule


@dataclass(frozen=True)
class MetricStore:
    """A history of evaluation states, stored in a Delta Lake table.

    One group column of type Date or Datetime is the time window; the others are segments. The first append creates the
    table. Appends are atomic, and any number of processes can append, query, and compact concurrently. A query, a
    check, and a page read one version of the table.

    A row of the table is a group of an append: its group columns, ``batch_id``, ``ingested`` (time of the append, in
    UTC), ``version`` (commit of the append), and one nested column per statistic. Any Delta Lake reader can read it.
    A history has one specification. Later appends can add models, but have the same columns and statistics. To change
    the specification, append to a new history, and `copy_to` it.

    Args:
        uri: A directory, or the URI of an object store.
        window: Name of the time window column. Defaults to the only Date or Datetime group column.
        storage_options: Options of the object store, as for Delta Lake.

    Raises:
        SpecificationError: If the ``store`` extra is not installed, or the path of a directory contains one of
            ``[ ] ^ | \\``, control characters, or ``%`` before two hexadecimal digits, which Delta Lake cannot open.

    >>> from datetime import datetime
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
            raise SpecificationError(
                Argument("uri"), f" must be a directory or the URI of an object store, got {self.uri!r}."
            )
        directory(self.uri)

    def _repr_html_(self) -> str:
        from streammetrics.show import in_notebook, latest  # when it is needed

        try:
            windows = self.windows().with_columns(pl.col("ingested").dt.truncate("1s"))
        except StateError as error:
            return in_notebook((), [], f"{self!r}: {error}")
        return in_notebook((), [latest(of_frame(windows))], f"{self!r}, the newest windows first:")

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
            MergeError: If the specification of the accumulator differs in anything except models.
            ColumnError: If a column has another type than in the table.
            DataError: If a date or time of a group is outside the years 1 to 9999, or ``start`` is not the stored
                offset.
            SpecificationError: If ``acc`` is not an accumulator, or the first append has no window, or several and none
                is selected.
            StateError: If the table cannot be read or written.
        """
        return self._add(acc, Batch(batch_id, source, start, upto))

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
        return self._add(acc, Batch(batch_id, source, start, upto), window)

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
        return None if table is None else stored_offset(table, source)

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
        return self._open().query(since, until, by, every, where)

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

        It begins with the verdict of every rule in every segment at the newest window, the worst first, and on how many
        windows it is breached. At most five charts follow: of breached rules, of a metric, of the number of rows, and
        of the drift (PSI). All others are folded: the value of each rule over its own period, and every metric over
        time, with certified bounds and confidence intervals, of all rows and of each segment. Of many segments, it
        shows those with the latest breaches, and the worst.

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
        from streammetrics.monitor.history.content import page_content  # when they are needed
        from streammetrics.monitor.history.page import history_page

        early = None if scores is None else require_store(scores, "scores")._open()
        history = self._open()
        content = page_content(history, metrics, by, (since, until), rules, early, reference, confidence)
        write_file(path, history_page(content, title, history.sizes() if until is None else None).encode())

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
        return self._open().sizes()

    def copy_to(self, store: MetricStore) -> bool:
        """Copy the windows before the first one of another history to it. Repeating a copy changes nothing.

        Use this to change the specification of a history: append the first state with the new specification to a new
        history, and then copy the old windows. They are rolled up to the group columns of the new history. Group
        columns that they do not have are null.

        Args:
            store: The new history. Its statistics must be those of this history, or some of them. Thresholds can be
                fewer, and capacities smaller.

        Returns:
            True if windows were copied. False if there are none, or this history was copied before.

        Raises:
            MergeError: If the new history has a statistic, a threshold, or another meaning of a column that this
                history does not have.
            ColumnError: If a group column has another type than in the new history.
            SpecificationError: If ``store`` is not a history.
            StateError: If one of the tables does not exist yet, or cannot be read or written.

        >>> from tempfile import TemporaryDirectory
        >>> import streammetrics as sm
        >>> rows = {"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 30)] * 2}
        >>> later = {"y": [1, 0], "p": [0.9, 0.2], "day": [date(2026, 1, 31)] * 2, "country": ["DE", "FR"]}
        >>> with TemporaryDirectory() as directory:
        ...     old, new = sm.MetricStore(f"{directory}/old"), sm.MetricStore(f"{directory}/new")
        ...     for store, by, batch in ((old, ["day"], rows), (new, ["day", "country"], later)):
        ...         added = store.append(sm.binary(y_true="y", y_score="p", by=by).update(batch), batch_id="first")
        ...     copied = old.copy_to(new)
        ...     new.query(by="country").finalize(["rows"]).frame.select("country", "value").rows()
        [('DE', 1.0), ('FR', 1.0), (None, 2.0)]
        """
        source = self._open()
        carried = source.before_first_of(require_store(store)._open())
        return store._add(carried, Batch(f"copy of {self.uri}"))

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

        def merge(table: Any) -> None:
            history = self._version(table)
            windows = history.scattered()
            if windows.is_empty():
                return
            parts = (part.to_arrow() for part in history.merged(windows))
            first = next(parts)
            batches = (batch for part in chain([first], parts) for batch in part.to_batches())
            rows = pa.RecordBatchReader.from_batches(first.schema, batches)
            earlier = f"version <= {history.table.version()} AND ({one_of_sql(windows)})"  # no conflict with appends
            row_group = history.specification.row_group
            write(history.table, rows, mode="overwrite", predicate=earlier, row_group=row_group)

        self._table.shrink(merge, vacuum=vacuum)

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

        def drop(table: Any) -> None:
            history = self._version(table)
            before = history.specification.window.before(since)
            earlier = f"version <= {history.table.version()} AND {before}"
            history.table.delete(earlier, writer_properties=files(history.specification.row_group))

        self._table.shrink(drop, vacuum=vacuum)

    @property
    def _table(self) -> Table:
        return Table(self.uri, self.storage_options)

    def _find(self) -> History | None:
        """The newest version, or None before the first append."""
        table = self._table.find()
        return None if table is None else self._version(table)

    def _open(self) -> History:
        """The newest version, which must exist."""
        history = self._find()
        if history is None:
            raise missing(self.uri)
        return history

    def _version(self, table: Any) -> History:
        with self._table.reading():
            specification = Specification.read(table.metadata().configuration)
        window = specification.window.name
        if self.window not in (None, window):
            raise SpecificationError(f"The window of the table is {window!r}, not {self.window!r}.")
        return History(self._table, table, specification)

    def _require(self, acc: Accumulator) -> None:
        """Reject an accumulator that cannot be appended. The first append can be any with a window."""
        history, has_rows = self._find(), acc.state.groups.height
        if history is not None:
            specification = history.specification.including(acc)
        elif has_rows:
            specification = Specification.first(acc, self.window)
        if has_rows:
            specification.rows(acc)

    def _add(self, acc: Accumulator, batch: Batch, window: Any = None) -> bool:
        """Append a state in one commit, or replace a window. Return False if the batch is stored already."""
        if not isinstance(acc, Accumulator):
            raise SpecificationError(Argument("acc"), f" must be an Accumulator, got {type(acc).__name__}.")
        has_rows, newest = acc.state.groups.height > 0, self._table.find()
        if not has_rows and window is None and (newest is None or batch.source is None):
            return False
        if newest is None:
            if window is not None:
                raise missing(self.uri)
            first = Specification.first(acc, self.window)
            self._table.create(pl.DataFrame(schema=first.stored).to_arrow().schema, first.configuration)

        def add(table: Any) -> bool | None:
            """Return whether it was added, or None after adding its models to the specification."""
            history = self._version(table)
            if batch.is_stored(history.table):
                return False
            specification = history.specification.including(acc)
            rows = specification.rows(acc if has_rows else specification.empty)
            predicate = None if window is None else specification.window.only(rows, window)
            if specification is not history.specification:
                add_columns(history.table, pl.DataFrame(schema=specification.stored).to_arrow().schema)
                history.table.alter.set_table_properties(specification.configuration, raise_if_not_exists=False)
                return None
            version = history.table.version() + 1
            commit = {"batch_id": batch.batch_id, "ingested": datetime.now(UTC), "version": version}
            rows = rows.with_columns(pl.lit(commit[column], kind).alias(column) for column, kind in COMMIT.items())
            write(
                history.table,
                rows.select([*specification.stored]).to_arrow(),
                mode="append" if window is None else "overwrite",
                predicate=predicate,
                transactions=[batch.transaction(version)],
                row_group=specification.row_group,
            )
            return True

        while (done := self._table.commit(add, newest)) is None:
            newest = None
        return done


def require_store(store: object, name: str = "store") -> MetricStore:
    """Return a store. Rejects other arguments of that name."""
    if not isinstance(store, MetricStore):
        raise SpecificationError(Argument(name), f" must be a MetricStore, got {type(store).__name__}.")
    return store


publish("streammetrics", MetricStore)

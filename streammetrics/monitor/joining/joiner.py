"""Join of late labels with their scores, which adds each joined row to a history exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from typing import Any

import polars as pl

from streammetrics import Accumulator, MetricStore, accumulate
from streammetrics.base import earlier, publish, require_length
from streammetrics.data import several
from streammetrics.errors import Argument, DataError, SpecificationError, StateError
from streammetrics.monitor.history.batches import Batch
from streammetrics.monitor.history.label_coverage import COMMIT, CORRECTION, DAY, FOLDER, KIND, LABEL, SCORE
from streammetrics.monitor.history.specification import carried
from streammetrics.monitor.history.store import require_store
from streammetrics.monitor.joining.changes import Change, pairs, require_one_type, split_by_models
from streammetrics.monitor.joining.columns import Columns
from streammetrics.monitor.joining.waiting import COLUMNS, Waiting, last_commit, newest, next_commit

HALVES = (SCORE, LABEL, CORRECTION)


@dataclass(frozen=True)
class Joined:
    """Counts of what one call of a `Joiner` did.

    Args:
        matched: Rows that were added to the history.
        corrected: Rows of the history whose label was corrected.
        waiting: Labels without a score, because it has not arrived or has expired.
        duplicates: Labels that were ignored because their key already has a label.
        late: Scores that were dropped because their day has expired.

    >>> import streammetrics as sm
    >>> sm.Joined(matched=2, late=1)
    Joined(matched=2, corrected=0, waiting=0, duplicates=0, late=1)
    """

    matched: int = 0
    corrected: int = 0
    waiting: int = 0
    duplicates: int = 0
    late: int = 0


@dataclass(frozen=True)
class Joiner:
    """Joins scores with labels that arrive later or earlier, and adds the joined rows to a history.

    Scores and labels wait in a Delta Lake table in the folder ``_waiting`` of the history. This is the only place
    where the library stores rows. Each row is added to the history exactly once, under the window of its score. A batch
    can be added again after a crash, and any number of processes can add batches at the same time. Rows are identified
    by their key. If several scores have the same key, the first one counts.

    Only the joiner can add rows to its history. A rejected batch changes nothing.

    Args:
        store: The history.
        task: An accumulator with the specification of scores and labels. It stays unchanged. One of its group columns
            is the window of the history, computed from the scores.
        key: The columns that identify a row, in scores and in labels. One name or several.
        expires: How long scores wait for labels, such as ``"45d"``, counted back from the newest day of scores that is
            not in the future. Expired rows are deleted, and `coverage` counts them.
        labels: The columns of the labels. Defaults to the columns of ``y_true``.

    Raises:
        SpecificationError: If the columns conflict, or ``expires`` is not a duration of at least a day.

    >>> from datetime import date
    >>> from tempfile import TemporaryDirectory
    >>> import streammetrics as sm
    >>> task = sm.binary(y_true="clicked", y_score="p", by="day")
    >>> with TemporaryDirectory() as directory:
    ...     joiner = sm.Joiner(sm.MetricStore(directory), task, key="id", expires="45d")
    ...     scored = joiner.add_scores({"id": [1, 2], "p": [0.9, 0.2], "day": [date(2026, 1, 31)] * 2})
    ...     labeled = joiner.add_labels({"id": [2, 3], "clicked": [0, 1]})
    ...     joiner.coverage().select("day", "scores", "labeled", "coverage").row(0)
    (datetime.date(2026, 1, 31), 2, 1, 0.5)
    >>> labeled
    Joined(matched=1, corrected=0, waiting=1, duplicates=0, late=0)
    """

    store: MetricStore
    task: Accumulator
    _: KW_ONLY
    key: str | Sequence[str]
    expires: str
    labels: Sequence[str] | None = field(default=None)

    def __post_init__(self) -> None:
        require_store(self.store)
        if not isinstance(self.task, Accumulator):
            raise SpecificationError(Argument("task"), f" must be an Accumulator, got {type(self.task).__name__}.")
        require_length(self.expires)
        if (earlier(pl.Series([datetime(2026, 1, 2)]), self.expires) > datetime(2026, 1, 1)).item():
            raise SpecificationError(Argument("expires"), f" must be at least one day, got {self.expires!r}.")
        self._columns.require(COLUMNS)

    def add_scores(self, batch: Any) -> Joined:
        """Add scores, with all columns that the accumulator needs except labels. Each score waits for its label.

        When this method returns, the rows are stored. After a crash, add the batch again.

        Args:
            batch: As in `Accumulator.update`.

        Raises:
            ColumnError: If a column is missing, or has another type than before.
            DataError: If the key or the window contains nulls, a column contains values that are invalid for its role,
                or rows cannot be evaluated with waiting labels.
            MergeError: If the specification differs from that of the history.
            StateError: If a table cannot be read or written, or the waiting rows were deleted.
        """
        rows = self._columns.read(batch, self._columns.scores)
        return self._add(rows.unique(self._columns.key, keep="first", maintain_order=True), SCORE)

    def add_labels(self, batch: Any, *, correct: bool = False) -> Joined:
        """Add labels, before or after their scores. A label without a score waits for it.

        With ``nulls="drop"``, a null label is ignored, and its score waits for the real one. As a correction, it
        removes the earlier label. When this method returns, the rows are stored. After a crash, add the batch again.

        Args:
            batch: As in `Accumulator.update`.
            correct: Whether these labels replace earlier labels of the same keys. The days of corrected rows are then
                evaluated again from the stored rows, as if the earlier labels had never been added. If false, a label
                is ignored if its key already has one.

        Raises:
            ColumnError: If a column is missing, or has another type than before.
            DataError: If the key contains nulls, a column contains values that are invalid for its role, or rows cannot
                be evaluated with waiting scores.
            MergeError: If the specification differs from that of the history.
            StateError: If a table cannot be read or written, or the waiting rows were deleted.
        """
        rows = self._columns.read(batch, self._columns.labels)
        rows = rows if correct else self._columns.with_labels(rows)
        rows = rows.unique(self._columns.key, keep="last" if correct else "first", maintain_order=True)
        return self._add(rows, CORRECTION if correct else LABEL)

    def coverage(self) -> pl.DataFrame:
        """Return how many scores of each day have labels. Rules of the history wait for labels, see `Rule`.

        Returns:
            One row per day, with the columns ``day``; ``scores``, the number of scores, or of the equal rows that they
            stand for, if these have the column ``count``; ``labeled``, the number of
            scores with a label; ``coverage``, the share of scores with a label; ``waiting``, the number of scores that
            can still get a label; ``expired``, the number of scores that expired without a label; and
            ``labels_without_score``, the number of labels without a score that were added while this was the newest
            day of scores.

        Raises:
            StateError: If a table cannot be read.
        """
        return self._waiting.coverage()

    def compact(self, *, vacuum: bool = True) -> None:
        """Merge the small files of the waiting rows. Once a day is enough.

        If files are many, `add_scores` and `add_labels` merge them and those of the history by themselves, without
        deleting the old ones.

        Args:
            vacuum: Whether to delete files that have not been needed for a week, such as files of expired rows.

        Raises:
            StateError: If no rows have been added yet, or a table cannot be read or written.
        """
        self._waiting.compact(vacuum)

    @cached_property
    def _columns(self) -> Columns:
        return Columns(
            self.task.roles, several(self.key), several(self.labels or self.task.roles.roots(self.task.roles.y_true))
        )

    @property
    def _waiting(self) -> Waiting:
        return Waiting(self.store._table.beside(FOLDER), self._columns.key)

    def _add(self, rows: pl.DataFrame, kind: str) -> Joined:
        self.store._require(self.task)
        days_of = None
        if kind == SCORE:
            rows = rows.with_columns(self._columns.computed(rows))
            days_of = partial(self._columns.days, window=self.store.window)
        late, change = self._waiting.add(self._settle(), rows, kind, self._require_joined, days_of)
        table = self._settle(change)
        if table is None:  # no row was ever added
            return Joined()
        if (last := newest(table)) is not None:
            first = earlier(pl.Series([last]), self.expires).clip(date.min)
            self._waiting.expire(table, first.item())
        if self._waiting.is_scattered(table):
            self.compact(vacuum=False)
            if self.store._find() is not None:  # which begins with the first joined row
                self.store.compact(vacuum=False)
        if change is None:
            return Joined(late=late)
        return Joined(change.new.height, change.corrected.height, change.waiting, change.duplicates, late)

    def _settle(self, change: Change | None = None) -> Any:
        """Add the joined rows to the history, up to the last commit of waiting rows, and return that version of them.

        Each commit that adds rows to the history also stores the last commit of waiting rows that it includes. If a
        process stops between the two, the next call of any process completes its work. ``change`` is that of the last
        commit, if it is known.
        """
        while True:
            stored = self.store.offset(FOLDER) or 0  # read before the waiting rows, which can only be newer
            table = self._waiting.table.find()
            if stored > (0 if table is None else table.version()):
                raise StateError(
                    f"The waiting rows at {self._waiting.table.uri} are older than the history. Restore the folder."
                )
            if table is None:
                return None
            upto, since = last_commit(table), stored or self._waiting.before_labels(table)
            if upto <= since:
                return table
            if change is None or (change.since, change.upto) != (since, upto):
                rows = self._waiting.rows(table, *HALVES)
                change = self._change(rows, self._keys(rows.filter(pl.col(COMMIT) > since)), since, upto)
            try:
                is_added = self._enter(table, change, Batch(source=FOLDER, start=stored, upto=upto))
            except DataError:
                if (self.store.offset(FOLDER) or 0) == stored:
                    raise
                continue  # another process committed first
            if is_added or (self.store.offset(FOLDER) or 0) == stored:
                return table

    def _require_joined(self, table: Any, rows: pl.DataFrame) -> Change:
        """Return the change that rows would make as the next commit of waiting rows.

        The joined rows are evaluated once, so that invalid rows are rejected before they are stored.
        """
        before = [] if table is None else [self._waiting.rows(table, *HALVES)]
        every = pl.concat([*before, rows.lazy()], how="diagonal_relaxed")
        change = self._change(every, rows.select(self._columns.key), last_commit(table), next_commit(table))
        for acc, part in split_by_models(pl.concat([change.new, change.corrected]).lazy(), self.task):
            joined = part.collect()
            try:
                require_one_type(joined, acc)
                self.store._require(acc.update(joined.select(acc.roles.sources)))
            except DataError as error:
                raise error.at(self._columns.named(joined, error.row or 0)) from error
        return change

    def _change(self, rows: pl.LazyFrame, keys: pl.DataFrame, since: int, upto: int) -> Change:
        scores, labels = self._halves(self._waiting.with_keys(rows, keys))
        return Change.between(scores.collect(), labels.collect(), self._columns.key, self._columns.labels, since, upto)

    def _enter(self, table: Any, change: Change, batch: Batch) -> bool:
        """Add new pairs to the history. If labels were corrected, evaluate the affected days again."""
        if change.corrected.is_empty():
            return self.store._add(self._evaluated(change.new.lazy()), batch)
        days = pl.concat([change.new[DAY], change.corrected[DAY]]).sort()
        inside, rows = pl.col(DAY).is_between(days[0], days[-1]), self._waiting.rows(table, *HALVES)
        keys = self._keys(rows.filter(inside, pl.col(KIND) == SCORE))
        joined = pairs(*self._halves(self._waiting.with_keys(rows, keys)), self._columns.key, change.upto)
        window = days[0], days[-1] + timedelta(days=1)
        return self.store._add(self._evaluated(joined.filter(inside)), batch, window)

    def _evaluated(self, rows: pl.LazyFrame) -> Accumulator:
        """Evaluate rows that were accepted before. Several batches together may exceed the group limit of one batch."""
        total = self.task.empty()
        total.max_groups = None
        for acc, part in split_by_models(rows, self.task):
            acc.max_groups = None
            total.absorb(carried(accumulate(part.select(acc.roles.sources), into=acc), self.task))
        return total

    def _halves(self, rows: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """Split rows into scores and labels. Columns that have only been null so far are missing in the table."""
        columns = self._columns
        lacking = {*columns.scores, *columns.labels}.difference(rows.collect_schema())
        rows, is_score = rows.with_columns(pl.lit(None).alias(c) for c in lacking), pl.col(KIND) == SCORE
        scores = rows.filter(is_score).select(KIND, COMMIT, *columns.key, DAY, *columns.scores)
        return scores, rows.filter(~is_score).select(KIND, COMMIT, *columns.key, *columns.labels)

    def _keys(self, rows: pl.LazyFrame) -> pl.DataFrame:
        return rows.select(self._columns.key).unique().collect()


publish("streammetrics", Joined, Joiner)

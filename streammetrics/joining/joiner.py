"""Labels that come late: joined with their scores, and taken into a history once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import Argument, DataError, SpecificationError, StateError
from streammetrics.history.batches import Stretch
from streammetrics.history.store import MetricStore
from streammetrics.history.table import Table
from streammetrics.joining.columns import Columns
from streammetrics.joining.evaluation import evaluators, lacking, shares, without_limit
from streammetrics.joining.pairs import Change, pairs
from streammetrics.joining.waiting import (
    COMMIT,
    CORRECTION,
    COUNTS,
    DAY,
    EXPIRED,
    FOLDER,
    HALVES,
    KIND,
    LABEL,
    OWN,
    SCORE,
    Waiting,
    counted,
    days,
    expired_before,
    newest,
)
from streammetrics.pipeline import accumulate
from streammetrics.times import earlier, require_length


@dataclass(frozen=True)
class Joined:
    """What a call of a `Joiner` did.

    Args:
        matched: Rows that entered the history.
        corrected: Rows of the history whose label was corrected.
        waiting: Labels without a score: it has not arrived, or has expired.
        duplicates: Labels that were ignored because there is one with their key.
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

    Scores and labels wait in a Delta Lake table beside the history, the folder ``_waiting``. This is the only place
    where the library keeps rows. A row enters the history under the window of its score, exactly once: a batch can be
    added again after a crash, and any number of processes can add at the same time. Rows are identified by their key.
    Of several scores with one key, the first counts.

    The history must receive rows from the joiner alone. A batch that is rejected changes nothing.

    Args:
        store: The history.
        acc: The accumulator that rows of scores and labels are evaluated by. It is not filled. One of its group columns
            is the window of the history, computed from the scores.
        key: The columns that identify a row, which scores and labels share. One name or several.
        expires: How long scores wait for labels, such as ``"45d"``. Rows leave once there are scores that much newer,
            and are counted by `coverage`. Dates in the future do not count.
        labels: The columns that come with the labels. Defaults to those of ``y_true``.

    Raises:
        SpecificationError: If the columns do not fit together, or ``expires`` is not a duration.

    >>> from datetime import date
    >>> from tempfile import TemporaryDirectory
    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="clicked", y_score="p", by="day")
    >>> with TemporaryDirectory() as directory:
    ...     joiner = sm.Joiner(sm.MetricStore(directory), acc, key="id", expires="45d")
    ...     scored = joiner.add_scores({"id": [1, 2], "p": [0.9, 0.2], "day": [date(2026, 1, 31)] * 2})
    ...     labeled = joiner.add_labels({"id": [2, 3], "clicked": [0, 1]})
    ...     joiner.coverage().select("day", "scores", "labeled", "coverage").row(0)
    (datetime.date(2026, 1, 31), 2, 1, 0.5)
    >>> labeled
    Joined(matched=1, corrected=0, waiting=1, duplicates=0, late=0)
    """

    store: MetricStore
    acc: Accumulator
    _: KW_ONLY
    key: str | Sequence[str]
    expires: str
    labels: Sequence[str] | None = field(default=None)

    def __post_init__(self) -> None:
        if not isinstance(self.store, MetricStore):
            raise SpecificationError(f"store= must be a MetricStore, got {type(self.store).__name__}.")
        if not isinstance(self.acc, Accumulator):
            raise SpecificationError(f"acc= must be an Accumulator, got {type(self.acc).__name__}.")
        require_length(self.expires)
        some = date(2026, 1, 1)
        if _days_before(some, self.expires) == some:
            raise SpecificationError(Argument("expires"), f" must be a day or more, got {self.expires!r}.")
        self._columns.require(OWN)

    def add_scores(self, batch: Any) -> Joined:
        """Add scores, with all columns that the accumulator needs besides labels. Each waits until its label comes.

        When this returns, the rows are on the disk. After a crash, add the batch again.

        Args:
            batch: As in `Accumulator.update`.

        Raises:
            ColumnError: If a column is missing, or has another type than before.
            DataError: If the key or the window contains nulls, a column contains values that its role cannot use, or
                rows cannot be evaluated with labels that wait.
            MergeError: If the specification is not that of the history.
            StateError: If a table cannot be read or written, or the rows that wait were deleted.
        """
        rows = self._columns.read(batch, self._columns.scores)
        rows = rows.with_columns(self._columns.days(rows, self.store.window).alias(DAY))
        return self._add(rows.unique(self._columns.key, keep="first", maintain_order=True), SCORE)

    def add_labels(self, batch: Any, *, correct: bool = False) -> Joined:
        """Add labels, before or after their scores. Each waits for its score if that has not come.

        When this returns, the rows are on the disk. After a crash, add the batch again.

        Args:
            batch: As in `Accumulator.update`.
            correct: Whether these labels replace earlier ones. The history is then as if the earlier ones had never
                come: the days of corrected rows are evaluated again, from the rows that are kept until they expire.
                Otherwise a label whose score has one is ignored.

        Raises:
            ColumnError: If a column is missing, or has another type than before.
            DataError: If the key contains nulls, a column contains values that its role cannot use, or rows cannot be
                evaluated with scores that wait.
            MergeError: If the specification is not that of the history.
            StateError: If a table cannot be read or written, or the rows that wait were deleted.
        """
        rows = self._columns.read(batch, self._columns.labels)
        rows = rows.unique(self._columns.key, keep="last" if correct else "first", maintain_order=True)
        return self._add(rows, CORRECTION if correct else LABEL)

    def coverage(self) -> pl.DataFrame:
        """How many scores of each day have labels.

        Returns:
            A row for each day, with the columns ``day``; ``scores``, how many there are; ``labeled``, how many of them
            have a label; ``coverage``, their share; ``waiting``, how many can still get one; ``expired``, how many left
            without one; and ``labels_without_score``, how many labels came while this was the newest day of scores, and
            have none.

        Raises:
            StateError: If a table cannot be read.
        """
        table = self._waiting.table.find()
        if table is None:
            return _covered(pl.DataFrame(schema={DAY: pl.Date, **dict.fromkeys(COUNTS, pl.Int64), EXPIRED: pl.Int64}))
        with self._waiting.table.reading():
            scores, labels = self._waiting.rows(table, SCORE), self._waiting.rows(table, LABEL, CORRECTION)
            alone = labels.join(scores, on=self._columns.key, how="anti")
            now = counted(scores, labels, alone, self._columns.key).with_columns(pl.lit(0, pl.Int64).alias(EXPIRED))
            past = self._waiting.rows(table, EXPIRED).select(pl.col("_of").alias(DAY), *COUNTS).collect()
            gone = past.with_columns((pl.col(COUNTS[0]) - pl.col(COUNTS[1])).alias(EXPIRED))
            return _covered(pl.concat([gone, now], how="vertical_relaxed").group_by(DAY).sum())

    def compact(self, *, vacuum: bool = True) -> None:
        """Join the small files of the rows that wait. Once a day is enough.

        Args:
            vacuum: Delete the files that were last needed a week ago, those of expired rows among them.

        Raises:
            StateError: If there are no rows yet, or a table cannot be read or written.
        """
        self._waiting.compact(vacuum)

    @cached_property
    def _columns(self) -> Columns:
        return Columns.of(self.acc, self.key, self.labels)

    @property
    def _waiting(self) -> Waiting:
        history = Table(self.store.uri, self.store.storage_options)
        return Waiting(history.beside(FOLDER), self._columns.key)

    def _add(self, rows: pl.DataFrame, kind: str) -> Joined:
        """Add rows to the log, and what that changes to the history."""
        self.store._require(self.acc)
        self._settle()
        late, change = self._waiting.add(rows, kind, self._tried)
        self._expire(self._settle(change))
        if change is None:
            return Joined(late=late)
        return Joined(change.new.height, change.corrected.height, change.waiting, change.duplicates, late)

    def _tried(self, table: Any, rows: pl.DataFrame) -> Change:
        """What rows change if they are the next commit of the log.

        What waits must not fail later, so rows that cannot be evaluated with their other half must not come to wait.
        """
        log = pl.concat([self._waiting.rows(table, *HALVES), rows.lazy()], how="diagonal_relaxed")
        change = self._change(log, rows.select(self._columns.key), table.version(), table.version() + 1)
        for acc, share in shares(pl.concat([change.new, change.corrected]).lazy(), self._evaluators()):
            joined = share.collect()
            for name, row in lacking(joined, acc):
                raise DataError(
                    f"The score of {self._named(joined, row)} came before column {name!r} was needed, and lacks it. "
                    "Add its label with a joiner of the earlier accumulator."
                )
            try:
                self.store._require(acc.update(joined.select(acc.roles.sources)))
            except DataError as error:
                raise error.at(self._named(joined, error.row or 0)) from error
        return change

    def _settle(self, tried: Change | None = None) -> Any:
        """Bring the history up to the last commit of the log, and return that version of it.

        The history stores up to which commit it has the log, in the commit that brings the rows. So what a process left
        undone is done by the next call of any.

        Args:
            tried: what the last commit changes, if it is known.
        """
        while True:
            stored = self.store.offset(FOLDER) or 0  # before the log, which may only be newer
            table = self._waiting.table.find()
            upto = 0 if table is None else table.version()
            if stored > upto:
                raise StateError(
                    f"The rows that wait at {self._waiting.table.uri} are older than the history. Restore the folder."
                )
            since = stored or self._first_label(table) - 1  # there were no pairs before it
            if upto <= since:
                return table
            change = tried
            if change is None or (change.since, change.upto) != (since, upto):
                log = self._waiting.rows(table, *HALVES)
                change = self._change(log, self._keys(log.filter(pl.col(COMMIT) > since)), since, upto)
            try:
                added = self._enter(table, change, Stretch(FOLDER, stored, upto))
            except DataError:
                if (self.store.offset(FOLDER) or 0) == stored:
                    raise
                continue  # another process was first
            if added or (self.store.offset(FOLDER) or 0) == stored:
                return table

    def _first_label(self, table: Any) -> int:
        """The commit that brought the first label; the next commit if none did."""
        if table is None or days(table, LABEL, CORRECTION).is_empty():
            return 1 if table is None else int(table.version()) + 1
        found = self._waiting.rows(table, LABEL, CORRECTION).select(pl.min(COMMIT)).collect().item()
        return int(found)

    def _change(self, log: pl.LazyFrame, keys: pl.DataFrame, since: int, upto: int) -> Change:
        """What the commits of a log after one change, up to another, which have these keys."""
        scores, labels = self._halves(self._waiting.of(log, keys))
        return Change.between(scores.collect(), labels.collect(), self._columns.key, self._columns.labels, since, upto)

    def _enter(self, table: Any, change: Change, origin: Stretch) -> bool:
        """Add new pairs to the history. If labels were corrected, the days that change are evaluated again."""
        if change.corrected.is_empty():
            return self.store._bring(self._evaluated(change.new.lazy()), origin)
        touched = pl.concat([change.new[DAY], change.corrected[DAY]]).sort()
        first, last = touched[0], touched[-1]
        inside, log = pl.col(DAY).is_between(first, last), self._waiting.rows(table, *HALVES)
        keys = self._keys(log.filter(inside, pl.col(KIND) == SCORE))
        rows = pairs(*self._halves(self._waiting.of(log, keys)), self._columns.key, origin.upto).filter(inside)
        return self.store._bring(self._evaluated(rows), origin, (first, last + timedelta(days=1)))

    def _evaluated(self, rows: pl.LazyFrame) -> list[Accumulator]:
        """Rows that have been tried, evaluated. Those of several batches may have more groups than one may."""
        return [
            accumulate(share.select(acc.roles.sources), without_limit(acc))
            for acc, share in shares(rows, self._evaluators())
        ]

    def _evaluators(self) -> list[Accumulator]:
        return evaluators(
            self.acc, self.store._kept(), [*self._columns.scores, *self._columns.labels, *self._columns.key]
        )

    def _halves(self, rows: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """The scores and the labels among rows of the log."""
        scores, labels = rows.filter(pl.col(KIND) == SCORE), rows.filter(pl.col(KIND) != SCORE)
        return _with(scores, [DAY, *self._columns.scores], self._columns.key), _with(
            labels, self._columns.labels, self._columns.key
        )

    def _keys(self, rows: pl.LazyFrame) -> pl.DataFrame:
        return rows.select(self._columns.key).unique().collect()

    def _named(self, rows: pl.DataFrame, number: int) -> str:
        """A row by its key."""
        key = rows.select(self._columns.key).row(number, named=True)
        return "the row with " + ", ".join(f"{name}={value!r}" for name, value in key.items())

    def _expire(self, table: Any) -> None:
        """Let rows expire, if a day has ended since they last did."""
        newest_day = newest(table)
        if newest_day is None:
            return
        before = _days_before(newest_day, self.expires)
        if before > (expired_before(table) or date.min):
            self._waiting.expire(table.version(), before)


def _days_before(day: date, length: str) -> date:
    """A day moved back by a length of time, at most to the first that Python has."""
    found: date = earlier(pl.Series([day]), length).clip(date.min).item()
    return found


def _with(rows: pl.LazyFrame, columns: Sequence[str], key: Sequence[str]) -> pl.LazyFrame:
    """The columns of scores or of labels; one that was always null is not there."""
    lacking = {*columns}.difference(rows.collect_schema())
    return rows.with_columns(pl.lit(None).alias(name) for name in lacking).select(KIND, COMMIT, *key, *columns)


def _covered(counts: pl.DataFrame) -> pl.DataFrame:
    """The counts of days as `Joiner.coverage` shows them."""
    scores, labeled, alone = (pl.col(name) for name in COUNTS)
    counts = counts.sort(DAY)
    return counts.select(
        day=DAY,
        scores=scores,
        labeled=labeled,
        coverage=pl.when(scores > 0).then(labeled / scores),
        waiting=scores - labeled - pl.col(EXPIRED),
        expired=EXPIRED,
        labels_without_score=alone,
    )

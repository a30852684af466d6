"""Join of late labels with their scores, which adds each joined row to a history exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

import polars as pl

from streammetrics import Accumulator, MetricStore
from streammetrics.base import earlier, publish, require_length
from streammetrics.errors import Argument, SpecificationError
from streammetrics.monitor.history.label_coverage import CORRECTION, LABEL, SCORE
from streammetrics.monitor.history.store import require_store
from streammetrics.monitor.joining.columns import Columns
from streammetrics.monitor.joining.log import Log
from streammetrics.monitor.joining.waiting import OWN, newest


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
        some = date(2026, 1, 1)
        if _days_before(some, self.expires) == some:
            raise SpecificationError(Argument("expires"), f" must be at least one day, got {self.expires!r}.")
        self._columns.require(OWN)

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
        rows = rows if correct else self._columns.known(rows)
        rows = rows.unique(self._columns.key, keep="last" if correct else "first", maintain_order=True)
        return self._add(rows, CORRECTION if correct else LABEL)

    def coverage(self) -> pl.DataFrame:
        """Return how many scores of each day have labels. Rules of the history wait for labels, see `Rule`.

        Returns:
            One row per day, with the columns ``day``; ``scores``, the number of scores; ``labeled``, the number of
            scores with a label; ``coverage``, the share of scores with a label; ``waiting``, the number of scores that
            can still get a label; ``expired``, the number of scores that expired without a label; and
            ``labels_without_score``, the number of labels without a score that were added while this was the newest
            day of scores.

        Raises:
            StateError: If a table cannot be read.
        """
        return self._log.waiting.coverage()

    def compact(self, *, vacuum: bool = True) -> None:
        """Merge the small files of the waiting rows. Once a day is enough.

        If files are many, `add_scores` and `add_labels` merge them and those of the history by themselves, without
        deleting the old ones.

        Args:
            vacuum: Whether to delete files that have not been needed for a week, such as files of expired rows.

        Raises:
            StateError: If no rows have been added yet, or a table cannot be read or written.
        """
        self._log.waiting.compact(vacuum)

    @cached_property
    def _columns(self) -> Columns:
        return Columns.of(self.task, self.key, self.labels)

    @cached_property
    def _log(self) -> Log:
        return Log(self.store, self.task, self._columns)

    def _add(self, rows: pl.DataFrame, kind: str) -> Joined:
        late, change = self._log.add(rows, kind)
        table = self._log.settle(change)
        if table is None:  # no row was ever added
            return Joined()
        if (last := newest(table)) is not None:
            self._log.waiting.expire(table, _days_before(last, self.expires))
        if self._log.waiting.is_scattered(table):
            self.compact(vacuum=False)
            if self.store._find() is not None:  # which begins with the first joined row
                self.store.compact(vacuum=False)
        if change is None:
            return Joined(late=late)
        return Joined(change.new.height, change.corrected.height, change.waiting, change.duplicates, late)


def _days_before(day: date, length: str) -> date:
    """Move a day back by a duration, at most to the first date of Python."""
    found: date = earlier(pl.Series([day]), length).clip(date.min).item()
    return found


publish("streammetrics", Joined, Joiner)

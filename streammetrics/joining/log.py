"""From the log of rows that wait to the history: rows are tried before they enter the log, and enter the history once.

The history stores up to which commit it has the log, in the commit that brings the rows. So what a process left undone
is done by the next call of any.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.errors import DataError, StateError
from streammetrics.history.batches import Stretch
from streammetrics.history.store import MetricStore
from streammetrics.history.table import Table
from streammetrics.joining.columns import Columns
from streammetrics.joining.evaluation import evaluators, require_complete, shares
from streammetrics.joining.pairs import Change, pairs
from streammetrics.joining.waiting import (
    COMMIT,
    CORRECTION,
    DAY,
    FOLDER,
    KIND,
    LABEL,
    SCORE,
    Waiting,
    days,
    last_commit,
)
from streammetrics.pipeline import accumulate

HALVES = (SCORE, LABEL, CORRECTION)


@dataclass(frozen=True)
class Log:
    """The rows that wait beside a history, and how they enter it."""

    store: MetricStore
    acc: Accumulator
    columns: Columns

    @property
    def waiting(self) -> Waiting:
        """The table of the rows."""
        history = Table(self.store.uri, self.store.storage_options)
        return Waiting(history.beside(FOLDER), self.columns.key)

    def add(self, rows: pl.DataFrame, kind: str) -> tuple[int, Change | None]:
        """Add rows in one commit, and return how many came too late, and what the others change.

        Raises:
            StreamMetricsError: If they cannot be evaluated with their other half. They are not added then.
        """
        self.store._require(self.acc)
        self.settle()
        return self.waiting.add(rows, kind, self._tried, self._days if kind == SCORE else None)

    def settle(self, tried: Change | None = None) -> Any:
        """Bring the history up to the last commit of the log, and return that version of it.

        Args:
            tried: What the last commit changes, if it is known.

        Raises:
            StateError: If the history is ahead of the log.
        """
        while True:
            stored = self.store.offset(FOLDER) or 0  # before the log, which may only be newer
            table = self.waiting.table.find()
            if stored > (0 if table is None else table.version()):
                raise StateError(
                    f"The rows that wait at {self.waiting.table.uri} are older than the history. Restore the folder."
                )
            if table is None:
                return None
            upto, since = last_commit(table), stored or self._before_labels(table)
            if upto <= since:
                return table
            change = tried
            if change is None or (change.since, change.upto) != (since, upto):
                rows = self.waiting.rows(table, *HALVES)
                change = self._change(rows, self._keys(rows.filter(pl.col(COMMIT) > since)), since, upto)
            try:
                added = self._enter(table, change, Stretch(FOLDER, stored, upto))
            except DataError:
                if (self.store.offset(FOLDER) or 0) == stored:
                    raise
                continue  # another process was first
            if added or (self.store.offset(FOLDER) or 0) == stored:
                return table

    def _before_labels(self, table: Any) -> int:
        """The commit before that of the first label, up to which there were no pairs."""
        if days(table, LABEL, CORRECTION).is_empty():
            return last_commit(table)
        return int(self.waiting.rows(table, LABEL, CORRECTION).select(pl.min(COMMIT)).collect().item()) - 1

    def _days(self, scores: pl.DataFrame) -> pl.Series:
        return self.columns.days(scores, self.store.window)

    def _tried(self, table: Any, rows: pl.DataFrame) -> Change:
        """What rows change if they are the next commit of the log.

        What waits must not fail later, so rows that cannot be evaluated with their other half must not come to wait.
        """
        log = pl.concat([self.waiting.rows(table, *HALVES), rows.lazy()], how="diagonal_relaxed")
        change = self._change(log, rows.select(self.columns.key), last_commit(table), table.version() + 1)
        for acc, share in shares(pl.concat([change.new, change.corrected]).lazy(), self._evaluators()):
            joined = share.collect()
            require_complete(joined, acc, self.columns.named)
            try:
                self.store._require(acc.update(joined.select(acc.roles.sources)))
            except DataError as error:
                raise error.at(self.columns.named(joined, error.row or 0)) from error
        return change

    def _change(self, rows: pl.LazyFrame, keys: pl.DataFrame, since: int, upto: int) -> Change:
        """What the commits after one change, up to another, which have these keys."""
        scores, labels = self._halves(self.waiting.of(rows, keys))
        return Change.between(scores.collect(), labels.collect(), self.columns.key, self.columns.labels, since, upto)

    def _enter(self, table: Any, change: Change, origin: Stretch) -> bool:
        """Add new pairs to the history. If labels were corrected, the days that change are evaluated again."""
        if change.corrected.is_empty():
            return self.store._bring(self._evaluated(change.new.lazy()), origin)
        touched = pl.concat([change.new[DAY], change.corrected[DAY]]).sort()
        first, last = touched[0], touched[-1]
        inside, rows = pl.col(DAY).is_between(first, last), self.waiting.rows(table, *HALVES)
        keys = self._keys(rows.filter(inside, pl.col(KIND) == SCORE))
        joined = pairs(*self._halves(self.waiting.of(rows, keys)), self.columns.key, origin.upto).filter(inside)
        return self.store._bring(self._evaluated(joined), origin, (first, last + timedelta(days=1)))

    def _evaluated(self, rows: pl.LazyFrame) -> list[Accumulator]:
        """Rows that have been tried, evaluated. Those of several batches may have more groups than one may."""
        found = []
        for acc, share in shares(rows, self._evaluators()):
            acc.max_groups = None
            found.append(accumulate(share.select(acc.roles.sources), acc))
        return found

    def _evaluators(self) -> list[Accumulator]:
        columns = {*self.columns.scores, *self.columns.labels, *self.columns.key}
        return evaluators(self.acc, self.store._kept(), columns)

    def _halves(self, rows: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """The scores and the labels among rows. A column that was always null is not there."""
        lacking = {*self.columns.scores, *self.columns.labels}.difference(rows.collect_schema())
        rows, own = rows.with_columns(pl.lit(None).alias(c) for c in lacking), [KIND, COMMIT, *self.columns.key]
        is_score = pl.col(KIND) == SCORE
        scores = rows.filter(is_score).select(*own, DAY, *self.columns.scores)
        return scores, rows.filter(~is_score).select(*own, *self.columns.labels)

    def _keys(self, rows: pl.LazyFrame) -> pl.DataFrame:
        return rows.select(self.columns.key).unique().collect()

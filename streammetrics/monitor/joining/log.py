"""The log of waiting rows, and how joined rows move from it into the history exactly once.

Rows are evaluated once before they are added to the log, so that they cannot fail later. Each commit that adds rows to
the history also stores the last commit of the log that it includes. If a process stops between the two commits, the
next call of any process completes its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import polars as pl

from streammetrics import Accumulator, accumulate, merge
from streammetrics.errors import DataError, StateError
from streammetrics.monitor.history.batches import Batch
from streammetrics.monitor.history.label_coverage import COMMIT, CORRECTION, DAY, FOLDER, KIND, LABEL, SCORE
from streammetrics.monitor.history.specification import carried
from streammetrics.monitor.history.store import MetricStore
from streammetrics.monitor.joining.columns import Columns
from streammetrics.monitor.joining.evaluation import require_one_type, shares
from streammetrics.monitor.joining.waiting import Waiting, days, last_commit, next_commit

HALVES = (SCORE, LABEL, CORRECTION)


@dataclass(frozen=True)
class Log:
    """The log of rows that wait beside a history, and its connection to that history."""

    store: MetricStore
    acc: Accumulator
    columns: Columns

    @property
    def waiting(self) -> Waiting:
        """The table of the waiting rows."""
        return Waiting(self.store._table.beside(FOLDER), self.columns.key)

    def add(self, rows: pl.DataFrame, kind: str) -> tuple[int, Change | None]:
        """Add rows in one commit, if they can be evaluated after the join.

        Return the number of late rows, and the change that the others make.
        """
        self.store._require(self.acc)
        days_of = (lambda scores: self.columns.days(scores, self.store.window)) if kind == SCORE else None
        if kind == SCORE:
            rows = rows.with_columns(self.columns.computed_groups(rows))
        return self.waiting.add(self.settle(), rows, kind, self._tried, days_of)

    def settle(self, tried: Change | None = None) -> Any:
        """Update the history up to the last commit of the log, and return that version of the log.

        ``tried`` is the change of the last commit, if it is known.
        """
        while True:
            stored = self.store.offset(FOLDER) or 0  # read before the log, which can only be newer
            table = self.waiting.table.find()
            if stored > (0 if table is None else table.version()):
                raise StateError(
                    f"The waiting rows at {self.waiting.table.uri} are older than the history. Restore the folder."
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
                added = self._enter(table, change, Batch(source=FOLDER, start=stored, upto=upto))
            except DataError:
                if (self.store.offset(FOLDER) or 0) == stored:
                    raise
                continue  # another process committed first
            if added or (self.store.offset(FOLDER) or 0) == stored:
                return table

    def _before_labels(self, table: Any) -> int:
        """Return the commit before the first label. Up to this commit, no rows could be joined."""
        if days(table, LABEL, CORRECTION).is_empty():
            return last_commit(table)
        return int(self.waiting.rows(table, LABEL, CORRECTION).select(pl.min(COMMIT)).collect().item()) - 1

    def _tried(self, table: Any, rows: pl.DataFrame) -> Change:
        """Return the change that rows would make as the next commit of the log.

        Evaluates the joined rows once, so that invalid rows are rejected before they are stored.
        """
        before = [] if table is None else [self.waiting.rows(table, *HALVES)]
        log = pl.concat([*before, rows.lazy()], how="diagonal_relaxed")
        change = self._change(log, rows.select(self.columns.key), last_commit(table), next_commit(table))
        for acc, share in shares(pl.concat([change.new, change.corrected]).lazy(), self.acc):
            joined = share.collect()
            try:
                require_one_type(joined, acc)
                self.store._require(acc.update(joined.select(acc.roles.sources)))
            except DataError as error:
                raise error.at(self.columns.named(joined, error.row or 0)) from error
        return change

    def _change(self, rows: pl.LazyFrame, keys: pl.DataFrame, since: int, upto: int) -> Change:
        scores, labels = self._halves(self.waiting.of(rows, keys))
        return Change.between(scores.collect(), labels.collect(), self.columns.key, self.columns.labels, since, upto)

    def _enter(self, table: Any, change: Change, batch: Batch) -> bool:
        """Add new pairs to the history. If labels were corrected, evaluate the affected days again."""
        if change.corrected.is_empty():
            return self.store._add(self._evaluated(change.new.lazy()), batch)
        touched = pl.concat([change.new[DAY], change.corrected[DAY]]).sort()
        first, last = touched[0], touched[-1]
        inside, rows = pl.col(DAY).is_between(first, last), self.waiting.rows(table, *HALVES)
        keys = self._keys(rows.filter(inside, pl.col(KIND) == SCORE))
        joined = pairs(*self._halves(self.waiting.of(rows, keys)), self.columns.key, batch.upto or 0).filter(inside)
        return self.store._add(self._evaluated(joined), batch, (first, last + timedelta(days=1)))

    def _evaluated(self, rows: pl.LazyFrame) -> Accumulator:
        """Evaluate rows that were accepted before. Several batches together may exceed the group limit of one batch."""
        parts = [self.acc.empty()]
        parts[0].max_groups = None
        for acc, share in shares(rows, self.acc):
            acc.max_groups = None
            parts.append(carried(accumulate(share.select(acc.roles.sources), into=acc), self.acc))
        return merge(parts)

    def _halves(self, rows: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """Split rows into scores and labels. Columns that have only been null so far are missing in the table."""
        lacking = {*self.columns.scores, *self.columns.labels}.difference(rows.collect_schema())
        rows, own = rows.with_columns(pl.lit(None).alias(c) for c in lacking), [KIND, COMMIT, *self.columns.key]
        is_score = pl.col(KIND) == SCORE
        scores = rows.filter(is_score).select(*own, DAY, *self.columns.scores)
        return scores, rows.filter(~is_score).select(*own, *self.columns.labels)

    def _keys(self, rows: pl.LazyFrame) -> pl.DataFrame:
        return rows.select(self.columns.key).unique().collect()


def pairs(scores: pl.LazyFrame, labels: pl.LazyFrame, key: Sequence[str], upto: int) -> pl.LazyFrame:
    """Join scores with their labels as of a commit.

    If several scores have the same key, the first one counts. Of several labels, the last correction counts, or the
    first label if none was corrected.
    """
    scores, labels = (rows.filter(pl.col(COMMIT) <= upto) for rows in (scores, labels))
    rank = pl.when(pl.col(KIND) == CORRECTION).then(pl.col(COMMIT)).otherwise(-pl.col(COMMIT))
    first = scores.sort(COMMIT).unique(key, keep="first")
    valid = labels.sort(rank).unique(key, keep="last").drop(KIND, COMMIT)
    return first.join(valid, on=key, how="inner")


@dataclass(frozen=True)
class Change:
    """The change that the commits after ``since``, up to ``upto``, make."""

    new: pl.DataFrame  # pairs that did not exist before
    corrected: pl.DataFrame  # pairs whose label was different before
    waiting: int  # labels of the last commit that have no score
    duplicates: int  # labels of the last commit that are ignored, because their key already has a label
    since: int
    upto: int

    @classmethod
    def between(
        cls, scores: pl.DataFrame, labels: pl.DataFrame, key: Sequence[str], truth: Sequence[str], since: int, upto: int
    ) -> Change:
        """Return the change from one commit to another, from all scores and labels of the affected keys.

        ``truth`` are the columns of labels without the key.
        """
        before, after = (pairs(scores.lazy(), labels.lazy(), key, commit).collect() for commit in (since, upto))
        both = after.join(before.select(*key, *truth), on=key, suffix=" before")
        differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name} before")) for name in truth)
        first = labels.sort(COMMIT).unique(key, keep="first")
        last = labels.filter(pl.col(COMMIT) == upto)
        later = last.filter(pl.col(KIND) != CORRECTION).join(first, on=[*key, COMMIT], how="anti")
        return cls(
            new=after.join(before, on=key, how="anti"),
            corrected=both.filter(differs).select(after.columns),
            waiting=last.join(scores, on=key, how="anti").height,
            duplicates=later.height,
            since=since,
            upto=upto,
        )

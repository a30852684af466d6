"""What an accumulator holds: rows that wait, rows counted, and states that wait to be merged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from streammetrics import state as states
from streammetrics.batches import Batch, append, no_rows
from streammetrics.errors import DataError, MergeError
from streammetrics.frames import concat_groups, types_of
from streammetrics.overflow import may_overflow, refuse_overflow, refuse_overflow_together, suspects
from streammetrics.roles import LABEL, Roles
from streammetrics.rows import rows_by_model
from streammetrics.state import State, Tally
from streammetrics.statistics import ConfusionMatrix, RowCounts
from streammetrics.statistics.row_counts import COUNTABLE

CHUNK = 1_048_576  # rows observed at once: many for each cell of their tables
FIRST = 32_768  # rows that are observed first of all
GROWTH = 4  # times as many rows as before are observed next, up to a chunk
BUFFER = 524_288  # rows of small batches that are held until they are observed together
ROWS_OF_A_GROUP = 4  # are held where groups are very many,
MOST_ROWS = 4_194_304  # but no more than these
MAX_GROUPS = 1_000_000  # unless a user says otherwise


class GroupLimit(NamedTuple):
    """How many groups there may be, models and folds apart, and what becomes of more: an error, or one group of others.

    With ``overflow="other"`` the groups that come first in sort order keep a row of their own, whatever the order in
    which rows come, so that parts merge to the same.
    """

    most: int | None = None
    overflow: Literal["raise", "other"] = "raise"

    def joint(self, other: GroupLimit) -> GroupLimit:
        """The limit of a merge: this one, or the smallest under which a part has put groups together."""
        others = [limit.most for limit in (self, other) if limit.overflow == "other" and limit.most is not None]
        return GroupLimit(min(others), "other") if others else self


NO_LIMIT = GroupLimit()


@dataclass(frozen=True)
class Content:
    """What an accumulator holds, as a value: adding rows makes another one, entirely or not at all.

    ``types`` shows the types that come from the data, so far; it has no rows. ``held`` are rows that wait until they
    are many. More rows are added to them in place, so only the newest content goes on from there. ``known`` are the
    groups of all rows, which are counted only if they could be more than ``limit``. ``loaded`` counts the rows of
    states that were not counted here. ``large`` says whether sums might come near to the largest float.
    """

    roles: Roles
    merged: State
    types: pl.DataFrame
    limit: GroupLimit = NO_LIMIT
    known: pl.DataFrame | None = None
    pending: tuple[State, ...] = ()
    tally: Tally | None = None
    held: Batch | None = None
    loaded: int = 0
    large: bool = False

    @classmethod
    def of(cls, roles: Roles, state: State, limit: GroupLimit = NO_LIMIT) -> Content:
        """The content of a state."""
        types = types_of(state.keys.select(roles.keys))
        matrix = state.tables.get(ConfusionMatrix.name)
        if matrix is not None and not roles.labels:
            labels = [types_of(matrix.select(pl.col(side).alias(LABEL))) for side in ConfusionMatrix.keys]
            types = types.hstack(concat_groups(labels))
        loaded = int(state.tables[RowCounts.name].select(pl.sum("rows", "dropped")).sum_horizontal().item())
        return cls(roles, state, types, limit, loaded=loaded, large=may_overflow(state))

    def empty(self) -> Content:
        """The content before the first row, of the same types."""
        merged = states.no_rows(self.roles, self.merged.statistics)
        return Content(self.roles, merged, self.types, self.limit)

    def with_rows(self, rows: Batch) -> Content:
        """The content with more rows. A few are held, to be observed together with others.

        Raises:
            ColumnError: If a group column has another type than before.
            DataError: If there are more groups than ``max_groups``, or a sum exceeds the largest float.
        """
        if far := suspects(rows):
            with np.errstate(over="ignore"):
                refuse_overflow(self.compact()._observe(rows).compact().merged, far)
            return replace(self, large=True)._with_finite(rows)
        return self._with_finite(rows)

    def _with_finite(self, rows: Batch) -> Content:
        if self.held is not None and not self.held.fits(rows):
            return self._observe_held()._with_finite(rows)
        types, buffer = self._joint_types(rows.types), self._buffer
        if rows.height >= buffer // 2:
            return replace(self._observe(rows), types=types)._limited()
        held = append(self.held or no_rows(self.roles), rows)
        content = replace(self, held=held, types=types)._limited(self.known, rows.by)
        return content if held.height < buffer else content._observe_held()

    def absorb(self, other: Content) -> Content:
        """The content with that of another, whose rows must have been observed.

        Raises:
            ColumnError: If a group column has another type there.
            DataError: If there are more groups than ``max_groups``.
            MergeError: If the rows are more than can be counted, or a sum would exceed the largest float.
        """
        if self.loaded + other.loaded > COUNTABLE:
            raise MergeError(f"Cannot merge states of more than {COUNTABLE:,} rows in total.")
        types = self._joint_types(other.types)
        if self.large or other.large:
            with np.errstate(over="ignore", invalid="ignore"):
                refuse_overflow_together(self.compact().merged, other.compact().merged)
        tally, pending = other.tally, (*self.pending, other.merged, *other.pending)
        if tally is not None and self.tally is not None:
            tally = self.tally.absorb(tally)
            if tally is None:  # a group column has changed its type
                pending = (*pending, self.tally.state())
        merged, tally = self.merged, tally or other.tally or self.tally
        if sum(s.cells for s in pending) >= max(self.merged.cells, states.PENDING):
            merged, pending = states.combine([self.merged, *pending]), ()
        content = replace(
            self, merged=merged, pending=pending, tally=tally, types=types, limit=self.limit.joint(other.limit)
        )
        return replace(content, loaded=self.loaded + other.loaded, large=self.large or other.large)._limited()

    def observed(self) -> Content:
        """The content with no row waiting, and equal cells added up."""
        content = self._observe_held()
        return content if content.tally is None else replace(content, tally=content.tally.compact())

    def compact(self) -> Content:
        """The content as one state, with no more groups of their own than there may be."""
        content = self._observe_held()
        tallied = () if content.tally is None else (content.tally.state(),)
        merged, by, most = content.merged, self.roles.by, self.limit.most
        if content.pending or tallied:
            merged = states.combine([merged, *content.pending, *tallied])
        if by and most is not None and self.limit.overflow == "other" and merged.groups.height > most:
            merged = states.with_other(merged, by, most)
        return replace(content, merged=merged, pending=(), tally=None)

    def _limited(self, known: pl.DataFrame | None = None, more: pl.DataFrame | None = None) -> Content:
        """The same content if it has no more groups than it may.

        Args:
            known: the groups of all rows but the last, if they have been counted.
            more: the group columns of the last rows.
        """
        by, tally = self.roles.by, () if self.tally is None else (self.tally.groups,)
        if self.limit.most is None or not by:
            return self
        tables = [*tally, *(state.groups for state in (self.merged, *self.pending))]
        held = 0 if self.held is None else self.held.height
        if sum(table.height for table in tables) // len(self.roles.models) + held <= self.limit.most:
            return self if self.known is None else replace(self, known=None)
        if self.limit.overflow == "other":
            return self._with_few_groups()
        if known is not None and more is not None:
            tables = [known, more]
        elif self.held is not None:
            tables.append(self.held.by.head(held))
        known = concat_groups([table.select(by) for table in tables]).unique()
        if known.height > self.limit.most:
            widest = max(by, key=lambda name: known[name].n_unique())
            raise DataError(
                f"Grouping by {', '.join(by)} gives more than {self.limit.most:,} groups; {widest!r} has most values. "
                "Group by fewer or coarser columns, raise max_groups=, or pass overflow='other'."
            )
        return replace(self, known=known)

    def _with_few_groups(self) -> Content:
        """The same content, merged once the groups are twice as many as they may be.

        Raises:
            DataError: If a group column is not text, which could not name the group of others.
        """
        if numbers := [name for name in self.roles.by if self.types[name].dtype not in (pl.String, pl.Null)]:
            raise DataError(
                f"overflow='other' requires group columns of text, got {self.types[numbers[0]].dtype} for "
                f"{numbers[0]!r}. Cast the column, or raise max_groups=."
            )
        groups = sum(state.groups.height for state in self.pending) + (self.tally.groups.height if self.tally else 0)
        return self.compact() if groups > (self.limit.most or 0) else self

    def _joint_types(self, columns: pl.DataFrame) -> pl.DataFrame:
        """The types so far brought together with those of more columns."""
        if not columns.width or columns.schema == self.types.schema:
            return self.types
        return concat_groups([self.types, columns.select(self.types.columns)])

    @property
    def _buffer(self) -> int:
        """How many rows are held at most: several of each group, since every group of a chunk costs something."""
        groups = 0 if self.tally is None else self.tally.groups.height
        return max(BUFFER, min(ROWS_OF_A_GROUP * groups, MOST_ROWS))

    def _observe_held(self) -> Content:
        return self if self.held is None else replace(self._observe(self.held), held=None)

    def _observe(self, batch: Batch) -> Content:
        start, tally, pending = 0, self.tally, self.pending
        while True:
            # A few rows tell how coarse bins will be, and more are then counted fast.
            new = tally is None or (tally.seen < CHUNK and not tally.settled)
            few = min(max(GROWTH * tally.seen if tally else 0, FIRST), CHUNK)
            end = batch.end_of_piece(start, few if new else max(CHUNK, self._buffer))
            rows = rows_by_model(batch.slice(start, end - start), self.roles)
            more = None if tally is None else tally.add(rows)
            if tally is not None and more is None:  # a group column has changed its type
                pending = (*pending, tally.state())
            tally = more or Tally.of(rows, self.merged.statistics, self.roles.labels)
            tally = tally.compact() if new else tally.trimmed()
            start = end
            if start >= batch.height:
                break
        return replace(self, tally=tally, pending=pending)

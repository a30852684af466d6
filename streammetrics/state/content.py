"""Content of an accumulator: buffered rows, counted rows, and states to merge."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import product

import numpy as np
import polars as pl

from streammetrics.core import warn_if_slow
from streammetrics.errors import MergeError, StreamMetricsError
from streammetrics.rows.arrays import rows_by_model
from streammetrics.rows.batches import Batch, append, no_rows
from streammetrics.rows.frames import concat_groups, joint_types, types_of
from streammetrics.rows.roles import LABEL, Roles
from streammetrics.state import tables as states
from streammetrics.state.limit import GroupLimit, require_text
from streammetrics.state.tables import State
from streammetrics.state.tally import Tally, no_state
from streammetrics.statistics import ConfusionMatrix, RowCounts, RowSums
from streammetrics.statistics.binned import Binned
from streammetrics.statistics.paired import pairs_kept
from streammetrics.statistics.row_counts import COUNTABLE
from streammetrics.statistics.summed import Summed
from streammetrics.system.threads import uninterrupted

BLOCK = 262_144  # minimum number of rows counted at once: columns are arranged within the cache, except for
MANY = 1_024  # more groups, with
LARGE_BLOCK = 1_048_576  # rows, so that a group has several
BUFFER = 524_288  # rows of small batches that are buffered and counted together
ROWS_OF_A_GROUP = 4  # are buffered for very many groups,
MOST_ROWS = 4_194_304  # but at most these
ROWS_OF_A_CELL = 2  # below which threads share cells: bins, or the fixed cells of a group


class Content:
    """Content of an accumulator. Rows are counted in place: `require` rejects invalid rows, `add` counts valid ones.

    ``types`` contains the types that depend on the data, so far.
    """

    def __init__(self, roles: Roles, state: State, limit: GroupLimit) -> None:
        self.roles = roles
        self.limit: GroupLimit = limit
        self.types: pl.Schema = data_types(roles, state)
        self._merged = state
        self._pending: list[State] = []
        self._tally: Tally | None = None
        self._held: Batch | None = None
        self._known: pl.DataFrame | None = None  # groups of all rows, counted only if they could exceed the limit
        self._loaded = int(state.tables[RowCounts.name].select(pl.sum("rows", "dropped")).sum_horizontal().item())
        self._whole = True

    @property
    def statistics(self) -> states.Statistics:
        """The statistics."""
        return self._merged.statistics

    @property
    def capacity(self) -> int:
        """Maximum number of histogram bins per group; 0 without a histogram."""
        return max((s.capacity for s in self.statistics if isinstance(s, Binned)), default=0)

    def empty(self) -> Content:
        """Return empty content of the same types."""
        made = Content(self.roles, no_state(self.roles, self.statistics), self.limit)
        made.types = self.types
        return made

    def as_state(self) -> Content:
        """Return the content as one state, independent of later changes."""
        self.state()
        made = copy(self)
        made._pending = []
        return made

    def require(self, rows: Batch) -> None:
        """Reject rows with group columns of another type, or too many groups."""
        self._require_whole()
        warn_if_slow()
        types = self._joint_types(rows.types)
        if checked := [s for s in self.statistics if isinstance(s, RowSums)]:
            for each, statistic in product(rows_by_model(rows, self.roles, 0, rows.height), checked):
                statistic.require(each)
        if self._may_exceed_limit(rows.height) and self._may_exceed_limit(self._count_new(rows.groups[0])):
            self._require_groups(types, rows.groups[0])

    def add(self, rows: Batch) -> None:
        """Add rows that `require` accepted. Small batches are buffered."""
        if self._held is not None and not self._held.fits(rows):
            self.observe()
        self.types = self._joint_types(rows.types)
        buffer = max(BUFFER, min(ROWS_OF_A_GROUP * self._groups, MOST_ROWS))
        if rows.height >= buffer // 2:
            uninterrupted(lambda: self._count(rows))
        else:
            self._held = append(self._held or no_rows(self.roles), rows)
            if self._held.height >= buffer:
                self.observe()

    def are_many(self, rows: Batch) -> bool:
        """Whether rows fill so many cells that threads should share them."""
        cells = self.capacity or int(all(isinstance(s, Summed) for s in self.statistics))
        if not self.roles.keys or rows.height < BLOCK:
            return False
        most = rows.groups[0].height * cells
        if most * ROWS_OF_A_CELL < rows.height:
            return False
        return bool(np.minimum(rows.sizes, cells).sum() * ROWS_OF_A_CELL >= rows.height)

    @property
    def can_be_shared(self) -> bool:
        """Whether threads may count rows together, each by `count`: not if groups beyond a limit are merged."""
        return self.limit.overflow != "other"

    def tally(self, rows: Batch) -> Tally | None:
        """The tally that knows the groups of these rows, None if it has groups of other types."""
        self._require_whole()
        if self._tally is not None and not self._tally.takes(rows.groups[0]):
            return None
        self.types = self._joint_types(rows.types)
        self._tally = self._added(self._tally, rows, 0, 0)
        return self._tally

    def count(self, tally: Tally, rows: Batch) -> None:
        """Count rows in a tally of `tally`, also while other threads count others."""
        self._counted(tally, rows)

    def require_content(self, other: Content) -> None:
        """Reject other content for the reasons of `require`, or if there are too many rows to count."""
        types, tables = self._joint_types(other.types), other._tables_of_groups()
        if self._loaded + other._loaded > COUNTABLE:
            raise MergeError(f"Cannot merge states of more than {COUNTABLE:,} rows in total.")
        limit, self.limit = self.limit, self.limit.joint(other.limit)
        try:
            if self._may_exceed_limit(sum(table.height for table in tables) // len(self.roles.models)):
                self._require_groups(types, *tables)
        finally:
            self.limit = limit

    def absorb(self, other: Content) -> None:
        """Merge other content without buffered rows, which `require_content` accepted. Its tally is taken over."""
        self.types, self.limit = self._joint_types(other.types), self.limit.joint(other.limit)
        self._loaded += other._loaded
        self._pending += [other._merged, *other._pending]
        if self._tally is None:
            self._tally = other._tally
        elif other._tally is not None and self._tally.takes(other._tally.keys):
            self._tally.absorb(other._tally)
        elif other._tally is not None:
            self._pending.append(other._tally.state())
        if sum(s.cells for s in self._pending) >= max(self._merged.cells, states.PENDING):
            self._merged, self._pending = self._combined([self._merged, *self._pending]), []

    def observe(self) -> None:
        """Count the buffered rows."""
        if self._held is not None:
            uninterrupted(self._count_held)

    def state(self) -> State:
        """Return all rows as one state, within the limit of groups."""
        self.observe()
        self._require_whole()
        if self._pending or self._tally is not None or self._is_over(self._merged.groups.height):
            self._combine()
        return self._merged

    def _combine(self) -> None:
        """Merge all counted rows to one state."""
        counted = [] if self._tally is None else [self._tally.state()]
        self._merged, self._pending = self._combined([self._merged, *self._pending, *counted]), []
        self._tally = None

    def _combined(self, parts: list[State]) -> State:
        merged = states.combine(parts) if len(parts) > 1 else parts[0]
        most = self.limit.most
        if most is not None and self._is_over(merged.groups.height):
            return states.with_other(merged, self.roles.by, most)
        return merged

    def _is_over(self, groups: int) -> bool:
        """Whether the number of groups exceeds the limit."""
        most, overflow = self.limit
        return overflow == "other" and most is not None and bool(self.roles.by) and groups > most

    def _count_held(self) -> None:
        if self._held is not None:
            self._count(self._held)
            self._held = None

    def _count(self, rows: Batch) -> None:
        self._require_whole()
        self._whole = False
        if self._tally is not None and not self._tally.takes(rows.groups[0]):  # a group column changed its type
            self._pending, self._tally = [*self._pending, self._tally.state()], None
        self._tally = self._counted(self._tally, rows)
        if self._is_over(self._groups):
            self._combine()
        self._whole = True

    def _counted(self, tally: Tally | None, batch: Batch) -> Tally:
        """The tally with the rows of a batch."""
        start = 0
        block = LARGE_BLOCK if batch.groups[0].height > MANY else BLOCK
        while True:
            end = batch.end_of_piece(start, block)
            tally = self._added(tally, batch, start, end)
            start = end
            if start >= batch.height:
                return tally

    def _added(self, tally: Tally | None, batch: Batch, start: int, end: int) -> Tally:
        """The tally with some rows of a batch, and with all of its groups."""
        rows = rows_by_model(batch, self.roles, start, end, pairs_kept(self.statistics))
        if tally is None:
            return Tally.of(rows, self.statistics, self.roles.labels)
        tally.add(rows)
        return tally

    @property
    def _groups(self) -> int:
        """Number of groups counted since the last state was computed."""
        return 0 if self._tally is None else self._tally.groups.height

    def _require_whole(self) -> None:
        """Reject further use if rows could have been counted partially."""
        if not self._whole:
            raise StreamMetricsError("This accumulator failed while counting. Continue from the last saved state.")

    def _may_exceed_limit(self, more: int) -> bool:
        """Whether this many more groups could exceed the limit, if all are new."""
        if self.limit.most is None or not self.roles.by:
            return False
        held = 0 if self._held is None else self._held.height
        counted = sum(table.height for table in self._tables_of_groups()) // len(self.roles.models)
        if counted + held + more > self.limit.most:
            return True
        self._known = None
        return False

    def _count_new(self, groups: pl.DataFrame) -> int:
        """How many distinct groups, of all models together, may not have been counted yet."""
        tally = self._tally
        if self._held is not None or tally is None or tally.keys.columns != groups.columns or not tally.takes(groups):
            return groups.height
        return tally.count_new(groups)

    def _tables_of_groups(self) -> list[pl.DataFrame]:
        parts: list[State | Tally] = [self._merged, *self._pending, *([] if self._tally is None else [self._tally])]
        return [part.groups for part in parts]

    def _require_groups(self, types: pl.Schema, *more: pl.DataFrame) -> None:
        """Reject additional groups beyond the limit."""
        by = self.roles.by
        if self.limit.overflow == "other":
            require_text(pl.Schema({name: types[name] for name in by}))
            return
        held = [] if self._held is None else [self._held.by]
        counted = [*self._tables_of_groups(), *held]
        known = _distinct(by, [*(counted if self._known is None else [self._known]), *more])
        if self._known is not None and known.height > (self.limit.most or 0):
            known = _distinct(by, [*counted, *more])  # without groups of rows that another accumulator rejected
        self.limit.require(known)
        self._known = known

    def _joint_types(self, types: pl.Schema) -> pl.Schema:
        """The joint types of the content and others."""
        same = [*types.values()] == [*self.types.values()]
        return self.types if same else joint_types([self.types, types])


def _distinct(by: Sequence[str], tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return concat_groups([table.select(by) for table in tables]).unique()


def data_types(roles: Roles, state: State) -> pl.Schema:
    """Return the types that depend on the data: of group columns, and of class labels that are not declared."""
    types = types_of(state.keys.select(roles.keys).iter_columns())
    matrix = state.tables.get(ConfusionMatrix.name)
    if matrix is None or roles.labels:
        return types
    labels = [types_of([matrix[side].alias(LABEL)]) for side in ConfusionMatrix.keys]
    return pl.Schema({**types, **joint_types(labels)})

"""Content of an accumulator: counters of rows, buffered rows, and states to merge."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import few, require_threads, uninterrupted, whole
from streammetrics.core import Codes, warn_if_slow
from streammetrics.data import (
    FOLD,
    LABEL,
    MODEL,
    SINGLE,
    Batch,
    Roles,
    append,
    concat_groups,
    joint,
    joint_types,
    rows_by_model,
    types_of,
)
from streammetrics.errors import Argument, DataError, MergeError, StreamMetricsError
from streammetrics.statistics import GROUP, ConfusionMatrix, RowCounts, RowFingerprint, RowSums, Statistic
from streammetrics.statistics.binned import Binned
from streammetrics.statistics.paired import pairs_kept
from streammetrics.statistics.row_counts import COUNTABLE
from streammetrics.statistics.state.counters import Counters
from streammetrics.statistics.state.tables import ONE_GROUP, PENDING, State, Statistics, combine, split_label
from streammetrics.statistics.summed import Summed

BLOCK = 262_144  # minimum number of rows counted at once: columns are arranged within the cache, except for
MANY_GROUPS = 1_024  # more groups, with
LARGE_BLOCK = 1_048_576  # rows, so that a group has several
BUFFER = 524_288  # rows of small batches that are buffered and counted together
ROWS_OF_A_GROUP = 4  # are buffered for very many groups,
MOST_ROWS = 4_194_304  # but at most these
ROWS_OF_A_CELL = 2  # below which threads share cells: bins, or the fixed cells of a group
SUMMABLE = 1 << 31  # rows whose losses fit the sums of counters, however large each is
MAX_GROUPS = 1_000_000  # default
MOST_GROUPS = (1 << 32) - 1  # their numbers have 32 bits


class Content:
    """Content of an accumulator. `require` rejects invalid rows, `add` counts valid ones.

    Rows are counted in place, in `Counters`. ``types`` are the types that depend on the data, so far.
    """

    def __init__(self, roles: Roles, statistics: Statistics, max_groups: int | None, *parts: State) -> None:
        self.roles = roles
        self.statistics = statistics
        self.max_groups = max_groups
        self.types: pl.Schema = data_types(roles, parts[0])
        self._parts = parts  # states to merge
        self._counters: Counters | None = None  # None if all counted rows are in the parts
        self._buffer: Batch | None = None
        self._rows: float = sum(_rows_of(part) for part in parts)  # without those of the buffer
        self._buffered_rows = 0.0
        self.others: frozenset[Any] | None = None if self._rows else frozenset()  # see `Batch`
        self._failed = False  # rows could have been counted partially

    def empty(self) -> Content:
        """Return empty content of the same types."""
        content = Content(self.roles, self.statistics, self.max_groups, no_state(self.roles, self.statistics))
        content.types = self.types
        return content

    def as_state(self) -> Content:
        """Return the content as one state, independent of later changes."""
        self.state()
        return copy(self)

    def require(self, rows: Batch) -> None:
        """Reject rows with group columns of another type, or too many groups."""
        self._require_success()
        if self._total_with(rows) > COUNTABLE:
            raise DataError(
                f"The rows would be more than {COUNTABLE:,} in total. Split them into several accumulators."
            )
        if rows.amount > SUMMABLE:
            self.empty()._count_alone(rows)
        warn_if_slow()
        self._joint_types(rows.types)  # rejects group columns of another type
        if checked := [s for s in self.statistics if isinstance(s, RowSums)]:
            for each, statistic in product(rows_by_model(rows, slice(0, rows.height)), checked):
                statistic.require(each)
        if self._can_exceed_limit(rows.height):
            self.observe()
            if self._can_exceed_limit(self._count_new_groups(rows)):
                self._require_few_groups(rows.groups)

    def add(self, rows: Batch) -> None:
        """Add rows that `require` accepted. Small batches are buffered."""
        if self.roles.count is not None and self._total_with(rows) > SUMMABLE:
            self.state()  # so that sums begin at 0
        if self._buffer is not None and not self._buffer.fits(rows):
            self.observe()
        self.types = self._joint_types(rows.types)
        groups = 0 if self._counters is None else self._counters.groups.height
        size = max(BUFFER, min(ROWS_OF_A_GROUP * groups, MOST_ROWS))
        if rows.height >= size // 2:
            with uninterrupted():
                self._count_alone(rows)
        else:
            self._buffer = append(self._buffer, rows)
            self._buffered_rows += rows.amount
            if self._buffer.height >= size:
                self.observe()

    def observe(self) -> None:
        """Count the buffered rows."""
        if self._buffer is not None:
            with uninterrupted():
                self._count_alone(self._buffer)
                self._buffer, self._buffered_rows = None, 0.0

    def fills_many_cells(self, rows: Batch) -> bool:
        """Whether threads should count such rows in the same content, since each would need as many cells."""
        if not self.roles.keys or rows.height < BLOCK:
            return False
        bins = max((s.capacity for s in self.statistics if isinstance(s, Binned)), default=0)
        cells = bins or int(all(isinstance(s, Summed) for s in self.statistics))
        if rows.groups.height * cells * ROWS_OF_A_CELL < rows.height:
            return False
        return bool(np.minimum(rows.sizes, cells).sum() * ROWS_OF_A_CELL >= rows.height)

    def takes(self, groups: pl.DataFrame) -> bool:
        """Whether groups have the types of those counted. Columns without any value have any type."""
        return self._counters is None or self._counters.take(groups)

    def number(self, rows: Batch) -> Codes:
        """Return the number of each group of the rows in the counters: shape (models, groups). New groups are added."""
        self.types, self.others = self._joint_types(rows.types), joint(self.others, rows.others)
        self._rows += rows.amount
        if self._counters is None:
            self._counters = Counters(self.roles, self.statistics, rows.groups_by_model)
        return self._counters.number(rows.groups_by_model).reshape(len(self.roles.models), -1)

    def count(self, rows: Batch, numbers: Codes) -> None:
        """Count rows whose groups have these numbers, also while other threads count others."""
        assert self._counters is not None
        pairs = pairs_kept(self.statistics)
        lost = any(isinstance(s, RowFingerprint) for s in self.statistics)
        for piece in rows.pieces(LARGE_BLOCK if rows.groups.height > MANY_GROUPS else BLOCK):
            for block in rows_by_model(rows, piece, numbers, pairs, lost=lost):
                self._counters.count(block)

    def require_content(self, other: Content) -> None:
        """Reject other content for the reasons of `require`, or if there are too many rows to count."""
        self._joint_types(other.types)  # rejects group columns of another type
        if self._rows + other._rows > COUNTABLE:
            raise MergeError(f"Cannot merge states of more than {COUNTABLE:,} rows in total.")
        tables = other._tables_of_groups()
        if self._can_exceed_limit(sum(table.height for table in tables) // len(self.roles.models)):
            self._require_few_groups(*tables)

    def absorb(self, other: Content) -> None:
        """Merge other content without buffered rows, which `require_content` accepted. Its counters are taken over."""
        self.types = self._joint_types(other.types)
        self.others = joint(self.others, other.others)
        self._rows += other._rows
        self._parts = (*self._parts, *other._parts)
        if other._counters is not None:
            if self._counters is not None and self._rows <= SUMMABLE and self._counters.take(other._counters.keys):
                self._counters.absorb(other._counters)
            else:
                self._set_aside()
                self._counters = other._counters
        first, *others = self._parts
        if sum(part.cells for part in others) >= max(first.cells, PENDING):
            self._parts = (combine(self._parts),)

    def state(self) -> State:
        """Return all rows as one state."""
        self.observe()
        self._require_success()
        self._set_aside()
        if len(self._parts) > 1:
            self._parts = (combine(self._parts),)
        return self._parts[0]

    def require_positive(self) -> None:
        """Reject rows with several labels, none of which is the declared positive one."""
        self.observe()
        if self.others is not None and len(self.others) > 1:
            [column] = self.roles.y_true or self.roles.y_pred[SINGLE]
            label, others = self.roles.positive, few(sorted(self.others, key=str))
            raise DataError(
                f"Column {column!r} never has the label ",
                Argument("positive", label),
                f". Labels: {others}. Pass one of them, or if {label!r} can be missing, an expression that "
                "compares the column with it.",
            )

    def _total_with(self, rows: Batch) -> float:
        return self._rows + self._buffered_rows + rows.amount

    def _set_aside(self) -> None:
        """Turn the counters into a state, which is merged later."""
        if self._counters is not None:
            self._parts, self._counters = (*self._parts, self._counters.state()), None

    def _count_alone(self, rows: Batch) -> None:
        self._require_success()
        self._failed = True
        if not self.takes(rows.groups):  # a group column changed its type
            self._set_aside()
        self.count(rows, self.number(rows))
        self._failed = False

    def _require_success(self) -> None:
        if self._failed:
            raise StreamMetricsError("This accumulator failed while counting. Continue from the last saved state.")

    def _can_exceed_limit(self, more: int) -> bool:
        """Whether this many more groups could exceed the limit, if all are new."""
        if self.max_groups is None or not self.roles.by:
            return False
        counted = sum(table.height for table in self._tables_of_groups()) // len(self.roles.models)
        buffered = 0 if self._buffer is None else self._buffer.height
        return counted + buffered + more > self.max_groups

    def _count_new_groups(self, rows: Batch) -> int:
        """How many groups of the rows, of all models together, may not have been counted yet."""
        if self._counters is None or not self._counters.take(rows.groups):
            return rows.groups.height
        new = self._counters.look_up(rows.groups_by_model).reshape(len(self.roles.models), -1) < 0
        return int(np.count_nonzero(new.any(axis=0)))

    def _tables_of_groups(self) -> list[pl.DataFrame]:
        return [*(part.groups for part in self._parts), *([] if self._counters is None else [self._counters.groups])]

    def _require_few_groups(self, *more: pl.DataFrame) -> None:
        buffered = [] if self._buffer is None else [self._buffer.group_columns]
        tables = [table.select(self.roles.by) for table in (*self._tables_of_groups(), *buffered, *more)]
        require_few_groups(concat_groups(tables).unique(), self.max_groups)

    def _joint_types(self, types: pl.Schema) -> pl.Schema:
        same = [*types.values()] == [*self.types.values()]
        return self.types if same else joint_types([self.types, types])


def no_state(roles: Roles, statistics: Statistics) -> State:
    """Return the state before the first row: one group, or one per model, unless rows are grouped."""
    require_threads()
    if not roles.keys and roles.models == (SINGLE,):
        groups = ONE_GROUP
    elif not roles.keys:
        groups = pl.DataFrame({MODEL: roles.models}).with_row_index(GROUP)
    else:
        types = {FOLD: pl.Int64(), MODEL: pl.String()}
        groups = pl.DataFrame(schema={GROUP: pl.UInt32(), **{c: types.get(c, pl.Null()) for c in roles.group_columns}})
    weighted = roles.sample_weight is not None
    labels, kind = len(roles.labels), pl.Series(roles.labels).dtype if roles.labels else pl.Null()
    tables = {s.name: _empty_table(s, groups.height, weighted, labels, kind) for s in statistics}
    return State(statistics, groups, tables, roles.labels)


@lru_cache(maxsize=256)
def _empty_table(statistic: Statistic, groups: int, weighted: bool, labels: int, kind: pl.DataType) -> pl.DataFrame:
    """The table of groups without rows, for so many labels of a type."""
    of_label = labels if statistic.per_label else 0
    table = statistic.empty_table(groups * max(of_label, 1), weighted)
    return split_label(table.cast({c: kind for c, unknown in table.schema.items() if unknown == pl.Null}), of_label)


def _rows_of(state: State) -> int:
    counts = state.tables[RowCounts.name]
    return sum(int(counts[name].sum()) for name in RowCounts.counts)


def data_types(roles: Roles, state: State) -> pl.Schema:
    """Return the types that depend on the data: of group columns, and of class labels that are not declared."""
    types = types_of(state.groups[name] for name in roles.keys)
    matrix = state.tables.get(ConfusionMatrix.name)
    if matrix is None or roles.labels:
        return types
    labels = [types_of([matrix[side].alias(LABEL)]) for side in ConfusionMatrix.keys]
    return pl.Schema({**types, **joint_types(labels)})


def group_limit(max_groups: Any) -> int | None:
    """Return the maximum number of groups, not counting models and folds; None for no limit."""
    return None if max_groups is None else whole(Argument("max_groups"), max_groups, least=1, most=MOST_GROUPS)


def require_few_groups(groups: pl.DataFrame, max_groups: int | None) -> None:
    """Reject distinct groups that are too many."""
    if max_groups is not None and groups.height > max_groups:
        widest = max(groups, key=pl.Series.n_unique).name
        raise DataError(
            f"Grouping by {', '.join(groups.columns)} gives more than {max_groups:,} groups; "
            f"{widest!r} has the most values. Group by fewer or coarser columns, or raise ",
            Argument("max_groups"),
            ".",
        )

"""Content of an accumulator: counters by group, buffered rows, and states to merge."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from itertools import chain, product
from typing import Any, TypeAlias

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
    Rows,
    append,
    concat_groups,
    has_values,
    joint,
    joint_types,
    no_rows,
    rows_by_model,
    typed,
    types_of,
)
from streammetrics.errors import Argument, DataError, MergeError, StreamMetricsError
from streammetrics.statistics import GROUP, ConfusionMatrix, RowCounts, RowFingerprint, RowSums, Statistic
from streammetrics.statistics.binned import Binned
from streammetrics.statistics.counter import Counter
from streammetrics.statistics.paired import pairs_kept
from streammetrics.statistics.row_counts import COUNTABLE
from streammetrics.statistics.squares import WithSquares
from streammetrics.statistics.state.tables import (
    ONE_GROUP,
    PENDING,
    State,
    Statistics,
    combine,
    find_groups,
    split_label,
)
from streammetrics.statistics.summed import Summed

Counters: TypeAlias = Sequence[Sequence[Counter]]  # of each statistic: one, or one per label

BLOCK = 262_144  # minimum number of rows counted at once: columns are arranged within the cache, except for
MANY = 1_024  # more groups, with
LARGE_BLOCK = 1_048_576  # rows, so that a group has several
BUFFER = 524_288  # rows of small batches that are buffered and counted together
ROWS_OF_A_GROUP = 4  # are buffered for very many groups,
MOST_ROWS = 4_194_304  # but at most these
ROWS_OF_A_CELL = 2  # below which threads share cells: bins, or the fixed cells of a group
MAX_GROUPS = 1_000_000  # default
MOST_GROUPS = (1 << 32) - 1  # their numbers have 32 bits


class Content:
    """Content of an accumulator. `require` rejects invalid rows, `add` counts valid ones.

    Rows are counted in place, in counters that use the numbers of ``groups``. ``types`` are the types that depend on
    the data, so far.
    """

    def __init__(self, roles: Roles, statistics: Statistics, max_groups: int | None, *parts: State) -> None:
        self.roles = roles
        self.statistics = statistics
        self.max_groups = max_groups
        self.types: pl.Schema = data_types(roles, parts[0]) if parts else no_rows(roles).types
        self.groups: pl.DataFrame | None = None  # None if all counted rows are in the parts
        self._counters: Counters = ()
        self._parts = parts  # states to merge
        self._loaded = sum(_rows_of(part) for part in parts)
        self.others: frozenset[Any] | None = None if self._loaded else frozenset()  # see `Batch`
        self._held: Batch | None = None
        self._found: tuple[pl.DataFrame, Codes] | None = None  # groups of a batch, and their numbers
        self._known: pl.DataFrame | None = None  # groups of all rows, counted only if they could exceed the limit
        self._whole = True

    def empty(self) -> Content:
        """Return empty content of the same types."""
        made = Content(self.roles, self.statistics, self.max_groups, no_state(self.roles, self.statistics))
        made.types = self.types
        return made

    def as_state(self) -> Content:
        """Return the content as one state, independent of later changes."""
        self.state()
        return copy(self)

    def require(self, rows: Batch) -> None:
        """Reject rows with group columns of another type, or too many groups."""
        self._require_whole()
        warn_if_slow()
        self._joint_types(rows.types)  # rejects group columns of another type
        if checked := [s for s in self.statistics if isinstance(s, RowSums)]:
            for each, statistic in product(rows_by_model(rows, slice(0, rows.height)), checked):
                statistic.require(each)
        if self._may_exceed_limit(rows.height) and self._may_exceed_limit(self._count_new(rows)):
            self._require_groups(rows.groups)

    def add(self, rows: Batch) -> None:
        """Add rows that `require` accepted. Small batches are buffered."""
        if self._held is not None and not self._held.fits(rows):
            self.observe()
        self.types = self._joint_types(rows.types)
        groups = 0 if self.groups is None else self.groups.height
        buffer = max(BUFFER, min(ROWS_OF_A_GROUP * groups, MOST_ROWS))
        if rows.height >= buffer // 2:
            uninterrupted(lambda: self._count_alone(rows))
        else:
            self._held = append(self._held or no_rows(self.roles), rows)
            if self._held.height >= buffer:
                self.observe()

    def observe(self) -> None:
        """Count the buffered rows."""
        if self._held is not None:
            uninterrupted(self._count_held)

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
        own = {} if self.groups is None else self.groups.schema
        return all(
            s.name not in own or own[s.name] == s.dtype or (own[s.name] != pl.Null() and not has_values(s))
            for s in groups
        )

    def number(self, rows: Batch) -> Codes:
        """Return the number of each group of the rows in the counters: shape (models, groups). New groups are added."""
        self.types, self.others = self._joint_types(rows.types), joint(self.others, rows.others)
        if self.groups is None:
            groups = rows.groups_by_model
            self.groups = groups.clear().with_row_index(GROUP) if groups.width else ONE_GROUP
            self._counters = _counters_of(self.statistics, self.roles)
        return self._number(rows.groups_by_model).reshape(len(self.roles.models), -1)

    def count(self, rows: Batch, numbers: Codes) -> None:
        """Count rows whose groups have these numbers, also while other threads count others."""
        pairs = pairs_kept(self.statistics)
        lost = any(isinstance(s, RowFingerprint) for s in self.statistics)
        for piece in rows.pieces(LARGE_BLOCK if rows.groups.height > MANY else BLOCK):
            for each in rows_by_model(rows, piece, numbers, pairs, lost=lost):
                self._count_block(each)

    def require_content(self, other: Content) -> None:
        """Reject other content for the reasons of `require`, or if there are too many rows to count."""
        self._joint_types(other.types)  # rejects group columns of another type
        tables = other._tables_of_groups()
        if self._loaded + other._loaded > COUNTABLE:
            raise MergeError(f"Cannot merge states of more than {COUNTABLE:,} rows in total.")
        if self._may_exceed_limit(sum(table.height for table in tables) // len(self.roles.models)):
            self._require_groups(*tables)

    def absorb(self, other: Content) -> None:
        """Merge other content without buffered rows, which `require_content` accepted. Its counters are taken over."""
        self.types = self._joint_types(other.types)
        self.others = joint(self.others, other.others)
        self._loaded += other._loaded
        self._parts = (*self._parts, *other._parts)
        if self.groups is not None and other.groups is not None and self.takes(other.groups.drop(GROUP)):
            numbers = self._number(other.groups.drop(GROUP))
            for counter, more in zip(chain(*self._counters), chain(*other._counters), strict=True):
                counter.absorb(more, numbers, self.groups.height)
        elif other.groups is not None:
            self._set_aside()
            self.groups, self._counters = other.groups, other._counters
        first, *others = self._parts
        if sum(part.cells for part in others) >= max(first.cells, PENDING):
            self._merge()

    def state(self) -> State:
        """Return all rows as one state."""
        self.observe()
        self._require_whole()
        self._set_aside()
        self._merge()
        return self._parts[0]

    def require_positive(self) -> None:
        """Reject rows with several labels, none of which is the declared positive one."""
        self.observe()
        if self.others is not None and len(self.others) > 1:
            [column] = self.roles.y_true or self.roles.y_pred[SINGLE]
            label, known = self.roles.positive, few(sorted(self.others, key=str))
            raise DataError(
                f"Column {column!r} never has the label ",
                Argument("positive", label),
                f". Labels: {known}. Pass one of them, or if {label!r} can be missing, an expression that "
                "compares the column with it.",
            )

    def _merge(self) -> None:
        if len(self._parts) > 1:
            self._parts = (combine(self._parts),)

    def _set_aside(self) -> None:
        """Turn the counters into a state, which is merged later. Its cells can be repeated."""
        if self.groups is not None:
            tables = {
                statistic.name: _table(statistic, counters, bool(self.roles.labels))
                for statistic, counters in zip(self.statistics, self._counters, strict=True)
            }
            self._parts = (*self._parts, State(self.statistics, self.groups, tables, self.roles.labels))
            self.groups, self._counters = None, ()

    def _count_held(self) -> None:
        if self._held is not None:
            self._count_alone(self._held)
            self._held = None

    def _count_alone(self, rows: Batch) -> None:
        self._require_whole()
        self._whole = False
        if not self.takes(rows.groups):  # a group column changed its type
            self._set_aside()
        self.count(rows, self.number(rows))
        self._whole = True

    def _count_block(self, rows: Rows) -> None:
        groups, labels = 0 if self.groups is None else self.groups.height, len(self.roles.labels)
        each = [*zip(self.statistics, self._counters, strict=True)]
        for statistic, counters in each:
            if not (labels and statistic.of_label):
                counters[0].count(rows, groups)
        for label, of_label in enumerate(rows.of_labels(labels)):
            for statistic, counters in each:
                if statistic.of_label:
                    counters[label].count(of_label, groups)

    def _require_whole(self) -> None:
        """Reject further use if rows could have been counted partially."""
        if not self._whole:
            raise StreamMetricsError("This accumulator failed while counting. Continue from the last saved state.")

    def _number(self, groups: pl.DataFrame) -> Codes:
        assert self.groups is not None
        codes, self._found = self._look_up(groups), None
        new = codes < 0
        if new.any():
            known, more = self.groups.drop(GROUP), typed(groups.filter(new), self.groups.schema)
            self.groups = pl.concat([known, more]).with_row_index(GROUP)
            codes[new] = np.arange(known.height, self.groups.height)
        return codes

    def _look_up(self, groups: pl.DataFrame) -> Codes:
        """The numbers of distinct groups, -1 for new ones."""
        if self.groups is None or not groups.width:
            return np.zeros(1, dtype=np.intp)
        if self._found is None or self._found[0] is not groups:
            found = find_groups(typed(groups, self.groups.schema), self.groups)
            self._found = groups, found.cast(pl.Int64).fill_null(-1).to_numpy(writable=True)
        return self._found[1]

    def _may_exceed_limit(self, more: int) -> bool:
        """Whether this many more groups could exceed the limit, if all are new."""
        if self.max_groups is None or not self.roles.by:
            return False
        held = 0 if self._held is None else self._held.height
        counted = sum(table.height for table in self._tables_of_groups()) // len(self.roles.models)
        if counted + held + more > self.max_groups:
            return True
        self._known = None
        return False

    def _count_new(self, rows: Batch) -> int:
        """How many groups of the rows, of all models together, may not have been counted yet."""
        if self._held is not None or self.groups is None or not self.takes(rows.groups):
            return rows.groups.height
        new = self._look_up(rows.groups_by_model).reshape(len(self.roles.models), -1) < 0
        return int(np.count_nonzero(new.any(axis=0)))

    def _tables_of_groups(self) -> list[pl.DataFrame]:
        return [*(part.groups for part in self._parts), *([] if self.groups is None else [self.groups])]

    def _require_groups(self, *more: pl.DataFrame) -> None:
        """Reject additional groups beyond the limit."""
        by = self.roles.by
        held = [] if self._held is None else [self._held.by]
        counted = [*self._tables_of_groups(), *held]
        known = _distinct(by, [*(counted if self._known is None else [self._known]), *more])
        if self._known is not None and known.height > (self.max_groups or 0):
            known = _distinct(by, [*counted, *more])  # without groups of rows that another accumulator rejected
        require_few_groups(known, self.max_groups)
        self._known = known

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
    of_label = labels if statistic.of_label else 0
    table = statistic.empty_table(groups * max(of_label, 1), weighted)
    return split_label(table.cast({c: kind for c, unknown in table.schema.items() if unknown == pl.Null}), of_label)


def _counters_of(statistics: Statistics, roles: Roles) -> Counters:
    weighted, labels = roles.sample_weight is not None, len(roles.labels) or 1
    return [[_counter(s, weighted) for _ in range(labels if s.of_label else 1)] for s in statistics]


def _counter(statistic: Statistic, weighted: bool) -> Counter:
    made = statistic.counter(weighted)
    if weighted and statistic.squared:
        return WithSquares(statistic, made, statistic.counter(weighted))
    return made


def _table(statistic: Statistic, counters: Sequence[Counter], labels: bool) -> pl.DataFrame:
    """The table of a statistic, in which the first key is the number of the label if there are labels."""
    tables = [counter.table() for counter in counters]
    if not (labels and statistic.of_label):
        return tables[0]
    numbers = [pl.lit(i, pl.UInt32).alias(LABEL) for i in range(len(tables))]
    return pl.concat(t.select(GROUP, i, pl.exclude(GROUP)) for i, t in zip(numbers, tables, strict=True))


def _rows_of(state: State) -> int:
    counts = state.tables[RowCounts.name]
    return sum(int(counts[name].sum()) for name in RowCounts.counts)


def _distinct(by: Sequence[str], tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return concat_groups([table.select(by) for table in tables]).unique()


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

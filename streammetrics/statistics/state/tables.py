"""The state of some rows: their groups, and one table per statistic. States can be merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
import polars as pl

from streammetrics.base import hidden, reason, require_free
from streammetrics.data import LABEL, MODEL, ascending, concat_groups, find, group_column, typed
from streammetrics.errors import ColumnError, MetricError, SpecificationError
from streammetrics.statistics import GROUP, Statistic

Statistics = tuple[Statistic, ...]
S = TypeVar("S")

PENDING = 131_072  # cells of states that wait to be merged
AT_ONCE = 1 << 18  # cells of periods that are merged at once, about
PERIOD = hidden("period")
ONE_GROUP = pl.DataFrame({GROUP: [0]}, {GROUP: pl.UInt32})


@dataclass(frozen=True)
class State:
    """Groups and tables.

    ``groups`` has the number of each group (column ``group``, from 0 in row order) and the group columns. ``tables``
    has the table of each statistic by name; its column ``group`` refers to the numbers. If the task has several
    ``labels``, the first key of the tables of binary statistics is ``label``, the number of the label.

    States are merged by these tables. Metrics are computed from those of the method `table`.
    """

    statistics: Statistics
    groups: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    labels: tuple[Any, ...] = ()

    def find(self, kind: type[S]) -> S | None:
        """Return the first statistic of a kind, or None."""
        return next((statistic for statistic in self.statistics if isinstance(statistic, kind)), None)

    def statistic(self, kind: type[S]) -> S:
        """Return the first statistic of a kind, which metrics and curves require."""
        if (statistic := self.find(kind)) is None:
            raise MetricError(f"The statistic {kind.__name__} is required, but not in this accumulator.")
        return statistic

    def labels_of(self, statistic: Statistic) -> tuple[Any, ...]:
        """Return the labels of the table of a statistic; none if it has no labels."""
        return self.labels if statistic.per_label else ()

    def table(self, statistic: Statistic) -> pl.DataFrame:
        """Return the table of a statistic for metrics: of `groups_of`, with floats in place of decimals."""
        table = self._tables.get(statistic.name)
        if table is None:
            table = statistic.with_floats(join_label(self.tables[statistic.name], len(self.labels_of(statistic))))
            self._tables[statistic.name] = table
        return table

    @cached_property
    def _tables(self) -> dict[str, pl.DataFrame]:
        """Tables for metrics that were already asked for."""
        return {}

    def groups_of(self, statistic: Statistic) -> pl.DataFrame:
        """Return the groups of a statistic: each label of each group if it has labels, with the column ``label``."""
        labels = self.labels_of(statistic)
        if not labels:
            return self.groups
        label = pl.DataFrame({LABEL: labels})
        return self.groups.join(label, how="cross", maintain_order="left_right").with_columns(
            pl.int_range(pl.len(), dtype=pl.UInt32).alias(GROUP)
        )

    def join_groups(self, statistic: Statistic, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a frame with the columns of `groups_of` in place of the number of the group."""
        label = [LABEL] if self.labels_of(statistic) else []
        require_free([*self.by, *label], {*frame.columns} - {GROUP})
        return self.with_groups(self.with_label(statistic, frame))

    def with_label(self, statistic: Statistic, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a frame with the number of the group and the label, in place of the number in `groups_of`."""
        labels = self.labels_of(statistic)
        if not labels:
            return frame
        frame = split_label(frame, len(labels))
        return frame.with_columns(pl.Series(LABEL, labels).gather(frame[LABEL]))

    def with_groups(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a frame with the group columns in place of the number of the group."""
        if not self.by:
            return frame.drop(GROUP)
        return pl.concat([self.keys[frame[GROUP]], frame.drop(GROUP)], how="horizontal")

    def numbers_of(self, parts: State) -> pl.Series:
        """Return the number of the group that each group of a state with more group columns is part of."""
        return find_groups(parts.keys.drop(set(parts.by) - {*self.by}), self.groups)

    @property
    def parts(self) -> tuple[Any, ...]:
        """Its parts, for pickles, which name no class that can move."""
        return self.statistics, self.groups, self.tables, self.labels

    @property
    def by(self) -> list[str]:
        """Names of the group columns."""
        return [name for name in self.groups.columns if name != GROUP]

    @property
    def keys(self) -> pl.DataFrame:
        """The group columns."""
        return self.groups.drop(GROUP)

    @property
    def weighted(self) -> bool:
        """Whether counts are sums of weights."""
        return any(s.is_weighted(self.tables[s.name]) for s in self.statistics)

    @property
    def exact(self) -> bool:
        """Whether it has only integers and decimals to sum, so that sums do not depend on the order of groups."""
        return not any(
            kind.is_float()
            for statistic in self.statistics
            for name, kind in self.tables[statistic.name].schema.items()
            if name not in statistic.keys
        )

    @property
    def cells(self) -> int:
        """Number of rows of all tables."""
        return sum(t.height for t in self.tables.values())

    def roll_up(self, columns: Sequence[str]) -> State:
        """Return the state for some of the group columns."""
        keys = self.groups.select(columns)
        if columns and ascending(keys):  # all stay unchanged
            return replace(self, groups=keys.with_row_index(GROUP))._merged()
        groups = keys.unique(maintain_order=True).with_row_index(GROUP) if columns else ONE_GROUP
        numbers = find_groups(keys, groups) if columns else pl.Series(np.zeros(self.groups.height, np.uint32))
        return replace(self, groups=groups, tables=self._renumber(numbers))._merged()

    def without(self, column: str) -> State:
        """Return the state without one of the group columns."""
        return self.roll_up([name for name in self.by if name != column])

    def for_reports(self) -> State:
        """Return the state with the statistics with which reports roll up groups. It must not be stored."""
        return replace(self, statistics=tuple(s.for_reports() for s in self.statistics))

    def with_keys(self, expressions: Mapping[str, pl.Expr]) -> State:
        """Return the state with additional group columns, computed from existing ones."""
        if not expressions:
            return self
        unknown = (
            {name for name, kind in self.keys.schema.items() if kind == pl.Null} if self.groups.is_empty() else set()
        )
        columns = {n: pl.lit(None) if unknown.intersection(e.meta.root_names()) else e for n, e in expressions.items()}
        try:
            keys = self.keys.with_columns(**columns)
            keys = keys.with_columns(group_column(keys[name]) for name in columns)
        except (pl.exceptions.PolarsError, ColumnError) as error:
            raise SpecificationError(f"Cannot roll up groups to {', '.join(columns)}: {reason(error)}.") from error
        return replace(self, groups=keys.with_row_index(GROUP))

    def select(self, keys: pl.DataFrame) -> State:
        """Return the state of some groups, in the order of ``keys``."""
        groups = keys.with_row_index(GROUP)
        numbers = find_groups(self.keys, groups)
        tables = {n: t.sort(GROUP, maintain_order=True) for n, t in self._renumber(numbers).items()}
        return replace(self, groups=groups, tables=tables)

    def periods(self, window: str, names: pl.Series, since: pl.Series, until: pl.Series) -> State:
        """Return the state of some periods: for each, the windows from ``since`` to before ``until``, merged.

        The column of the window has the names of the periods, which differ. Times have the type of the window, or are
        datetimes for dates.
        """
        windows = self.groups.drop_nulls(window).sort(window, maintain_order=True)
        starts = windows[window].cast(since.dtype)
        first, last = (starts.search_sorted(times).to_numpy().astype(np.int64) for times in (since, until))
        lengths = last - first
        chunks = self.cells * int(lengths.sum()) // max(1, windows.height) // AT_ONCE + 1
        parts = [self.select(self.keys.clear())]
        for some in np.array_split(np.arange(len(names)), chunks):
            rows = np.concatenate([np.arange(first[i], last[i]) for i in some])
            inside = windows[rows].with_columns(names[np.repeat(some, lengths[some])].alias(window))
            keys = inside.drop(GROUP)
            groups = keys.unique(maintain_order=True).with_row_index(GROUP)
            copies = inside.select(GROUP, find_groups(keys, groups).alias(PERIOD))
            tables = {
                name: copies.join(table, on=GROUP, maintain_order="left_right").drop(GROUP).rename({PERIOD: GROUP})
                for name, table in self.tables.items()
            }
            parts.append(replace(self, groups=groups, tables=tables)._merged())
        return combine(parts)

    def filter(self, predicates: Sequence[pl.Expr]) -> State:
        """The state of the groups for which predicates hold."""
        try:
            keys = self.keys.filter(*predicates)
        except (pl.exceptions.PolarsError, TypeError) as error:
            columns = ", ".join(self.by) or "none"
            raise SpecificationError(f"Cannot filter groups: {reason(error)}. Group columns: {columns}.") from error
        return self.select(keys)

    def sorted(self, models: Sequence[str] = ()) -> State:
        """Return the same state with sorted groups, so that equal contents have equal tables; models in their order."""
        keys = ranked = self.keys
        if models and MODEL in keys.columns:
            ranks = {name: rank for rank, name in enumerate(models)}
            ranked = keys.with_columns(pl.col(MODEL).replace_strict(ranks, return_dtype=pl.UInt32))
        if not keys.width or ascending(ranked):
            return replace(self, tables={name: _sorted(table) for name, table in self.tables.items()})
        return self.select(keys[ranked.with_row_index(GROUP).sort(ranked.columns, nulls_last=True)[GROUP]])

    def _merged(self) -> State:
        """The state with one row per cell. Each label of a group is merged like a group."""
        tables = {}
        for statistic in self.statistics:
            table, labels = self.tables[statistic.name], len(self.labels_of(statistic))
            merged = statistic.merge(join_label(table, labels) if labels else table)
            tables[statistic.name] = split_label(merged, labels) if labels else merged
        return replace(self, tables=tables)

    def _renumber(self, numbers: pl.Series) -> dict[str, pl.DataFrame]:
        """The tables with renumbered groups, without those whose number is null."""
        if numbers.equals(self.groups[GROUP]):
            return self.tables
        tables = {  # without expressions, which take longer than the tables of few groups
            n: t.clone().replace_column(t.get_column_index(GROUP), numbers[t[GROUP]].alias(GROUP))
            for n, t in self.tables.items()
        }
        return {n: t.drop_nulls(GROUP) for n, t in tables.items()} if numbers.null_count() else tables


def join_label(table: pl.DataFrame, labels: int) -> pl.DataFrame:
    """Return the table whose groups are those of `State.groups_of`: each label of a group."""
    if not labels or LABEL not in table.columns:
        return table
    return table.select(pl.col(GROUP) * labels + pl.col(LABEL), pl.exclude(GROUP, LABEL))


def split_label(table: pl.DataFrame, labels: int) -> pl.DataFrame:
    """Return the table with the key ``label``, from one whose groups are those of `State.groups_of`."""
    if not labels:
        return table
    return table.select(pl.col(GROUP) // labels, (pl.col(GROUP) % labels).alias(LABEL), pl.exclude(GROUP))


def combine(states: Sequence[State]) -> State:
    """Merge states, none of which has duplicate groups."""
    first = states[0]
    filled = [s for s in states if s.groups.height]
    if len(filled) == 1:
        groups, parts = filled[0].groups, [filled[0].tables]
    else:
        keys = concat_groups([s.keys for s in states])
        groups = keys.unique(maintain_order=True).with_row_index(GROUP) if keys.width else ONE_GROUP
        if groups.height == keys.height:  # no state has a group of another
            ends = accumulate((s.groups.height for s in filled or states), initial=0)
            numbers = [groups[GROUP][start:end] for start, end in pairwise(ends)]
        else:
            numbers = [find_groups(typed(s.keys, keys.schema), groups) for s in filled or states]
        parts = [s._renumber(n) for s, n in zip(filled or states, numbers, strict=True)]
    tables = {s.name: _together([p[s.name] for p in parts]) for s in first.statistics}
    return replace(first, groups=groups, tables=tables)._merged()


def _together(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    filled = [t for t in tables if t.height] or [max(tables, key=lambda t: str(t.schema))]  # in any order
    return pl.concat(filled, how="vertical_relaxed", rechunk=True)


def _sorted(table: pl.DataFrame) -> pl.DataFrame:
    return table if table[GROUP].flags["SORTED_ASC"] else table.sort(GROUP, maintain_order=True)


def find_groups(keys: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """Return, for each row of group columns, its number in ``groups``, or null if it is not among them."""
    return find(keys, groups) if keys.width else pl.Series(np.zeros(keys.height, np.uint32))

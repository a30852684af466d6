"""What has been kept of some rows: their groups, and one table per statistic. States add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from streammetrics import batches
from streammetrics.codes import find
from streammetrics.counters import Counter
from streammetrics.frames import concat_groups
from streammetrics.roles import LABEL, Roles
from streammetrics.rows import Rows, rows_by_model
from streammetrics.statistics import GROUP, Statistic

Statistics = tuple[Statistic, ...]

ONE_GROUP = pl.DataFrame({GROUP: [0]}, {GROUP: pl.UInt32})


@dataclass(frozen=True)
class State:
    """Groups and tables.

    ``groups`` holds the number of each group (column ``group``, 0 and up in row order) and its group columns.
    ``tables`` holds the table of each statistic by name; its column ``group`` refers to the numbers. Where the task has
    several ``labels``, tables of binary statistics hold each label of each group as a group of its own: number of the
    group times number of labels, plus number of the label.
    """

    statistics: Statistics
    groups: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    labels: tuple[Any, ...] = ()

    def labels_of(self, statistic: Statistic) -> tuple[Any, ...]:
        """The labels that the table of a statistic keeps apart; none where it does not."""
        return self.labels if statistic.of_label else ()

    def groups_of(self, statistic: Statistic) -> pl.DataFrame:
        """The groups that the table of a statistic refers to, with the column ``label`` where it keeps labels apart."""
        labels = self.labels_of(statistic)
        if not labels:
            return self.groups
        label = pl.DataFrame({LABEL: labels})
        return self.groups.join(label, how="cross", maintain_order="left_right").with_columns(
            pl.int_range(pl.len(), dtype=pl.UInt32).alias(GROUP)
        )

    @property
    def keys(self) -> pl.DataFrame:
        """The group columns."""
        return self.groups.drop(GROUP)

    @property
    def cells(self) -> int:
        """Number of rows of all tables."""
        return sum(t.height for t in self.tables.values())


@dataclass(frozen=True)
class Tally:
    """Rows counted in arrays that more rows can be added to.

    A statistic has one counter, or where it keeps labels apart one for each of them.
    """

    statistics: Statistics
    labels: tuple[Any, ...]
    groups: pl.DataFrame
    counters: tuple[tuple[Counter, ...], ...]
    seen: int = 0

    @classmethod
    def of(cls, rows: Sequence[Rows], statistics: Statistics, labels: tuple[Any, ...]) -> Tally:
        """The tally of a chunk, given as the rows of each model."""
        keys = rows[0].groups.clear()
        weighted = rows[0].weight is not None
        groups = _numbered(keys) if keys.width else ONE_GROUP
        counters = tuple((s.counter(weighted),) * (len(labels) if labels and s.of_label else 1) for s in statistics)
        tally = cls(statistics, labels, groups, counters).add(rows)
        assert tally is not None
        return tally

    def add(self, rows: Sequence[Rows]) -> Tally | None:
        """The tally of one more chunk; None where a group column is of another type than before."""
        groups, counters = self.groups, [list(of_statistic) for of_statistic in self.counters]
        of_labels = [c for c, s in zip(counters, self.statistics, strict=True) if self.labels and s.of_label]
        of_rows = [c for c, s in zip(counters, self.statistics, strict=True) if not (self.labels and s.of_label)]
        for r in rows:
            if r.groups.schema != groups.drop(GROUP).schema:
                return None
            numbers = _find(r.groups, groups) if r.groups.width else groups[GROUP]
            if numbers.null_count():
                groups = _numbered(pl.concat([groups.drop(GROUP), r.groups.filter(numbers.is_null())]))
                numbers = _find(r.groups, groups)
            codes = numbers.to_numpy().astype(np.intp)
            for counter in of_rows:
                counter[0] = counter[0].add(r, codes, groups.height)
            for label in range(len(self.labels) if of_labels else 0):
                of_label = r.of_label(label)
                for counter in of_labels:
                    counter[label] = counter[label].add(of_label, codes, groups.height)
        seen = self.seen + sum(r.size for r in rows)
        return replace(self, groups=groups, counters=tuple(map(tuple, counters)), seen=seen)

    @property
    def loose(self) -> int:
        """Rows of tables that came since the last compaction."""
        return sum(c.loose for c in chain(*self.counters))

    @property
    def fitted(self) -> int:
        """Rows of tables that the last compaction left."""
        return sum(c.fitted for c in chain(*self.counters))

    @property
    def settled(self) -> bool:
        """Whether many rows of these groups can be counted at once."""
        return all(c.settled for c in chain(*self.counters))

    def compact(self) -> Tally:
        """The tally with equal cells added up."""
        return replace(self, counters=tuple(tuple(c.compact() for c in of) for of in self.counters))

    def state(self) -> State:
        """What was counted, as tables. Cells may come more than once; `combine` adds them up."""
        tables = {
            s.name: pl.concat(_of_label(c.table(), label, len(counters)) for label, c in enumerate(counters))
            for s, counters in zip(self.statistics, self.counters, strict=True)
        }
        return State(self.statistics, self.groups, tables, self.labels)


def _of_label(table: pl.DataFrame, label: int, labels: int) -> pl.DataFrame:
    """The table of one of several labels, each of its groups with the number that it has among those of all labels."""
    return table.with_columns(pl.col(GROUP) * labels + label)


def no_rows(roles: Roles, statistics: Statistics) -> State:
    """The state before the first row."""
    return Tally.of(rows_by_model(batches.no_rows(roles), roles), statistics, roles.labels).compact().state()


def combine(states: Sequence[State]) -> State:
    """The state of the rows of several.

    Raises:
        ColumnError: where a group column has different types.
    """
    statistics = states[0].statistics
    keys = concat_groups([s.keys for s in states])
    groups = _numbered(keys.unique(maintain_order=True)) if keys.width else ONE_GROUP
    parts = [_renumber(s, _find(s.keys.cast(keys.schema), groups)) for s in states]
    tables = {s.name: s.merge(pl.concat([p[s.name] for p in parts], how="vertical_relaxed")) for s in statistics}
    return State(statistics, groups, tables, states[0].labels)


def roll_up(state: State, columns: Sequence[str]) -> State:
    """The state over some of the group columns."""
    keys = state.groups.select(columns)
    groups = _numbered(keys.unique(maintain_order=True)) if columns else ONE_GROUP
    numbers = _find(keys, groups) if columns else pl.zeros(state.groups.height, pl.UInt32, eager=True)
    tables = _renumber(state, numbers)
    return replace(state, groups=groups, tables={s.name: s.merge(tables[s.name]) for s in state.statistics})


def select(state: State, keys: pl.DataFrame) -> State:
    """The state of some of the groups, in the order of ``keys``."""
    groups = _numbered(keys)
    tables = _renumber(state, _find(state.keys, groups))
    return replace(state, groups=groups, tables={n: t.sort(GROUP, maintain_order=True) for n, t in tables.items()})


def in_order(state: State) -> State:
    """The same state with its groups sorted, so that equal contents make equal tables."""
    keys = state.keys
    return select(state, keys.sort(keys.columns, nulls_last=True)) if keys.width else state


def _numbered(keys: pl.DataFrame) -> pl.DataFrame:
    return keys.with_row_index(GROUP)


def _find(keys: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """For each row of group columns its number among ``groups``, null where it is none of them."""
    return find(keys, groups) if keys.width else pl.zeros(keys.height, pl.UInt32, eager=True)


def _renumber(state: State, numbers: pl.Series) -> dict[str, pl.DataFrame]:
    """The tables with each group given a new number, and without the groups whose number is null."""
    if numbers.equals(state.groups[GROUP]):
        return state.tables
    tables = {}
    for statistic in state.statistics:
        table, labels = state.tables[statistic.name], len(state.labels_of(statistic)) or 1
        group = numbers.gather(table[GROUP] // labels) * labels + table[GROUP] % labels
        tables[statistic.name] = table.with_columns(group.alias(GROUP)).drop_nulls(GROUP)
    return tables

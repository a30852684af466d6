"""What has been kept of some rows: their groups, and one table per statistic. States add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from streammetrics import frames
from streammetrics.counters import Counter
from streammetrics.frames import concat_groups
from streammetrics.roles import Roles
from streammetrics.rows import Rows, rows_by_model
from streammetrics.statistics import GROUP, Statistic

Statistics = tuple[Statistic, ...]

ONE_GROUP = pl.DataFrame({GROUP: [0]}, {GROUP: pl.UInt32})


@dataclass(frozen=True)
class State:
    """Groups and tables.

    ``groups`` holds the number of each group (column ``group``, 0 and up in row order) and its group columns.
    ``tables`` holds the table of each statistic by name; its column ``group`` refers to the numbers.
    """

    statistics: Statistics
    groups: pl.DataFrame
    tables: dict[str, pl.DataFrame]

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
    """Rows counted in arrays that more rows can be added to."""

    statistics: Statistics
    groups: pl.DataFrame
    counters: tuple[Counter, ...]
    seen: int = 0

    @classmethod
    def of(cls, rows: Sequence[Rows], statistics: Statistics) -> Tally:
        """The tally of a chunk, given as the rows of each model."""
        keys = rows[0].groups.clear()
        weighted = rows[0].weight is not None
        groups = _numbered(keys) if keys.width else ONE_GROUP
        tally = cls(statistics, groups, tuple(s.counter(weighted) for s in statistics)).add(rows)
        assert tally is not None
        return tally

    def add(self, rows: Sequence[Rows]) -> Tally | None:
        """The tally of one more chunk; None where a group column is of another type than before."""
        groups, counters = self.groups, self.counters
        for r in rows:
            if r.groups.schema != groups.drop(GROUP).schema:
                return None
            numbers = _find(r.groups, groups) if r.groups.width else groups[GROUP]
            if numbers.null_count():
                groups = _numbered(pl.concat([groups.drop(GROUP), r.groups.filter(numbers.is_null())]))
                numbers = _find(r.groups, groups)
            counters = tuple(c.add(r, numbers.to_numpy(), groups.height) for c in counters)
        return replace(self, groups=groups, counters=counters, seen=self.seen + sum(r.size for r in rows))

    @property
    def loose(self) -> int:
        """Rows of tables that came since the last compaction."""
        return sum(c.loose for c in self.counters)

    @property
    def fitted(self) -> int:
        """Rows of tables that the last compaction left."""
        return sum(c.fitted for c in self.counters)

    @property
    def settled(self) -> bool:
        """Whether many rows of these groups can be counted at once."""
        return all(c.settled for c in self.counters)

    def compact(self) -> Tally:
        """The tally with equal cells added up."""
        return replace(self, counters=tuple(c.compact() for c in self.counters))

    def state(self) -> State:
        """What was counted, as tables. Cells may come more than once; `combine` adds them up."""
        tables = {s.name: c.table() for s, c in zip(self.statistics, self.counters, strict=True)}
        return State(self.statistics, self.groups, tables)


def no_rows(roles: Roles, statistics: Statistics) -> State:
    """The state before the first row."""
    return combine([Tally.of(list(rows_by_model(frames.no_rows(roles), roles)), statistics).state()])


def combine(states: Sequence[State]) -> State:
    """The state of the rows of several.

    Raises:
        ColumnError: where a group column has different types.
    """
    statistics = states[0].statistics
    keys = concat_groups([s.keys for s in states])
    groups = _numbered(keys.unique(maintain_order=True)) if keys.width else ONE_GROUP
    parts = [_renumber(s, _find(s.keys.cast(keys.schema), groups)) for s in states]
    return State(statistics, groups, {s.name: s.merge(pl.concat(p[s.name] for p in parts)) for s in statistics})


def roll_up(state: State, columns: Sequence[str]) -> State:
    """The state over some of the group columns."""
    keys = state.groups.select(columns)
    groups = _numbered(keys.unique(maintain_order=True)) if columns else ONE_GROUP
    numbers = _find(keys, groups) if columns else pl.zeros(state.groups.height, pl.UInt32, eager=True)
    tables = _renumber(state, numbers)
    return State(state.statistics, groups, {s.name: s.merge(tables[s.name]) for s in state.statistics})


def select(state: State, keys: pl.DataFrame) -> State:
    """The state of some of the groups, in the order of ``keys``."""
    groups = _numbered(keys)
    tables = _renumber(state, _find(state.keys, groups))
    return State(state.statistics, groups, {name: t.sort(GROUP, maintain_order=True) for name, t in tables.items()})


def in_order(state: State) -> State:
    """The same state with its groups sorted, so that equal contents make equal tables."""
    keys = state.keys
    return select(state, keys.sort(keys.columns, nulls_last=True)) if keys.width else state


def _numbered(keys: pl.DataFrame) -> pl.DataFrame:
    return keys.with_row_index(GROUP)


def _find(keys: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """For each row of group columns its number among ``groups``, null where it is none of them."""
    if keys.width == 0:
        return pl.zeros(keys.height, pl.UInt32, eager=True)
    return keys.join(groups, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")[GROUP]


def _renumber(state: State, numbers: pl.Series) -> dict[str, pl.DataFrame]:
    """The tables with each group given a new number, and without the groups whose number is null."""
    if numbers.equals(state.groups[GROUP]):
        return state.tables
    return {
        name: t.with_columns(numbers.gather(t[GROUP]).alias(GROUP)).drop_nulls(GROUP)
        for name, t in state.tables.items()
    }

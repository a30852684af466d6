"""What has been kept of some rows: their groups, and one table per statistic. States add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import frames
from streammetrics.frames import Batch, concat_groups
from streammetrics.roles import Roles
from streammetrics.rows import Rows, rows_by_model
from streammetrics.statistics import GROUP, RowCounts, Statistic

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

    @cached_property
    def shifts(self) -> dict[str, pl.DataFrame]:
        """For each statistic that coarsens: columns group and shift."""
        found = ((s.name, s.shifts(self.tables[s.name])) for s in self.statistics)
        return {name: shifts for name, shifts in found if shifts is not None}

    @cached_property
    def seen(self) -> int:
        """Rows of all groups, those left out included."""
        return int(self.tables[RowCounts.name].select(pl.sum("rows") + pl.sum("dropped")).item())

    @cached_property
    def settled(self) -> bool:
        """Whether every group has become coarse, so that its rows can be counted in arrays."""
        return self.groups.height > 0 and all(
            s.height == self.groups.height and s["shift"].min() != 0 for s in self.shifts.values()
        )


def observe(batch: Batch, roles: Roles, statistics: Statistics, known: State | None) -> list[State]:
    """States of the rows of a batch, one for each model.

    ``known`` tells how coarse each group has already become. Cells may come more than once; `combine` adds them up.
    """
    return [_observe(rows, roles, statistics, known) for rows in rows_by_model(batch, roles)]


def no_rows(roles: Roles, statistics: Statistics) -> State:
    """The state before the first row."""
    return combine(observe(frames.no_rows(roles), roles, statistics, known=None))


def _observe(rows: Rows, roles: Roles, statistics: Statistics, known: State | None) -> State:
    groups = pl.DataFrame({GROUP: np.arange(rows.group_count, dtype=np.uint32)}).hstack(rows.groups)
    return State(statistics, groups, {s.name: s.observe(rows, _known_shifts(s, groups, known)) for s in statistics})


def _known_shifts(statistic: Statistic, groups: pl.DataFrame, known: State | None) -> NDArray[np.int64]:
    if known is None or statistic.name not in known.shifts or groups.schema != known.groups.schema:
        return np.zeros(groups.height, dtype=np.int64)
    numbers = _find(groups.drop(GROUP), known.groups)
    none = known.groups.height
    shifts: NDArray[np.int64] = np.zeros(none + 1, dtype=np.int64)
    coarse, found = known.shifts[statistic.name]
    shifts[coarse.to_numpy()] = found.to_numpy()
    known_shifts: NDArray[np.int64] = shifts[(numbers.fill_null(none) if numbers.null_count() else numbers).to_numpy()]
    return known_shifts


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
        return pl.Series(np.zeros(keys.height, dtype=np.uint32))
    return keys.join(groups, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")[GROUP]


def _renumber(state: State, numbers: pl.Series) -> dict[str, pl.DataFrame]:
    """The tables with each group given a new number, and without the groups whose number is null."""
    if numbers.equals(state.groups[GROUP]):
        return state.tables
    return {
        name: t.with_columns(numbers.gather(t[GROUP]).alias(GROUP)).drop_nulls(GROUP)
        for name, t in state.tables.items()
    }

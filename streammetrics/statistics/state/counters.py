"""Counters of all statistics, and the groups whose numbers they use."""

from __future__ import annotations

import numpy as np
import polars as pl

from streammetrics.core import Codes
from streammetrics.data import LABEL, Roles, Rows, has_values, typed
from streammetrics.statistics.counter import GROUP, Counter, KeyedCounter
from streammetrics.statistics.squares import WithSquares
from streammetrics.statistics.state.tables import ONE_GROUP, State, Statistics, find_groups
from streammetrics.statistics.statistic import Statistic


class Counters:
    """Counters of all statistics, and the groups whose numbers they use. New groups have the types of the first."""

    def __init__(self, roles: Roles, statistics: Statistics, keys: pl.DataFrame) -> None:
        self.roles = roles
        self.statistics = statistics
        self.groups: pl.DataFrame = keys.clear().with_row_index(GROUP) if keys.width else ONE_GROUP
        self.counters: list[Counter] = [_counter(statistic, roles) for statistic in statistics]
        self._labels = [c.counters for c in self.counters if isinstance(c, KeyedCounter) and c.key == LABEL]
        self._others = [c for c in self.counters if not (isinstance(c, KeyedCounter) and c.key == LABEL)]
        self._numbers: tuple[pl.DataFrame, Codes] | None = None  # of the last groups

    @property
    def keys(self) -> pl.DataFrame:
        """The group columns."""
        return self.groups.drop(GROUP)

    def take(self, keys: pl.DataFrame) -> bool:
        """Whether groups have the types of those counted. Columns without any value have any type."""
        types = self.groups.schema
        return all(
            types[s.name] == s.dtype or (types[s.name] != pl.Null() and not has_values(s)) for s in keys.iter_columns()
        )

    def look_up(self, keys: pl.DataFrame) -> Codes:
        """Return the numbers of distinct groups, -1 for new ones."""
        if not keys.width:
            return np.zeros(1, dtype=np.intp)
        if self._numbers is None or self._numbers[0] is not keys:
            numbers = find_groups(typed(keys, self.groups.schema), self.groups)
            self._numbers = keys, numbers.cast(pl.Int64).fill_null(-1).to_numpy(writable=True)
        return self._numbers[1]

    def number(self, keys: pl.DataFrame) -> Codes:
        """Return the numbers of distinct groups, after adding new ones."""
        numbers, self._numbers = self.look_up(keys), None
        new = numbers < 0
        if new.any():
            first = self.groups.height
            self.groups = pl.concat([self.keys, typed(keys.filter(new), self.groups.schema)]).with_row_index(GROUP)
            numbers[new] = np.arange(first, self.groups.height)
        return numbers

    def count(self, rows: Rows) -> None:
        """Count rows whose groups have numbers, also while other threads count others."""
        groups = self.groups.height
        for counter in self._others:
            counter.count(rows, groups)
        for label, part in enumerate(rows.split_labels(len(self.roles.labels))):
            for counters in self._labels:
                counters[label].count(part, groups)

    def absorb(self, other: Counters) -> None:
        """Add other counters, whose groups have the same types."""
        numbers = self.number(other.keys)
        for counter, more in zip(self.counters, other.counters, strict=True):
            counter.absorb(more, numbers, self.groups.height)

    def state(self) -> State:
        """Return the counts as a state, whose cells can be repeated."""
        tables = {s.name: counter.table() for s, counter in zip(self.statistics, self.counters, strict=True)}
        return State(self.statistics, self.groups, tables, self.roles.labels)


def _counter(statistic: Statistic, roles: Roles) -> Counter:
    if statistic.per_label and roles.labels:
        return KeyedCounter(LABEL, [_weighted_counter(statistic, roles) for _ in roles.labels])
    return _weighted_counter(statistic, roles)


def _weighted_counter(statistic: Statistic, roles: Roles) -> Counter:
    weighted = roles.sample_weight is not None
    counter = statistic.counter(weighted)
    return WithSquares(statistic, counter, statistic.counter(weighted)) if weighted and statistic.squared else counter

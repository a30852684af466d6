"""Rows counted by group, in counters to which rows can be added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock, local
from typing import Any

import numpy as np
import polars as pl

from streammetrics.core import Codes
from streammetrics.rows import batches
from streammetrics.rows.arrays import Rows, rows_by_model
from streammetrics.rows.frames import has_values, typed
from streammetrics.rows.roles import Roles
from streammetrics.state.tables import ONE_GROUP, State, Statistics, find_groups
from streammetrics.statistics import GROUP, Statistic
from streammetrics.statistics.counters.counter import Counter
from streammetrics.statistics.counters.squares import WithSquares
from streammetrics.statistics.paired import pairs_kept
from streammetrics.system.forks import require_threads


@dataclass
class Tally:
    """Groups, and the counters of each statistic: one counter, or one per label."""

    statistics: Statistics
    labels: tuple[Any, ...]
    groups: pl.DataFrame
    counters: tuple[tuple[Counter, ...], ...]
    _numbering: Lock = field(default_factory=Lock)
    _latest: local = field(default_factory=local)  # groups that a thread looked up: blocks of a batch share theirs

    @classmethod
    def of(cls, rows: Sequence[Rows], statistics: Statistics, labels: tuple[Any, ...]) -> Tally:
        """Return the tally of a block, given as the rows of each model."""
        weighted = rows[0].weight is not None
        counters = tuple(
            tuple(_counter(s, weighted) for _ in range(len(labels) if labels and s.of_label else 1)) for s in statistics
        )
        tally = cls(statistics, labels, rows[0].groups.clear().with_row_index(GROUP), counters)
        tally.add(rows)
        return tally

    @property
    def keys(self) -> pl.DataFrame:
        """The group columns."""
        return self.groups.drop(GROUP)

    def takes(self, groups: pl.DataFrame) -> bool:
        """Return whether groups have columns of the same types. Columns without any value have any type."""
        own = self.groups.schema
        return all(own[s.name] == s.dtype or (own[s.name] != pl.Null() and not has_values(s)) for s in groups)

    def add(self, rows: Sequence[Rows]) -> None:
        """Count one more block. Several threads may count at once, each counter by its own rules."""
        for r in rows:
            with self._numbering:
                r = replace(r, numbers=self._number(r.groups))
                groups = self.groups.height
            for statistic, counters in zip(self.statistics, self.counters, strict=True):
                if not (self.labels and statistic.of_label):
                    counters[0].count(r, groups)
            for label, of_label in enumerate(r.of_labels(len(self.labels))):
                for statistic, counters in zip(self.statistics, self.counters, strict=True):
                    if statistic.of_label:
                        counters[label].count(of_label, groups)

    def absorb(self, other: Tally) -> None:
        """Count the rows of another tally, whose group columns have the same types."""
        numbers = self._number(other.keys)
        for own, others in zip(self.counters, other.counters, strict=True):
            for one, more in zip(own, others, strict=True):
                one.absorb(more, numbers, self.groups.height)

    def state(self) -> State:
        """Return the counts as tables. Cells can be repeated; `combine` sums them."""
        tables = {
            s.name: _of_labels([counter.table() for counter in counters])
            for s, counters in zip(self.statistics, self.counters, strict=True)
        }
        return State(self.statistics, self.groups, tables, self.labels)

    def count_new(self, keys: pl.DataFrame) -> int:
        """Return how many distinct groups are new."""
        return int(np.count_nonzero(self._look_up(keys) < 0))

    def _number(self, keys: pl.DataFrame) -> Codes:
        """The numbers of distinct groups; new groups are added."""
        if not keys.width:
            self.groups = ONE_GROUP
            return np.zeros(1, dtype=np.intp)
        codes = self._look_up(keys)
        new = codes < 0
        if new.any():
            known, more = self.keys, typed(keys.filter(new), self.groups.schema)
            self.groups = pl.concat([known, more]).with_row_index(GROUP)
            codes[new] = np.arange(known.height, self.groups.height)
        return codes

    def _look_up(self, keys: pl.DataFrame) -> Codes:
        """The numbers of distinct groups, -1 for new ones."""
        if getattr(self._latest, "keys", None) is not keys:
            found = find_groups(typed(keys, self.groups.schema), self.groups)
            self._latest.codes = found.cast(pl.Int64).fill_null(-1).to_numpy(writable=True)
            self._latest.keys = keys
        codes: Codes = self._latest.codes
        return codes


def _counter(statistic: Statistic, weighted: bool) -> Counter:
    made = statistic.counter(weighted)
    if weighted and statistic.squared:
        return WithSquares(statistic, made, statistic.counter(weighted))
    return made


def no_state(roles: Roles, statistics: Statistics) -> State:
    """Return the state before the first row."""
    require_threads()
    rows = rows_by_model(batches.no_rows(roles), roles, 0, 0, pairs_kept(statistics))
    return Tally.of(rows, statistics, roles.labels).state()


def _of_labels(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The tables of all labels as one, with the groups of each label numbered among those of all labels."""
    if len(tables) == 1:
        return tables[0]
    return pl.concat(table.with_columns(pl.col(GROUP) * len(tables) + i) for i, table in enumerate(tables))

"""Moments of blocks of rows, collected and merged periodically."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
import polars as pl

from streammetrics.core import Codes, Floats
from streammetrics.rows.arrays import Rows
from streammetrics.statistics.counters.counter import Counter
from streammetrics.statistics.counters.tables import FACTOR, LOOSE


class Moving(Protocol):
    """A statistic whose values of two parts of the rows merge by its own rules."""

    def reduce(self, rows: Rows) -> Floats:
        """Return the values of each group of a block of rows: shape (columns, groups)."""

    def tabulate(self, groups: Codes, values: Floats) -> pl.DataFrame:
        """Return values as a table."""

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the merged table."""


@dataclass
class Moments(Counter):
    """The values of blocks of rows, and the numbers of their groups. The first block can be a merged one."""

    statistic: Moving
    groups: list[Codes] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    merged: int = 0
    loose: int = 0

    def add(self, rows: Rows, groups: int) -> None:
        """Append the values of more rows."""
        self._put(rows.numbers, self.statistic.reduce(rows))

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Append the values of another counter."""
        for of_part, values in zip(other.groups, other.values, strict=True):
            self._put(numbers[of_part], values)

    def table(self) -> pl.DataFrame:
        """Return all values. A group can have several rows."""
        return self.statistic.tabulate(np.concatenate(self.groups), np.hstack(self.values))

    def _put(self, groups: Codes, values: Floats) -> None:
        self.groups, self.values = [*self.groups, groups], [*self.values, values]
        self.loose += len(groups)
        if self.loose >= max(FACTOR * self.merged, LOOSE):
            table = self.statistic.merge(self.table())
            columns = table.drop("group").cast(pl.Float64).iter_columns()
            self.groups = [table["group"].to_numpy().astype(np.intp)]
            self.values = [np.stack([column.to_numpy() for column in columns])]
            self.merged, self.loose = table.height, 0

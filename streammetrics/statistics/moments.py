"""Moments of blocks of rows, collected and merged periodically."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import polars as pl

from streammetrics.core import Codes, Floats
from streammetrics.rows.arrays import Rows
from streammetrics.statistics.counter import Counter
from streammetrics.statistics.tables import FACTOR, LOOSE


@dataclass
class Moments(Counter):
    """The values of blocks of rows, and the numbers of their groups. The first block can be a merged one."""

    reduce: Callable[[Rows], Floats]  # returns the values of each group of a block: shape (columns, groups)
    tabulate: Callable[[Codes, Floats], pl.DataFrame]
    merge: Callable[[pl.DataFrame], pl.DataFrame]
    groups: list[Codes] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    merged: int = 0
    loose: int = 0

    def add(self, rows: Rows, groups: int) -> None:
        """Append the values of more rows."""
        self._put(rows.numbers, self.reduce(rows))

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Append the values of another counter."""
        for of_part, values in zip(other.groups, other.values, strict=True):
            self._put(numbers[of_part], values)

    def table(self) -> pl.DataFrame:
        """Return all values. A group can have several rows."""
        return self.tabulate(np.concatenate(self.groups), np.hstack(self.values))

    def _put(self, groups: Codes, values: Floats) -> None:
        self.groups, self.values = [*self.groups, groups], [*self.values, values]
        self.loose += len(groups)
        if self.loose >= max(FACTOR * self.merged, LOOSE):
            table = self.merge(self.table())
            columns = table.drop("group").cast(pl.Float64).iter_columns()
            self.groups = [table["group"].to_numpy().astype(np.intp)]
            self.values = [np.stack([column.to_numpy() for column in columns])]
            self.merged, self.loose = table.height, 0

"""Sums with squared weights, for confidence intervals of weighted metrics."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from streammetrics.core import Codes
from streammetrics.data import Rows
from streammetrics.statistics.counter import Counter
from streammetrics.statistics.statistic import Statistic


@dataclass
class WithSquares(Counter):
    """Two counters of the same rows: one uses their weights, the other the squares of their weights."""

    statistic: Statistic
    weights: Counter
    squares: Counter

    @cached_property
    def lock(self) -> AbstractContextManager[Any]:
        """That of the counter of weights."""
        return self.weights.lock

    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows."""
        self.weights.add(rows, groups)
        with np.errstate(over="ignore", invalid="ignore"):
            self.squares.add(rows.with_squared_weights, groups)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add the rows of another counter."""
        self.weights.absorb(other.weights, numbers, groups)
        self.squares.absorb(other.squares, numbers, groups)

    def table(self) -> pl.DataFrame:
        """Return the table of weights with the columns of squared weights."""
        cells = ["group", *self.statistic.keys]
        with np.errstate(invalid="ignore"):
            squares = self.squares.table()
        squares = squares.select(*cells, **{twin: pl.col(c) for c, twin in self.statistic.twins.items()})
        both = pl.concat([self.weights.table(), squares], how="diagonal")
        return self.statistic.merge(both.with_columns(pl.exclude(cells).fill_null(0.0)))

"""Statistics that sum values of rows in the same cells for every group."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.counting.counter import Counter
from streammetrics.counting.sums import Sums
from streammetrics.rows.arrays import Rows
from streammetrics.statistics.statistic import Statistic


class Summed(Statistic):
    """A statistic that sums values of rows in the same cells for every group."""

    def counter(self, weighted: bool) -> Counter:
        """Counter of the cells: integers if all cells count rows."""
        return Sums(self, weighted, integers=not weighted and not self.sums)

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """The shape of the cells of a group. By default, its counts and sums."""
        return (len(self.counts) + len(self.sums),)

    @abstractmethod
    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Add rows to the cells of their groups: shape (groups, ...)."""

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The table of the cells of all groups. By default, one row per group with its counts and sums."""
        columns = dict(zip((*self.counts, *self.sums), values.T, strict=True))
        return self.table(weighted, group=np.arange(len(values)), **columns)

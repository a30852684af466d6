"""Statistics that sum values of rows in the same cells for every group."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.rows.arrays import Rows
from streammetrics.rows.exact_sums import of_words
from streammetrics.statistics.counters.counter import Counter
from streammetrics.statistics.counters.sums import Sums
from streammetrics.statistics.statistic import Statistic


class Summed(Statistic):
    """A statistic that sums values of rows in the same cells for every group."""

    bounded_sums: ClassVar[bool] = True  # whether values of rows have a limit, so that unweighted sums are integers

    @property
    def cell_layout(self) -> tuple[int, int]:
        """Number of counts and of sums in a cell. By default, one for each column."""
        return len(self.counts), len(self.sums)

    def counter(self, weighted: bool) -> Counter:
        """Counter of the cells: integers without weights, unless sums have no limit."""
        counts, sums = self.cell_layout
        return Sums(self, weighted, not weighted and (self.bounded_sums or not sums), counts if sums else None)

    def cell_width(self, rows: Rows) -> int:
        """Size of a cell: a number per count, and two integers or one float per sum."""
        counts, sums = self.cell_layout
        return counts + sums * (2 if self.bounded_sums and rows.weight is None else 1)

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """The shape of the cells of a group. By default, one cell."""
        return (self.cell_width(rows),)

    def read_cells(self, cells: NDArray[Any]) -> list[Any]:
        """The counts and sums of cells, of shape (cells, width)."""
        counts, sums = self.cell_layout
        if not sums or cells.dtype == np.float64:
            return [*cells.T]
        return [*cells[:, :counts].T, *map(of_words, core.as_decimals(cells, counts))]

    @abstractmethod
    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Add rows to the cells of their groups: shape (groups, ...)."""

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The table of the cells of all groups. By default, one row per group with its counts and sums."""
        columns = dict(zip((*self.counts, *self.sums), self.read_cells(values), strict=True))
        return self.table(weighted, group=np.arange(len(values)), **columns)

"""How many rows were seen, and how many of them left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from streammetrics.rows import Rows
from streammetrics.statistics.statistic import Shifts, Statistic


@dataclass(frozen=True)
class RowCounts(Statistic):
    """Rows evaluated and rows left out: plain counts, whatever the weights. Every accumulator keeps them.

    Values: ``rows``, ``dropped`` (rows with a null under ``nulls="drop"``, and rows of zero weight).

    >>> RowCounts()
    RowCounts()
    """

    name: ClassVar[str] = "row_counts"
    counts: ClassVar[tuple[str, ...]] = ("rows", "dropped")

    def observe(self, rows: Rows, shifts: Shifts) -> pl.DataFrame:
        """Rows and dropped rows of each group."""
        numbers = np.arange(rows.group_count)
        seen = np.array([rows.size]) if rows.group is None else np.bincount(rows.group, minlength=len(numbers))
        return self.table(rows, group=numbers, rows=seen, dropped=rows.dropped)

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table: integers even where rows carry weights."""
        return super().schema(weighted=False)

"""Number of evaluated and of dropped rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.data import Rows
from streammetrics.statistics.statistic import Names
from streammetrics.statistics.summed import Summed, Sums

COUNTABLE = 1 << 53  # maximum of a state: floats represent integers exactly up to it


class RowCounts(Summed):
    """Unweighted number of evaluated and of dropped rows. Every accumulator includes it.

    Values: ``rows``, ``dropped`` (rows with a null if ``nulls="drop"``, and rows of zero weight). A row
    with a count adds it to either.

    >>> RowCounts()
    RowCounts()
    """

    name = "row_counts"
    counts: ClassVar[Names] = ("rows", "dropped")

    def counter(self, weighted: bool) -> Sums:
        """Counts of rows and of dropped rows, without weights."""
        return Sums(self, weighted, integers=True)

    def count(self, rows: Rows, out: NDArray[np.int64]) -> None:
        """Rows and dropped rows: shape (groups, 2)."""
        if rows.count is None:
            np.add.at(out[:, 0], rows.runs.groups, np.diff(rows.starts))
        else:
            core.add_runs(out[:, :1], rows.count[np.newaxis], rows.runs)
        if rows.dropped.any():
            out[rows.numbers, 1] += rows.dropped

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        return super().valid(labels) & (pl.max_horizontal(self.counts) <= COUNTABLE)

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table: integers even if rows have weights."""
        return super().schema(weighted=False)

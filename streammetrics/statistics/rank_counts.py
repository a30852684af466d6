"""Rank of the true class by predicted probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.summed import Summed


class RankCounts(Summed):
    """Number of rows in which the true class has the highest score, the second highest, and so on.

    Keys: ``rank`` (1 for the highest score; ties are broken by the order of labels). Values: ``count``. Merges bit for
    bit if rows have no weights.

    >>> RankCounts()
    RankCounts()
    """

    name: ClassVar[str] = "rank_counts"
    kind: ClassVar[Kind | None] = "multiclass"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_score")
    keys: ClassVar[dict[str, pl.DataType]] = {"rank": pl.UInt32()}
    counts: ClassVar[tuple[str, ...]] = ("count",)
    held: ClassVar[tuple[str, ...]] = counts
    squared: ClassVar[tuple[str, ...]] = counts

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """Ranks."""
        return (len(rows.score),)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by rank: shape (groups, classes)."""
        core.count_ranks(rows.truth[0], rows.score, rows.weight, rows.runs, out)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The table of these counts."""
        group, place = np.nonzero(values)
        return self.table(weighted, group=group, rank=place + 1, count=values[group, place])

    def valid(self) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        return super().valid() & (pl.col("rank") > 0)

    def valid_for(self, labels: Sequence[Any]) -> pl.Expr:
        """Ranks are at most the number of labels."""
        return pl.col("rank") <= len(labels)

"""Rank of the true class by predicted probability."""

from __future__ import annotations

from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.data import Kind, Rows
from streammetrics.metrics import Influence, methods
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.statistic import Names, Types
from streammetrics.statistics.summed import Summed


class RankCounts(Summed):
    """Number of rows in which the true class has the highest score, the second highest, and so on.

    Keys: ``rank`` (1 for the highest score; ties are broken by the order of labels). Values: ``count``. Merges bit for
    bit if rows have no weights.

    >>> RankCounts()
    RankCounts()
    """

    name = "rank_counts"
    kind: ClassVar[Kind | None] = "multiclass"
    roles: ClassVar[Names] = ("y_true", "y_score")
    keys: ClassVar[Types] = {"rank": pl.UInt32()}
    first = 1
    counts: ClassVar[Names] = ("count",)
    squared: ClassVar[Names] = counts
    influences: ClassVar[tuple[Influence, ...]] = (methods.RANKS,)
    checks: ClassVar[Checks] = Checks(rows=counts)

    def axes(self, labels: int) -> tuple[int, ...]:
        """Ranks."""
        return (labels,)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by rank: shape (groups, classes, 1)."""
        core.count_ranks(rows.truth[0], rows.score, rows.weight, rows.runs, out[..., 0])

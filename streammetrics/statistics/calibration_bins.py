"""Predicted and observed rates, in bins of equal width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.base import SUM_ROUNDING, whole
from streammetrics.data import Kind, Rows
from streammetrics.metrics import Influence, methods
from streammetrics.statistics.checks import Checks, up_to
from streammetrics.statistics.counter import GROUP
from streammetrics.statistics.statistic import Names, Types
from streammetrics.statistics.summed import Summed


@dataclass(frozen=True)
class CalibrationBins(Summed):
    """Rows, positives, and scores in bins of equal width over [0, 1].

    Keys: ``bin`` (0 to ``bins - 1``). Bins exclude their lower and include their upper edge; the first bin includes 0,
    as in scikit-learn's ``calibration_curve``. Values: ``weight`` (the number of rows, or the sum of their weights),
    ``pos``, ``score_sum``, ``score_square_sum``, ``pos_score_sum``. Counts and sums merge bit for bit, weighted ones
    within 1e-12.

    Args:
        bins: Number of bins, at most 1,000,000.

    Raises:
        SpecificationError: If ``bins`` is less than 1.

    >>> CalibrationBins()
    CalibrationBins(bins=10)
    """

    bins: int = 10

    name = "calibration_bins"
    kind: ClassVar[Kind | None] = "binary"
    roles: ClassVar[Names] = ("y_true", "y_score")
    probabilities = True
    keys: ClassVar[Types] = {"bin": pl.Int32()}
    counts: ClassVar[Names] = ("weight", "pos")
    support: ClassVar[pl.Expr | None] = pl.sum("pos")
    sums: ClassVar[Names] = ("score_sum", "score_square_sum", "pos_score_sum")
    decimals: ClassVar[Names] = sums
    squared: ClassVar[Names] = (*counts, *sums)
    influences: ClassVar[tuple[Influence, ...]] = (methods.CALIBRATION,)
    checks: ClassVar[Checks] = Checks(rows=("weight",), most={"pos": 1, **dict.fromkeys(sums, 1)})

    def __post_init__(self) -> None:
        self._set(bins=whole("the number of calibration bins", self.bins, least=1, most=1_000_000))

    @property
    def edges(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The ``bins + 1`` edges of the bins."""
        return np.linspace(0.0, 1.0, self.bins + 1)

    @property
    def cell_columns(self) -> tuple[str, ...]:
        """Sums over the rows of a class."""
        return "weight", "score_sum", "score_square_sum"

    def axes(self, labels: int) -> tuple[int, ...]:
        """Bins and classes."""
        return self.bins, 2

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over the rows of each bin and class: shape (groups, bins, 2, width)."""
        core.sum_calibration(rows.truth[0], rows.score[0], self.edges, rows.weight, rows.runs, out)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The table of these sums."""
        total, positive = values.sum(axis=2), values[:, :, 1]
        group, bin = np.nonzero(total[..., 0])
        weight, score, score_square = self.read_cells(total[group, bin])
        pos, pos_score, _ = self.read_cells(positive[group, bin])
        columns = dict(zip((*self.counts, *self.sums), (weight, pos, score, score_square, pos_score), strict=True))
        return self.table(weighted, group=group, bin=bin, **columns)

    def reliability(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the reliability curve: lowest, highest, weight, mean_score, and observed_rate of each bin."""
        edges, bins = self.edges, table["bin"].to_numpy()
        return table.select(
            GROUP,
            pl.Series("lowest", edges[bins]),
            pl.Series("highest", edges[bins + 1]),
            "weight",
            mean_score=pl.col("score_sum") / pl.col("weight"),
            observed_rate=pl.col("pos") / pl.col("weight"),
        )

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        low = pl.col("bin") / self.bins * pl.col("weight")
        high = (pl.col("bin") + 1) / self.bins * pl.col("weight")
        return pl.all_horizontal(
            super().valid(labels),
            pl.col("score_sum") >= low * (1 - SUM_ROUNDING),
            *(up_to(column, high) for column in self.sums),
        )

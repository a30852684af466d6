"""Predicted against observed rates, in bins of equal width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from streammetrics import kernels
from streammetrics.errors import SpecificationError
from streammetrics.rows import Rows
from streammetrics.statistics.statistic import GROUP, Shifts, Statistic


@dataclass(frozen=True)
class CalibrationBins(Statistic):
    """Rows, positives and scores in bins of equal width over [0, 1].

    Keys: ``bin`` (0 to ``bins - 1``; a bin is open below and closed above, the first one holds 0 too, which are the
    bins of scikit-learn's ``calibration_curve``). Values: ``weight`` (the number of rows, or the sum of their weights),
    ``pos``, ``score_sum``, ``score_square_sum``, ``pos_score_sum``. Counts merge bit for bit, sums within 1e-12.

    Args:
        bins: number of bins.

    Raises:
        SpecificationError: for less than one bin.

    >>> CalibrationBins()
    CalibrationBins(bins=10)
    """

    bins: int = 10

    name: ClassVar[str] = "calibration_bins"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_score")
    keys: ClassVar[dict[str, pl.DataType]] = {"bin": pl.Int32()}
    counts: ClassVar[tuple[str, ...]] = ("weight", "pos")
    sums: ClassVar[tuple[str, ...]] = ("score_sum", "score_square_sum", "pos_score_sum")

    def __post_init__(self) -> None:
        if self.bins < 1:
            raise SpecificationError(f"calibration needs at least one bin, not {self.bins}.")

    @property
    def edges(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The ``bins + 1`` ends of the bins."""
        return np.linspace(0.0, 1.0, self.bins + 1)

    def needs_probabilities(self) -> bool:
        """Whether scores must lie in [0, 1]."""
        return True

    def observe(self, rows: Rows, shifts: Shifts) -> pl.DataFrame:
        """Sums over the rows of each bin."""
        assert rows.label is not None
        assert rows.score is not None
        sums = kernels.sum_calibration(rows.label, rows.score, self.edges, rows.group, rows.group_count, rows.weight)
        weight, score, score_square = sums.sum(axis=3)
        positives, positive_score, _ = sums[..., 1]
        occupied = np.flatnonzero(weight)
        columns = (v.ravel()[occupied] for v in (weight, positives, score, score_square, positive_score))
        values = dict(zip((*self.counts, *self.sums), columns, strict=True))
        return self.table(rows, group=occupied // self.bins, bin=occupied % self.bins, **values)

    def reliability(self, table: pl.DataFrame) -> pl.DataFrame:
        """The reliability curve: lowest, highest, weight, mean_score and observed_rate of each bin."""
        edges, bins = self.edges, table["bin"].to_numpy()
        return table.select(
            GROUP,
            pl.Series("lowest", edges[bins]),
            pl.Series("highest", edges[bins + 1]),
            "weight",
            mean_score=pl.col("score_sum") / pl.col("weight"),
            observed_rate=pl.col("pos") / pl.col("weight"),
        )

    def valid(self) -> pl.Expr:
        """Whether a row of a table, read from a file, can be."""
        return super().valid() & pl.col("bin").is_between(0, self.bins - 1)

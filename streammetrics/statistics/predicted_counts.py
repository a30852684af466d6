"""How many rows are predicted positive, whatever they turn out to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.rows.arrays import Rows
from streammetrics.statistics.thresholded import Thresholded


@dataclass(frozen=True)
class PredictedCounts(Thresholded):
    """Predicted positives and negatives without labels, at thresholds on a score or of hard predictions.

    Keys: ``threshold`` (a row is predicted positive if ``score >= threshold``, with the threshold
    rounded to the type of the score; null for hard predictions).
    Values: ``predicted_positives``, ``predicted_negatives``. Merges bit for bit if rows carry no weights.

    Args:
        thresholds: Thresholds on ``y_score``, kept in ascending order; empty to count the predictions of ``y_pred``.

    Raises:
        SpecificationError: If a threshold is not a number, or is repeated.

    >>> PredictedCounts(thresholds=(0.5, 0.2))
    PredictedCounts(thresholds=(0.2, 0.5))
    """

    name: ClassVar[str] = "predicted_counts"
    counts: ClassVar[tuple[str, ...]] = ("predicted_positives", "predicted_negatives")
    held: ClassVar[tuple[str, ...]] = counts
    squared: ClassVar[tuple[str, ...]] = counts

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by rank, all under one label: shape (groups, thresholds + 1, 2)."""
        self.add_by_rank(rows, np.zeros(rows.size, dtype=np.uint8), out)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """Counts at each threshold."""
        return self.at_thresholds(weighted, values[..., :1], ("predicted_positives", "predicted_negatives"))

"""Number of rows predicted positive and negative, without labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.data import Rows
from streammetrics.metrics import Influence, methods
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.statistic import Names
from streammetrics.statistics.thresholded import Thresholded


class PredictedCounts(Thresholded):
    """Predicted positives and negatives without labels, at score thresholds or of predicted labels.

    Keys: ``threshold`` (a row is predicted positive if ``score >= threshold``, with the threshold rounded to the type
    of the score; null for predicted labels). Values: ``predicted_positives``, ``predicted_negatives``. Merges bit for
    bit if rows have no weights.

    Args:
        thresholds: Thresholds on ``y_score``, stored in ascending order. If empty, ``y_pred`` is counted.

    Raises:
        SpecificationError: If a threshold is not a number, or is repeated.

    >>> PredictedCounts(thresholds=(0.5, 0.2))
    PredictedCounts(thresholds=(0.2, 0.5))
    """

    name = "predicted_counts"
    counts: ClassVar[Names] = ("predicted_positives", "predicted_negatives")
    checks: ClassVar[Checks] = Checks(rows=counts, per=("threshold",))
    squared: ClassVar[Names] = counts
    influences: ClassVar[tuple[Influence, ...]] = (methods.PREDICTIONS,)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by rank, all with the same label: shape (groups, thresholds + 1, 2)."""
        self.add_by_rank(rows, np.zeros(rows.size, dtype=np.uint8), out)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """Counts at each threshold."""
        return self.threshold_table(weighted, values[..., :1], ("predicted_positives", "predicted_negatives"))

"""How many rows are predicted positive, whatever they turn out to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.counters import Sums
from streammetrics.roles import Kind
from streammetrics.rows import Rows
from streammetrics.statistics.confusion_counts import ascending
from streammetrics.statistics.statistic import Statistic


@dataclass(frozen=True)
class PredictedCounts(Statistic):
    """Predicted positives and negatives without labels, at thresholds on a score or of hard predictions.

    Keys: ``threshold`` (a row is predicted positive where ``score >= threshold``; null for hard predictions).
    Values: ``predicted_positives``, ``predicted_negatives``. Merges bit for bit where rows carry no weights.

    Args:
        thresholds: thresholds on ``y_score``, kept in ascending order; empty to count the predictions of ``y_pred``.

    Raises:
        SpecificationError: for a threshold that is not a number, or given twice.

    >>> PredictedCounts(thresholds=(0.5, 0.2))
    PredictedCounts(thresholds=(0.2, 0.5))
    """

    thresholds: tuple[float, ...] = (0.5,)

    name: ClassVar[str] = "predicted_counts"
    kind: ClassVar[Kind | None] = "binary"
    keys: ClassVar[dict[str, pl.DataType]] = {"threshold": pl.Float64()}
    kept: ClassVar[tuple[str, ...]] = ("threshold",)
    counts: ClassVar[tuple[str, ...]] = ("predicted_positives", "predicted_negatives")

    def __post_init__(self) -> None:
        object.__setattr__(self, "thresholds", ascending(self.thresholds))

    def needs(self) -> tuple[str, ...]:
        """A score for thresholds, else a prediction."""
        return ("y_score",) if self.thresholds else ("y_pred",)

    def counter(self, weighted: bool) -> Sums:
        """Counts of rows by rank."""
        return Sums(self, weighted)

    def count(self, rows: Rows) -> NDArray[Any]:
        """Rows by the number of thresholds that lie at or below their score: shape (groups, thresholds + 1)."""
        score = (rows.score if self.thresholds else rows.predicted)[0]
        thresholds = np.array(self.thresholds or [1.0])  # a predicted label of 1 reaches 1
        unknown = np.zeros(len(score), dtype=np.uint8)
        found = kernels.count_outcomes(unknown, score, thresholds, rows.group, rows.group_count, rows.weight)
        return found[..., 0]

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """Counts at each threshold."""
        reached = np.flip(np.cumsum(np.flip(values, axis=1), axis=1), axis=1)  # rows of each rank or above
        predicted, rest = reached[:, 1:], reached[:, :1] - reached[:, 1:]
        groups, thresholds = predicted.shape
        return self.table(
            weighted,
            group=np.repeat(np.arange(groups), thresholds),
            threshold=np.tile(self.thresholds, groups) if self.thresholds else [None] * groups,
            predicted_positives=predicted.ravel(),
            predicted_negatives=rest.ravel(),
        )

    def valid(self) -> pl.Expr:
        """Whether a row of a table, read from a file, can be."""
        thresholds = pl.col("threshold").is_in(self.thresholds) if self.thresholds else pl.col("threshold").is_null()
        return super().valid() & thresholds

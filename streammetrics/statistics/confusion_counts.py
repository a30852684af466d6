"""The 2x2 table of binary classification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.counters import Sums
from streammetrics.errors import SpecificationError
from streammetrics.roles import Kind
from streammetrics.rows import Rows
from streammetrics.statistics.statistic import Statistic


@dataclass(frozen=True)
class ConfusionCounts(Statistic):
    """True and false positives and negatives, at thresholds on a score or of hard predictions.

    Keys: ``threshold`` (a row is predicted positive where ``score >= threshold``; null for hard predictions).
    Values: ``tp``, ``fp``, ``fn``, ``tn``. Merges bit for bit where rows carry no weights.

    Args:
        thresholds: thresholds on ``y_score``, kept in ascending order; empty to count the predictions of ``y_pred``.

    Raises:
        SpecificationError: for a threshold that is not a number, or given twice.

    >>> ConfusionCounts(thresholds=(0.5, 0.2))
    ConfusionCounts(thresholds=(0.2, 0.5))
    """

    thresholds: tuple[float, ...] = (0.5,)

    name: ClassVar[str] = "confusion_counts"
    kind: ClassVar[Kind | None] = "binary"
    roles: ClassVar[tuple[str, ...]] = ("y_true",)
    keys: ClassVar[dict[str, pl.DataType]] = {"threshold": pl.Float64()}
    kept: ClassVar[tuple[str, ...]] = ("threshold",)
    counts: ClassVar[tuple[str, ...]] = ("tp", "fp", "fn", "tn")
    support: ClassVar[pl.Expr | None] = (pl.col("tp") + pl.col("fn")).first()

    def __post_init__(self) -> None:
        object.__setattr__(self, "thresholds", ascending(self.thresholds))

    def needs(self) -> tuple[str, ...]:
        """A score for thresholds, else a prediction."""
        return (*self.roles, "y_score" if self.thresholds else "y_pred")

    def counter(self, weighted: bool) -> Sums:
        """Counts of rows by rank and label."""
        return Sums(self, weighted)

    def count(self, rows: Rows) -> NDArray[Any]:
        """Rows by the number of thresholds that lie at or below their score, and by label."""
        score = (rows.score if self.thresholds else rows.predicted)[0]
        thresholds = np.array(self.thresholds or [1.0])  # a predicted label of 1 reaches 1
        return kernels.count_outcomes(rows.truth[0], score, thresholds, rows.group, rows.group_count, rows.weight)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """Counts at each threshold."""
        reached = np.flip(np.cumsum(np.flip(values, axis=1), axis=1), axis=1)  # rows of each rank or above
        predicted, rest = reached[:, 1:], reached[:, :1] - reached[:, 1:]
        groups, thresholds = predicted.shape[:2]
        return self.table(
            weighted,
            group=np.repeat(np.arange(groups), thresholds),
            threshold=np.tile(self.thresholds, groups) if self.thresholds else [None] * groups,
            tp=predicted[..., 1].ravel(),
            fp=predicted[..., 0].ravel(),
            fn=rest[..., 1].ravel(),
            tn=rest[..., 0].ravel(),
        )

    def valid(self) -> pl.Expr:
        """Whether a row of a table, read from a file, can be."""
        thresholds = pl.col("threshold").is_in(self.thresholds) if self.thresholds else pl.col("threshold").is_null()
        return super().valid() & thresholds


def ascending(thresholds: Sequence[float]) -> tuple[float, ...]:
    """Thresholds in order.

    Raises:
        SpecificationError: for one that is not a number, or given twice.
    """
    found = tuple(sorted(float(t) + 0.0 for t in thresholds))
    if len(set(found)) < len(found) or not all(t == t for t in found):
        raise SpecificationError(f"thresholds must be distinct numbers, not {thresholds!r}.")
    return found

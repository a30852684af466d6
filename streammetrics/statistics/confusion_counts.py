"""Confusion counts of binary classification."""

from __future__ import annotations

from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from streammetrics.core import Lattice
from streammetrics.data import Rows
from streammetrics.metrics import Influence, methods
from streammetrics.statistics.binned import LABELS, bins_of_labels
from streammetrics.statistics.cases import threshold_cases
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.statistic import Names
from streammetrics.statistics.thresholded import Thresholded


class ConfusionCounts(Thresholded):
    """True and false positives and negatives, at score thresholds or of predicted labels.

    Keys: ``threshold`` (a row is predicted positive if ``score >= threshold``, with the threshold rounded to the type
    of the score; null for predicted labels). Values: ``tp``, ``fp``, ``fn``, ``tn``. Merges bit for bit if rows have no
    weights.

    Args:
        thresholds: Thresholds on ``y_score``, stored in ascending order. If empty, ``y_pred`` is counted.

    Raises:
        SpecificationError: If a threshold is not a number, or is repeated.

    >>> ConfusionCounts(thresholds=(0.5, 0.2))
    ConfusionCounts(thresholds=(0.2, 0.5))
    """

    name = "confusion_counts"
    roles: ClassVar[Names] = ("y_true",)
    counts: ClassVar[Names] = ("tp", "fp", "fn", "tn")
    checks: ClassVar[Checks] = Checks(rows=counts, per=("threshold",))
    squared: ClassVar[Names] = counts
    influences: ClassVar[tuple[Influence, ...]] = (methods.OUTCOMES,)
    support: ClassVar[pl.Expr | None] = (pl.col("tp") + pl.col("fn")).first()

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by rank and label: shape (groups, thresholds + 1, 2)."""
        self.add_by_rank(rows, rows.truth[0], out)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """Counts at each threshold."""
        return self.threshold_table(weighted, values, ("fp", "tn"), ("tp", "fn"))

    def distributions(self, table: pl.DataFrame) -> dict[str, tuple[Lattice, pl.DataFrame]]:
        """The distribution of labels, which is the same at each threshold."""
        neg, pos = pl.col("fp") + pl.col("tn"), pl.col("tp") + pl.col("fn")
        return {"y_true": (LABELS, bins_of_labels(table, neg.first(), pos.first()))}


class CutCounts(ConfusionCounts):
    """Confusion counts at a threshold that is not stored, from a score histogram.

    ``cut_neg`` and ``cut_pos`` are the rows of the bin that contains the threshold; the other counts exclude them.
    """

    counts: ClassVar[Names] = (*ConfusionCounts.counts, "cut_neg", "cut_pos")
    squared: ClassVar[Names] = ()

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Half of the rows of the bin reach the threshold, or all or none of a class."""
        return threshold_cases(table)

"""Log loss and Brier loss of multiclass probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.data import Kind, Rows
from streammetrics.metrics import Influence, methods
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.probability_loss import LOG_LOSS, Losses
from streammetrics.statistics.statistic import Names, Types


class ClassLoss(Losses):
    """Sums of the losses of predicted class probabilities, by true class.

    Keys: ``actual`` (the number of the label). Values: ``class_weight`` (the number of rows, or the sum of their
    weights), ``log_loss_sum``, ``log_loss_square_sum``, ``brier_sum``, ``brier_square_sum``. The log loss of a row is
    the negative natural logarithm of the probability given to its class, clipped to [1e-15, 1 - 1e-15]; its Brier loss
    is the sum over classes of the squares of probability minus indicator, from 0 to 2. Counts and sums
    merge bit for bit, weighted ones within 1e-12.

    >>> ClassLoss()
    ClassLoss()
    """

    name = "class_loss"
    kind: ClassVar[Kind | None] = "multiclass"
    keys: ClassVar[Types] = {"actual": pl.UInt32()}
    counts: ClassVar[Names] = ("class_weight",)
    squared: ClassVar[Names] = (*counts, *Losses.sums)
    influences: ClassVar[tuple[Influence, ...]] = (methods.LOG_LOSS_OF_CLASSES, methods.BRIER_OF_CLASSES)
    checks: ClassVar[Checks] = Checks(counts, most=dict(zip(Losses.sums, (LOG_LOSS, LOG_LOSS**2, 2, 4), strict=True)))

    def axes(self, labels: int) -> tuple[int, ...]:
        """Classes."""
        return (labels,)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over the rows of each class: shape (groups, classes, width)."""
        core.sum_class_losses(rows.truth[0], rows.score, rows.weight, rows.runs, out)

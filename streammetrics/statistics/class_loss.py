"""Log loss and Brier loss of the probabilities of several classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.counting import Sums
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.probability_loss import LOG_LOSS
from streammetrics.statistics.statistic import Statistic


@dataclass(frozen=True)
class ClassLoss(Statistic):
    """Sums of the losses of predicted class probabilities, by actual class.

    Keys: ``actual`` (the number of the label). Values: ``class_weight`` (the number of rows, or the sum of their
    weights), ``log_loss_sum``, ``log_loss_square_sum``, ``brier_sum``, ``brier_square_sum``. The log loss of a row is
    the negative natural logarithm of the probability given to its class, clipped to [1e-15, 1 - 1e-15]; its Brier loss
    is the sum over classes of the squares of probability minus indicator, from 0 to 2. Counts merge bit for bit, sums
    within 1e-12.

    >>> ClassLoss()
    ClassLoss()
    """

    name: ClassVar[str] = "class_loss"
    kind: ClassVar[Kind | None] = "multiclass"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_score")
    keys: ClassVar[dict[str, pl.DataType]] = {"actual": pl.UInt32()}
    counts: ClassVar[tuple[str, ...]] = ("class_weight",)
    held: ClassVar[tuple[str, ...]] = counts
    sums: ClassVar[tuple[str, ...]] = ("log_loss_sum", "log_loss_square_sum", "brier_sum", "brier_square_sum")
    limits: ClassVar[Mapping[str, float]] = dict(zip(sums, (LOG_LOSS, LOG_LOSS**2, 2, 4), strict=True))

    def needs_probabilities(self) -> bool:
        """Whether scores must lie in [0, 1]."""
        return True

    def counter(self, weighted: bool) -> Sums:
        """Sums over rows."""
        return Sums(self, weighted, integers=False)

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """Values of each class."""
        return len(rows.score), 5

    def count(self, rows: Rows, out: NDArray[np.float64]) -> None:
        """Sums over the rows of each class: shape (groups, classes, 5)."""
        kernels.sum_class_losses(rows.truth[0], rows.score, rows.weight, rows.runs, out)

    def tabulate(self, values: NDArray[np.float64], weighted: bool) -> pl.DataFrame:
        """The table of such sums."""
        group, actual = np.nonzero(values[..., 0])
        columns = dict(zip((*self.counts, *self.sums), values[group, actual].T, strict=True))
        return self.table(weighted, group=group, actual=actual, **columns)

    def valid_for(self, labels: Sequence[Any]) -> pl.Expr:
        """The number of a label is below that of labels."""
        return pl.col("actual") < len(labels)

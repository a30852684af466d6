"""Log loss and Brier loss, by actual class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from streammetrics import kernels
from streammetrics.rows import Rows
from streammetrics.statistics.statistic import Shifts, Statistic


@dataclass(frozen=True)
class ProbabilityLoss(Statistic):
    """Sums of the losses of predicted probabilities, apart for negatives and positives.

    Keys: ``actual`` (0 or 1). Values: ``weight`` (the number of rows, or the sum of their weights), ``log_loss_sum``,
    ``log_loss_square_sum``, ``brier_sum``, ``brier_square_sum``. The log loss of a row is the negative natural
    logarithm of the probability given to its class, with the score clipped to [1e-15, 1 - 1e-15]; its Brier loss is the
    square of score minus label. Counts merge bit for bit, sums within 1e-12.

    >>> ProbabilityLoss()
    ProbabilityLoss()
    """

    name: ClassVar[str] = "probability_loss"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_score")
    keys: ClassVar[dict[str, pl.DataType]] = {"actual": pl.Int8()}
    counts: ClassVar[tuple[str, ...]] = ("weight",)
    sums: ClassVar[tuple[str, ...]] = ("log_loss_sum", "log_loss_square_sum", "brier_sum", "brier_square_sum")

    def needs_probabilities(self) -> bool:
        """Whether scores must lie in [0, 1]."""
        return True

    def observe(self, rows: Rows, shifts: Shifts) -> pl.DataFrame:
        """Sums over the rows of each class."""
        assert rows.label is not None
        assert rows.score is not None
        sums = kernels.sum_losses(rows.label, rows.score, rows.group, rows.group_count, rows.weight)
        sums = sums.reshape(len(sums), -1)
        occupied = np.flatnonzero(sums[0])
        values = dict(zip((*self.counts, *self.sums), sums[:, occupied], strict=True))
        return self.table(rows, group=occupied // 2, actual=occupied % 2, **values)

    def valid(self) -> pl.Expr:
        """Whether a row of a table, read from a file, can be."""
        return super().valid() & pl.col("actual").is_in([0, 1])

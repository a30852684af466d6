"""Log loss and Brier loss, by true class."""

from __future__ import annotations

from math import log
from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.data import Kind, Rows
from streammetrics.metrics import Influence, methods
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.statistic import Names, Types
from streammetrics.statistics.summed import Summed

LOG_LOSS = -log(1 - (1 - core.CLIP))  # maximum for one row: a negative with a score clipped to 1 - 1e-15


class Losses(Summed):
    """Sums of the log loss and the Brier loss of predicted probabilities, by true class."""

    roles: ClassVar[Names] = ("y_true", "y_score")
    probabilities = True
    sums: ClassVar[Names] = ("log_loss_sum", "log_loss_square_sum", "brier_sum", "brier_square_sum")
    decimals: ClassVar[Names] = sums


class ProbabilityLoss(Losses):
    """Sums of the losses of predicted probabilities, separately for negatives and positives.

    Keys: ``actual`` (0 or 1). Values: ``weight`` (the number of rows, or the sum of their weights), ``log_loss_sum``,
    ``log_loss_square_sum``, ``brier_sum``, ``brier_square_sum``. The log loss of a row is the negative natural
    logarithm of the probability given to its class, with the score clipped to [1e-15, 1 - 1e-15]; its Brier loss is the
    square of score minus label. Counts and sums merge bit for bit, weighted ones within 1e-12.

    >>> ProbabilityLoss()
    ProbabilityLoss()
    """

    name = "probability_loss"
    kind: ClassVar[Kind | None] = "binary"
    keys: ClassVar[Types] = {"actual": pl.Int8()}
    counts: ClassVar[Names] = ("weight",)
    support: ClassVar[pl.Expr | None] = pl.col("weight").filter(pl.col("actual") == 1).sum()
    squared: ClassVar[Names] = (*counts, *Losses.sums)
    influences: ClassVar[tuple[Influence, ...]] = (methods.LOG_LOSS, methods.BRIER)
    checks: ClassVar[Checks] = Checks(counts, most=dict(zip(Losses.sums, (LOG_LOSS, LOG_LOSS**2, 1, 1), strict=True)))

    def axes(self, labels: int) -> tuple[int, ...]:
        """Negatives and positives."""
        return (2,)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over the rows of each class: shape (groups, 2, width)."""
        core.sum_losses(rows.truth[0], rows.score[0], rows.weight, rows.runs, out)

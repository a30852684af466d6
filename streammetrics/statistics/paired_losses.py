"""Differences between the losses of two models on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.counters.paired import PAIR
from streammetrics.statistics.paired import PairedSums
from streammetrics.statistics.probability_loss import LOG_LOSS, Losses
from streammetrics.statistics.statistic import at_most


class PairedLosses(Losses, PairedSums):
    """Sums of squared differences between the probability losses of pairs of models on the same rows.

    Keys: ``pair`` (number of the pair), ``actual`` (0 or 1). Values: ``weight`` (the number of rows, or the sum of
    their weights), ``log_loss_difference_square_sum``, ``brier_difference_square_sum``. Losses are those of
    `ProbabilityLoss`, which has their sums. Rows without a prediction of both models are skipped. Counts and sums
    merge bit for bit, weighted ones within 1e-12.

    `Report.compare` computes confidence intervals for differences of log loss, Brier score, and their skill scores from
    it. `binary` includes it for several models without weights and units.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If a pair does not have two different models.

    >>> PairedLosses([("new", "old")])
    PairedLosses(pairs=(('new', 'old'),))
    """

    name: ClassVar[str] = "paired_losses"
    kind: ClassVar[Kind | None] = "binary"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_score")
    keys: ClassVar[dict[str, pl.DataType]] = {PAIR: pl.UInt32(), "actual": pl.Int8()}
    counts: ClassVar[tuple[str, ...]] = ("weight",)
    sums: ClassVar[tuple[str, ...]] = ("log_loss_difference_square_sum", "brier_difference_square_sum")
    decimals: ClassVar[tuple[str, ...]] = sums
    most: ClassVar[Mapping[str, float]] = dict(zip(sums, (LOG_LOSS**2, 1), strict=True))  # of a row

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """Values of each class."""
        return 2, self.cell_width(rows)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over the rows of each class: shape (groups, 2, width)."""
        one, other = rows.score
        core.sum_loss_differences(rows.truth[0], one, other, rows.weight, rows.runs, out)

    def valid(self) -> pl.Expr:
        """Whether a row of a table read from a file is valid."""
        limited = [
            (pl.col(c) >= 0) & at_most(c, pl.col("weight").cast(pl.Float64) * most) for c, most in self.most.items()
        ]
        return super().valid() & pl.all_horizontal(limited)

    def valid_for(self, labels: Sequence[Any]) -> pl.Expr:
        """The class is 0 or 1."""
        return pl.col("actual").is_in([0, 1])

"""Differences between the regression losses of two models on the same rows."""

from __future__ import annotations

from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.counters.paired import PAIR
from streammetrics.statistics.paired import PairedSums


class PairedErrors(PairedSums):
    """Sums of squared differences between the regression losses of pairs of models on the same rows.

    Keys: ``pair`` (number of the pair). Values: ``weight`` (the number of rows, or the sum of their weights), and sums
    of squared differences of four losses. With e = p - y, these are ``error_difference_square_sum`` of e,
    ``absolute_difference_square_sum`` of ``|e|``, ``square_difference_square_sum`` of ``e**2``, and
    ``percentage_difference_square_sum`` of ``|e / y|``. `ErrorMoments` has the sums of the losses. Rows without a
    prediction of both models are skipped. Counts merge bit for bit, sums within 1e-12. Infinite and too large values
    follow floating-point arithmetic.

    `Report.compare` computes confidence intervals for differences of MAE, MSE, RMSE, bias, and MAPE from it.
    `regression` includes it for several models without weights and units.

    Args:
        pairs: Names of the models of each pair.

    Raises:
        SpecificationError: If a pair does not have two different models.

    >>> PairedErrors([("new", "old")])
    PairedErrors(pairs=(('new', 'old'),))
    """

    name: ClassVar[str] = "paired_errors"
    kind: ClassVar[Kind | None] = "regression"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_pred")
    counts: ClassVar[tuple[str, ...]] = ("weight",)
    sums: ClassVar[tuple[str, ...]] = tuple(
        f"{loss}_difference_square_sum" for loss in ("error", "absolute", "square", "percentage")
    )

    bounded_sums: ClassVar[bool] = False

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over rows: shape (groups, 5)."""
        one, other = rows.predicted
        core.sum_error_differences(rows.truth[0], one, other, rows.weight, rows.runs, out)

    def valid(self) -> pl.Expr:
        """Whether a row of a table read from a file is valid. NaN and infinity are."""
        weight, sums = pl.col("weight"), pl.all_horizontal(pl.col(c) >= 0 for c in self.sums)
        return (weight >= 0) & weight.is_finite() & (pl.col(PAIR) < len(self.pairs)) & sums

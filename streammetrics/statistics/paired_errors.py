"""How far the errors of two models differ on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.counting.paired import PAIR
from streammetrics.rows.arrays import Rows
from streammetrics.rows.roles import Kind
from streammetrics.statistics.paired import PairedSums


@dataclass(frozen=True)
class PairedErrors(PairedSums):
    """Sums of the squared differences of the losses of a regression, for pairs of models on the same rows.

    Keys: ``pair`` (its number). Values: ``weight`` (the number of rows, or the sum of their weights), and of the
    differences of errors e = p - y, of ``|e|``, of ``e**2`` and of ``|e / y|`` the sums of squares:
    ``error_difference_square_sum``, ``absolute_difference_square_sum``, ``square_difference_square_sum``,
    ``percentage_difference_square_sum``. `ErrorMoments` has the sums of these losses. Rows that one of the two has not
    predicted are left out. Counts merge bit for bit, sums within 1e-12. Infinite and too large values follow
    floating-point arithmetic.

    `Report.compare` reads intervals of differences of MAE, MSE, RMSE, bias and MAPE off it. `regression` keeps it if
    there are several models, and rows carry no weights and belong to no units.

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

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """The weight and four sums."""
        return (1 + len(self.sums),)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Sums over rows: shape (groups, 5)."""
        one, other = rows.predicted
        kernels.sum_error_differences(rows.truth[0], one, other, rows.weight, rows.runs, out)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """The table of such sums."""
        (group,) = np.nonzero(values[:, 0])
        columns = dict(zip((*self.counts, *self.sums), values[group].T, strict=True))
        return self.of_a_pair(weighted, group=group, **columns)

    def overflown(self) -> pl.Expr:
        """Never: what is too large for a square of squares is read as no interval."""
        return pl.lit(False)

    def valid(self) -> pl.Expr:
        """Whether a row of a table, read from a file, can be. NaN and infinity can."""
        weight, pair = pl.col("weight"), pl.col(PAIR)
        return (
            (weight >= 0)
            & weight.is_finite()
            & (pair < len(self.pairs))
            & pl.all_horizontal(pl.col(c) >= 0 for c in self.sums)
        )

"""Moments of actual and predicted values, and losses of the errors between them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
import polars as pl
from polars import Expr

from streammetrics import kernels
from streammetrics.counters import Tables
from streammetrics.errors import SpecificationError
from streammetrics.kernels.errors import FAMILIES, MOMENTS, POWERS, null_deviance
from streammetrics.roles import Kind
from streammetrics.rows import Rows
from streammetrics.statistics.statistic import ROUNDING, Statistic, at_most
from streammetrics.statistics.view import GROUP

WEIGHT = pl.col("weight")
MOVED = ("actual_mean", "predicted_mean", "actual_m2", "predicted_m2", "comoment")
LOWEST = ("actual_min", "predicted_min")
SUMMED = (
    *("weight", "over_sum", "under_sum", "square_error_sum", "absolute_actual_sum"),
    *("actual_m2", "predicted_m2", "comoment"),
)
HIGHEST = ("actual_max", "predicted_max", "absolute_error_max")


@dataclass(frozen=True)
class ErrorMoments(Statistic):
    """Moments of actual values y and predictions p, and sums of losses of the errors e = p - y.

    There are no keys. Values:

    - ``weight``: the number of rows, or the sum of their weights;
    - ``actual_mean``, ``predicted_mean``, and moments about them: ``actual_m2``, ``predicted_m2``, ``comoment``;
    - ``actual_min``, ``actual_max``, ``predicted_min``, ``predicted_max``;
    - ``over_sum``, of errors above zero, and ``under_sum``, of those below, counted positive;
    - ``square_error_sum``, ``error_fourth_sum``, ``absolute_error_max``;
    - ``absolute_actual_sum``, of ``|y|``; ``percentage_sum``, of ``|e / y|``; ``percentage_square_sum``, of its square;
    - ``symmetric_percentage_sum``, of ``2 |e| / (|y| + |p|)``, or 0 where y and p are 0.

    Each family adds columns, at the cost of a logarithm or a power for every row:

    - ``log``: ``squared_log_error_sum``, of the squares of ``log1p(p) - log1p(y)``, for values above -1;
    - ``log_cosh``: ``log_cosh_sum``, of ``log(cosh(e))``;
    - ``poisson``, ``gamma``, ``tweedie``: sums of deviances, ``poisson_deviance_sum`` of the predictions and
      ``poisson_null_deviance_sum`` of ``actual_mean``, which moves with it as ``actual_m2`` does.

    A row outside the domain of a family makes its sums NaN. Infinite values, and sums beyond the largest float, follow
    floating-point arithmetic: infinity minus infinity is NaN, and so is a sum with it. Counts, minima and maxima merge
    bit for bit, sums within 1e-12, moments within ``1e-12 + 1e-15 * |mean| / sd * sqrt(merges)``: they are right where
    values are large and vary little, too.

    Args:
        families: names of families, in any order.
        power: of the Tweedie family, at least 1; Poisson is 1, gamma 2.

    Raises:
        SpecificationError: for an unknown family, or a power below 1.

    >>> ErrorMoments(families=("poisson", "log"))
    ErrorMoments(families=('log', 'poisson'), power=1.5)
    """

    families: tuple[str, ...] = ()
    power: float = 1.5

    name: ClassVar[str] = "error_moments"
    kind: ClassVar[Kind | None] = "regression"
    roles: ClassVar[tuple[str, ...]] = ("y_true", "y_pred")
    counts: ClassVar[tuple[str, ...]] = ("weight",)
    held: ClassVar[tuple[str, ...]] = counts

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.families) - set(FAMILIES)):
            raise SpecificationError(f"there is no family {unknown[0]!r}; the families are {', '.join(FAMILIES)}.")
        if not 1 <= self.power < inf:
            raise SpecificationError(f"the power of a Tweedie deviance must be at least 1, not {self.power!r}.")
        object.__setattr__(self, "families", tuple(f for f in FAMILIES if f in self.families))
        object.__setattr__(self, "power", float(self.power))

    @property
    def columns(self) -> tuple[str, ...]:
        """The value columns."""
        return (*MOMENTS, *(column for family in self.families for column in FAMILIES[family]))

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table. The number of weighted rows is the sum of their weights."""
        count = pl.Float64() if weighted else pl.Int64()
        return {GROUP: pl.UInt32()} | dict.fromkeys(self.columns, pl.Float64()) | {"weight": count}

    def counter(self, weighted: bool) -> Tables:
        """Moments of chunks."""
        return Tables(self)

    def observe(self, rows: Rows) -> pl.DataFrame:
        """The table of a chunk, with a row for each of its groups.

        A group without rows has minima of infinity, maxima of minus infinity, and zeros.
        """
        (actual,), (predicted,) = rows.truth, rows.predicted
        sums = kernels.sum_errors(
            actual, predicted, rows.group, rows.group_count, rows.weight, self.families, self.power
        )
        columns = dict(zip(self.columns, sums.T, strict=True))
        return self.table(rows.weight is not None, group=np.arange(rows.group_count), **columns)

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with every group once, sorted by group.

        Moments of parts are moved to the mean of all of them, where they add up (Chan, Golub & LeVeque 1983).
        """
        actual, predicted = _mean_of_parts("actual_mean"), _mean_of_parts("predicted_mean")
        dy, dp = pl.col("actual_mean") - actual, pl.col("predicted_mean") - predicted
        added = [c for c in self.columns if c not in (*MOVED, *LOWEST, *HIGHEST)]
        return (
            self._about_the_mean_of_parts(table)
            .group_by(GROUP)
            .agg(
                pl.col(added).sum(),
                pl.col(LOWEST).min(),
                pl.col(HIGHEST).nan_max(),
                actual_mean=actual,
                predicted_mean=predicted,
                actual_m2=(pl.col("actual_m2") + WEIGHT * dy**2).sum(),
                predicted_m2=(pl.col("predicted_m2") + WEIGHT * dp**2).sum(),
                comoment=(pl.col("comoment") + WEIGHT * dy * dp).sum(),
            )
            .select(table.columns)
            .sort(GROUP)
        )

    def _about_the_mean_of_parts(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with null deviances about the mean of all parts.

        Deviances are Bregman divergences: about another mean than their own, rows have as much more as their mean has
        itself (Banerjee et al. 2005).
        """
        powers = {f: POWERS.get(f, self.power) for f in self.families if f in (*POWERS, "tweedie")}
        part, whole = table.select(part="actual_mean", whole=_mean_of_parts("actual_mean").over(GROUP)).to_numpy().T
        more = {f: pl.Series(null_deviance(part, whole, power)) for f, power in powers.items()}
        return table.with_columns(
            pl.col(f"{f}_null_deviance_sum") + pl.when(WEIGHT > 0).then(WEIGHT * d).otherwise(0)
            for f, d in more.items()
        )

    def overflown(self) -> Expr:
        """Whether a sum of values, errors, or their squares, over all groups, is not finite."""
        return ~pl.all_horizontal(pl.col(SUMMED).sum().is_finite())

    def valid(self) -> Expr:
        """Whether a row of a table, read from a file, can be. NaN can."""
        signed = ("actual_mean", "predicted_mean", "comoment", *LOWEST, *HIGHEST[:2])
        ordered = [pl.col(low) <= pl.col(high) for low, high in zip(LOWEST, HIGHEST[:2], strict=True)]
        weight, largest = WEIGHT.cast(pl.Float64), pl.col("absolute_error_max")
        within = [
            *(_is_mean(f"{of}_mean", pl.col(f"{of}_min"), pl.col(f"{of}_max")) for of in ("actual", "predicted")),
            *(at_most(c, weight * largest) for c in ("over_sum", "under_sum")),
            at_most("square_error_sum", weight * largest**2),
            at_most("error_fourth_sum", weight * largest**4),
        ]
        return pl.all_horizontal(
            *(pl.col(c).is_not_null() for c in signed),
            *(pl.col(c) >= 0 for c in self.columns if c not in signed),
            WEIGHT.is_finite(),
            (WEIGHT == 0) | pl.all_horizontal(*ordered, *within),
        )


def _is_mean(column: str, low: Expr, high: Expr) -> Expr:
    """Whether a mean lies between two values, rounding aside. NaN does."""
    room = ROUNDING * pl.max_horizontal(low.abs(), high.abs())
    return pl.col(column).is_between(low - room, high + room) | pl.col(column).is_nan()


def _mean_of_parts(column: str) -> Expr:
    """The mean of several means, by distances from that of the heaviest part, so that equal means leave no rounding."""
    mean, share = pl.col(column), (WEIGHT / WEIGHT.sum()).fill_nan(0)
    heaviest = mean.get(WEIGHT.arg_max())
    near = heaviest + (share * (mean - heaviest)).sum()
    return pl.when(near.is_finite()).then(near).otherwise((share * mean).sum())  # an infinite mean has no distances

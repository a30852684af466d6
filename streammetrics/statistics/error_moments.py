"""Moments of true and predicted values, and sums of losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics import core
from streammetrics.base import SUM_ROUNDING, as_float, shown
from streammetrics.core import (
    FAMILIES,
    HIGHER,
    MOMENTS,
    POWERS,
    Floats,
    Runs,
    error_m2,
    moved_moment,
    null_deviance,
    row_moments,
    two_sum,
)
from streammetrics.data import Kind, Rows
from streammetrics.errors import Argument, SpecificationError
from streammetrics.statistics.binned import changes
from streammetrics.statistics.blocks import Blocks
from streammetrics.statistics.checks import Checks, up_to
from streammetrics.statistics.counter import GROUP
from streammetrics.statistics.statistic import Names, Statistic, exact

Starts = NDArray[np.integer[Any]]
WEIGHT = pl.col("weight")
MEANS = ("actual_mean", "predicted_mean")
RESTS = tuple(f"{mean}_rest" for mean in MEANS)
HIGHER_MOMENTS = tuple(f"moment_{i}{j}" for i, j in HIGHER)
LOWEST = ("actual_min", "predicted_min")
SUMMED = (
    *("weight", "over_sum", "under_sum", "square_error_sum", "absolute_actual_sum"),
    *("actual_m2", "predicted_m2", "comoment"),
)
HIGHEST = ("actual_max", "predicted_max", "absolute_error_max")
SQUARES = "_w2"
LEAST = 1e-300  # sum or mean below which terms of rows can have underflown
_SIZE = pl.col("over_sum") + pl.col("under_sum")
_LIGHT = WEIGHT.is_between(0, LEAST**0.5, closed="none") & (_SIZE < LEAST) & (pl.col("absolute_error_max") > 0)
_WRONG = (_SIZE > 0) | _LIGHT
POSITIVE = {  # sums, and whether they cannot be 0
    **dict.fromkeys(("over_sum", "under_sum"), _LIGHT),
    "square_error_sum": _WRONG,
    "squared_log_error_sum": _WRONG & (pl.col("absolute_error_max") ** 2 < LEAST),
    **{f"{side}_m2": pl.col(f"{side}_min") < pl.col(f"{side}_max") for side in ("actual", "predicted")},
}


@dataclass(frozen=True)
class ErrorMoments(Statistic):
    """Moments of true values y and predictions p, and sums of losses of the errors e = p - y.

    No keys. Values:

    - ``weight``: the number of rows, or the sum of their weights;
    - ``actual_mean``, ``predicted_mean``, and their rounding errors ``actual_mean_rest``, ``predicted_mean_rest``; the
      second moments about the means, ``actual_m2``, ``predicted_m2``, ``comoment``;
    - ``actual_min``, ``actual_max``, ``predicted_min``, ``predicted_max``;
    - ``over_sum``, of errors above zero, and ``under_sum``, of errors below zero, as a positive number;
    - ``square_error_sum``, ``error_fourth_sum``, ``absolute_error_max``;
    - ``absolute_actual_sum``, of ``|y|``; ``percentage_sum``, of ``|e / y|``; ``percentage_square_sum``, of its square;
    - ``symmetric_percentage_sum``, of ``2 |e| / (|y| + |p|)``, or 0 if y and p are 0;
    - for confidence intervals ``over_square_sum`` and ``under_square_sum``, of the squares of errors above and below
      zero, ``actual_square_sum`` of ``y**2``, ``absolute_product_sum`` of ``|e y|``, ``percentage_fourth_sum`` and
      ``symmetric_percentage_square_sum``;
    - ``moment_30`` to ``moment_04``, of order i in y and j in e about the means of both, for i + j of 3 and 4, which
      confidence intervals of R² and correlations need.

    Each family adds columns and takes a logarithm or a power per row:

    - ``log``: ``squared_log_error_sum``, of the squares of ``log1p(p) - log1p(y)``, for values above -1;
    - ``log_cosh``: ``log_cosh_sum``, of ``log(cosh(e))``;
    - ``poisson``, ``gamma``, ``tweedie``: sums of deviances, such as ``poisson_deviance_sum`` of the predictions and
      ``poisson_null_deviance_sum`` of the constant prediction ``actual_mean``.

    All except the null deviances also have a sum of squares, such as ``log_cosh_square_sum``.

    A row outside the domain of a family makes the sums of the family NaN. Infinite values, and sums beyond the largest
    float, follow floating-point arithmetic. Counts, minima, and maxima merge bit for bit, sums and moments within
    1e-12, even if values are large and vary little; null deviances are then less precise.

    Args:
        families: Names of the families, in any order.
        power: Power of the Tweedie family, at least 1. Poisson is 1, gamma 2.

    Raises:
        SpecificationError: If a family is unknown, or ``power`` is less than 1.

    >>> ErrorMoments(families=("poisson", "log"))
    ErrorMoments(families=('log', 'poisson'), power=1.5)
    """

    families: tuple[str, ...] = ()
    power: float = 1.5

    name = "error_moments"
    kind: ClassVar[Kind | None] = "regression"
    roles: ClassVar[Names] = ("y_true", "y_pred")
    counts: ClassVar[Names] = ("weight",)
    means: ClassVar[Names] = (*MEANS, *RESTS)
    checks: ClassVar[Checks] = Checks(
        rows=counts,
        signed=(*MEANS, *RESTS, "comoment", *LOWEST, *HIGHEST[:2], *HIGHER_MOMENTS),
        unbounded=SUMMED,
    )

    def __post_init__(self) -> None:
        if unknown := [family for family in self.families if not isinstance(family, str) or family not in FAMILIES]:
            raise SpecificationError(f"Unknown family {shown(min(unknown, key=str))}. Families: {', '.join(FAMILIES)}.")
        if not 1 <= as_float(self.power) < inf:
            raise SpecificationError(Argument("power"), f" must be a number of at least 1, got {shown(self.power)}.")
        self._set(families=tuple(f for f in FAMILIES if f in self.families), power=float(self.power))

    @property
    def columns(self) -> tuple[str, ...]:
        """The value columns."""
        return (*MOMENTS, *(column for family in self.families for column in FAMILIES[family]))

    @property
    def twins(self) -> dict[str, str]:
        """All columns except extremes, which have no weight, and null deviances."""
        without = {*LOWEST, *HIGHEST, *(f"{family}_null_deviance_sum" for family in self.families)}
        return {name: name + SQUARES for name in self.columns if name not in without}

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table. The number of weighted rows is the sum of their weights."""
        count = pl.Float64() if weighted else pl.Int64()
        columns = (*self.columns, *(self.twins.values() if weighted else ()))
        return {GROUP: pl.UInt32()} | dict.fromkeys(columns, pl.Float64()) | {"weight": count}

    def empty_table(self, groups: int, weighted: bool) -> pl.DataFrame:
        """Return the table of groups without rows, whose extremes are infinite."""
        ends = dict.fromkeys(LOWEST, inf) | dict.fromkeys(HIGHEST[:2], -inf)
        return super().empty_table(groups, weighted).with_columns(pl.lit(end).alias(c) for c, end in ends.items())

    def counter(self, weighted: bool) -> Blocks[Floats]:
        """Moments of blocks."""
        return Blocks(self.reduce, self.tabulate, self.merge)

    def reduce(self, rows: Rows) -> Floats:
        """The value columns of a block of rows, and their twins if rows are weighted: shape (groups, columns)."""
        (actual,), (predicted,) = rows.truth, rows.predicted
        runs, groups = Runs(rows.starts, rows.local), len(rows.dropped)
        columns = self.summed(actual, predicted, rows.float_weight, runs, groups)
        if not rows.is_weighted:
            return columns.T
        squared = self.summed(actual, predicted, rows.with_squared_weights.float_weight, runs, groups)
        return np.vstack([columns, squared[[self.columns.index(name) for name in self.twins]]]).T

    def tabulate(self, groups: Sequence[NDArray[np.intp]], blocks: Sequence[Floats]) -> pl.DataFrame:
        """The table of the value columns of groups, of several blocks."""
        values = np.hstack([block.T for block in blocks])
        weighted = len(values) > len(self.columns)
        names = (*self.columns, *(self.twins.values() if weighted else ()))
        return self.table(weighted, group=np.concatenate(groups), **dict(zip(names, values, strict=True)))

    def summed(self, actual: Floats, predicted: Floats, weight: Floats | None, runs: Runs, groups: int) -> Floats:
        """The value columns of rows: shape (columns, groups). Moments are computed about the means of the groups."""
        moments = row_moments(actual, predicted, weight, runs, groups)
        if not self.families:
            return moments
        means, more = moments[MOMENTS.index("actual_mean")], np.zeros((groups, len(self.columns) - len(MOMENTS)))
        core.sum_families(actual, predicted, weight, means, self.families, self.power, runs, more)
        return np.vstack([moments, more.T])

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Merge into one row per group, sorted by group.

        Moments of parts are moved to the common mean and then summed (Chan, Golub & LeVeque 1983).
        """
        table = table.sort(GROUP, maintain_order=True)
        starts = np.flatnonzero(changes(table[GROUP].to_numpy()))
        if len(starts) == table.height:
            return table
        merged = table[starts]
        for suffix in ("", SQUARES):
            parts = {name: table[name + suffix].to_numpy() for name in self.columns if name + suffix in table.columns}
            if parts:
                totals = self._totals(parts, starts)
                merged = merged.with_columns(pl.Series(name + suffix, column) for name, column in totals.items())
        return merged

    @np.errstate(all="ignore")
    def _totals(self, parts: dict[str, Any], starts: Starts) -> dict[str, Any]:
        """The columns of groups, from those of their parts, whose moments are moved in place."""
        means = self._move(parts, starts)
        extremes = dict.fromkeys(LOWEST, np.minimum) | dict.fromkeys(HIGHEST, np.maximum)
        return {name: extremes.get(name, np.add).reduceat(part, starts) for name, part in parts.items()} | means

    def _move(self, parts: dict[str, Any], starts: Starts) -> dict[str, Floats]:
        """Move the moments of parts, in place, to the common mean of their group. Return these means.

        Means are computed from distances to the mean of the heaviest part, so that equal means cause no rounding.
        Deviances are Bregman divergences: moving them to another mean adds the divergence between the two means
        (Banerjee et al. 2005).
        """
        weight = parts["weight"]
        group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(weight)))
        most = np.flatnonzero(weight == np.maximum.reduceat(weight, starts)[group])
        heaviest = most[np.searchsorted(group[most], np.arange(len(starts)))]
        share = np.where(weight > 0, weight / np.add.reduceat(weight, starts)[group], 0.0)
        means, distances = {}, []
        for name, rest_name in zip(MEANS, RESTS, strict=True):
            mean, rounded_off = parts[name], parts[rest_name]
            distance = (mean - mean[heaviest][group]) + (rounded_off - rounded_off[heaviest][group])
            step = np.add.reduceat(share * distance, starts)
            near, left = two_sum(mean[heaviest], rounded_off[heaviest] + step)
            far = np.add.reduceat(share * mean, starts)  # an infinite mean has no distances
            means[name] = np.where(np.isfinite(near), near, far)
            means[rest_name] = np.where(np.isfinite(left), left, 0.0)
            distances.append(distance - step[group])
        dy, dp = distances
        moments = _moments(parts)
        for i, j in HIGHER:
            parts[f"moment_{i}{j}"] = np.where(weight > 0, moved_moment(moments, i, j, dy, dp - dy), 0.0)
        changes_of_sums = {"actual_m2": weight * (dy * dy), "predicted_m2": weight * (dp * dp)}
        changes_of_sums["comoment"] = weight * (dy * dp)
        for family in (f for f in self.families if f"{f}_null_deviance_sum" in parts):
            deviance = null_deviance(parts["actual_mean"], means["actual_mean"][group], POWERS.get(family, self.power))
            changes_of_sums[f"{family}_null_deviance_sum"] = weight * deviance
        for name, change in changes_of_sums.items():
            parts[name] = parts[name] + np.where(weight > 0, change, 0.0)  # a part without rows may be far
        return means

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The table, in which sums that have underflown, and so are not exact, are NaN."""
        columns = []
        for name, is_positive in POSITIVE.items():
            if name in table.columns:
                is_small = pl.min_horizontal(name, pl.col(name) / WEIGHT) < LEAST
                columns.append(pl.when(~(is_small & is_positive)).then(name).otherwise(nan).alias(name))
        return exact(table.with_columns(columns))

    def valid(self, labels: Sequence[Any]) -> Expr:
        """Whether a row of a table read from a file is valid. NaN is."""
        ordered = [pl.col(low) <= pl.col(high) for low, high in zip(LOWEST, HIGHEST[:2], strict=True)]
        weight, largest = WEIGHT.cast(pl.Float64), pl.col("absolute_error_max")
        within = [
            *(_is_mean(*columns) for columns in zip(MEANS, RESTS, LOWEST, HIGHEST[:2], strict=True)),
            *(up_to(c, weight * largest) for c in ("over_sum", "under_sum")),
            up_to("square_error_sum", weight * largest**2),
            up_to("error_fourth_sum", weight * largest**4),
        ]
        return pl.all_horizontal(
            *(pl.col(c).is_not_null() for c in self.checks.signed),
            *(pl.col(c) >= 0 for c in self.columns if c not in self.checks.signed),
            WEIGHT.is_finite(),
            (WEIGHT == 0) | pl.all_horizontal(*ordered, *within),
        )


def _moments(parts: Mapping[str, Any]) -> dict[tuple[int, int], Any]:
    """Moments of parts by their order in y and in the error; those of order 1 are 0."""
    actual, of_error = parts["actual_m2"], error_m2(parts, parts["over_sum"] - parts["under_sum"])
    second = {(2, 0): actual, (1, 1): parts["comoment"] - actual, (0, 2): of_error}
    return {(0, 0): parts["weight"]} | second | {(i, j): parts[f"moment_{i}{j}"] for i, j in HIGHER}


def _is_mean(mean: str, rounded_off: str, low: str, high: str) -> Expr:
    """Whether a mean lies between two values and its rest is small, up to rounding. True if it is not finite."""
    room = SUM_ROUNDING * pl.max_horizontal(pl.col(low, high).abs())
    within = pl.col(mean).is_between(pl.col(low) - room, pl.col(high) + room) & (pl.col(rounded_off).abs() <= room)
    return within | ~pl.col(mean).is_finite()

"""Confidence intervals of the MAD and the interquartile range, from a histogram."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import inf, nan

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.uncertainty.distributions import normal_quantile, upper_level
from streammetrics.uncertainty.limits import Interval, limits

Values = NDArray[np.float64]

LEVEL = 0.975  # of the normal quantile in the bandwidth of densities


def mad_interval(
    value: Expr, low: Expr, high: Expr, count: Expr, confidence: float = 0.95, squares: Expr | None = None
) -> Interval:
    """Return the interval of the median absolute deviation from the median (Falk 1997), on the log scale.

    The variance is computed from the influence of a row, which depends on the densities at the median and one deviation
    below and above it. For skewed distributions, this includes the effect of the error of the median. Rows are assumed
    to be spread evenly over their bin. A density is the share of rows between two quantiles divided by their distance,
    with the bandwidth of Hall and Sheather (1988).

    ``value`` is the deviation. Bins must be in ascending order and not overlap. Limits are null if the deviation is 0
    or infinite, and if so many rows share a value that a density does not exist.

    >>> table = pl.DataFrame({"value": [float(x) for x in range(101)]})
    >>> found = mad_interval(pl.lit(25.0), pl.col("value"), pl.col("value"), pl.ones(pl.len()))
    >>> table.select(x.round(1) for x in found).row(0)
    (20.6, 30.4)
    """
    return _spread_interval(value, low, high, count, squares, confidence, _influence_on_mad)


def iqr_interval(
    value: Expr, low: Expr, high: Expr, count: Expr, confidence: float = 0.95, squares: Expr | None = None
) -> Interval:
    """Return the interval of the interquartile range, on the log scale, from the densities at both quartiles.

    The variance is that of the difference between two order statistics (Serfling 1980, 2.3.3). Arguments,
    densities, and nulls are as in `mad_interval`.

    >>> table = pl.DataFrame({"value": [float(x) for x in range(101)]})
    >>> found = iqr_interval(pl.lit(50.0), pl.col("value"), pl.col("value"), pl.ones(pl.len()))
    >>> table.select(x.round(1) for x in found).row(0)
    (41.1, 60.8)
    """
    return _spread_interval(value, low, high, count, squares, confidence, _influence_on_iqr)


def _spread_interval(
    value: Expr,
    low: Expr,
    high: Expr,
    count: Expr,
    squares: Expr | None,
    confidence: float,
    influence: Callable[[_Rows, float], tuple[Sequence[float], Sequence[float]]],
) -> Interval:
    def error(columns: Sequence[pl.Series]) -> float | None:
        spread, low, high, count, squares = (column.cast(pl.Float64).to_numpy() for column in columns)
        rows = _Rows(low, high, count, squares)
        if not (rows.count > 1 and 0 < spread[0] < inf):
            return None
        with np.errstate(all="ignore"):  # an infinite density or variance has no interval
            found = rows.variance(*influence(rows, spread[0]))
        return math.sqrt(found) if found >= 0 else None

    columns = [value, low, high, count, count if squares is None else squares]
    found = pl.map_groups(columns, error, return_dtype=pl.Float64, returns_scalar=True)
    return limits(value, found, normal_quantile(upper_level(confidence)), range=(0, inf))


class _Rows:
    """The rows of a histogram, spread evenly over their bins. ``count`` is the effective number of rows."""

    def __init__(self, low: Values, high: Values, count: Values, squares: Values) -> None:
        total = count.sum()
        squared_shares = squares / total / total  # divided twice, because the square of a large total would overflow
        self.count = 1 / squared_shares.sum() if total else 0.0
        self._values = np.column_stack([low, high]).ravel()
        self._shares, self._squares = (
            np.column_stack([reached - own, reached]).ravel()
            for own in (count / total, squared_shares)
            for reached in [np.cumsum(own)]
        )

    def variance(self, cuts: Sequence[float], influence: Sequence[float]) -> float:
        """Return the variance of a statistic whose influence is constant between ascending cuts."""
        reached = [0.0, *np.interp(cuts, self._values, self._squares), self._squares[-1]]
        return float(np.diff(reached) @ np.square(influence))

    def share(self, value: float) -> float:
        """Return the share of rows up to a value."""
        return float(np.interp(value, self._values, self._shares))

    def quantile(self, share: float) -> float:
        """Return the value that a share of the rows does not exceed."""
        return float(np.interp(share, self._shares, self._values))

    def density(self, share: float) -> float:
        """Return the density at a quantile, NaN if many rows share its value or values near it are infinite."""
        share = min(max(share, 0.5 / self.count), 1 - 0.5 / self.count)
        z = normal_quantile(share)
        height = math.exp(z * z / -2) / math.sqrt(math.tau)
        width = ((normal_quantile(LEVEL) * height) ** 2 * 1.5 / (2 * z**2 + 1) / self.count) ** (1 / 3)
        first, last = max(share - width, 0.0), min(share + width, 1.0)
        distance = self.quantile(last) - self.quantile(first)
        return (last - first) / distance if 0 < distance < inf else nan


def _influence_on_mad(rows: _Rows, mad: float) -> tuple[Sequence[float], Sequence[float]]:
    """Cuts at which the influence of a row changes, and its values between them."""
    median = rows.quantile(0.5)
    cuts = (median - mad, median, median + mad)
    left, right = (rows.density(rows.share(cut)) for cut in (cuts[0], cuts[2]))
    skew = (right - left) / rows.density(0.5)
    return cuts, [(part + skew * side) / (2 * (left + right)) for part, side in ((1, 1), (-1, 1), (-1, -1), (1, -1))]


def _influence_on_iqr(rows: _Rows, _: float) -> tuple[Sequence[float], Sequence[float]]:
    """Cuts at which the influence of a row changes, and its values between them."""
    first, third = (1 / rows.density(q) for q in (0.25, 0.75))
    influence = [(3 * first - third) / 4, -(first + third) / 4, (3 * third - first) / 4]
    return (rows.quantile(0.25), rows.quantile(0.75)), influence

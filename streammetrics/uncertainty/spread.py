"""Intervals of measures of spread, MAD and the interquartile range, from a histogram."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import inf, nan
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.uncertainty.distributions import normal_quantile, upper_level
from streammetrics.uncertainty.limits import Interval, limits

Values = NDArray[np.float64]

NORMAL = NormalDist()
LEVEL = NORMAL.inv_cdf(0.975)  # for which the bandwidth of densities is chosen, whatever the confidence


def mad_interval(value: Expr, low: Expr, high: Expr, count: Expr, confidence: float = 0.95) -> Interval:
    """Interval of the median absolute deviation from the median (Falk 1997), on the logarithm.

    Its variance follows from the densities at the median and one deviation to both sides, also if the distribution
    is skewed and the median's own error counts. Rows are taken as spread evenly over their bin, so that wide bins do no
    harm. Densities are the share of rows between two quantiles over their distance, as far apart as Hall and Sheather
    (1988) propose.

    Args:
        value: The deviation.
        low: Smallest value of each bin, in ascending order.
        high: Largest value of each bin; bins do not overlap.
        count: Number of rows. Sums of weights don't tell how many there are: such tables have no interval.
        confidence: Probability with which the interval is to hold the deviation.

    Returns:
        ``ci_lower`` and ``ci_upper``; null if the deviation is 0 or infinite, and if so many rows share a value
        that there is no density.

    Raises:
        SpecificationError: If ``confidence`` is not between 0 and 1.

    >>> table = pl.DataFrame({"value": [float(x) for x in range(101)]})
    >>> found = mad_interval(pl.lit(25.0), pl.col("value"), pl.col("value"), pl.ones(pl.len()))
    >>> table.select(x.round(1) for x in found).row(0)
    (20.6, 30.4)
    """
    return _spread_interval(value, low, high, count, confidence, _variance_of_mad)


def iqr_interval(value: Expr, low: Expr, high: Expr, count: Expr, confidence: float = 0.95) -> Interval:
    """Interval of the distance between the quartiles, on the logarithm, from the densities at both.

    The variance is that of a difference of two order statistics (Serfling 1980, 2.3.3). Arguments, densities and nulls
    are those of `mad_interval`.

    >>> table = pl.DataFrame({"value": [float(x) for x in range(101)]})
    >>> found = iqr_interval(pl.lit(50.0), pl.col("value"), pl.col("value"), pl.ones(pl.len()))
    >>> table.select(x.round(1) for x in found).row(0)
    (41.1, 60.8)
    """
    return _spread_interval(value, low, high, count, confidence, _variance_of_iqr)


def _spread_interval(
    value: Expr, low: Expr, high: Expr, count: Expr, confidence: float, variance: Callable[[_Rows, float], float]
) -> Interval:
    def error(columns: Sequence[pl.Series]) -> float | None:
        spread, low, high, count = (column.cast(pl.Float64).to_numpy() for column in columns)
        rows = _Rows(low, high, count)
        if not (rows.count > 1 and 0 < spread[0] < inf):
            return None
        found = variance(rows, spread[0]) / rows.count
        return math.sqrt(found) if found >= 0 else None

    found = pl.map_groups([value, low, high, count], error, return_dtype=pl.Float64, returns_scalar=True)
    return limits(value, found, normal_quantile(upper_level(confidence)), range=(0, inf))


class _Rows:
    """The rows of a histogram, spread evenly over their bins."""

    def __init__(self, low: Values, high: Values, count: Values) -> None:
        self.count = count.sum()
        reached = np.cumsum(count) / self.count
        self._values = np.column_stack([low, high]).ravel()
        self._shares = np.column_stack([reached - count / self.count, reached]).ravel()

    def share(self, value: float) -> float:
        """The share of rows up to a value."""
        return float(np.interp(value, self._values, self._shares))

    def quantile(self, share: float) -> float:
        """The value that a share of the rows does not exceed."""
        return float(np.interp(share, self._shares, self._values))

    def density(self, share: float) -> float:
        """The density at a quantile; NaN if many rows share its value, or some near it are infinite."""
        share = min(max(share, 0.5 / self.count), 1 - 0.5 / self.count)
        z = NORMAL.inv_cdf(share)
        width = ((LEVEL * NORMAL.pdf(z)) ** 2 * 1.5 / (2 * z**2 + 1) / self.count) ** (1 / 3)
        first, last = max(share - width, 0.0), min(share + width, 1.0)
        distance = self.quantile(last) - self.quantile(first)
        return (last - first) / distance if 0 < distance < inf else nan


def _variance_of_mad(rows: _Rows, mad: float) -> float:
    """Of the deviation, times the number of rows."""
    median = rows.quantile(0.5)
    below, above = rows.share(median - mad), rows.share(median + mad)
    center, left, right = (rows.density(share) for share in (0.5, below, above))
    skew = (right - left) / center
    return (1 + skew**2 - 4 * skew * (1 - below - above)) / (2 * (left + right)) ** 2


def _variance_of_iqr(rows: _Rows, _: float) -> float:
    """Of the distance, times the number of rows."""
    first, third = rows.density(0.25), rows.density(0.75)
    return 3 / 16 * (1 / first**2 + 1 / third**2) - 1 / 8 / (first * third)

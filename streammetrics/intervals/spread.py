"""Confidence intervals of the MAD and the interquartile range, from a histogram."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.frame import hidden
from streammetrics.intervals.distributions import normal_quantile, upper_level
from streammetrics.intervals.limits import Interval, limits, named
from streammetrics.intervals.method import COUNT, Quantity
from streammetrics.intervals.quantiles import OfQuantiles, quantile_interval

Values = NDArray[np.float64]

LEVEL = 0.975  # of the normal quantile in the bandwidth of densities


def mad_interval(
    value: Expr,
    low: Expr,
    high: Expr,
    count: Expr,
    confidence: float = 0.95,
    squares: Expr | None = None,
    median: Interval | None = None,
) -> Interval:
    """Return the interval of the median absolute deviation from the median (Falk 1997), on the log scale.

    The variance is computed from the influence of a row, which depends on the densities at the median and one deviation
    below and above it. For skewed distributions, this includes the effect of the error of the median. Rows are assumed
    to be spread evenly over their bin. A density is the share of rows between two quantiles divided by their distance,
    with the bandwidth of Hall and Sheather (1988).

    ``value`` is the deviation, and ``median`` the interval of the median if it is known. Bins must be in ascending
    order and not overlap. Limits are null if the deviation is 0 or infinite.

    If many rows share a value near the median or one deviation from it, such as errors that are integers, there is no
    density. The limits are then the lowest and the highest limit of the median deviation from the median and from
    either end of its interval.

    >>> table = pl.DataFrame({"value": [float(x) for x in range(101)]})
    >>> found = mad_interval(pl.lit(25.0), pl.col("value"), pl.col("value"), pl.ones(pl.len()))
    >>> table.select(x.round(1) for x in found).row(0)
    (20.6, 30.4)
    """
    smooth = _spread_interval(value, low, high, count, squares, confidence, _influence_on_mad)
    median = median or quantile_interval(low, high, count, 0.5, confidence, squares)
    parts = [_deviation_interval(low, high, count, center, confidence, squares) for center in median]
    steps = pl.min_horizontal(part[0] for part in parts), pl.max_horizontal(part[1] for part in parts)
    tied = _is_tied(low, high, count, 0.5)
    return _tied_or_smooth(value, tied, steps, smooth)


def _deviation_interval(
    low: Expr, high: Expr, count: Expr, center: Expr, confidence: float, squares: Expr | None
) -> Interval:
    nearest = pl.max_horizontal(low - center, center - high, 0.0)
    farthest = pl.max_horizontal((low - center).abs(), (high - center).abs())
    return quantile_interval(nearest, farthest, count, 0.5, confidence, squares)


def iqr_interval(
    value: Expr, low: Expr, high: Expr, count: Expr, confidence: float = 0.95, squares: Expr | None = None
) -> Interval:
    """Return the interval of the interquartile range, on the log scale, from the densities at both quartiles.

    The variance is that of the difference between two order statistics (Serfling 1980, 2.3.3). Arguments,
    densities, and nulls are as in `mad_interval`.

    If many rows share a value near a quartile, the limits are the smallest and the largest difference between the
    intervals of both quartiles, which is at least as wide.

    >>> table = pl.DataFrame({"value": [float(x) for x in range(101)]})
    >>> found = iqr_interval(pl.lit(50.0), pl.col("value"), pl.col("value"), pl.ones(pl.len()))
    >>> table.select(x.round(1) for x in found).row(0)
    (41.1, 60.8)
    >>> ties = pl.DataFrame({"value": [0.0, 1.0, 2.0], "count": [30, 40, 30]})
    >>> ties.select(iqr_interval(pl.lit(2.0), pl.col("value"), pl.col("value"), pl.col("count"))).row(0)
    (0.0, 2.0)
    """
    smooth = _spread_interval(value, low, high, count, squares, confidence, _influence_on_iqr)
    first, third = (quantile_interval(low, high, count, q, confidence, squares) for q in (0.25, 0.75))
    tied = pl.any_horizontal(_is_tied(low, high, count, q) for q in (0.25, 0.75))
    return _tied_or_smooth(value, tied, ((third[0] - first[1]).clip(0), third[1] - first[0]), smooth)


def _tied_or_smooth(value: Expr, tied: Expr, steps: Interval, smooth: Interval) -> Interval:
    """Intervals from order statistics if many rows share a value, else from densities."""
    tied &= value.is_between(0, inf, closed="none")
    return named(*(pl.when(tied).then(step).otherwise(limit) for step, limit in zip(steps, smooth, strict=True)))


def _is_tied(low: Expr, high: Expr, count: Expr, q: float) -> Expr:
    """Whether a value near a quantile is shared by more rows than the number of rows below the quantile varies by."""
    total = count.sum()
    error = (q * (1 - q) / total).sqrt()
    share, reached = count / total, count.cum_sum() / total
    near = (reached >= q - 2 * error) & (reached - share <= q + 2 * error)
    return (share.filter(near & (low == high)).max() > error).fill_null(False)


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


@dataclass(frozen=True, eq=False)
class MAD(OfQuantiles):
    """The median absolute deviation of binned values, multiplied by ``scale`` with the option ``scaled``.

    Its limits mention the interval of the median many times, which is therefore computed first.
    """

    low: Expr
    high: Expr
    scale: float

    def first(self, metric: Quantity, confidence: float, *, weighted: bool) -> Mapping[str, Expr]:
        """The deviation, and the interval of the median."""
        squares = pl.col("count_w2") if weighted else None
        scale = self.scale if metric.options["scaled"] else 1.0
        ends = quantile_interval(self.low, self.high, COUNT, 0.5, confidence, squares)
        return dict(zip(_names_of(metric), (metric.expression() / scale, *ends), strict=True))

    def ends(self, metric: Quantity, confidence: float, *, weighted: bool) -> Interval:
        """Limits by densities, or by order statistics if rows are tied."""
        scale = self.scale if metric.options["scaled"] else 1.0
        squares = pl.col("count_w2") if weighted else None
        value, *median = (pl.col(name).first() for name in _names_of(metric))
        found = mad_interval(value, self.low, self.high, COUNT, confidence, squares, (median[0], median[1]))
        return found[0] * scale, found[1] * scale


def _names_of(metric: Quantity) -> tuple[str, ...]:
    return tuple(hidden(f"{part} of {metric.name}") for part in ("deviation", "lower median", "upper median"))


@dataclass(frozen=True, eq=False)
class IQR(OfQuantiles):
    """The interquartile range of binned values."""

    low: Expr
    high: Expr

    def ends(self, metric: Quantity, confidence: float, *, weighted: bool) -> Interval:
        """Limits by densities, or by order statistics if rows are tied."""
        squares = pl.col("count_w2") if weighted else None
        return iqr_interval(metric.expression(), self.low, self.high, COUNT, confidence, squares)

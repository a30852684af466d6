"""Confidence limits of a metric from the influences of its rows, and of other values from their standard error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np

from streammetrics.core import Floats
from streammetrics.metrics.intervals.distributions import t_quantiles

Limits: TypeAlias = tuple[Floats, Floats]
Range: TypeAlias = tuple[float, float]

EVERYWHERE: Range = (-inf, inf)
LEAST_ERROR = 1e-12  # of a standard error, as a share of the distance to the nearer of two ends
NEWTON_STEPS = 6
LARGEST_STEP = 2.0  # of a Newton step, on the logarithm


@dataclass(frozen=True)
class Spread:
    """How estimates vary: sums over rows of the powers of their influences, arrays of any shape.

    The influence of a row is the change of the estimate if the row is added, less its mean. A standard error alone says
    nothing of skewness: if two models differ in 5 of 1,000 rows, the interval of Student's t misses in 23% of samples
    on one side. The limits are those of the Bayesian bootstrap (Rubin 1981), in which each row has a random weight of
    the gamma distribution, with two half rows added. One has half of the skewness, which makes the limit correct to
    second order (Hall 1992). The other one is a usual large row, and covers rows that the sample lacks, in the manner
    of Gaffke (2005). If the state keeps the largest row instead of cells, it is as large as this row on the side of the
    skewness. Equal rare rows have the exact limits of a Poisson mean.

    Rows are replaced by ``effective_rows`` of one size with the same sums. The quantile of the sum of gamma variables
    is that of the saddlepoint approximation of Lugannani & Rice (1980), in the form of Barndorff-Nielsen (1986).

    Args:
        squares: Sum of squared influences: the variance of the estimate.
        cubes: Sum of their cubes.
        fourths: Sum of their fourth powers.
        degrees: Degrees of freedom of the variance.
        largest: The largest absolute influence; 0 if it follows from cells.

    >>> influences = np.array([-3.0] * 97 + [97.0] * 3) / 100  # 3 of 100 rows are errors
    >>> powers = [np.array((influences**power).sum()) for power in (2, 3, 4)]
    >>> spread = Spread(*powers, degrees=np.array(np.inf))
    >>> [limit.round(2).item() for limit in spread.distances(0.95)]  # the upper limit of a Poisson mean of 3 is 7.75
    [2.98, 4.6]
    """

    squares: Floats
    cubes: Floats
    fourths: Floats
    degrees: Floats
    largest: Floats | float = 0.0

    @property
    def effective_rows(self) -> Floats:
        """The number of rows of equal size with the same sums of squares and of fourth powers; NaN without variance."""
        with np.errstate(all="ignore"):
            return np.where(self.squares > 0, self.squares**2 / self.fourths, np.nan)

    def distances(self, level: float) -> Limits:
        """How far the lower and the upper limit, each with this probability on its side, are from the estimate."""
        with np.errstate(all="ignore"):
            rows = self.effective_rows
            size = np.sqrt(self.fourths / self.squares)
            skewness = np.clip(self.cubes / (self.squares * size), -1, 1)
            largest = np.fmax(self.largest / size, 1)
            quantile = t_quantiles(level, self.degrees)
            down, up = size * _reach(rows, np.stack([-skewness, skewness]), largest, quantile)
            return down, up

    def limits(
        self,
        values: Floats,
        level: float,
        low: Floats | float,
        high: Floats | float,
        scaled: Sequence[bool] = (),
        growth: Callable[[Floats], Floats] = np.exp,
    ) -> Limits:
        """Limits of estimates between the ends of their ranges; NaN if an estimate is not finite or does not vary.

        Those of ``scaled`` columns are on the scale of the range (see `moved`). A sample that lacks rare large errors
        has a mean error and a variance that are both too small, so limits in proportion to the value miss less often.
        """
        down, up = self.distances(level)
        with np.errstate(invalid="ignore"):
            nearest = np.minimum(values - low, high - values)
            rounding = np.isfinite(nearest) & (np.sqrt(self.squares) <= LEAST_ERROR * nearest)
        sound = np.isfinite(values) & np.isfinite(down) & np.isfinite(up) & ~rounding
        lower = np.where(sound, np.maximum(values - down, low), np.nan)
        upper = np.where(sound, np.minimum(values + up, high), np.nan)
        for i in np.flatnonzero(scaled):
            ends = np.asarray(low)[i], np.asarray(high)[i]
            for limit, step in ((lower, -down), (upper, up)):
                is_finite = np.isfinite(limit[:, i])
                limit[is_finite, i] = moved(values[is_finite, i], step[is_finite, i], *ends, growth)
        return lower, upper


def _reach(rows: Floats, skewness: Floats, largest: Floats, quantile: Floats) -> Floats:
    """The distance of the upper limit in units of the size of the rows.

    Of ``rows`` rows, which need not be a whole number, the share (1 + skewness) / 2 increases the estimate by 1, and
    the others decrease it by 1. The cumulant function of the sum of gamma variables with shapes c and sizes x is
    K(s) = -sum(c log(1 - s x)). The quantile is K'(s) for the s that solves r + log(u / r) / r = quantile, with
    r = sqrt(2 (s K' - K)) and u = s sqrt(K''). With s = q / (1 + q) and 1 as the largest size, Newton's method solves
    it for log(q).
    """
    ones = np.ones_like(skewness)
    unseen = np.where(skewness > 0, largest, ones)
    sizes = np.stack([ones, -ones, np.maximum(skewness, 0), unseen]) / unseen
    shapes = np.stack([rows * (1 + skewness) / 2, rows * (1 - skewness) / 2, ones / 2, ones / 2])
    q = quantile / np.sqrt((shapes * sizes**2).sum(axis=0))
    for _ in range(NEWTON_STEPS):
        s = q / (1 + q)
        part = s * sizes
        ratio = part / (1 - part)
        first, second = (shapes * ratio).sum(axis=0), (shapes * ratio**2).sum(axis=0)  # s K', s**2 K''
        r = np.sqrt(2 * np.maximum(first + (shapes * np.log1p(-part)).sum(axis=0), 1e-300))
        step = (quantile - r - np.log(second / r**2) / (2 * r)) * r * (1 + q) / second
        q = q * np.exp(np.clip(step, -LARGEST_STEP, LARGEST_STEP))
    s = q / (1 + q)
    centred = np.array([1.0, 1.0, 0.0, 0.0]).reshape(4, *[1] * skewness.ndim)  # the rows, but not the two halves
    terms = shapes * sizes / (1 - s * sizes)
    reach: Floats = unseen * (terms - centred * shapes * sizes).sum(axis=0)
    return reach


def limits(value: Floats, error: Floats, quantile: float, range: Range = EVERYWHERE) -> Limits:
    """Return the value plus and minus ``quantile`` times its standard error.

    In a finite range, this is computed on the logit scale. The standard error is transformed by the delta method.

    Args:
        value: The estimate.
        error: Its standard error.
        quantile: Quantile of the normal distribution.
        range: Smallest and largest possible value, both finite or both infinite.

    Returns:
        Both limits. They are NaN if the value is at an end of its range or not finite, and if the error is 0 or comes
        from rounding, because the true variation is then unknown.

    >>> value, error = np.array([0.9, 1.0]), np.array([0.05, 0.05])
    >>> [limit.round(4).tolist() for limit in limits(value, error, 1.96)]
    [[0.802, 0.902], [0.998, 1.098]]
    >>> [limit.round(4).tolist() for limit in limits(value, error, 1.96, range=(0, 1))]
    [[0.7518, nan], [0.9639, nan]]
    """
    low, high = range
    with np.errstate(all="ignore"):
        sound = (error > 0) & np.isfinite(error) & (low < value) & (value < high)
        if range != EVERYWHERE:
            sound &= error > LEAST_ERROR * np.minimum(value - low, high - value)
        lower, upper = (moved(value, side * quantile * error, low, high) for side in (-1, 1))
    return np.where(sound, lower, np.nan), np.where(sound, upper, np.nan)


def moved(value: Floats, step: Floats, low: float, high: float, growth: Callable[[Floats], Floats] = np.exp) -> Floats:
    """Move a value by a step on the scale of its range.

    The scale of a range with one end is the logarithm, or the inverse of another ``growth``.
    """
    above, below = value - low, high - value
    if (low, high) == EVERYWHERE:
        return value + step
    if high == inf:
        return low + above * growth(step / above)
    if low == -inf:
        return high - below * growth(-step / below)
    odds = above / below * np.exp(step / above + step / below)
    return low + (high - low) / (1 + 1 / odds)


def squared(step: Floats) -> Floats:
    """The growth whose scale is the square root."""
    return np.maximum(1 + step / 2, 0) ** 2

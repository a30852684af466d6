"""Moments of true values and predictions, and losses of their errors: what is computed from sums of terms of rows.

Moments are computed about a reference near the mean, and means are stored as two floats, so that no digits are lost if
values are large but vary little. Infinite values follow floating-point arithmetic: infinity minus infinity is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import comb
from operator import mul
from typing import TypeVar

import numpy as np

from streammetrics.core.definition.runs import Floats

T = TypeVar("T", float, Floats)

MOMENTS = (
    *("weight", "actual_mean", "predicted_mean", "actual_mean_rest", "predicted_mean_rest"),
    *("actual_m2", "predicted_m2", "comoment"),
    *("actual_min", "actual_max", "predicted_min", "predicted_max"),
    *("over_sum", "under_sum", "square_error_sum", "error_fourth_sum", "absolute_error_max", "absolute_actual_sum"),
    *("percentage_sum", "percentage_square_sum", "symmetric_percentage_sum"),
    *("over_square_sum", "under_square_sum", "actual_square_sum", "absolute_product_sum"),
    *("percentage_fourth_sum", "symmetric_percentage_square_sum"),
    *(f"moment_{i}{order - i}" for order in (3, 4) for i in range(order, -1, -1)),
)
FAMILIES: dict[str, tuple[str, ...]] = {
    "log": ("squared_log_error_sum", "squared_log_error_square_sum"),
    "log_cosh": ("log_cosh_sum", "log_cosh_square_sum"),
    **{
        family: tuple(f"{family}_{what}_sum" for what in ("deviance", "null_deviance", "deviance_square"))
        for family in ("poisson", "gamma", "tweedie")
    },
}
POWERS = {"poisson": 1.0, "gamma": 2.0}
HIGHER = tuple((i, order - i) for order in (3, 4) for i in range(order, -1, -1))  # orders of moments
TERMS = 20 + len(HIGHER)  # sums of terms of rows by group, and
NEAR = 0.5  # relative distance below which log1p is more precise than log
STEEP = 700.0  # error above which log cosh is linear


def no_extremes(groups: int) -> Floats:
    """Initial minima and maxima of true values and predictions, and maximum absolute error: shape (groups, 5)."""
    return np.repeat([[np.inf, np.inf, -np.inf, -np.inf, 0.0]], groups, axis=0)


def centred(reference: Floats, sums: Floats, extremes: Floats) -> Floats:
    """The columns `MOMENTS`: shape (columns, groups).

    The reference has the shape (groups, 2), the sums have (groups, 29), and the extremes have (groups, 5).
    """
    reference, sums, extremes = (np.ascontiguousarray(values.T) for values in (reference, sums, extremes))
    over, under, square, fourth, size, percentage, percentage_square, symmetric = sums[:8]
    *others, symmetric_square = sums[8:14]
    total, shift, squares, product = sums[14], sums[15:17], sums[17:19], sums[19]
    extremes = extremes + 0.0  # turns -0.0 into 0.0
    low, high, largest = extremes[:2], extremes[2:4], extremes[4]
    with np.errstate(all="ignore"):
        shift = shift / total
        shift = np.where(np.isfinite(shift), shift, 0.0)
        constant, finite = high - low == 0, np.isfinite(high - low)
        mean, rounded_off = two_sum(reference, np.where(constant, 0.0, shift))
        mean = np.where(constant, low, mean)
        rounded_off = np.where(np.isfinite(rounded_off), rounded_off, 0.0)
        m2 = np.where(constant, 0.0, np.maximum(squares - total * shift**2, 0.0))
        comoment = np.where(constant.any(axis=0) & finite.all(axis=0), 0.0, product - total * shift[0] * shift[1])
        of_error = (over + under) / total - (reference[1] - reference[0])
        about = {(0, 0): total, (1, 0): sums[15], (0, 1): total * of_error, (2, 0): squares[0]}
        about |= {(1, 1): product - squares[0], (0, 2): squares[0] + squares[1] - 2 * product}
        about |= dict(zip(HIGHER, sums[20:], strict=True))
        higher = [
            np.where(constant[0] & (i > 0), 0.0, moved_moment(about, i, j, -shift[0], -of_error)) for i, j in HIGHER
        ]
        higher = [np.where(total > 0, moment, 0.0) for moment in higher]
    ranges = (low[0], high[0], low[1], high[1])
    errors = (over, 0.0 - under, square, fourth, largest, size, percentage, percentage_square, 2 * symmetric)
    errors = (*errors, *others, 4 * symmetric_square)
    return np.stack([total, *mean, *rounded_off, *m2, comoment, *ranges, *errors, *higher])


def moved_moment(moments: Mapping[tuple[int, int], Floats], i: int, j: int, dy: Floats, de: Floats) -> Floats:
    """The moment of order i in y and j in the error, after moving the reference point by -dy and -de.

    The result is a binomial sum of ``moments`` of lower and equal order. Missing moments are 0.

    >>> about = {(0, 0): np.array([2.0]), (1, 0): np.array([4.0]), (2, 0): np.array([10.0])}
    >>> moved_moment(about, 2, 0, np.array([-2.0]), np.array([0.0]))  # values 1 and 3, moved from 0 to 2
    array([2.])
    """
    powers_y, powers_e = _powers(dy, i), _powers(de, j)
    moment_sum = np.zeros_like(dy)
    for (a, b), moment in moments.items():
        if a <= i and b <= j:
            moment_sum += comb(i, a) * comb(j, b) * powers_y[i - a] * powers_e[j - b] * moment
    return moment_sum


def _powers(values: Floats, highest: int) -> list[Floats | float]:
    return list(accumulate([1.0, *[values] * highest], mul))


def error_m2(sums: Mapping[str, Floats], total: Floats) -> Floats:
    """The second central moment of errors, from moments of values, squared errors, and the sum of errors.

    Two formulas are equivalent. The one that subtracts smaller numbers loses fewer digits.

    >>> sums = {"weight": 2.0, "square_error_sum": 10.0, "actual_m2": 2.0, "predicted_m2": 8.0, "comoment": 4.0}
    >>> error_m2({name: np.array([value]) for name, value in sums.items()}, np.array([4.0]))
    array([2.])
    """
    square, spread = sums["square_error_sum"], sums["actual_m2"] + sums["predicted_m2"]
    return np.where(square <= spread, square - total * (total / sums["weight"]), spread - 2 * sums["comoment"])


def two_sum(a: T, b: T) -> tuple[T, T]:
    """Return a sum and its rounding error (Knuth 1969).

    >>> two_sum(1e16, 1.0)
    (1e+16, 1.0)
    """
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def losses(family: str, power: float, y: Floats, p: Floats, mean: Floats) -> tuple[Floats, ...]:
    """The columns of a family for each row. ``mean`` is the mean of the true values."""
    if family == "log":
        square = np.where((y > -1) & (p > -1), np.square(np.log1p(p) - np.log1p(y)), np.nan)
        return square, np.square(square)
    if family == "log_cosh":
        loss = _log_cosh(p - y)
        return loss, np.square(loss)
    power = POWERS.get(family, power)
    loss = deviance(y, p, power)
    return loss, null_deviance(y, mean, power), np.square(loss)


def _log_cosh(error: Floats) -> Floats:
    """``log(cosh(error))`` without loss of digits or overflow: ``cosh(x) = 1 + expm1(|x|)**2 / (2 exp(|x|))``."""
    size = np.abs(error)
    inner = np.minimum(size, STEEP)
    growth = np.expm1(inner)
    log_cosh: Floats = np.log1p(growth / 2 * (growth / (1 + growth))) + (size - inner)
    return log_cosh


def deviance(actual: Floats, mean: Floats, power: float) -> Floats:
    """Unit deviance of a Tweedie distribution with a power of at least 1, NaN outside of its domain.

    It is twice the gain in log likelihood, at unit dispersion, if the mean is replaced by the value (Jørgensen 1987).
    Power 1 is Poisson, and power 2 is gamma. The domain is that of scikit-learn's ``mean_tweedie_deviance``: means
    above 0, and values of at least 0, or above 0 for powers of at least 2.

    >>> deviance(np.array([0.0, 2.0, -1.0]), np.array([1.0, 2.0, 1.0]), 1.0).tolist()
    [2.0, 0.0, nan]
    """
    with np.errstate(all="ignore"):
        change = (actual - mean) / mean
        log_ratio = np.where(np.abs(change) < NEAR, np.log1p(change), np.log(actual / mean))
        if power == 1:
            half = np.where(actual == 0, 0.0, actual * log_ratio) - (actual - mean)
        elif power == 2:
            half = change - log_ratio
        else:
            a = 2 - power
            half = mean**a * (np.expm1(a * log_ratio) - a * change) / (a * (a - 1))
        inside = (mean > 0) & ((actual > 0) | (actual == 0) & (power < 2))
        return np.where(inside, 2 * np.maximum(half, 0.0), np.nan)


def null_deviance(actual: Floats, mean: Floats, power: float) -> Floats:
    """Unit deviance of values about their mean, or of group means about the overall mean; 0 if both agree."""
    return np.where(actual == mean, 0.0, deviance(actual, mean, power))

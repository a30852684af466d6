"""Confidence sequences: intervals for a growing set of rows that hold at all looks together.

Rows can be added to the set, but not removed. The number of rows at which the interval is tightest must be fixed before
the first look. Choosing it from the data voids the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from numbers import Integral

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from streammetrics.base import LIMITS, ROWS, ROWS_OF_SHARE, shown
from streammetrics.core import Floats
from streammetrics.errors import SpecificationError
from streammetrics.metrics.intervals.beta import log_beta
from streammetrics.metrics.intervals.distributions import bisected, normal_quantile, upper_level
from streammetrics.metrics.intervals.evalues import log_e_value_of_share
from streammetrics.metrics.intervals.limits import Range

EDGE = 1e-12
MOST_ROWS = 1e15  # more than any decision can have


def require_rows(always: object) -> None:
    """Reject an invalid number of rows at which an interval is tightest.

    >>> require_rows(True)
    Traceback (most recent call last):
    streammetrics.errors.SpecificationError: 'always' must be a positive integer, such as 100_000, got True. ...
    """
    if isinstance(always, bool) or not isinstance(always, Integral) or not 1 <= int(always) < 1 << 63:
        raise SpecificationError(
            f"'always' must be a positive integer, such as 100_000, got {shown(always)}. It is the number of rows "
            "at which the interval is tightest, chosen before seeing data."
        )


def with_limits_at_looks(
    estimates: pl.DataFrame, range: Range, confidence: float, always: int, *, one_sided: bool = False
) -> pl.DataFrame:
    """Estimates of a metric with intervals for every look, from those for one look, `ROWS`, and `ROWS_OF_SHARE`.

    Intervals of shares are exact. All others have the half-width of `errors_wide` in standard errors, within the range
    of the metric. With ``one_sided``, each limit has the confidence level by itself.
    """
    alpha, level = 1 - confidence, confidence if one_sided else upper_level(confidence)
    numbers = ["value", *LIMITS, ROWS, ROWS_OF_SHARE]
    value, ci_lower, ci_upper, rows, total = estimates.select(pl.col(numbers).cast(pl.Float64)).to_numpy().T
    wider = errors_wide(np.maximum(rows, 1), always, alpha, one_sided=one_sided) / normal_quantile(level)
    limits = np.stack([value - wider * (value - ci_lower), value + wider * (ci_upper - value)]).clip(*range)
    shares = (total > 0) & ~np.isnan(ci_lower)
    successes = np.round(value * total)[shares]
    limits[:, shares] = share_limits(successes, total[shares], always, alpha, one_sided=one_sided)
    ends = zip(LIMITS, limits, strict=True)
    return estimates.with_columns(pl.Series(name, limit, nan_to_null=True) for name, limit in ends)


def rows_to_decide_at_looks(estimates: pl.DataFrame, limit: float, confidence: float, always: int) -> pl.Series:
    """Return the rows with which one-sided intervals for every look, widened by the bounds, exclude a limit.

    They follow from estimates with two-sided intervals for one look, each limit of which has the confidence level. The
    value and the mix of rows stay as they are. `MOST_ROWS` if no number suffices, and null without an interval.
    """
    alpha = 1 - confidence
    numbers = ["value", "lower", "upper", *LIMITS, ROWS, ROWS_OF_SHARE]
    value, lower, upper, ci_lower, ci_upper, rows, total = (
        estimates.select(pl.col(numbers).cast(pl.Float64)).to_numpy().T
    )
    error = (ci_upper - ci_lower) / (2 * normal_quantile(confidence))
    above, share = value > limit, (total > 0) & (0 < limit < 1)
    nearest = np.where(above, lower, upper)
    gap = np.where(above, nearest - limit, limit - nearest)

    def undecided(log_rows: Floats) -> NDArray[np.bool_]:
        times = np.exp(log_rows) / rows
        reach = errors_wide(times * rows, always, alpha, one_sided=True) * error / np.sqrt(times)
        inside: NDArray[np.bool_] = (reach >= gap) | (gap <= 0)
        if share.any():  # no share is beyond 0 or 1
            drawn = times * total
            over, under = (is_beyond(nearest * drawn, drawn, limit, always, alpha, above=a) for a in (True, False))
            inside = np.where(share, np.where(above, ~over, ~under) | (gap <= 0), inside)
        return inside

    with np.errstate(invalid="ignore", divide="ignore"):
        _, log_needed = bisected(np.log(rows), np.full_like(rows, np.log(MOST_ROWS)), undecided)
    needed = np.where(log_needed < np.log(MOST_ROWS), np.exp(log_needed), MOST_ROWS)
    return pl.Series(np.where(np.isnan(error), np.nan, needed), nan_to_null=True)


def errors_wide(rows: ArrayLike, always: int, alpha: float, *, one_sided: bool = False) -> Floats:
    """Return the half-width, in standard errors, of an interval that holds at every look.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas (2021).

    It is tightest at ``always`` rows. ``alpha`` is the probability of missing the true value at any look.

    >>> errors_wide([1_000, 10_000, 100_000], 10_000, 0.05).round(2).tolist()
    [3.86, 3.04, 3.24]
    >>> errors_wide(10_000, 10_000, 0.05, one_sided=True).round(2).tolist()
    2.78
    """
    spread = np.asarray(rows, dtype=np.float64) * _density(always, 2 * alpha if one_sided else alpha)
    either = np.log1p(spread) - 2 * math.log(alpha)
    squared = 2 * np.log1p(np.sqrt(1 + spread) / (2 * alpha)) if one_sided else either
    width: Floats = np.sqrt((1 + spread) / spread * squared)
    return width


def share_limits(
    successes: ArrayLike, rows: ArrayLike, always: int, alpha: float, *, one_sided: bool = False
) -> tuple[Floats, Floats]:
    """Return exact limits of a proportion that hold at every look, from the beta-binomial mixture (Robbins 1970).

    The interval contains all proportions against which the evidence is below ``1 / alpha``. With ``one_sided``, each
    limit is used alone. Other arguments are as in `errors_wide`.

    >>> [x.round(4).tolist() for x in share_limits([80, 8_000], [100, 10_000], 10_000, 0.05)]
    [[0.36, 0.7877], [0.9697, 0.812]]
    """
    successes, rows = np.broadcast_arrays(*(np.asarray(values, dtype=np.float64) for values in (successes, rows)))

    def missed(share: Floats, above: bool) -> NDArray[np.bool_]:
        if one_sided:
            return is_beyond(successes, rows, share, always, alpha, above=above)
        return _log_two_sided(successes, rows, share, 1 / _density(always, alpha)) >= -math.log(alpha)

    middle = np.where(rows > 0, successes / np.maximum(rows, 1), 0.5)
    lower = _limit(partial(missed, above=True), np.zeros_like(middle), middle)
    upper = _limit(partial(missed, above=False), np.ones_like(middle), middle)
    return lower, upper


def is_beyond(
    successes: ArrayLike, rows: ArrayLike, limit: ArrayLike, always: int, alpha: float, *, above: bool
) -> NDArray[np.bool_]:
    """Return whether a proportion is above a limit, or below it: whether the one-sided interval excludes the limit.

    >>> is_beyond([80, 800], [100, 1_000], 0.75, 1_000, 0.05, above=True).tolist()
    [False, True]
    """
    weight = 1 / _density(always, 2 * alpha)
    return log_e_value_of_share(successes, rows, limit, above=above, weight=weight) >= -math.log(alpha)


def _density(always: int, alpha: float) -> float:
    """The variance per row (rho squared) of the mixture that makes the interval tightest at ``always`` rows."""
    double = -2 * math.log(alpha)
    return (double + math.log1p(double)) / always


def _log_two_sided(successes: Floats, rows: Floats, share: Floats, weight: float) -> Floats:
    """The log likelihood ratio of a beta mixture around a proportion to the proportion itself."""
    a, b, failures = weight * share, weight * (1 - share), rows - successes
    expected = successes * np.log(share) + failures * np.log1p(-share)
    return log_beta(a + successes, b + failures) - log_beta(a, b) - expected


def _limit(missed: Callable[[Floats], NDArray[np.bool_]], outside: Floats, inside: Floats) -> Floats:
    """An interval endpoint by bisection, or the outermost proportion if the interval contains all proportions."""
    limit, _ = bisected(outside, inside, lambda share: missed(share.clip(EDGE, 1 - EDGE)))
    return np.where(np.abs(limit - outside) < 2 * EDGE, outside, limit)

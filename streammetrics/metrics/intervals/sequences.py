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
from numpy.typing import ArrayLike, NDArray

from streammetrics.base import shown
from streammetrics.core import Floats
from streammetrics.errors import SpecificationError
from streammetrics.metrics.intervals.beta import log_beta
from streammetrics.metrics.intervals.distributions import bisected
from streammetrics.metrics.intervals.evalues import log_e_value_of_share

EDGE = 1e-12


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

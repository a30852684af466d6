"""E-values: evidence against a hypothesis, which can be multiplied over time windows.

An e-value is nonnegative and has an expectation of at most 1 under the hypothesis. Large values are therefore rare: the
probability of exceeding 20 is at most 1 in 20. All values in this module are logarithms.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streammetrics.core import Floats
from streammetrics.metrics.intervals.beta import log_beta_below
from streammetrics.metrics.intervals.discoveries import discoveries as of_p_values

SCALE = 1.0
"""Typical distance of the true value beyond the limit, in standard errors, if the hypothesis is false."""

TAIL = -25.0  # below this value, the normal distribution is computed from its asymptotic series
log_normal: Final = np.vectorize(lambda x: math.log(math.erfc(-x / math.sqrt(2)) / 2), otypes=[float])


def log_e_value(z: ArrayLike, scale: float = SCALE) -> Floats:
    """Return the evidence that the true value is beyond a limit, from an approximately normal estimate.

    It is the likelihood ratio, averaged over true values beyond the limit with half-normal distances. Asymptotically,
    this is an e-value (Robbins 1970).

    ``z`` is the distance of the estimate beyond the limit, in standard errors, negative if it is not beyond the limit.
    The scale must be chosen before seeing data.

    >>> log_e_value([-2, 0, 2, 4]).round(2).tolist()
    [-1.2, -0.35, 1.26, 4.34]
    """
    x = np.asarray(z, dtype=np.float64) * scale / math.sqrt(1 + scale**2)
    near, far = np.maximum(x, TAIL), np.minimum(x, TAIL)
    inverse = 1 / far**2
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse))
    tail = np.log(series / (-far * math.sqrt(2 * math.pi)))
    weighted = np.where(x < TAIL, tail, near**2 / 2 + log_normal(near))
    evidence: Floats = math.log(2) - math.log1p(scale**2) / 2 + weighted
    return evidence


def log_e_value_of_share(
    successes: ArrayLike, rows: ArrayLike, limit: ArrayLike, *, above: bool, weight: ArrayLike | None = None
) -> Floats:
    """Return the evidence that a true proportion is beyond a limit. Exact for any number of rows.

    It is the likelihood ratio, averaged over proportions beyond the limit with a beta distribution truncated at the
    limit.

    ``weight`` is that of the beta distribution, in rows. It must be chosen before the successes are known, and defaults
    to the number of rows divided by the square of `SCALE`, as in `log_e_value`.

    >>> log_e_value_of_share([80, 78, 60], 100, 0.8, above=False).round(2).tolist()
    [-0.34, -0.04, 5.88]
    """
    successes, rows, limit = (np.asarray(values, dtype=np.float64) for values in (successes, rows, limit))
    weight = np.maximum(rows, 1) / SCALE**2 if weight is None else np.asarray(weight, dtype=np.float64)
    if above:
        successes, limit = rows - successes, 1 - limit
    failures, a, b = rows - successes, weight * limit, weight * (1 - limit)
    expected = successes * np.log(limit) + failures * np.log1p(-limit)
    evidence: Floats = log_beta_below(limit, a + successes, b + failures) - log_beta_below(limit, a, b) - expected
    return evidence


def e_discoveries(log_e: ArrayLike, rate: float) -> NDArray[np.bool_]:
    """Return which hypotheses to reject at a false discovery rate of at most ``rate``.

    This is the e-BH procedure (Wang & Ramdas 2022): the k largest of n e-values are discoveries if each is at least
    ``n / (k * rate)``. It is valid for any dependence between the hypotheses.

    >>> e_discoveries(np.log([100, 50, 30, 1]), 0.05).tolist()
    [True, True, True, False]
    >>> e_discoveries(np.log([70, 1, 1, 1]), 0.05).tolist()
    [False, False, False, False]
    """
    with np.errstate(over="ignore"):  # infinity is never a discovery
        return of_p_values(np.exp(-np.asarray(log_e, dtype=np.float64)), rate)

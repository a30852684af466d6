"""E-values: evidence of rows against a claim, which can be multiplied over windows of time.

An e-value is at least 0 and has an expectation of at most 1 while the claim is true, so a large one is rare: by chance
it exceeds 20 at most once in 20 times. Values here are logarithms.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streammetrics.uncertainty.beta import Values, log_beta_below
from streammetrics.uncertainty.discoveries import discoveries as of_p_values

SCALE = 1.0
"""How far from the limit, in standard errors, a window is expected to lie when the claim is false."""

TAIL = -25.0  # below which the normal distribution is computed from its asymptotic series
log_normal: Final = np.vectorize(lambda x: math.log(math.erfc(-x / math.sqrt(2)) / 2), otypes=[float])


def log_e_value(z: ArrayLike, scale: float = SCALE) -> Values:
    """Return the evidence against "the true value is not beyond the limit", from an estimate that is about normal.

    It is the likelihood ratio, averaged over true values beyond the limit whose distances are half-normal, which makes
    it an e-value asymptotically (Robbins 1970).

    Args:
        z: How far beyond the limit the estimate lies, in standard errors; negative if it is not beyond.
        scale: Typical distance of true values beyond the limit, in standard errors. Chosen before the data.

    >>> log_e_value([-2, 0, 2, 4]).round(2).tolist()
    [-1.2, -0.35, 1.26, 4.34]
    """
    x = np.asarray(z, dtype=np.float64) * scale / math.sqrt(1 + scale**2)
    near, far = np.maximum(x, TAIL), np.minimum(x, TAIL)
    inverse = 1 / far**2
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse))
    tail = np.log(series / (-far * math.sqrt(2 * math.pi)))
    weighted = np.where(x < TAIL, tail, near**2 / 2 + log_normal(near))
    found: Values = math.log(2) - math.log1p(scale**2) / 2 + weighted
    return found


def log_e_value_of_share(
    successes: ArrayLike, rows: ArrayLike, limit: ArrayLike, *, above: bool, weight: ArrayLike | None = None
) -> Values:
    """Return the evidence against "the true proportion is not beyond the limit". It is exact for any number of rows.

    It is the likelihood ratio, averaged over proportions beyond the limit by a beta distribution around the limit that
    is cut off there.

    Args:
        successes: Rows that count, such as correct ones.
        rows: All rows.
        limit: Proportion, between 0 and 1.
        above: Whether beyond the limit is above it.
        weight: Rows that the beta distribution is worth. Chosen before the successes are known. Defaults to the number
            of rows over the square of `SCALE`, as in `log_e_value`.

    >>> log_e_value_of_share([80, 78, 60], 100, 0.8, above=False).round(2).tolist()
    [-0.34, -0.04, 5.88]
    """
    successes, rows, limit = (np.asarray(values, dtype=np.float64) for values in (successes, rows, limit))
    weight = np.maximum(rows, 1) / SCALE**2 if weight is None else np.asarray(weight, dtype=np.float64)
    if above:
        successes, limit = rows - successes, 1 - limit
    failures, a, b = rows - successes, weight * limit, weight * (1 - limit)
    expected = successes * np.log(limit) + failures * np.log1p(-limit)
    found: Values = log_beta_below(limit, a + successes, b + failures) - log_beta_below(limit, a, b) - expected
    return found


def discoveries(log_e: ArrayLike, rate: float) -> NDArray[np.bool_]:
    """Return for which of many claims the evidence suffices, if a share ``rate`` of those may be mistaken on average.

    The e-BH procedure (Wang & Ramdas 2022): the k largest of n e-values are discoveries if each is at least
    ``n / (k * rate)``: Benjamini and Hochberg's procedure with their reciprocals for p-values. The claims may depend on
    each other in any way.

    >>> discoveries(np.log([100, 50, 30, 1]), 0.05).tolist()
    [True, True, True, False]
    >>> discoveries(np.log([70, 1, 1, 1]), 0.05).tolist()
    [False, False, False, False]
    """
    with np.errstate(over="ignore"):  # of no evidence at all
        return of_p_values(np.exp(-np.asarray(log_e, dtype=np.float64)), rate)

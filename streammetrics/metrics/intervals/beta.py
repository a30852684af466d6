"""The logarithm of the incomplete beta function."""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from streammetrics.core import Floats

POINTS = 128  # nodes of the quadrature
REACH = 45  # exp(-45) is smaller than rounding errors
TINY = 1e-300

log_gamma: Final = np.vectorize(math.lgamma, otypes=[float])


def log_beta(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the logarithm of the integral of ``t^(a - 1) (1 - t)^(b - 1)`` from 0 to 1.

    >>> round(float(np.exp(-log_beta(3, 4))), 9)
    60.0
    """
    logarithm: Floats = log_gamma(a) + log_gamma(b) - log_gamma(np.add(a, b))
    return logarithm


def log_beta_below(x: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the logarithm of the integral of ``t^(a - 1) (1 - t)^(b - 1)`` from 0 to x, for x between 0 and 1.

    Values of x up to the mean of the distribution are integrated numerically. Above the mean, the integral from x to 1
    is subtracted from the total.

    >>> round(float(np.exp(log_beta_below(0.5, 3, 3) - log_beta(3, 3))), 9)
    0.5
    """
    x, a, b = np.broadcast_arrays(*(np.asarray(values, dtype=np.float64) for values in (x, a, b)))
    low = x * (a + b) <= a
    part = _up_to_the_mean(np.where(low, x, 1 - x), np.where(low, a, b), np.where(low, b, a))
    total_beta = log_beta(a, b)
    return np.where(low, part, total_beta + np.log1p(-np.exp(np.minimum(part - total_beta, -TINY))))


def binomial_tail(hits: ArrayLike, total: ArrayLike, limit: float) -> Floats:
    """Return the probability of at least as many hits if their share is ``limit``: the upper tail of the binomial.

    >>> binomial_tail([29, 28, 0], 29, 0.9).round(4).tolist()
    [0.0471, 0.1989, 1.0]
    """
    hits, total = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(total, dtype=np.float64))
    some = np.maximum(hits, 1.0)
    others = np.maximum(total - some, 0.0) + 1
    tail = np.exp(log_beta_below(limit, some, others) - log_beta(some, others))
    return np.where(hits > 0, np.minimum(tail, 1.0), 1.0)


def _up_to_the_mean(x: Floats, a: Floats, b: Floats) -> Floats:
    """Integrate over v, with ``t = x exp(-v)``. The integrand falls smoothly from v = 0, even if a or b is small."""
    odds = x / (1 - x)
    slope, bend = np.abs(a - (b - 1) * odds), np.abs(b - 1) * odds / (1 - x)
    reach = REACH * np.maximum(1 / (slope + np.sqrt(bend)), 1 / a)
    nodes, weights = _gauss()
    v = np.multiply.outer((1 + nodes) / 2, reach)
    rise = np.log1p(-odds * np.expm1(-v))  # increase of log(1 - t) from v = 0
    total = np.tensordot(weights, np.exp((b - 1) * rise - a * v), axes=1)
    logarithm: Floats = a * np.log(x) + (b - 1) * np.log1p(-x) + np.log(reach / 2 * total)
    return logarithm


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Nodes and weights of Gaussian quadrature, computed on first use because they would slow down the import."""
    return np.polynomial.legendre.leggauss(POINTS)

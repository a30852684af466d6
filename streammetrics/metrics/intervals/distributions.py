"""Quantiles of the normal and of Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from streammetrics.base import require_level
from streammetrics.core import Floats
from streammetrics.errors import Argument

BELOW_1 = math.nextafter(1, 0)

HALVINGS = 60  # more than a float has digits


def upper_level(confidence: float) -> float:
    """Return the probability below the upper limit of a two-sided interval.

    >>> upper_level(0.9)
    0.95
    """
    require_level(Argument("confidence"), confidence)
    return min((1 + confidence) / 2, BELOW_1)


def normal_quantile(p: float) -> float:
    """Return the quantile of the standard normal distribution (Wichura 1988, AS 241).

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return _inverse()(p)


@cache
def _inverse() -> Callable[[float], float]:
    from statistics import NormalDist  # when it is needed

    return NormalDist().inv_cdf


@cache
def t_quantile(p: float, degrees: int) -> float:
    """Return the quantile of Student's t for an integer number of degrees of freedom.

    With t = sqrt(degrees) tan(angle), the distribution function is a finite sum of powers of cos(angle) (Abramowitz &
    Stegun 1964, 26.7.3 and 26.7.4). Bisection solves it for the angle.

    >>> round(t_quantile(0.975, 19), 6), round(t_quantile(0.025, 19), 6)
    (2.093024, -2.093024)
    """
    if p < 0.5:
        return -t_quantile(1 - p, degrees)
    low, high = 0.0, math.pi / 2
    while low < (angle := (low + high) / 2) < high:
        if _share_within(angle, degrees) < 2 * p - 1:
            low = angle
        else:
            high = angle
    return math.sqrt(degrees) * math.tan(low)


ROUNDING_OF_DEGREES = 1e-9  # of degrees of freedom, so that intervals do not depend on the order of sums
MANY = 30  # degrees of freedom from which the expansion has six correct digits


def t_quantiles(p: float, degrees: Floats) -> Floats:
    """Return quantiles of Student's t for any degrees of freedom. Below 30, degrees are rounded down.

    From 30 degrees of freedom, quantiles are computed from normal quantiles (Abramowitz & Stegun 1964, 26.7.5).

    >>> t_quantiles(0.975, np.array([0.5, 19.9, 100.0, np.inf])).round(6)
    array([     nan, 2.093024, 1.983972, 1.959964])
    """
    z, few = normal_quantile(p), np.floor(degrees * (1 + ROUNDING_OF_DEGREES))
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    with np.errstate(all="ignore"):
        quantiles: Floats = np.full_like(degrees, z)
        for power, term in enumerate(terms, 1):
            quantiles += term / degrees**power
    for number in np.unique(few[few < MANY]):
        quantiles[few == number] = t_quantile(p, int(number)) if number >= 1 else math.nan
    return quantiles


def _share_within(angle: float, degrees: int) -> float:
    """Probability that t lies within ± sqrt(degrees) tan(angle)."""
    odd = degrees % 2
    term, total = math.cos(angle) if odd else 1.0, 0.0
    for k in range(2 + odd, degrees + 1, 2):
        total += term
        term *= (k - 1) / k * math.cos(angle) ** 2
    within = math.sin(angle) * total
    return 2 / math.pi * (angle + within) if odd else within


def bisected(near: Floats, far: Floats, within: Callable[[Floats], NDArray[np.bool_]]) -> tuple[Floats, Floats]:
    """Return the last values within a set and the first ones outside of it, on the way from ``near`` to ``far``.

    >>> near, far = bisected(np.array([1.0]), np.array([2.0]), lambda x: x**2 <= 2)
    >>> near.round(6).tolist()
    [1.414214]
    """
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        inside = within(middle)
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return near, far

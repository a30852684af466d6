"""Multiple testing: p-values and the control of the false discovery rate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streammetrics.core import Floats


def upper_tail(z: ArrayLike) -> Floats:
    """Return the probability that a standard normal variable is greater than z.

    >>> upper_tail([0.0, 1.959964]).round(6)
    array([0.5  , 0.025])
    """
    erfc = np.frompyfunc(math.erfc, 1, 1)
    tails: Floats = np.asarray(erfc(np.asarray(z, dtype=np.float64) / math.sqrt(2)), dtype=np.float64) / 2
    return tails


def as_normal(t: ArrayLike, degrees: ArrayLike) -> Floats:
    """Return the standard normal value with about the same tail probability as a value of Student's t (Wallace 1959).

    Below 1 degree of freedom, the result is 0.

    >>> as_normal([2.093, 2.093], [19, 1e9]).round(3)
    array([1.96 , 2.093])
    """
    t, degrees = np.asarray(t, dtype=np.float64), np.asarray(degrees, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.sqrt(degrees * np.log1p(t**2 / degrees)) * (8 * degrees + 1) / (8 * degrees + 3)
    normal: Floats = np.where(degrees >= 1, np.sign(t) * size, 0.0)
    return normal


def difference_of_shares(count: ArrayLike, total: ArrayLike, other_count: ArrayLike, other_total: ArrayLike) -> Floats:
    """Return the signed root of the likelihood ratio of two independent proportions, which is about standard normal.

    Counts are moved toward their common proportion by half a row. The result is then valid even for rare events, unlike
    the usual z-test.

    Returns:
        Positive values if the first proportion is larger, NaN if either has no rows.

    >>> difference_of_shares([30, 0], [100, 500], [200, 1_000], [1_000, 50_000]).round(2)
    array([ 2.13, -4.01])
    """
    x, n, y, m = (np.asarray(v, dtype=np.float64) for v in (count, total, other_count, other_total))
    with np.errstate(invalid="ignore", divide="ignore"):
        expected, other_expected = n * (x + y) / (n + m), m * (x + y) / (n + m)
        apart = np.sign(x - expected) * np.maximum(np.abs(x - expected) - 0.5, 0)
        cells = [(expected, apart), (n - expected, -apart), (other_expected, -apart), (m - other_expected, apart)]
        ratio = 2 * sum(_term(e + step, e) for e, step in cells)
    roots: Floats = np.where((n > 0) & (m > 0), np.sign(apart) * np.sqrt(np.maximum(ratio, 0)), np.nan)
    return roots


def _term(observed: Floats, expected: Floats) -> Any:
    return np.where(observed > 0, observed * np.log(np.where(observed > 0, observed, 1) / expected), 0.0)


def discoveries(p_values: ArrayLike, rate: float) -> NDArray[np.bool_]:
    """Return which hypotheses to reject at a false discovery rate of at most ``rate`` (Benjamini & Hochberg 1995).

    Valid for independent and for positively dependent p-values. For any dependence of m p-values, divide the rate by 1
    + 1/2 + … + 1/m (Benjamini & Yekutieli 2001).

    >>> discoveries([0.001, 0.9, 0.03, 0.02], 0.05)
    array([ True, False,  True,  True])
    """
    p = np.asarray(p_values, dtype=np.float64)
    ranked = np.sort(p)
    passing = np.flatnonzero(ranked <= rate * np.arange(1, len(p) + 1) / max(len(p), 1))
    return p <= (ranked[passing[-1]] if len(passing) else -1.0)

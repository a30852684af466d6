"""Limits from the influence of each row by root finding, for comparison: random weights of the gamma distribution."""

import numpy as np
from scipy import stats
from scipy.optimize import brentq


def reach(influences, quantile):
    """How far the upper limit is above the value, from centred influences of all rows and a quantile."""
    x = np.asarray(influences, dtype=float)
    second, third, fourth = ((x**power).sum() for power in (2, 3, 4))
    sizes = np.r_[x, max(third / second, 0), np.sqrt(fourth / second)]
    shapes = np.r_[np.ones_like(x), 0.5, 0.5]

    def beyond(s):
        part = s * sizes
        ratio = part / (1 - part)
        r = np.sqrt(2 * ((shapes * ratio).sum() + (shapes * np.log1p(-part)).sum()))
        return r + np.log(np.sqrt((shapes * ratio**2).sum()) / r) / r - quantile

    top = 1 / sizes.max()
    s = brentq(beyond, 1e-6 * top, (1 - 1e-9) * top, xtol=1e-15)
    return (shapes * sizes / (1 - s * sizes)).sum() - x.sum()


def limits_of_rows(value, influences, degrees, confidence=0.95, low=-np.inf, high=np.inf):
    """Both limits. Degrees of freedom below 30 are rounded down."""
    quantile = stats.t.ppf((1 + confidence) / 2, np.floor(degrees) if degrees < 30 else degrees)
    x = np.asarray(influences, dtype=float)
    return max(value - reach(-x, quantile), low), min(value + reach(x, quantile), high)

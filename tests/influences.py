"""Limits by brute force: from the influence of each row by root finding, and from metrics of the rows without each."""

import numpy as np
import polars as pl
from scipy import stats
from scipy.optimize import brentq, minimize_scalar


def reach(influences, quantile):
    """How far the upper limit is above the value: random weights of the gamma distribution, and two half rows."""
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
    """Both limits, from centred influences of all rows. Degrees of freedom below 30 are rounded down."""
    quantile = stats.t.ppf((1 + confidence) / 2, np.floor(degrees) if degrees < 30 else degrees)
    x = np.asarray(influences, dtype=float)
    return max(value - reach(-x, quantile), low), min(value + reach(x, quantile), high)


def limits_left_out(value, without, folds=False, confidence=0.95, low=-np.inf, high=np.inf):
    """Both limits, from the values without each row or fold. Folds have the degrees of Johnson & Rust (1992)."""
    apart, k = without.mean() - without, len(without)
    degrees = (3.16 - 2.77 / np.sqrt(k)) * (apart**2).sum() ** 2 / (apart**4).sum()
    degrees = np.floor(min(k - 1, degrees)) if folds else k - 1
    return limits_of_rows(value, apart * np.sqrt((k - 1) / k), degrees, confidence, low, high)


def without_each(task, rows, part):
    """Evaluate the rows without each value of a column, in that order."""
    parts = [rows.filter(pl.col(part) != n).with_columns(without=pl.lit(n)) for n in rows[part].unique().sort()]
    return task(by="without").update(pl.concat(parts)).finalize()


def score_of(more, less, rows, difference):
    """The statistic of Tango (1998), with the most likely shares at a difference."""

    def loss(q):
        agree = (rows - more - less) * np.log(1 - 2 * q - difference)
        return -(more * np.log(q + difference) + less * np.log(q) + agree)

    low, high = max(0, -difference), (1 - difference) / 2
    q = minimize_scalar(loss, bounds=(low + 1e-12, high - 1e-12), method="bounded", options={"xatol": 1e-13}).x
    return (more - less - rows * difference) / np.sqrt(rows * (2 * q + difference * (1 - difference)))

"""Confidence interval of the difference between two proportions of the same rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streammetrics.core import Floats
from streammetrics.metrics.intervals.beta import log_gamma
from streammetrics.metrics.intervals.distributions import bisected, normal_quantile, upper_level
from streammetrics.metrics.intervals.proportions import wilson_interval

FEW_DIFFERENT = 30  # number of rows with different outcomes below which the exact test is also used


def paired_limits(
    both: Floats, more: Floats, less: Floats, rows: Floats, confidence: float, factor: float
) -> tuple[Floats, Floats]:
    """Return limits of the second proportion less ``factor`` times the first.

    They are the sum of those of the difference (see `paired_proportion_limits`) and those of ``1 - factor`` times the
    first proportion (Wilson 1927). This is conservative: half widths are summed as if both were fully correlated.

    ``both`` rows are counted by both proportions.

    >>> counts = [np.array([count]) for count in (600.0, 80.0, 40.0, 1000.0)]
    >>> [limits.round(4).tolist() for limits in paired_limits(*counts, 0.95, 0.9)]
    [[0.0798], [0.1289]]
    """
    lower, upper = paired_proportion_limits(more, less, rows, confidence)
    if factor == 1:
        return lower, upper
    of_first = np.stack(wilson_interval(both + less, rows, confidence))
    low, high = sorted((1 - factor) * of_first, key=lambda limits: float(np.nansum(limits)))
    return lower + low, upper + high


def paired_proportion_limits(more: Floats, less: Floats, rows: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return score limits of the difference between two proportions of the same rows (Tango 1998).

    At a difference of 0, the score test is McNemar's test (1947). If fewer than 30 rows are counted by only one of the
    proportions, the interval also contains the interval of the exact test, conditional on the number of these rows.

    ``more`` rows are counted only by the second proportion, ``less`` only by the first. Limits are NaN if there are no
    ``rows``.

    >>> more, less, rows = np.array([2.0, 80.0]), np.array([9.0, 40.0]), np.array([44.0, 1000.0])
    >>> [limits.round(4).tolist() for limits in paired_proportion_limits(more, less, rows, 0.95)]
    [[-0.3116, 0.0188], [0.0089, 0.062]]
    """
    level = upper_level(confidence)
    z = normal_quantile(level)
    with np.errstate(all="ignore"):
        lower, upper = (_tango_limit(more, less, rows, z, side) for side in (-1, 1))
        few = (more + less < FEW_DIFFERENT) & (more + less > 0)
        share = (more + less)[few] / rows[few]
        least, most = (_least_share(count[few], (more + less)[few], 1 - level) for count in (more, less))
    lower[few] = np.fmin(lower[few], (2 * least - 1) * share)
    upper[few] = np.fmax(upper[few], (1 - 2 * most) * share)
    return lower, upper


def _tango_limit(more: Floats, less: Floats, rows: Floats, z: float, side: int) -> Floats:
    """The lower (-1) or upper (1) limit, z standard errors from the difference."""

    def within(difference: Floats) -> NDArray[np.bool_]:
        b, c = (2 * rows - more + less) * difference - more - less, -less * difference * (1 - difference)
        least = (np.sqrt(np.maximum(b**2 - 8 * rows * c, 0)) - b) / (4 * rows)  # share counted only by the first
        variance = rows * np.maximum(2 * least + difference * (1 - difference), 0)
        near: NDArray[np.bool_] = (more - less - rows * difference) ** 2 <= z**2 * variance
        return near

    near, _ = bisected((more - less) / rows, np.full(len(rows), float(side)), within)
    return np.where(rows > 0, near, np.nan)


def _least_share(count: Floats, total: Floats, tail: float) -> Floats:
    """The lower limit of a proportion by the method of Clopper & Pearson (1934), of fewer than `FEW_DIFFERENT` rows."""
    successes = np.arange(FEW_DIFFERENT)[:, np.newaxis]
    failures = np.maximum(total - successes, 0)
    combinations = np.exp(log_gamma(total + 1) - log_gamma(successes + 1) - log_gamma(failures + 1))
    combinations = np.where((count <= successes) & (successes <= total), combinations, 0)

    def below(share: Floats) -> NDArray[np.bool_]:
        rare: NDArray[np.bool_] = (combinations * share**successes * (1 - share) ** failures).sum(axis=0) < tail
        return rare

    return np.where(count > 0, bisected(np.zeros(len(count)), np.ones(len(count)), below)[0], 0.0)

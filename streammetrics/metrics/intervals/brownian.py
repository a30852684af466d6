"""The range of a standard Brownian motion on [0, 1], and intervals from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.core import Floats
from streammetrics.metrics.intervals.distributions import bisected
from streammetrics.metrics.intervals.limits import Limits
from streammetrics.metrics.intervals.method import FEWEST, Closed

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

MEAN_RANGE = math.sqrt(8 / math.pi)
FAR = 3.0  # from where the tail converges faster than the distribution function
TERMS = 5
Number = TypeVar("Number", Expr, Floats)
LARGEST = 100.0  # a range that is never exceeded


def exceeding(size: Expr) -> Expr:
    """Return the probability that the range of a standard Brownian motion on [0, 1] exceeds a size (Feller 1951).

    >>> pl.select(exceeding(pl.lit(x)).alias(str(x)).round(6) for x in (0.0, 1.0, 3.0, 4.0)).row(0)
    (1.0, 0.936635, 0.010799, 0.000253)
    """
    return pl.when(size <= 0).then(1.0).when(size < FAR).then(_near(size)).otherwise(_far(size))


def _near(size: Number) -> Number:
    exponents = [2 * ((k + 0.5) * math.pi) ** 2 for k in range(TERMS)]
    within = [(8 / size**2 + 4 / exponent) * exponential(-exponent / size**2) for exponent in exponents]
    return (1 - sum(within[1:], within[0])).clip(0, 1)


def _far(size: Number) -> Number:
    return 8 * (_upper_tail(size) - 2 * _upper_tail(2 * size))


def _upper_tail(z: Number) -> Number:
    """Probability that a standard normal variable exceeds z, at least `FAR`, by its continued fraction."""
    fraction = z
    for k in range(30, 0, -1):
        fraction = z + k / fraction
    return exponential(-z * z / 2) / (fraction * math.sqrt(2 * math.pi))


def exponential(value: Number) -> Number:
    """The exponential of an array or an expression."""
    return value.exp() if isinstance(value, Expr) else np.exp(value)


@cache
def range_not_exceeded(confidence: float) -> float:
    """Return the size that the range does not exceed with a probability.

    >>> round(range_not_exceeded(0.95), 4)
    2.4977
    """
    level = 1 - confidence
    size, _ = bisected(np.zeros(1), np.full(1, LARGEST), lambda x: np.where(x < FAR, _near(x), _far(x)) > level)
    return float(size[0])


class RangeOfSums(Closed):
    """The interval of the largest absolute sum, over ranges of the score, of the errors of the rows.

    The sampling errors of these sums have a range at most as large as that of a Brownian motion with the variance of
    the errors about 0 (Anderson 1955). The interval is therefore conservative.
    """

    takes_weights = True
    reason_of_units = "the jackknife is not valid for a maximum near 0"

    def sums(self, metric: Metric, confidence: float, weighted: bool) -> Sequence[Expr]:
        """The value, the squared errors, and the rows."""
        middle, rows = (pl.col("score_low") + pl.col("score_high")) / 2, pl.sum("neg") + pl.sum("pos")
        neg, pos = (pl.col(f"{c}_w2" if weighted else c) for c in ("neg", "pos"))
        return metric.expression(), (pos * (1 - middle) ** 2 + neg * middle**2).sum(), rows

    def ends(self, metric: Metric, confidence: float, sums: Sequence[Floats]) -> Limits:
        """The limits, within the range of the metric. NaN if the squared errors sum to few rows."""
        value, squares, rows = sums
        value = np.where(squares >= FEWEST, value, np.nan)
        half = range_not_exceeded(confidence) * np.sqrt(squares) / rows
        return np.maximum(value - half, 0), np.minimum(value + half, 1)

"""Confidence intervals of quantiles from a histogram, by order statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from polars import Expr

from streammetrics.core import Floats
from streammetrics.metrics.intervals.distributions import normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import Limits
from streammetrics.metrics.intervals.method import COUNT, Closed

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric


def quantile_interval(
    low: Expr,
    high: Expr,
    count: Expr,
    q: float,
    confidence: float,
    squares: Expr | None,
) -> tuple[Expr, Expr]:
    """Return the distribution-free interval of the quantile q (Conover 1999, 3.2).

    The number of values below the quantile is binomial. The quantile therefore lies between two order statistics with a
    probability that depends only on their ranks. Ranks come from the normal approximation with continuity and skewness
    correction (Cornish & Fisher 1938), rounded outward. They usually differ from the exact ranks by at most one, rarely
    by two. The probability of each tail is at most nominal, or 0.1% above it for confidence levels below 0.8.

    For weighted rows, the share of weight below the quantile has the standard error of a weighted mean (Woodruff 1952).

    Their weights are scaled so that their sum equals the sum of their squares, ``squares``.

    For the lower limit, all rows are placed at the low end of their bin, for the upper limit at the high end. Bins can
    overlap, and can be in any order. A limit is null if there are too few rows for its rank.

    >>> table = pl.DataFrame({"low": range(1, 101), "high": range(1, 101), "count": 1})
    >>> columns = pl.col("low"), pl.col("high"), pl.col("count")
    >>> table.select(quantile_interval(*columns, 0.5, 0.95, None)).row(0)
    (40, 61)
    >>> table.select(quantile_interval(*columns, 0.99, 0.95, None)).row(0)
    (97, None)
    """
    level = upper_level(confidence)
    z, tail = normal_quantile(level), 1 - level
    n = count.sum()
    middle = n * q + (1 - 2 * q) * (z**2 - 1) / 6 + 0.5
    step = z * _variance(low, count, q, squares).sqrt()
    first, last = (middle - step).floor(), (middle + step).ceil()
    all_above, all_below = (1 - q) ** n, q**n  # probability that all rows lie on one side of the quantile
    lower = pl.when((first >= 1) & (all_above <= tail)).then(_row(first, low, count))
    upper = pl.when(all_below <= tail).then(_row(last, high, count))
    return lower.alias("ci_lower"), upper.alias("ci_upper")  # not floats if the values are not


def _variance(values: Expr, count: Expr, q: float, squares: Expr | None) -> Expr:
    """Variance of the weight below the quantile.

    Each row adds its squared weight times (1 - q)² if it is below the quantile, or q² if it is above.
    """
    if squares is None:
        return count.sum() * q * (1 - q)
    ordered = count.sort_by(values)
    below = squares.sort_by(values).filter(ordered.cum_sum() - ordered / 2 <= q * count.sum()).sum()
    return (1 - q) ** 2 * below + q**2 * (squares.sum() - below)


def _row(rank: Expr, values: Expr, count: Expr) -> Expr:
    """The value of the row with a rank, or null if the rank is too large."""
    return values.sort().filter(count.sort_by(values).cum_sum() >= rank).first()


@dataclass(frozen=True, eq=False)
class Quantile(Closed):
    """A quantile of binned values, also of weighted rows. ``q`` defaults to the option of the metric."""

    low: Expr
    high: Expr
    q: float | None = None
    count: Expr = COUNT
    takes_weights = True
    reason_of_units = "the jackknife is not valid for quantiles"

    def sums(self, metric: Metric, confidence: float, weighted: bool) -> Sequence[Expr]:
        """The limits, which are order statistics."""
        level = float(metric.options["q"] or 0) if self.q is None else self.q
        squares = pl.col("count_w2") if weighted else None
        return quantile_interval(self.low, self.high, self.count, level, confidence, squares)

    def ends(self, metric: Metric, confidence: float, sums: Sequence[Floats]) -> Limits:
        """These limits."""
        lower, upper = sums
        return lower, upper

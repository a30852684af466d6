"""Intervals of quantiles, from a histogram: the order statistics between which the quantile lies."""

from __future__ import annotations

import polars as pl
from polars import Expr

from streammetrics.uncertainty.distributions import normal_quantile, upper_level
from streammetrics.uncertainty.limits import Interval, named


def quantile_interval(
    low: Expr,
    high: Expr,
    count: Expr,
    q: float = 0.5,
    confidence: float = 0.95,
    squares: Expr | None = None,
) -> Interval:
    """Interval of the quantile q, whatever the distribution of the values (Conover 1999, 3.2).

    The number of values below the quantile is binomial, so it lies between two order statistics with a probability that
    depends on their ranks alone. The ranks are those of the normal approximation with its correction for continuity and
    the first term for skewness (Cornish & Fisher 1938), rounded outwards. They are seldom two off the exact ranks, and
    no tail has more than its share, or 0.1% above it for a confidence below 0.8.

    Of weighted rows, the share of weight below the quantile has the standard error of a weighted mean (Woodruff 1952).

    Args:
        low: Smallest value of each bin; the lower limit is the row of its rank, with every row at that end of its bin.
        high: Largest value of each bin, likewise for the upper limit. Bins may overlap, and come in any order.
        count: Number of rows; or their weight, in units in which its sum is that of the squared weights.
        q: The share of values below the quantile.
        confidence: Probability with which the interval is to hold the quantile.
        squares: Squared weights of the rows of each bin, if rows are weighted.

    Returns:
        ``ci_lower`` and ``ci_upper``; each null where its rank lies beyond the rows, which are too few then.

    Raises:
        SpecificationError: If ``confidence`` is not between 0 and 1.

    >>> table = pl.DataFrame({"low": range(1, 101), "high": range(1, 101), "count": 1})
    >>> columns = pl.col("low"), pl.col("high"), pl.col("count")
    >>> table.select(quantile_interval(*columns)).row(0)
    (40, 61)
    >>> table.select(quantile_interval(*columns, q=0.99)).row(0)
    (97, None)
    """
    level = upper_level(confidence)
    z, tail = normal_quantile(level), 1 - level
    n = count.sum()
    middle = n * q + (1 - 2 * q) * (z**2 - 1) / 6 + 0.5
    step = z * _variance(low, count, q, squares).sqrt()
    first, last = (middle - step).floor(), (middle + step).ceil()
    all_above, all_below = (1 - q) ** n, q**n  # the probability that no order statistic is far enough out
    lower = pl.when((first >= 1) & (all_above <= tail)).then(_row(first, low, count))
    return named(lower, pl.when(all_below <= tail).then(_row(last, high, count)))


def _variance(values: Expr, count: Expr, q: float, squares: Expr | None) -> Expr:
    """Of the weight below the quantile: each row has (1 - q)² of its squared weight, or q² if it lies above."""
    if squares is None:
        return count.sum() * q * (1 - q)
    ordered = count.sort_by(values)
    below = squares.sort_by(values).filter(ordered.cum_sum() - ordered / 2 <= q * count.sum()).sum()
    return (1 - q) ** 2 * below + q**2 * (squares.sum() - below)


def _row(rank: Expr, values: Expr, count: Expr) -> Expr:
    """The value of the row of a rank; null beyond the rows."""
    return values.sort().filter(count.sort_by(values).cum_sum() >= rank).first()

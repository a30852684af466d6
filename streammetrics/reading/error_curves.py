"""A histogram of values or errors as the share of rows up to each bin edge: CDF and REC curves with bounds.

Every function takes the histogram with the columns ``group``, ``low`` and ``high``, the smallest and the largest value
of the bin, and ``count``, the number of its rows or the sum of their weights.

A curve has the share at every edge, in ascending order within each group. The share is constant up to the next edge,
and 0 below the first edge. ``lower`` counts the bins that end at or below the edge, ``upper`` the bins that begin at or
below it, and ``share`` is the mean of both.
"""

from __future__ import annotations

import polars as pl
from polars import Expr

from streammetrics.statistics import GROUP

LOW, HIGH, COUNT = pl.col("low"), pl.col("high"), pl.col("count")


def cdf_curve(table: pl.DataFrame) -> pl.DataFrame:
    """Empirical distribution function: the share of rows that are at most ``value``.

    >>> cdf_curve(pl.DataFrame({"group": 0, "low": [0.0, 1.0], "high": [0.0, 2.0], "count": [3, 1]})).rows()
    [(0, 0.0, 0.75, 0.75, 0.75), (0, 1.0, 0.875, 0.75, 1.0), (0, 2.0, 1.0, 1.0, 1.0)]
    """
    return _curve(table, value=(LOW, HIGH))


def rec_curve(table: pl.DataFrame) -> pl.DataFrame:
    """Regression error characteristic of Bi and Bennett (2003): the share of rows with ``abs(error) <= tolerance``.

    >>> rec_curve(pl.DataFrame({"group": 0, "low": [-2.0, 1.0], "high": [-1.0, 1.0], "count": [1, 3]})).rows()
    [(0, 1.0, 0.875, 0.75, 1.0), (0, 2.0, 1.0, 1.0, 1.0)]
    """
    nearest, farthest = pl.max_horizontal(LOW, -HIGH, 0.0), pl.max_horizontal(HIGH, -LOW)
    return _curve(table, tolerance=(nearest, farthest))


def _curve(table: pl.DataFrame, **ends: tuple[Expr, Expr]) -> pl.DataFrame:
    """The share of rows up to each edge, for any place of rows within their bins."""
    [(edge, (first, last))] = ends.items()
    rows = table.select(GROUP, first=first, last=last, count=COUNT.cast(pl.Float64)).filter(COUNT > 0)
    reached = pl.col("lower", "upper").sort_by(edge).cum_sum()
    return (
        pl.concat(
            [
                rows.select(GROUP, pl.col("first").alias(edge), lower=pl.lit(0.0), upper=COUNT),
                rows.select(GROUP, pl.col("last").alias(edge), lower=COUNT, upper=pl.lit(0.0)),
            ]
        )
        .group_by(GROUP, edge, maintain_order=True)
        .agg(pl.sum("lower", "upper"))
        .group_by(GROUP, maintain_order=True)
        .agg(pl.col(edge).sort(), reached / reached.last())
        .explode(edge, "lower", "upper")
        .select(GROUP, edge, (pl.col("lower") + pl.col("upper")).truediv(2).alias("share"), "lower", "upper")
    )

"""A histogram of values or errors as the share of rows up to each bin edge: CDF and REC curves with bounds.

Every function takes the histogram with the columns ``low`` and ``high``, the smallest and the largest value that fall
in the bin, and ``count``, the number of its rows or the sum of their weights.

A curve has the share at every edge in ascending order within each group of ``by``, and keeps it up to the next edge;
below the first edge the share is 0. ``lower`` counts the bins that lie up to the edge, ``upper`` those that begin there
too, and ``share`` is halfway in between.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from polars import Expr

LOW, HIGH, COUNT = pl.col("low"), pl.col("high"), pl.col("count")


def cdf_curve(table: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Empirical distribution function: the share of rows that are at most ``value``.

    >>> cdf_curve(pl.DataFrame({"low": [0.0, 1.0], "high": [0.0, 2.0], "count": [3, 1]})).rows()
    [(0.0, 0.75, 0.75, 0.75), (1.0, 0.875, 0.75, 1.0), (2.0, 1.0, 1.0, 1.0)]
    """
    return _curve(table, by, value=(LOW, HIGH))


def rec_curve(table: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Regression error characteristic of Bi and Bennett (2003): the share of rows with ``abs(error) <= tolerance``.

    >>> rec_curve(pl.DataFrame({"low": [-2.0, 1.0], "high": [-1.0, 1.0], "count": [1, 3]})).rows()
    [(1.0, 0.875, 0.75, 1.0), (2.0, 1.0, 1.0, 1.0)]
    """
    nearest, farthest = pl.max_horizontal(LOW, -HIGH, 0.0), pl.max_horizontal(HIGH, -LOW)
    return _curve(table, by, tolerance=(nearest, farthest))


def _curve(table: pl.DataFrame, by: Sequence[str], **ends: tuple[Expr, Expr]) -> pl.DataFrame:
    """The share of rows up to each edge, if the rows of a bin lie anywhere between its ends."""
    [(edge, (first, last))] = ends.items()
    rows = table.select(*by, first=first, last=last, count=COUNT.cast(pl.Float64)).filter(COUNT > 0)
    reached = pl.col("lower", "upper").sort_by(edge).cum_sum()
    return (
        pl.concat(
            [
                rows.select(*by, pl.col("first").alias(edge), lower=pl.lit(0.0), upper=COUNT),
                rows.select(*by, pl.col("last").alias(edge), lower=COUNT, upper=pl.lit(0.0)),
            ]
        )
        .group_by(*by, edge, maintain_order=True)
        .agg(pl.sum("lower", "upper"))
        .group_by(by, maintain_order=True)
        .agg(pl.col(edge).sort(), reached / reached.last())
        .explode(edge, "lower", "upper")
        .select(*by, edge, (pl.col("lower") + pl.col("upper")).truediv(2).alias("share"), "lower", "upper")
    )

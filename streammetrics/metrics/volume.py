"""Number of rows of a report."""

from __future__ import annotations

import polars as pl
from polars import Expr

from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric


@metric(range=(0, float("inf")), aliases=("n",), interval=methods.A_COUNT)
def rows(rows: Expr) -> Expr:
    """Number of evaluated rows.

    >>> rows(120)
    120.0
    """
    return rows


@metric(range=(0, float("inf")), interval=methods.A_COUNT)
def dropped(dropped: Expr) -> Expr:
    """Number of dropped rows: rows with a null if ``nulls="drop"``, and rows of weight 0.

    >>> dropped(3)
    3.0
    """
    return dropped


@metric(
    range=(0, 1),
    better="low",
    interval=methods.Proportion(pl.col("dropped"), pl.col("rows") + pl.col("dropped")),
)
def dropped_rate(rows: Expr, dropped: Expr) -> Expr:
    """Share of all rows that were dropped.

    >>> dropped_rate(90, 10)
    0.1
    """
    return dropped / (rows + dropped)

"""Counts brought near 1, so that products of weights of any size stay within the range of floats."""

from __future__ import annotations

import polars as pl
from polars import Expr

SMALL, LARGE = 2.0**-200, 2.0**200  # totals whose fourth powers are floats


def near_one(total: Expr, *counts: Expr) -> list[Expr]:
    """The counts times a power of two, 1 if their total is between `SMALL` and `LARGE`, that brings it near them.

    A ratio of products of such counts is the same to the last bit, unless the products would overflow or vanish.

    >>> table = pl.DataFrame({"w": [3e200, 1e200]})
    >>> (w,) = near_one(pl.sum("w"), pl.col("w"))
    >>> table.select(raw=pl.col("w").pow(2).sum() / pl.sum("w").pow(2), scaled=w.pow(2).sum() / w.sum().pow(2)).row(0)
    (nan, 0.625)
    """
    power = (
        pl.when(total > 2.0**600)
        .then(2.0**-800)
        .when(total > LARGE)
        .then(2.0**-400)
        .when(total >= SMALL)
        .then(1.0)
        .when(total >= 2.0**-600)
        .then(2.0**400)
        .otherwise(2.0**840)
    )
    return [count * power for count in counts]

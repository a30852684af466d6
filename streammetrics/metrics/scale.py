"""Scaling of counts to near 1, so that products of weights of any size neither overflow nor underflow."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from polars import Expr

from streammetrics.base import each

SMALL, LARGE = 2.0**-200, 2.0**200  # totals whose fourth powers are normal floats


def near_one(total: Expr, *counts: Expr) -> list[Expr]:
    """Multiply counts by the power of two that brings their total near 1.

    Ratios of products of counts stay the same, bit for bit, unless the products would overflow or underflow.

    >>> table = pl.DataFrame({"w": [3e200, 1e200]})
    >>> (w,) = near_one(pl.sum("w"), pl.col("w"))
    >>> table.select(raw=pl.col("w").pow(2).sum() / pl.sum("w").pow(2), scaled=w.pow(2).sum() / w.sum().pow(2)).row(0)
    (nan, 0.625)
    """
    return [count * power_near_one(total) for count in counts]


def power_near_one(total: Expr) -> Expr:
    """Return the power of two that brings a total near 1."""
    return pl.lit(2.0) ** -total.log(2).floor().clip(-1000, 1000)


def each_near_one(formula: Callable[..., Expr], *counts: Expr) -> Expr:
    """Compute a formula for each row over counts scaled to near 1, with one power per row.

    >>> table = pl.DataFrame({"a": [1e200], "b": [3e200]})
    >>> table.select(each_near_one(lambda a, b: a * b / (a + b) ** 2, pl.col("a"), pl.col("b"))).item()
    0.1875
    """

    def scaled(power: Expr, **counts: Expr) -> Expr:
        return formula(*(count * power for count in counts.values()))

    named = {f"count {i}": count for i, count in enumerate(counts)}
    return each(scaled, power=power_near_one(sum(counts[1:], counts[0])), **named)

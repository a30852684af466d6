"""Confidence intervals of differences and ratios of two independent estimates, from the interval of each estimate."""

from __future__ import annotations

from typing import TypeAlias

import polars as pl
from polars import Expr

from streammetrics.base import without_nan

Interval: TypeAlias = tuple[Expr, Expr]


def difference_interval(a: Expr, a_limits: Interval, b: Expr, b_limits: Interval) -> Interval:
    """Return the interval of ``a - b`` (MOVER: Newcombe 1998 for proportions, Zou & Donner 2008).

    The estimates are of different rows, with intervals at the same confidence level. Limits are null if an endpoint of
    either interval is null.

    >>> a, b = (pl.lit(56 / 70), (pl.lit(0.6916), pl.lit(0.8769))), (pl.lit(48 / 80), (pl.lit(0.4904), pl.lit(0.7003)))
    >>> pl.select(x.round(3) for x in difference_interval(*a, *b)).row(0)  # Newcombe's method 10
    (0.052, 0.334)
    """
    lower = a - b - ((a - a_limits[0]) ** 2 + (b_limits[1] - b) ** 2).sqrt()
    upper = a - b + ((a_limits[1] - a) ** 2 + (b - b_limits[0]) ** 2).sqrt()
    return without_nan(lower).alias("ci_lower"), without_nan(upper).alias("ci_upper")


def ratio_interval(a: Expr, a_limits: Interval, b: Expr, b_limits: Interval) -> Interval:
    """Return the interval of ``a / b`` for nonnegative estimates (MOVER-R: Donner & Zou 2012, Newcombe 2016).

    As in `difference_interval`. ``ci_upper`` is infinite if the interval of ``b`` contains 0.

    >>> a, b = (pl.lit(0.8), (pl.lit(0.69), pl.lit(0.88))), (pl.lit(0.6), (pl.lit(0.49), pl.lit(0.70)))
    >>> pl.select(x.round(3) for x in ratio_interval(*a, *b)).row(0)
    (1.077, 1.667)
    """
    product = a * b
    low, low_of_b = a_limits[0] * (2 * a - a_limits[0]), b_limits[1] * (2 * b - b_limits[1])
    high, high_of_b = a_limits[1] * (2 * a - a_limits[1]), b_limits[0] * (2 * b - b_limits[0])
    lower = low / (product + (product**2 - low * low_of_b).sqrt())
    upper = (product + (product**2 - high * high_of_b).sqrt()) / high_of_b
    lower = pl.when(low == 0).then(0.0).otherwise(lower)
    return without_nan(lower).alias("ci_lower"), without_nan(upper).alias("ci_upper")

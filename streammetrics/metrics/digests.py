"""Quantiles and shares computed from a t-digest, with bounds that hold for any distribution.

A digest has one row per centroid, in ascending order of ``mean`` (see `streammetrics.statistics.tdigest`). A centroid
represents rows between ``min`` and ``max``. With all of them at ``min``, no order statistic is larger, and with all at
``max``, none is smaller, which gives the bounds. The value is interpolated linearly by rank: the mean is placed at the
middle of the weight, a single value at all of it, and the overall minimum and maximum at the two ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TypeAlias

import polars as pl
from polars import Expr

from streammetrics.base import each, shares
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import Bounded, metric
from streammetrics.metrics.order_statistics import Bins, bins_between, quantile, rank, share_up_to

_CENTROIDS = pl.col("min"), pl.col("max")
Points: TypeAlias = Sequence[tuple[Expr, Expr | float]]


@metric(range=(-inf, inf), interval=methods.Quantile(*_CENTROIDS, count=pl.col("weight")))
def digest_quantile(
    mean: Expr, weight: Expr, min: Expr, max: Expr, weighted: Expr | bool = False, *, q: float = 0.5
) -> Bounded:
    """The ``q``-quantile: the value that a share ``q`` of the rows does not exceed; 0 is the minimum, 1 the maximum.

    For unweighted rows, numpy's ``quantile``: linear interpolation between the two rows next to ``(n - 1) * q``
    (Hyndman & Fan 1996, type 7). For weighted rows, even with integer weights, scikit-learn's averaged weighted
    quantile (type 2). If rounding decides between two rows, the bounds include both. Null if the quantile is halfway
    between -infinity and infinity.

    >>> digest_quantile([1, 2.5, 4], [1, 2, 1], [1, 2, 4], [1, 3, 4], q=0.75)
    3.25
    """
    if q in (0, 1):
        end = min.min() if q == 0 else max.max()
        return Bounded(end, end, end)
    bins = _bins(mean, weight, min, max, weighted)
    total, (starts, ends) = weight.sum(), _ranks(bins)
    place = pl.when((bins.weighted > 0).any()).then(total * q).otherwise(rank(total, q) + 0.5)
    points = ((ends, 0), (mean, min.min())), ((starts, total), (mean, max.max()))
    lower = quantile(replace(bins, low=min, middle=min, high=min), q).value
    upper = quantile(replace(bins, low=max, middle=max, high=max), q).value
    middles = weight.cum_sum() - weight / 2
    return Bounded(_interpolated(place, middles, *points, lower, upper), *quantile(bins, q)[1:])


@metric(range=(0, 1), interval=methods.ShareOfBins(pl.col("weight")))
def digest_cdf(mean: Expr, weight: Expr, min: Expr, max: Expr, *, x: float = 0) -> Bounded:
    """Share of the rows whose value is at most ``x``.

    The lower bound counts the centroids whose maximum is at most ``x``, the upper bound those whose minimum is.

    >>> digest_cdf([1, 2.5, 4], [1, 2, 1], [1, 2, 4], [1, 3, 4], x=2.5)
    0.5
    """
    bins = _bins(mean, weight, min, max)
    _, lower, upper = share_up_to(bins, x)
    starts, ends = _ranks(bins)
    before, after = shares(starts, weight.sum()), shares(ends, weight.sum())
    place = pl.lit(x, pl.Float64)
    points = ((mean, min.min()), (after, 0)), ((mean, max.max()), (before, 1))
    return Bounded(_interpolated(place, mean, *points, lower, upper), lower, upper)


def _bins(mean: Expr, weight: Expr, min: Expr, max: Expr, weighted: Expr | bool = False) -> Bins:
    return replace(bins_between(min, max, weight, weighted), middle=mean)


def _ranks(bins: Bins) -> tuple[Expr, Expr]:
    """Cumulative weight at both ends of the range of each mean: a point, or all of a single value."""
    end, half = bins.count.cum_sum(), bins.count / 2
    width = pl.when(bins.low == bins.high).then(half).otherwise(0)
    return end - half - width, end - half + width


def _interpolated(place: Expr, order: Expr, left: Points, right: Points, lower: Expr, upper: Expr) -> Expr:
    """Linear interpolation at a place between the last point before it and the first after it, clipped to limits.

    Points on either side are columns of x and y, each with its end of the distribution.
    """
    columns = {"place": place, "lower": lower, "upper": upper}
    for name, (column, end) in zip(("x0", "y0"), left, strict=True):
        columns[name] = column.filter(order <= place).last().fill_null(end)
    for name, (column, end) in zip(("x1", "y1"), right, strict=True):
        columns[name] = column.filter(order > place).first().fill_null(end)
    return each(_clipped, **columns)


def _clipped(place: Expr, x0: Expr, y0: Expr, x1: Expr, y1: Expr, lower: Expr, upper: Expr) -> Expr:
    part = ((place / 2 - x0 / 2) / (x1 / 2 - x0 / 2)).fill_nan(0).clip(0, 1)  # differences may overflow
    value = y0 * (1 - part) + y1 * part
    return pl.when(value < lower).then(lower).when(value > upper).then(upper).otherwise(value)  # NaN is the largest

"""Quantiles and shares computed from a t-digest, with bounds that hold for any distribution.

A digest has one row per centroid, in ascending order of ``mean`` (see `streammetrics.statistics.tdigest`). A
centroid represents rows between ``min`` and ``max``. Moving all of them down to ``min`` raises no order statistic, and
moving them up to ``max`` lowers none. The true order statistic therefore lies between those of the ``min`` and of the
``max`` values.

Within a centroid, values are interpolated linearly by rank: the mean is placed at the middle of the weight, a single
value at all of it, and the overall minimum and maximum at the two ends. The result is clipped to the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, isnan

import polars as pl
from polars import Expr

from streammetrics.arguments import of_percent
from streammetrics.errors import MetricError
from streammetrics.expressions import each
from streammetrics.intervals import methods
from streammetrics.metrics.metric import Bounded, metric
from streammetrics.metrics.order_statistics import Bins, bins_between, median, quantile, rank, share_up_to

_CENTROIDS = pl.col("min"), pl.col("max")


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
    if not 0 <= q <= 1:
        raise MetricError(f"q= must be between 0 and 1, got {q!r}.{of_percent(q)}")
    if q in (0, 1):
        end = min.min() if q == 0 else max.max()
        return Bounded(end, end, end)
    return _interpolated(q, _bins(mean, weight, min, max, weighted), lambda bins: quantile(bins, q))


@metric(range=(-inf, inf), interval=methods.Quantile(*_CENTROIDS, q=0.5, count=pl.col("weight")))
def digest_median(mean: Expr, weight: Expr, min: Expr, max: Expr, weighted: Expr | bool = False) -> Bounded:
    """The median: the middle value, or the mean of the middle two.

    Equivalent to numpy's ``median``. Weights, bounds, and nulls are as for `digest_quantile`.

    >>> digest_median([1, 2.5, 4], [1, 2, 1], [1, 2, 4], [1, 3, 4])
    2.5
    """
    return _interpolated(0.5, _bins(mean, weight, min, max, weighted), median)


@metric(range=(0, 1), interval=methods.ShareOfBins(pl.col("weight")))
def digest_cdf(mean: Expr, weight: Expr, min: Expr, max: Expr, *, x: float = 0) -> Bounded:
    """Share of the rows whose value is at most ``x``.

    The lower bound counts the centroids whose maximum is at most ``x``, the upper bound those whose minimum is.

    >>> digest_cdf([1, 2.5, 4], [1, 2, 1], [1, 2, 4], [1, 3, 4], x=2.5)
    0.5
    """
    if isnan(x):
        raise MetricError("x= must be a number, got NaN.")
    _, lower, upper = share_up_to(_bins(mean, weight, min, max), x)
    starts, ends = _stretches(weight, min, max)
    below, above = mean <= x, mean > x
    value = each(
        _on_line,
        place=pl.lit(x, pl.Float64),
        start=_last(mean, below, min.min()),
        end=_first(mean, above, max.max()),
        low=_last(ends, below, 0) / weight.sum(),
        high=_first(starts, above, weight.sum()) / weight.sum(),
        lower=lower,
        upper=upper,
    )
    return Bounded(value, lower, upper)


def _bins(mean: Expr, weight: Expr, min: Expr, max: Expr, weighted: Expr | bool = False) -> Bins:
    return replace(bins_between(min, max, weight, weighted), middle=mean)


def _interpolated(q: float, centroids: Bins, of: Callable[[Bins], Bounded]) -> Bounded:
    """A quantile by interpolation, between those of the smallest and of the largest values of the centroids."""
    mean, weight, min, max = centroids.middle, centroids.count, centroids.low, centroids.high
    weighted = pl.when((centroids.weighted > 0).any())
    place = weighted.then(weight.sum() * q).otherwise(rank(weight.sum(), q) + 0.5)
    middle = weight.cum_sum() - weight / 2
    below, above = middle <= place, middle > place
    starts, ends = _stretches(weight, min, max)
    lower, upper = (of(replace(centroids, low=end, middle=end, high=end)).value for end in (min, max))
    value = each(
        _on_line,
        place=place,
        start=_last(ends, below, 0),
        end=_first(starts, above, weight.sum()),
        low=_last(mean, below, min.min()),
        high=_first(mean, above, max.max()),
        lower=lower,
        upper=upper,
    )
    _, *bounds = of(centroids)
    return Bounded(value, *bounds)


def _stretches(weight: Expr, min: Expr, max: Expr) -> tuple[Expr, Expr]:
    """Cumulative weight at both ends of the range of each mean: a point, or all of a single value."""
    end, single = weight.cum_sum(), pl.when(min == max)
    return single.then(end - weight).otherwise(end - weight / 2), single.then(end).otherwise(end - weight / 2)


def _on_line(place: Expr, start: Expr, end: Expr, low: Expr, high: Expr, lower: Expr, upper: Expr) -> Expr:
    """Linear interpolation from low at start to high at end, clipped; NaN becomes the upper limit."""
    way = ((place / 2 - start / 2) / (end / 2 - start / 2)).fill_nan(0).clip(0, 1)  # differences may overflow
    value = low * (1 - way) + high * way
    return pl.when(value < lower).then(lower).when(value > upper).then(upper).otherwise(value)


def _first(values: Expr, where: Expr, default: Expr) -> Expr:
    return values.filter(where).first().fill_null(default)


def _last(values: Expr, where: Expr, default: Expr | float) -> Expr:
    return values.filter(where).last().fill_null(default)

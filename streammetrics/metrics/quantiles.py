"""Quantiles, means, spread, and shares, computed from a histogram of errors or other values.

The histogram has one row per bin. ``error_low`` and ``error_high``, or ``value_low`` and ``value_high``, are the
smallest and the largest float64 in the bin, equal if it is a single value. ``count`` is the number of rows, or the sum
of their weights if ``weighted``. An error is the prediction minus the true value.

Every metric has explicit bounds, which hold for any position of the rows in their bins. If bins are single values, the
bounds equal the value. Otherwise the value places each row at the middle of its bin, and a share counts half of a bin
that ``x`` cuts.

Quantiles of unweighted rows follow numpy, those of weighted rows scikit-learn. Both definitions give the same median,
and other quantiles between the same two rows. Rows with ``sample_weight`` are weighted even if all weights are
integers, so a weight of 2 is not the same as two rows.
"""

from __future__ import annotations

from math import inf, isfinite

import polars as pl
from polars import Expr

from streammetrics.errors import Argument, MetricError
from streammetrics.metrics import order_statistics as order
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import Bounded, metric
from streammetrics.metrics.order_statistics import absolute, bins_between, deviations

_ERRORS = pl.col("error_low"), pl.col("error_high")
_VALUES = pl.col("value_low"), pl.col("value_high")
_ABSOLUTE = absolute(bins_between(*_ERRORS, methods.COUNT))
_MIDDLE = bins_between(*_VALUES, methods.COUNT).middle


@metric(range=(-inf, inf), aliases=("median_bias",), interval=methods.Quantile(*_ERRORS, q=0.5))
def median_error(error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Median of the signed error, prediction minus true value.

    Equivalent to numpy's ``median``. Null halfway between infinities of both signs. The bounds are attained with rows
    at the ends of their bins.

    >>> median_error([-1, 0, 2], [-1, 0, 2], [1, 1, 2])
    1.0
    """
    return order.median(bins_between(error_low, error_high, count, weighted))


@metric(
    range=(0, inf), better="low", aliases=("medae",), interval=methods.Quantile(_ABSOLUTE.low, _ABSOLUTE.high, q=0.5)
)
def median_absolute_error(error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Median of the absolute error.

    Equivalent to scikit-learn's ``median_absolute_error``, also for weighted rows. The bounds are attained with rows at
    the ends of their bins.

    >>> median_absolute_error([-1, 0, 2], [-1, 0, 2], [1, 1, 2])
    1.5
    """
    return order.median(absolute(bins_between(error_low, error_high, count, weighted)))


@metric(range=(0, inf), better="low", aliases=("median_absolute_deviation",), interval=methods.SPREAD)
def mad(error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Median absolute deviation of the errors from their median: a robust measure of their spread.

    1.4826 times it estimates the standard deviation of normal errors (Rousseeuw and Croux 1993). Null if the median is
    infinite. Equivalent to scipy's ``median_abs_deviation``. The bounds hold for any median and any deviation within
    their bins, and are not always attained.

    >>> mad([-1, 0, 2, 9], [-1, 0, 2, 9], [1, 1, 2, 1])
    2.0
    """
    bins = bins_between(error_low, error_high, count, weighted)
    return order.median(deviations(bins, order.median(bins)))


@metric(range=(-inf, inf), interval=methods.Quantile(*_ERRORS))
def error_quantile(
    error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False, *, q: float = 0.5
) -> Bounded:
    """The ``q``-quantile of the signed error. See `quantile`.

    >>> error_quantile([-1, 0, 2], [-1, 0, 2], [1, 1, 2], q=0.25)
    -0.25
    """
    return order.quantile(bins_between(error_low, error_high, count, weighted), q)


@metric(range=(0, inf), better="low", interval=methods.Quantile(_ABSOLUTE.low, _ABSOLUTE.high))
def absolute_error_quantile(
    error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False, *, q: float = 0.9
) -> Bounded:
    """The ``q``-quantile of the absolute error. See `quantile`.

    >>> absolute_error_quantile([-1, 0, 2], [-1, 0, 2], [1, 1, 2], q=0.5)
    1.5
    """
    return order.quantile(absolute(bins_between(error_low, error_high, count, weighted)), q)


@metric(range=(0, inf), better="low", aliases=("error_interquartile_range",), interval=methods.SPREAD)
def error_iqr(error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Interquartile range of the signed error. See `iqr`.

    >>> error_iqr([-1, 0, 2], [-1, 0, 2], [1, 1, 2])
    2.25
    """
    return _iqr(bins_between(error_low, error_high, count, weighted))


@metric(range=(0, 1), aliases=("error_ecdf",), interval=methods.ShareOfBins())
def error_cdf(error_low: Expr, error_high: Expr, count: Expr, *, x: float = 0) -> Bounded:
    """Share of rows whose signed error is at most ``x``; with 0, the share of rows not predicted too high.

    The bounds are attained with rows at the ends of their bins.

    >>> error_cdf([-1, 0, 2], [-1, 0, 2], [1, 1, 2])
    0.5
    """
    return order.share_up_to(bins_between(error_low, error_high, count), x)


@metric(range=(0, 1), better="high", aliases=("within_tolerance",), interval=methods.ShareOfBins())
def within(error_low: Expr, error_high: Expr, count: Expr, *, x: float = 0.1) -> Bounded:
    """Share of rows whose absolute error is at most ``x``.

    "99% of the errors are at most 0.1" is ``within(x=0.1) >= 0.99``. The bounds are attained with rows at the ends of
    their bins.

    >>> within([-1, 0, 2], [-1, 0, 2], [1, 1, 2], x=1)
    0.5
    """
    return order.share_up_to(absolute(bins_between(error_low, error_high, count)), x)


@metric(
    range=(0, 1),
    better="high",
    aliases=("area_under_rec",),
    interval=methods.MeanOfBins(lambda metric: (1 - _ABSOLUTE.middle / float(metric.options["limit"] or 0)).clip(0)),
)
def rec_auc(error_low: Expr, error_high: Expr, count: Expr, *, limit: float = 1) -> Bounded:
    """Area under the REC curve up to a tolerance, divided by it: the mean of `within` from 0 to ``limit``.

    The regression error characteristic (Bi & Bennett 2003) is the share of rows within each tolerance. 1 if all errors
    are 0. ``limit`` is in the units of the true values; compare only areas with the same limit. The bounds are attained
    with rows at the ends of their bins.

    >>> rec_auc([-1, 0, 2], [-1, 0, 2], [1, 1, 2], limit=4)
    0.6875
    """
    if not (limit > 0 and isfinite(limit) and isfinite(1 / limit)):
        raise MetricError(Argument("limit"), f" must be a positive number, got {limit!r}.")
    return order.area_up_to(absolute(bins_between(error_low, error_high, count)), limit)


@metric(range=(-inf, inf), interval=methods.Quantile(*_VALUES))
def quantile(
    value_low: Expr, value_high: Expr, count: Expr, weighted: Expr | bool = False, *, q: float = 0.5
) -> Bounded:
    """The ``q``-quantile: the value that a share ``q`` of the rows does not exceed; 0 is the minimum, 1 the maximum.

    For unweighted rows, numpy's ``quantile``: linear interpolation between two rows (Hyndman & Fan 1996, type 7), but
    correct next to infinite rows and without overflow. For weighted rows, the first row at which the cumulative weight
    exceeds the share, or the mean of two rows if the first reaches it exactly (type 2, numpy's
    ``averaged_inverted_cdf``). Up to rounding, the bounds are attained with rows at the ends of their bins.

    >>> quantile([1, 2, 4], [1, 2, 4], [1, 1, 1], q=0.75)
    3.0
    >>> quantile([1, 2, 4], [1, 2, 4], [0.75, 0.75, 0.5], weighted=True, q=0.75)
    3.0
    """
    return order.quantile(bins_between(value_low, value_high, count, weighted), q)


@metric(range=(-inf, inf), interval=methods.Quantile(*_VALUES, q=0.5))
def median(value_low: Expr, value_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """The middle value, or the mean of the middle two.

    Equivalent to numpy's ``median``, without overflow. Null halfway between infinities of both signs. The bounds are
    attained with rows at the ends of their bins.

    >>> median([1, 2, 4], [1, 2, 4], [1, 1, 2])
    3.0
    """
    return order.median(bins_between(value_low, value_high, count, weighted))


@metric(range=(-inf, inf), interval=methods.MeanOfBins(lambda _: _MIDDLE))
def mean(value_low: Expr, value_high: Expr, count: Expr) -> Bounded:
    """Mean of the values; null if infinities of both signs occur.

    The bounds are attained with rows at the ends of their bins.

    >>> mean([1, 2, 4], [1, 2, 4], [1, 1, 2])
    2.75
    """
    return order.mean(bins_between(value_low, value_high, count))


@metric(range=(0, inf), aliases=("interquartile_range",), interval=methods.SPREAD)
def iqr(value_low: Expr, value_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Interquartile range: ``quantile(q=0.75) - quantile(q=0.25)``.

    Null if both quartiles are infinite with the same sign. The bounds follow from those of the two quartiles, and are
    not always attained if both are in one bin. Equivalent to scipy's ``iqr``.

    >>> iqr([1, 2, 4], [1, 2, 4], [1, 1, 2])
    2.25
    """
    return _iqr(bins_between(value_low, value_high, count, weighted))


@metric(range=(0, 1), aliases=("ecdf",), interval=methods.ShareOfBins())
def cdf(value_low: Expr, value_high: Expr, count: Expr, *, x: float = 0) -> Bounded:
    """Share of rows whose value is at most ``x``: the empirical distribution function.

    The bounds are attained with rows at the ends of their bins.

    >>> cdf([1, 2, 4], [1, 2, 4], [1, 1, 2], x=2)
    0.5
    >>> cdf([1, 2, 4], [1, 3, 4], [1, 1, 2], x=2)
    0.375
    """
    return order.share_up_to(bins_between(value_low, value_high, count), x)


@metric(range=(-inf, inf), aliases=("min",), interval="an extreme value")
def minimum(value_low: Expr, value_high: Expr, count: Expr) -> Bounded:
    """Smallest value.

    The bounds are attained with rows at the ends of their bins.

    >>> minimum([1, 2, 4], [1, 2, 4], [1, 1, 2])
    1.0
    """
    return order.minimum(bins_between(value_low, value_high, count))


@metric(range=(-inf, inf), aliases=("max",), interval="an extreme value")
def maximum(value_low: Expr, value_high: Expr, count: Expr) -> Bounded:
    """Largest value.

    The bounds are attained with rows at the ends of their bins.

    >>> maximum([1, 2, 4], [1, 2, 4], [1, 1, 2])
    4.0
    """
    return order.maximum(bins_between(value_low, value_high, count))


def _iqr(bins: order.Bins) -> Bounded:
    first, third = order.quantile(bins, 0.25), order.quantile(bins, 0.75)
    return Bounded(third.value - first.value, (third.lower - first.upper).clip(0), third.upper - first.lower)

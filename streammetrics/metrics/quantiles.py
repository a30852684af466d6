"""Quantiles, means, spread and shares, computed from a histogram of errors or of any other values.

The histogram has one row per bin: ``error_low`` and ``error_high``, or ``value_low`` and ``value_high``, are the
smallest and the largest float64 that fall in the bin, equal if it is one value; ``count`` is the number of its rows,
or if ``weighted`` the sum of their weights. An error is prediction minus actual.

Every metric carries its own bounds: the rows may lie anywhere in their bins. If bins are single values the bounds
are the value. Else the value takes each row at the middle of its bin, and a share takes half of a bin that ``x`` cuts.

Quantiles of rows are numpy's, quantiles of weighted rows are scikit-learn's. Both definitions give the same median, and
other quantiles between the same two rows. The specification decides: rows with ``sample_weight`` are weighted, even if
all weights are whole numbers, so a weight of 2 is not two rows.
"""

from __future__ import annotations

from math import inf, isfinite, isnan

import polars as pl
from polars import Expr

from streammetrics.errors import MetricError
from streammetrics.metrics import order_statistics as order
from streammetrics.metrics.metric import Bounded, metric
from streammetrics.metrics.order_statistics import absolute, bins_between, deviations
from streammetrics.uncertainty import methods

NORMAL_SCALE = 1.4826022185056018  # one over the upper quartile of the standard normal distribution
_ERRORS, _VALUES = ((pl.col(f"{what}_low"), pl.col(f"{what}_high")) for what in ("error", "value"))
_ABSOLUTE = absolute(bins_between(*_ERRORS, methods.COUNT))
_MIDDLE = bins_between(*_VALUES, methods.COUNT).middle


@metric(range=(-inf, inf), aliases=("median_bias",), interval=methods.quantile(*_ERRORS, q=0.5))
def median_error(error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Median of the signed error: half of the predictions are off by less, half by more.

    numpy's ``median``; null halfway between infinities of both signs. The rows at the ends of their bins attain the
    bounds.

    >>> median_error([-1, 0, 2], [-1, 0, 2], [1, 1, 2])
    1.0
    >>> median_error([1], [1], [0]) is None
    True
    """
    return order.median(bins_between(error_low, error_high, count, weighted))


@metric(
    range=(0, inf), better="low", aliases=("medae",), interval=methods.quantile(_ABSOLUTE.low, _ABSOLUTE.high, q=0.5)
)
def median_absolute_error(error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Median of the absolute error.

    scikit-learn's ``median_absolute_error``, also for weights. The rows at the ends of their bins attain the bounds.

    >>> median_absolute_error([-1, 0, 2], [-1, 0, 2], [1, 1, 2])
    1.5
    >>> median_absolute_error([1], [1], [0]) is None
    True
    """
    return order.median(absolute(bins_between(error_low, error_high, count, weighted)))


@metric(
    range=(0, inf),
    better="low",
    aliases=("median_absolute_deviation",),
    interval=methods.mad(*_ERRORS, NORMAL_SCALE),
)
def mad(
    error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False, *, scaled: bool = False
) -> Bounded:
    """Median absolute deviation of the errors from their median: their spread, whatever a minority of them do.

    With ``scaled=True`` it is multiplied by 1.4826, and so estimates the standard deviation of normal errors (Rousseeuw
    and Croux 1993). Null if the median is infinite. The bounds hold for any median and any deviation within their
    bins, and need not be attained.

    >>> mad([-1, 0, 2, 9], [-1, 0, 2, 9], [1, 1, 2, 1])
    2.0
    >>> mad([-1, 0, 2, 9], [-1, 0, 2, 9], [1, 1, 2, 1], scaled=True)
    2.9652044370112036
    >>> mad([1], [1], [0]) is None
    True
    """
    return _mad(bins_between(error_low, error_high, count, weighted), scaled)


def _mad(bins: order.Bins, scaled: bool) -> Bounded:
    spread = order.median(deviations(bins, order.median(bins)))
    return Bounded(*(NORMAL_SCALE * x for x in spread)) if scaled else spread


@metric(range=(-inf, inf), interval=methods.quantile(*_ERRORS))
def error_quantile(
    error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False, *, q: float = 0.5
) -> Bounded:
    """The signed error that the share ``q`` of the rows does not exceed: `quantile` of the errors.

    >>> error_quantile([-1, 0, 2], [-1, 0, 2], [1, 1, 2], q=0.25)
    -0.25
    >>> error_quantile([1], [1], [0]) is None
    True
    """
    return _quantile(bins_between(error_low, error_high, count, weighted), q)


@metric(range=(0, inf), better="low", interval=methods.quantile(_ABSOLUTE.low, _ABSOLUTE.high))
def absolute_error_quantile(
    error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False, *, q: float = 0.9
) -> Bounded:
    """The absolute error that the share ``q`` of the rows does not exceed: `quantile` of the absolute errors.

    >>> absolute_error_quantile([-1, 0, 2], [-1, 0, 2], [1, 1, 2], q=0.5)
    1.5
    >>> absolute_error_quantile([1], [1], [0]) is None
    True
    """
    return _quantile(absolute(bins_between(error_low, error_high, count, weighted)), q)


@metric(range=(0, inf), better="low", aliases=("error_interquartile_range",), interval=methods.iqr(*_ERRORS))
def error_iqr(error_low: Expr, error_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Distance between the quartiles of the signed error: `iqr` of the errors.

    >>> error_iqr([-1, 0, 2], [-1, 0, 2], [1, 1, 2])
    2.25
    >>> error_iqr([1], [1], [0]) is None
    True
    """
    return _iqr(bins_between(error_low, error_high, count, weighted))


@metric(range=(0, 1), aliases=("error_ecdf",), interval=methods.share_of_rows())
def error_cdf(error_low: Expr, error_high: Expr, count: Expr, *, x: float = 0) -> Bounded:
    """Share of rows whose signed error is at most ``x``, equality included: with 0, the share not over-predicted.

    The rows at the ends of their bins attain the bounds.

    >>> error_cdf([-1, 0, 2], [-1, 0, 2], [1, 1, 2])
    0.5
    >>> error_cdf([1], [1], [0]) is None
    True
    """
    return _share_up_to(bins_between(error_low, error_high, count), x)


@metric(range=(0, 1), better="high", aliases=("within_tolerance",), interval=methods.share_of_rows())
def within(error_low: Expr, error_high: Expr, count: Expr, *, x: float = 0.1) -> Bounded:
    """Share of rows whose absolute error is at most ``x``, equality included.

    "99% of the errors are at most 0.1" is ``within(x=0.1) >= 0.99``. The rows at the ends of their bins attain the
    bounds.

    >>> within([-1, 0, 2], [-1, 0, 2], [1, 1, 2], x=1)
    0.5
    >>> within([1], [1], [0]) is None
    True
    """
    return _share_up_to(absolute(bins_between(error_low, error_high, count)), x)


@metric(
    range=(0, 1),
    better="high",
    aliases=("area_under_rec",),
    interval=methods.mean_of_bins(lambda metric: (1 - _ABSOLUTE.middle / float(metric.options["limit"] or 0)).clip(0)),
)
def rec_auc(error_low: Expr, error_high: Expr, count: Expr, *, limit: float = 1) -> Bounded:
    """Area under the REC curve up to a tolerance, divided by that tolerance: the mean of `within` over 0 to ``limit``.

    The regression error characteristic of Bi and Bennett (2003) is the share of rows within each tolerance. ``limit``
    is in units of the error; areas compare only for the same one. The rows at the ends of their bins attain the bounds.

    >>> rec_auc([-1, 0, 2], [-1, 0, 2], [1, 1, 2], limit=4)
    0.6875
    >>> rec_auc([1], [1], [0]) is None
    True
    """
    return _rec_auc(error_low, error_high, count, limit)


def _rec_auc(low: Expr, high: Expr, count: Expr, limit: float) -> Bounded:
    if not (limit > 0 and isfinite(limit) and isfinite(1 / limit)):
        raise MetricError(f"limit= must be a positive number, got {limit!r}.")
    return order.area_up_to(absolute(bins_between(low, high, count)), limit)


@metric(range=(-inf, inf), interval=methods.quantile(*_VALUES))
def quantile(
    value_low: Expr, value_high: Expr, count: Expr, weighted: Expr | bool = False, *, q: float = 0.5
) -> Bounded:
    """The value that the share ``q`` of the rows does not exceed.

    numpy's ``quantile``, linear between two rows (type 7 of Hyndman and Fan 1996), but right next to infinite rows and
    without overflow. For weights the row where their sum comes to exceed the share, or the mean of the two that meet at
    it (type 2, numpy's ``averaged_inverted_cdf``). The rows at the ends of their bins attain the bounds, but for the
    rounding that these allow for.

    >>> quantile([1, 2, 4], [1, 2, 4], [1, 1, 1], q=0.75)
    3.0
    >>> quantile([1, 2, 4], [1, 2, 4], [0.75, 0.75, 0.5], weighted=True, q=0.75)
    3.0
    >>> quantile([1], [1], [0]) is None
    True
    """
    return _quantile(bins_between(value_low, value_high, count, weighted), q)


@metric(range=(-inf, inf), interval=methods.quantile(*_VALUES, q=0.5))
def median(value_low: Expr, value_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """The middle value, or the mean of the middle two.

    numpy's ``median``, without overflow; null halfway between infinities of both signs. The rows at the ends of their
    bins attain the bounds.

    >>> median([1, 2, 4], [1, 2, 4], [1, 1, 2])
    3.0
    >>> median([1], [1], [0]) is None
    True
    """
    return order.median(bins_between(value_low, value_high, count, weighted))


@metric(range=(-inf, inf), interval=methods.mean_of_bins(lambda _: _MIDDLE))
def mean(value_low: Expr, value_high: Expr, count: Expr) -> Bounded:
    """Mean of the values; null if infinities of both signs occur.

    The rows at the ends of their bins attain the bounds.

    >>> mean([1, 2, 4], [1, 2, 4], [1, 1, 2])
    2.75
    >>> mean([1], [1], [0]) is None
    True
    """
    return order.mean(bins_between(value_low, value_high, count))


@metric(range=(0, inf), aliases=("interquartile_range",), interval=methods.iqr(*_VALUES))
def iqr(value_low: Expr, value_high: Expr, count: Expr, weighted: Expr | bool = False) -> Bounded:
    """Distance between the quartiles, ``quantile(q=0.75) - quantile(q=0.25)``: scipy's ``iqr``.

    Null if both are infinite with one sign. The bounds are those of the quartiles apart, and need not be attained
    if both fall in one bin.

    >>> iqr([1, 2, 4], [1, 2, 4], [1, 1, 2])
    2.25
    >>> iqr([1], [1], [0]) is None
    True
    """
    return _iqr(bins_between(value_low, value_high, count, weighted))


@metric(range=(0, 1), aliases=("ecdf",), interval=methods.share_of_rows())
def cdf(value_low: Expr, value_high: Expr, count: Expr, *, x: float = 0) -> Bounded:
    """Share of rows whose value is at most ``x``, equality included: the empirical distribution function.

    The rows at the ends of their bins attain the bounds.

    >>> cdf([1, 2, 4], [1, 2, 4], [1, 1, 2], x=2)
    0.5
    >>> cdf([1, 2, 4], [1, 3, 4], [1, 1, 2], x=2)
    0.375
    >>> cdf([1], [1], [0]) is None
    True
    """
    return _share_up_to(bins_between(value_low, value_high, count), x)


@metric(range=(-inf, inf), aliases=("min",), interval="an extreme value")
def minimum(value_low: Expr, value_high: Expr, count: Expr) -> Bounded:
    """The smallest value. The rows at the ends of their bins attain the bounds.

    >>> minimum([1, 2, 4], [1, 2, 4], [1, 1, 2])
    1.0
    >>> minimum([1], [1], [0]) is None
    True
    """
    return order.minimum(bins_between(value_low, value_high, count))


@metric(range=(-inf, inf), aliases=("max",), interval="an extreme value")
def maximum(value_low: Expr, value_high: Expr, count: Expr) -> Bounded:
    """The largest value. The rows at the ends of their bins attain the bounds.

    >>> maximum([1, 2, 4], [1, 2, 4], [1, 1, 2])
    4.0
    >>> maximum([1], [1], [0]) is None
    True
    """
    return order.maximum(bins_between(value_low, value_high, count))


def _quantile(bins: order.Bins, q: float) -> Bounded:
    if not 0 <= q <= 1:
        raise MetricError(f"q= must be between 0 and 1, got {q!r}.")
    return order.quantile(bins, q)


def _iqr(bins: order.Bins) -> Bounded:
    first, third = order.quantile(bins, 0.25), order.quantile(bins, 0.75)
    return Bounded(third.value - first.value, (third.lower - first.upper).clip(0), third.upper - first.lower)


def _share_up_to(bins: order.Bins, x: float) -> Bounded:
    if isnan(x):
        raise MetricError("x= must be a number, got nan.")
    return order.share_up_to(bins, x)

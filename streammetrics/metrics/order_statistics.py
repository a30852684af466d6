"""Order statistics of binned values: quantiles, shares, and means, with certified bounds.

Each formula is computed three times: with every row in the middle of its bin, which gives the value, and with every row
at the low and at the high end, which gives the bounds. All formulas are monotone in every row, so the bounds hold for
any position of the rows in their bins. If bins are single values, all three agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import polars as pl
from polars import Expr

from streammetrics.base import ROUNDING, each, of_percent, shares
from streammetrics.errors import Argument, MetricError
from streammetrics.metrics.metric import Bounded

RANK_ROUNDING = 2**-50  # relative to a rank, the product of an integer and a level,
LEAST_PART = 1e-3  # at most, so that interpolation between rows remains
LERP_ROUNDING = 2**-50  # relative to the larger of the two rows that are interpolated
TERM_ROUNDING = 2.0**-53  # of each term of a mean, relative to the mean of absolute values,
TINY = 5e-324  # at least


@dataclass(frozen=True)
class Bins:
    """Rows by the interval that contains their value. Bins can overlap; an infinite value has its own bin.

    ``low`` and ``high`` are the ends of a bin, both inclusive, and ``middle`` is in between. ``count`` is the number of
    rows, or the sum of their weights if ``weighted`` is 1.
    """

    low: Expr
    middle: Expr
    high: Expr
    count: Expr
    weighted: Expr


def bins_between(low: Expr, high: Expr, count: Expr, weighted: Expr | bool = False) -> Bins:
    """Bins with these ends."""
    weighted = weighted if isinstance(weighted, Expr) else pl.lit(float(weighted))
    return Bins(low, halfway(low, high), high, count, weighted)


def absolute(bins: Bins) -> Bins:
    """Bins of the absolute values."""
    zero = pl.lit(0.0)
    return deviations(bins, Bounded(zero, zero, zero))


def deviations(bins: Bins, center: Bounded) -> Bins:
    """Bins of the absolute deviations from a center, which has bounds itself.

    The bounds also hold for rounded differences, since rounding is monotone. Infinite values deviate from an infinite
    center by NaN, which sorts last. At least half of the rows then deviate by NaN, and so does the median.
    """
    ends = {"low": bins.low, "high": bins.high, "lower": center.lower, "upper": center.upper}
    middle = (bins.middle - center.value).abs()
    return Bins(each(_nearest, **ends), middle, each(_farthest, **ends), bins.count, bins.weighted)


def _nearest(low: Expr, high: Expr, lower: Expr, upper: Expr) -> Expr:
    return pl.max_horizontal(low - upper, lower - high, 0.0)


def _farthest(low: Expr, high: Expr, lower: Expr, upper: Expr) -> Expr:
    return pl.max_horizontal(high - lower, upper - low)


def minimum(bins: Bins) -> Bounded:
    """The smallest value."""
    return Bounded(*(v.filter(bins.count > 0).min() for v in (bins.middle, bins.low, bins.high)))


def maximum(bins: Bins) -> Bounded:
    """The largest value."""
    return Bounded(*(v.filter(bins.count > 0).max() for v in (bins.middle, bins.low, bins.high)))


def mean(bins: Bins) -> Bounded:
    """The mean, computed without overflow. Null if infinities of both signs occur.

    If values of both signs cancel, the bounds include the rounding errors of the sum.
    """
    filled = bins.count > 0
    share = shares(bins.count, bins.count.sum()).filter(filled)
    value, low, high = ((share * v.filter(filled)).sum() for v in (bins.middle, bins.low, bins.high))
    size = (share * pl.max_horizontal(bins.low.abs(), bins.high.abs()).filter(filled)).sum()
    rounding = (share.len() + 2) * (size * TERM_ROUNDING).clip(TINY)
    cancels = (size > 0) & rounding.is_finite() & (rounding > ROUNDING * value.abs())
    margin = pl.when(cancels).then(rounding).otherwise(0.0)
    return Bounded(*(pl.when(filled.any()).then(end) for end in (value, low - margin, high + margin)))


def share_up_to(bins: Bins, x: float) -> Bounded:
    """Share of rows whose value is at most x; half of a bin counts if it contains x and larger values."""
    if isnan(x):
        raise MetricError(Argument("x"), " must be a number, got NaN.")
    within = bins.count.filter(bins.high <= x).sum() / bins.count.sum()
    touched = bins.count.filter(bins.low <= x).sum() / bins.count.sum()
    return Bounded((within + touched) / 2, within, touched)


def area_up_to(bins: Bins, limit: float) -> Bounded:
    """Mean of `share_up_to` over x from 0 to a limit, for nonnegative values."""
    above = ((1 - value / limit).clip(0) for value in (bins.middle, bins.high, bins.low))
    return Bounded(*((bins.count * share).sum() / bins.count.sum() for share in above))


def median(bins: Bins) -> Bounded:
    """The middle value, or the mean of the middle two; null between infinities of both signs."""
    return Bounded(*(each(_mean_of_rows, rows=rows) for rows in _rows(bins, 0.5)))


def require_quantile(q: float) -> None:
    """Reject the level of a quantile outside [0, 1]."""
    if not 0 <= q <= 1:
        raise MetricError(Argument("q"), f" must be between 0 and 1, got {q!r}.{of_percent(q)}")


def quantile(bins: Bins, q: float) -> Bounded:
    """The value that the share q of the rows does not exceed.

    For unweighted rows, linear interpolation between the two rows around ``(n - 1) * q``: type 7 of Hyndman and Fan
    (1996). For weighted rows, the first row at which the cumulative weight exceeds the share, or the mean of two rows
    if the first reaches it exactly: type 2.
    """
    require_quantile(q)
    middle, low, high = _rows(bins, q)
    return Bounded(
        each(_interpolated, rows=middle),
        each(_lower_interpolated, low=low, high=high),
        each(_upper_interpolated, low=low, high=high),
    )


def rank(total: Expr, q: float) -> Expr:
    """The rank of a quantile, from 0; rounded to an integer if it is one up to rounding errors."""
    place = (total - 1) * q
    nearest = place.round()
    rounding = (nearest * RANK_ROUNDING).clip(upper_bound=LEAST_PART)
    return pl.when((place - nearest).abs() <= rounding).then(nearest).otherwise(place)


def _rows(bins: Bins, q: float) -> tuple[Expr, Expr, Expr]:
    """The rows around a quantile, in the middle, at the low, and at the high end of their bins.

    Sums of weights are rounded, in any order. If rounding decides between two rows, the value uses both, the lower
    bound the lower row, and the upper bound the upper row.
    """
    less, more = -ROUNDING, ROUNDING
    return (
        _rows_around(bins.middle, bins, q, less, more),
        _rows_around(bins.low, bins, q, less, less),
        _rows_around(bins.high, bins, q, more, more),
    )


def _rows_around(values: Expr, bins: Bins, q: float, less: float, more: float) -> Expr:
    """The rows ``below`` and ``above`` a quantile, and the ``part`` of the distance between them at which it lies.

    A row is found by the number of rows before it, or by the weight before it, which can be off by the shares ``less``
    to ``more``.
    """

    def formula(value: Expr, count: Expr, total: Expr, place: Expr, weighted: Expr) -> Expr:
        ascending, ordered = value.sort(), count.sort_by(value)
        before = ordered.cum_sum() - ordered
        first = pl.when(weighted).then((total * (q + less)).clip(0)).otherwise(place.floor())
        last = pl.when(weighted).then(total * (q + more)).otherwise(place.ceil())
        return pl.struct(
            below=ascending.filter(before <= first, ordered > 0).last(),
            above=ascending.filter(before <= last, ordered > 0).last(),
            part=place - place.floor(),
            weighted=weighted,
        )

    total = bins.count.sum()
    quantities = {"total": total, "place": rank(total, q), "weighted": (bins.weighted > 0).any()}
    return each(formula, value=values, count=bins.count, **quantities).first()


def _mean_of_rows(rows: Expr) -> Expr:
    return halfway(rows.struct.field("below"), rows.struct.field("above"))


def _lerp_of_rows(rows: Expr) -> Expr:
    return lerp(*(rows.struct.field(name) for name in ("below", "above", "part")))


def _interpolated(rows: Expr) -> Expr:
    return pl.when(rows.struct.field("weighted")).then(_mean_of_rows(rows)).otherwise(_lerp_of_rows(rows))


def _lower_interpolated(low: Expr, high: Expr) -> Expr:
    return pl.max_horizontal(low.struct.field("below"), _lerp_of_rows(low) - _lerp_margin(low, high))


def _upper_interpolated(low: Expr, high: Expr) -> Expr:
    return pl.min_horizontal(high.struct.field("above"), _lerp_of_rows(high) + _lerp_margin(low, high))


def _lerp_margin(low: Expr, high: Expr) -> Expr:
    """Largest rounding error of `lerp`, which is monotone in both rows except for it."""
    reach = pl.max_horizontal(low.struct.field("below").abs(), high.struct.field("above").abs())
    exact = pl.all_horizontal(low.struct.field(row) == high.struct.field(row) for row in ("below", "above"))
    return pl.when(exact | reach.is_infinite()).then(0).otherwise(reach * LERP_ROUNDING)


def lerp(a: Expr, b: Expr, part: Expr) -> Expr:
    """Linear interpolation from a to b, rounded like numpy's, without overflow."""
    width = b - a
    point = pl.when(part < 0.5).then(a + width * part).otherwise(b - width * (1 - part))
    wide = a * (1 - part) + b * part
    return pl.when(a == b).then(a).when(width.is_infinite()).then(wide).otherwise(point)


def halfway(a: Expr, b: Expr) -> Expr:
    """The mean of two values, without overflow."""
    total = a + b
    return pl.when(total.is_infinite()).then(a / 2 + b / 2).otherwise(total / 2)

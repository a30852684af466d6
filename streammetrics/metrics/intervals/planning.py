"""How many rows a decision needs, from the interval of other rows of the same mix.

Standard errors shrink with the square root of the number of rows, on the scale on which the interval is symmetric: the
logit for a metric with two ends, the logarithm for one, and the metric itself otherwise. Certified bounds do not
shrink.
"""

from __future__ import annotations

from math import inf

import polars as pl

from streammetrics.base import EFFECTIVE_ROWS, LIMITS, ROWS, enough_rows
from streammetrics.metrics.intervals.distributions import normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import EVERYWHERE, Range


def scaled(value: pl.Expr, range: Range) -> pl.Expr:
    """Return values on the scale on which intervals within a range are symmetric.

    >>> ranges = {"two": (0, 1), "one": (0, inf), "none": (-inf, inf)}
    >>> pl.select(**{ends: scaled(pl.lit(0.5), range) for ends, range in ranges.items()}).row(0)
    (0.0, -0.6931471805599453, 0.5)
    """
    low, high = range
    if low > -inf and high < inf:
        return ((value - low) / (high - value)).log()
    if low > -inf:
        return (value - low).log()
    return -(high - value).log() if high < inf else value


def rows_to_decide(limit: float, range: Range, *, units: bool) -> pl.Expr:
    """Return the number of rows for which the interval, widened by the bounds, no longer contains a limit.

    The value and the mix of rows are those of the estimate, and the interval shrinks toward the bound. Infinite if the
    bounds contain the limit, and null without an interval. Intervals of a value at an end of its range, such as an
    accuracy of 1, shrink with the number of rows. Intervals that reach an end are measured on the natural scale. There
    must be enough effective rows, which grow with the number of rows.

    >>> row = {"value": 0.7, "lower": 0.7, "upper": 0.7, "ci_lower": 0.6, "ci_upper": 0.8, ROWS: 100}
    >>> pl.DataFrame(row | {EFFECTIVE_ROWS: None}).select(rows_to_decide(0.65, (-inf, inf), units=False).round()).item()
    400.0
    >>> pl.DataFrame(row | {EFFECTIVE_ROWS: 2}).select(rows_to_decide(0.65, (-inf, inf), units=False).round()).item()
    500.0
    >>> row |= {"ci_upper": 1.0, EFFECTIVE_ROWS: 100}
    >>> pl.DataFrame(row).select(rows_to_decide(0.8, (0, 1), units=False).round()).item()
    900.0
    """
    value = pl.col("value")
    end = pl.when(value > limit).then("ci_lower").otherwise("ci_upper")
    nearest = pl.when(value > limit).then("lower").otherwise("upper")
    apart = (scaled(nearest, range) - scaled(pl.lit(limit), range)).abs()
    reach = (scaled(value, range) - scaled(end, range)).abs()
    within = pl.when(value > limit).then(nearest > limit).otherwise(nearest < limit)
    unscaled = (value - end).abs() / (nearest - limit).abs()
    needed = pl.when(reach.is_infinite()).then(unscaled**2).otherwise((reach / apart) ** 2)
    needed = pl.when(scaled(value, range).is_infinite()).then(unscaled).otherwise(needed)
    needed = pl.col(ROWS) * pl.max_horizontal(needed, enough_rows(units) / pl.col(EFFECTIVE_ROWS))
    return pl.when(end.is_not_null() & value.is_finite()).then(pl.when(within).then(needed).otherwise(inf))


def smallest_difference(range: Range, power: float, confidence: float) -> pl.Expr:
    """Return the smallest difference that an interval finds with some power, from the same number of rows.

    The interval excludes 0 if the estimate is farther away than half its width and the certified bounds. Estimates vary
    by the quantile of the power, relative to that of the confidence level.

    >>> row = {"value": 0.5, "lower": 0.5, "upper": 0.5, "ci_lower": 0.4, "ci_upper": 0.6}
    >>> pl.DataFrame(row).select(smallest_difference((0, 1), 0.8, 0.95).round(3)).item()
    0.145
    """
    return _half_width(range) * (1 + normal_quantile(power) / normal_quantile(upper_level(confidence))) + _bound()


def rows_to_find(difference: float, range: Range, power: float, confidence: float) -> pl.Expr:
    """Return the number of rows from which an interval finds a difference with some power.

    Infinite if the certified bounds, which do not shrink, are as wide as the difference. Null without an interval.

    >>> row = {"value": 0.5, "lower": 0.5, "upper": 0.5, "ci_lower": 0.4, "ci_upper": 0.6, ROWS: 100}
    >>> pl.DataFrame(row).select(rows_to_find(0.01, (0, 1), 0.8, 0.95).round()).item()
    20994.0
    """
    reach = smallest_difference(range, power, confidence) - _bound()
    needed = pl.col(ROWS) * (reach / (difference - _bound())) ** 2
    return pl.when(reach.is_not_null()).then(pl.when(_bound() < difference).then(needed).otherwise(inf))


def _half_width(range: Range) -> pl.Expr:
    """Half the width of an interval, as if it was symmetric. Within a range, it is so on the scale of the range."""
    value, (lower, upper), (low, high) = pl.col("value"), map(pl.col, LIMITS), range
    if range == EVERYWHERE:
        return (upper - lower) / 2
    slope = 1 / (1 / (value - low) + 1 / (high - value))
    on_scale = slope * (scaled(upper, range) - scaled(lower, range))
    return pl.when((lower > low) & (upper < high)).then(on_scale).otherwise(upper - lower) / 2


def _bound() -> pl.Expr:
    """The wider side of the certified bounds."""
    return pl.max_horizontal(pl.col("value") - pl.col("lower"), pl.col("upper") - pl.col("value"))

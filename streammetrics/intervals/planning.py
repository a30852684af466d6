"""How many rows a decision needs, from the interval of other rows of the same mix.

Standard errors shrink with the square root of the number of rows, on the scale on which the interval is symmetric: the
logit for a metric with two ends, the logarithm for one, and the metric itself otherwise. Certified bounds do not
shrink.
"""

from __future__ import annotations

from math import inf

import polars as pl

from streammetrics.intervals.distributions import normal_quantile, t_quantile, upper_level
from streammetrics.intervals.limits import Range
from streammetrics.rows.folds import FOLDS


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


def rows_to_decide(limit: float, range: Range, rows: str) -> pl.Expr:
    """Return the number of rows for which the interval, widened by the bounds, no longer contains a limit.

    The value and the mix of rows are those of the estimate, and the interval shrinks toward the bound. Infinite if the
    bounds contain the limit, and null without an interval.

    >>> row = {"value": 0.7, "lower": 0.7, "upper": 0.7, "ci_lower": 0.6, "ci_upper": 0.8, "n": 100}
    >>> pl.DataFrame(row).select(rows_to_decide(0.65, (-inf, inf), "n").round()).item()
    400.0
    """
    value = pl.col("value")
    end = pl.when(value > limit).then("ci_lower").otherwise("ci_upper")
    bound = pl.when(value > limit).then(value - pl.col("lower")).otherwise(pl.col("upper") - value)
    nearest = pl.when(value > limit).then(value - bound).otherwise(value + bound)
    apart = (scaled(nearest, range) - scaled(pl.lit(limit), range)).abs()
    reach = (scaled(value, range) - scaled(end, range)).abs()
    within = pl.when(value > limit).then(nearest > limit).otherwise(nearest < limit)
    needed = pl.col(rows) * (reach / apart) ** 2
    return pl.when(end.is_not_null() & value.is_finite()).then(pl.when(within).then(needed).otherwise(inf))


def steps(power: float, confidence: float) -> float:
    """Return how many standard errors a difference must have, so that its interval excludes 0 with some power.

    >>> round(steps(0.8, 0.95), 3)
    2.802
    """
    return normal_quantile(upper_level(confidence)) + normal_quantile(power)


def standard_error(
    value: float, ci_lower: float, ci_upper: float, range: Range, confidence: float, *, units: bool
) -> float:
    """Return the standard error of a value from its interval, which is symmetric on the scale of its range.

    Intervals of ``units`` use Student's t with the degrees of freedom of their folds.

    >>> round(standard_error(0.5, 0.4, 0.6, (0, 1), 0.95, units=False), 4)
    0.0517
    """
    level = upper_level(confidence)
    quantile = t_quantile(level, FOLDS - 1) if units else normal_quantile(level)
    low, high = range
    slope = 1.0
    if min(ci_lower - low, high - ci_upper) > 0:
        width = pl.select(scaled(pl.lit(ci_upper), range) - scaled(pl.lit(ci_lower), range)).item()
        slope = 1 / sum(1 / end for end in (value - low, high - value) if end < inf) if range != (-inf, inf) else 1.0
    else:
        width = ci_upper - ci_lower
    return slope * float(width) / (2 * quantile)

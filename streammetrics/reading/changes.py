"""Changes of metrics from one side of a comparison to the other, their limits, and which side is better by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import (
    AHEAD,
    EFFECTIVE_ROWS,
    ENOUGH_ROWS,
    LIMITS,
    METRIC,
    NO_LIMITS,
    RIGHT,
    ROUNDING,
    STATUS,
    VARIANCE,
    A,
    B,
    Status,
    enough_rows,
    few_effective,
    hidden,
    joined,
    keys_of,
    outer_limits,
)
from streammetrics.metrics import BEST, Metric, direction
from streammetrics.reading.compared_rows import common_folds, compared_rows, has_common_folds
from streammetrics.reading.confidence import independent_intervals
from streammetrics.reading.differences import BOUNDS, estimates_of, metrics_of, values_of
from streammetrics.reading.same_rows import same_rows_intervals, spread_of_pairs
from streammetrics.reading.units import paired_intervals, units_that_differ, with_effective_units, with_fewest_rows
from streammetrics.statistics import State

if TYPE_CHECKING:
    from streammetrics.report import Comparison

EQUAL, CENTER, APART, TOGETHER = map(hidden, ("equal", "best", "apart", "together"))


def differences_of(comparison: Comparison) -> pl.DataFrame:
    """Return the values of both sides and their differences (see `values`).

    With a confidence level, they have limits, null without an interval, and effective rows.
    """
    return _with_limits(values_of(comparison), comparison, 1.0)


def with_better_side(comparison: Comparison) -> pl.DataFrame:
    """Return differences with the side that is ``better``, a or b, or that is only ahead, and a status."""
    differences = differences_of(comparison)
    size = pl.max_horizontal(pl.col("a", "b").abs())
    rounding = pl.when(size.is_finite()).then(ROUNDING * size).otherwise(0.0)
    equal = differences.select(pl.all_horizontal(pl.col("lower", "upper").abs() <= rounding).alias(EQUAL)).to_series()
    directions = {metric.name: direction(metric) for metric in metrics_of(comparison)}
    preferred = pl.col(METRIC).replace_strict(directions, default=None, return_dtype=pl.String)
    is_high, is_low = preferred == "high", preferred == "low"
    above, below = pl.col("lower") > rounding, pl.col("upper") < -rounding
    ahead = (
        pl.when(EQUAL)
        .then(pl.lit("equal"))
        .when((is_high & above) | (is_low & below))
        .then(pl.lit("b"))
        .when((is_high & below) | (is_low & above))
        .then(pl.lit("a"))
    )
    changed = with_distances(differences, comparison).with_columns(equal).with_columns(better=ahead)
    frame = differences.rename({"value": "difference"}).drop(BOUNDS)
    if comparison.confidence is None:
        return frame.with_columns(changed["better"])
    (lower, upper), (low, high) = map(pl.col, LIMITS), outer_limits()
    is_limited = lower.is_not_null() & upper.is_not_null()
    by_units = has_common_folds(comparison.a, comparison.b)
    few = few_effective(units=by_units) & is_limited
    is_open = (pl.col("better") != "equal") & ~(is_limited & ~few & ((low > 0) | (high < 0)))
    few_differ = few_rows_reason(comparison) == "few_rows_differ"
    open_status = (
        pl.when(few)
        .then(pl.lit("few_effective_rows_differ" if few_differ else "few_effective_rows"))
        .when(is_limited & ((lower > 0) | (upper < 0)))
        .then(pl.lit("not_significant_with_bounds"))
        .when(is_limited)
        .then(pl.lit("not_significant"))
        .otherwise(pl.lit("no_interval"))
    )
    status = pl.when(is_open).then(open_status.cast(Status)).otherwise(STATUS)
    sides = {"better": ~is_open, AHEAD: is_open}
    better = [pl.when(is_of_side).then("better").alias(name) for name, is_of_side in sides.items()]
    enough = pl.lit(enough_rows(by_units)).alias(ENOUGH_ROWS)
    return frame.with_columns(changed.select(*better, status.alias(STATUS), enough, EFFECTIVE_ROWS))


def few_rows_reason(comparison: Comparison) -> str:
    """The code of why a verdict is open if it depends on few effective rows."""
    return "few_rows" if comparison.independent or comparison.same_rows is None else "few_rows_differ"


def changes_of(comparison: Comparison, relative: float | None = None) -> pl.DataFrame:
    """Return the changes that verdicts are about: differences, or of metrics with a best value of the distance from it.

    With a limit on ``relative`` changes, they are relative to the value of a.
    """
    if relative is not None:
        return _relative_changes(comparison, relative)
    return with_distances(differences_of(comparison), comparison)


def with_distances(differences: pl.DataFrame, comparison: Comparison) -> pl.DataFrame:
    """Return differences, and of metrics with a best value changes of the distance from it, of which less is better."""
    best = {m.name: float(BEST[m.__name__]) for m in metrics_of(comparison) if m.__name__ in BEST}
    has_best, numbered = pl.col(METRIC).is_in([*best]), differences.with_row_index(RIGHT)
    numbers, distant = numbered.filter(has_best)[RIGHT], differences.filter(has_best)
    if distant.is_empty():
        return differences
    without_limits = distant.drop(LIMITS, EFFECTIVE_ROWS, strict=False)
    sums = None if comparison.confidence is None else _with_limits(without_limits, comparison, -1.0)
    changed = change_of_distance(distant, sums, best).with_columns(numbers)
    every = pl.concat([numbered.filter(~has_best), changed], how="diagonal_relaxed")
    return every.sort(RIGHT).select(differences.columns)


def change_of_distance(differences: pl.DataFrame, sums: pl.DataFrame | None, best: Mapping[str, float]) -> pl.DataFrame:
    """Return the change ``|b - best| - |a - best|`` of metrics in place of their difference, with its bounds.

    Let d be the difference of b and a, and s the sum of their distances with signs. The change is then d or -d if both
    are on the same side of the best value, and s or -s if not: the smaller of \\|d\\| and \\|s\\|, with the product of
    their signs. Its limits are those of d and s in the least and the most favorable combination. They exclude 0 only if
    d and s both do.

    ``differences`` has the bounds of both sides, and ``sums`` the limits of a + b in the same rows. Without
    sums, there are no limits.

    >>> row = {"metric": "bias", "a": -0.5, "b": 0.3, "value": 0.8, f"{A}lower": -0.5, f"{A}upper": -0.5}
    >>> differences = pl.DataFrame([row | {f"{B}lower": 0.3, f"{B}upper": 0.3, "ci_lower": 0.6, "ci_upper": 1.0}])
    >>> sums = differences.with_columns(ci_lower=pl.lit(-0.25), ci_upper=pl.lit(-0.15))
    >>> change_of_distance(differences, sums, {"bias": 0.0}).select("value", "ci_lower", "ci_upper").row(0)
    (-0.2, -0.25, -0.15)
    """
    center = pl.col("metric").replace_strict(best, return_dtype=pl.Float64)
    changes = differences.with_columns(center.alias(CENTER))
    nearest, farthest = ([end(side) for side in (A, B)] for end in (_nearest, _farthest))
    changes = changes.with_columns(
        value=((pl.col("b") - pl.col(CENTER)).abs() - (pl.col("a") - pl.col(CENTER)).abs()).fill_nan(None),
        lower=(nearest[1] - farthest[0]).fill_nan(None),
        upper=(farthest[1] - nearest[0]).fill_nan(None),
    )
    if sums is None:
        return changes.drop(CENTER)
    limits = [pl.Series(f"{TOGETHER}{limit}", sums[limit]) for limit in LIMITS]
    changes = changes.with_columns(pl.col(LIMITS).name.prefix(APART), *limits)
    ends = [[pl.col(f"{name}{limit}") for limit in LIMITS] for name in (APART, TOGETHER)]
    corners = [_change(d, s - 2 * pl.col(CENTER)) for d in ends[0] for s in ends[1]]
    are_limited = pl.all_horizontal(end.is_not_null() for pair in ends for end in pair)
    changes = changes.with_columns(
        ci_lower=pl.when(are_limited).then(pl.min_horizontal(corners)),
        ci_upper=pl.when(are_limited).then(pl.max_horizontal(corners)),
    )
    return changes.select(differences.columns)


def _relative_changes(comparison: Comparison, limit: float) -> pl.DataFrame:
    """Changes relative to the value of a. Their limits, from those of ``b - (1 + limit) * a``, decide on a limit."""
    differences = _with_limits(values_of(comparison), comparison, 1 + limit)
    a, is_positive = pl.col("a"), pl.col("a") > 0
    limits = [pl.col(name) / a + limit for name in LIMITS if name in differences.columns]
    ends = {"value": ("b", "a"), "lower": (f"{B}lower", f"{A}upper"), "upper": (f"{B}upper", f"{A}lower")}
    ratios = {name: (pl.col(x) / pl.col(y) - 1).fill_nan(None) for name, (x, y) in ends.items()}
    return differences.with_columns(
        *(pl.when(is_positive).then(end) for end in limits),
        pl.when(a <= 0).then(pl.lit("not_positive", Status)).otherwise(STATUS).alias(STATUS),
        **{name: pl.when(is_positive).then(ratio) for name, ratio in ratios.items()},
    )


def _with_limits(values: pl.DataFrame, comparison: Comparison, factor: float) -> pl.DataFrame:
    """The values with the limits of ``b - factor * a``, null without an interval, and the effective rows."""
    confidence, same_rows = comparison.confidence, comparison.same_rows
    if confidence is None:
        return values
    keys = [*keys_of(values), METRIC]
    sides = values.select(*keys, pl.col("a") * factor, "b")
    metrics = [m for m in metrics_of(comparison) if m.name in values[METRIC]]
    if (folds := common_folds(comparison.a, comparison.b)) is not None:
        limits = _limits_of_units(sides, folds, metrics, comparison, confidence, factor)
    elif same_rows is not None:
        limits = same_rows_intervals(sides, same_rows, metrics, confidence, factor)
    elif comparison.independent:
        limits = independent_intervals(sides, *estimates_of(comparison, confidence), factor)
    else:
        limits = sides.drop("a", "b").with_columns(NO_LIMITS)
    return joined(values, limits, keys)


def _limits_of_units(
    sides: pl.DataFrame,
    folds: tuple[State, State],
    metrics: Sequence[Metric],
    comparison: Comparison,
    confidence: float,
    factor: float,
) -> pl.DataFrame:
    """The limits of the same folds of units. Groups whose rows differ have none, unless they are independent."""
    same_rows, by = comparison.same_rows, comparison.b.by
    limits = paired_intervals(sides, *folds, metrics, confidence, factor)
    if same_rows is not None:
        limits = with_effective_units(limits, spread_of_pairs(sides, same_rows, metrics, factor))
    else:
        differing = [] if comparison.independent else [units_that_differ(limits, *folds, metrics)]
        limits = with_fewest_rows(limits, *estimates_of(comparison, confidence), *differing)
    limits = limits.drop(VARIANCE, strict=False)
    if comparison.independent:
        return limits
    apart = compared_rows(comparison).filter(~pl.col("same") | pl.col("is_unknown"))
    if apart.is_empty():
        return limits
    return limits.join(apart, on=by, how="anti", nulls_equal=True) if by else limits.clear()


def _change(difference: pl.Expr, together: pl.Expr) -> pl.Expr:
    return difference.sign() * together.sign() * pl.min_horizontal(difference.abs(), together.abs())


def _farthest(side: str) -> pl.Expr:
    return pl.max_horizontal((pl.col(f"{side}{end}") - pl.col(CENTER)).abs() for end in ("lower", "upper"))


def _nearest(side: str) -> pl.Expr:
    lower, upper = (pl.col(f"{side}{end}") - pl.col(CENTER) for end in ("lower", "upper"))
    return pl.when(lower * upper > 0).then(pl.min_horizontal(lower.abs(), upper.abs())).otherwise(0.0)

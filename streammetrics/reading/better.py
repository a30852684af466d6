"""Which side of a comparison is better, and why that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import (
    EFFECTIVE_ROWS,
    LIMITS,
    METRIC,
    ROUNDING,
    few_effective,
    hidden,
    outer_limits,
    too_few_effective,
)
from streammetrics.metrics import direction
from streammetrics.reading.changes import differences_of, with_distances
from streammetrics.reading.compared_rows import has_common_folds
from streammetrics.reading.differences import BOUNDS, metrics_of

if TYPE_CHECKING:
    from streammetrics.report import Comparison

EQUAL = hidden("equal")
FEW = {"few_rows": "too few rows", "few_rows_differ": "too few rows differ"}
AHEAD = "ahead, not significant"
AHEAD_NOTES = (AHEAD, f"{AHEAD} with its bounds", "on these rows; no confidence interval")  # after the name of a side


def with_better_side(comparison: Comparison) -> pl.DataFrame:
    """Return differences with the side that is ``better``, and why it is open. See `Comparison.frame`."""
    differences = differences_of(comparison)
    size = pl.max_horizontal(pl.col("a", "b").abs())
    rounding = pl.when(size.is_finite()).then(ROUNDING * size).otherwise(0.0)
    equal = differences.select(pl.all_horizontal(pl.col("lower", "upper").abs() <= rounding).alias(EQUAL)).to_series()
    is_high, is_low = (
        pl.col(METRIC).is_in([m.name for m in metrics_of(comparison) if direction(m) == wanted])
        for wanted in ("high", "low")
    )
    above, below = pl.col("lower") > rounding, pl.col("upper") < -rounding
    ahead = (
        pl.when(EQUAL)
        .then(pl.lit("equal"))
        .when((is_high & above) | (is_low & below))
        .then(pl.lit(comparison.names[1]))
        .when((is_high & below) | (is_low & above))
        .then(pl.lit(comparison.names[0]))
    )
    changed = with_distances(differences, comparison).with_columns(equal).with_columns(better=ahead)
    frame = differences.rename({"value": "difference"}).drop(BOUNDS, EFFECTIVE_ROWS, "note", strict=False)
    if comparison.confidence is None:
        return frame.with_columns(changed["better"])
    (lower, upper), (low, high) = map(pl.col, LIMITS), outer_limits()
    is_limited = lower.is_not_null() & upper.is_not_null()
    few = few_effective(units=has_common_folds(comparison.a, comparison.b)) & is_limited
    is_open = (pl.col("better") != "equal") & ~(is_limited & ~few & ((low > 0) | (high < 0)))
    too_few = too_few_effective(FEW[few_rows_reason(comparison)], units=has_common_folds(comparison.a, comparison.b))
    not_significant, within_bounds, untested = map(pl.lit, AHEAD_NOTES)
    reason = (
        pl.when(few)
        .then(pl.format("{}: {}", not_significant, too_few))
        .when(is_limited & ((lower > 0) | (upper < 0)))
        .then(within_bounds)
        .when(is_limited)
        .then(not_significant)
        .otherwise(untested)
    )
    note = pl.when(is_open).then(pl.format("{} {}", "better", reason)).otherwise("note")
    return frame.with_columns(changed.select(better=pl.when(~is_open).then("better"), note=note))


def few_rows_reason(comparison: Comparison) -> str:
    """The code of why a verdict is open if it depends on few effective rows."""
    return "few_rows" if comparison.independent or comparison.same_rows is None else "few_rows_differ"

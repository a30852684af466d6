"""Confidence intervals of correlated rows: the delete-one-fold jackknife over units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import polars as pl
from polars import Expr

from streammetrics.base import LIMITS, VARIANCE, hidden
from streammetrics.data import FEWEST_FOLDS
from streammetrics.metrics.intervals.distributions import upper_level
from streammetrics.metrics.intervals.limits import Spread

Number = TypeVar("Number", Expr, float)

TOTAL, LOW, HIGH = (hidden(name) for name in ("total", "low", "high"))
SUMS = [hidden(name) for name in ("squares", "cubes", "fourths", "degrees")]


def jackknife_intervals(left_out: pl.DataFrame, keys: Sequence[str], confidence: float = 0.95) -> pl.DataFrame:
    """Return intervals from the values of metrics without each of k folds: keys, limits, and the variance.

    The influence of a fold is the deviation of the value without it from the mean of these values, with the opposite
    sign, times the square root of (k - 1)/k, so that the variance is (k - 1)/k Σ d² (Tukey 1958; for groups of rows
    Shao & Tu 1995, 2.3). Student's t has (3.16 - 2.77/√k) (Σ d²)² / Σ d⁴ degrees of freedom, at most k - 1 (Johnson &
    Rust 1992). There are few if a few folds have most of the variance, for example because few of them have positives.
    The skewness of the folds makes the limits asymmetric (see `Spread`).

    Folds must consist of whole units, so that they are independent (see `streammetrics.data.rows.folds`). To compare
    two models on the same rows, pass the differences of their metrics, so that common variation cancels.

    The jackknife is not valid for quantiles and for maxima over thresholds. Limits are within the range of the metric,
    and null for fewer than five folds, and if the metric is undefined without one of the folds.

    ``left_out`` has a row per fold, with the keys, ``value`` (without the fold), `TOTAL` (the value of all folds), and
    the ends of the range, `LOW` and `HIGH`.

    >>> table = pl.DataFrame({"value": [0.80, 0.82, 0.81, 0.83, 0.82], TOTAL: 0.815, LOW: 0.0, HIGH: 1.0})
    >>> jackknife_intervals(table, []).select(pl.col("ci_lower", "ci_upper").round(3)).row(0)
    (0.731, 0.905)
    """
    folds, deviation = pl.col("value").len(), pl.col("value").mean() - pl.col("value")
    influence = deviation * ((folds - 1) / folds).sqrt()
    degrees = degrees_of_freedom(folds, (deviation**2).sum(), (deviation**4).sum()).floor()
    sums = [*((influence**power).sum() for power in (2, 3, 4)), pl.min_horizontal(degrees, folds - 1)]
    sound = (pl.col("value").null_count() == 0) & (folds >= FEWEST_FOLDS)
    parts = {TOTAL: pl.when(sound).then(pl.col(TOTAL).first()), LOW: pl.first(LOW), HIGH: pl.first(HIGH)}
    parts |= dict(zip(SUMS, sums, strict=True))
    sums_of_folds = left_out.group_by(keys, maintain_order=True).agg(**parts) if keys else left_out.select(**parts)
    total, low, high, *powers = (sums_of_folds[name].cast(pl.Float64).to_numpy() for name in parts)
    limits = Spread(*powers).limits(total, upper_level(confidence), low, high)
    ends = [pl.Series(name, end, nan_to_null=True) for name, end in zip(LIMITS, limits, strict=True)]
    return sums_of_folds.select(*keys, *ends, pl.col(SUMS[0]).alias(VARIANCE))


def degrees_of_freedom(folds: Number, squares: Number, fourths: Number) -> Number:
    """Return those of a variance (see `jackknife_intervals`), from the sums of deviations to the powers 2 and 4."""
    degrees: Number = (3.16 - 2.77 / folds**0.5) * squares**2 / fourths
    return degrees

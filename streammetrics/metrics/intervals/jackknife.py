"""Confidence intervals of correlated rows: the delete-one-fold jackknife over units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import polars as pl

from streammetrics.base import LIMITS, METRIC, VARIANCE, hidden
from streammetrics.core import Floats
from streammetrics.data import FEWEST_FOLDS
from streammetrics.metrics.intervals.distributions import upper_level
from streammetrics.metrics.intervals.limits import Range, Spread

Number = TypeVar("Number", Floats, float)

TOTAL, FOLDS = hidden("total"), hidden("folds")


def jackknife_intervals(
    left_out: pl.DataFrame, keys: Sequence[str], ranges: Range | Mapping[str, Range], confidence: float
) -> pl.DataFrame:
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

    ``left_out`` has a row per fold, with the keys, ``value`` (without the fold), and `TOTAL` (the value of all folds).
    ``ranges`` are those of the metrics, or a single one if the keys have no metric.

    >>> table = pl.DataFrame({"value": [0.80, 0.82, 0.81, 0.83, 0.82], TOTAL: 0.815})
    >>> jackknife_intervals(table, [], (0.0, 1.0), 0.95).select(pl.col("ci_lower", "ci_upper").round(3)).row(0)
    (0.731, 0.905)
    """
    value = pl.col("value")
    deviation = value.mean() - value
    powers = {hidden(f"power {power}"): (deviation**power).sum() for power in (2, 3, 4)}
    parts = {FOLDS: pl.when(value.null_count() == 0).then(pl.len()), TOTAL: pl.first(TOTAL), **powers}
    sums = left_out.group_by(keys, maintain_order=True).agg(**parts) if keys else left_out.select(**parts)
    folds, total, squares, cubes, fourths = (sums[name].cast(pl.Float64).to_numpy() for name in parts)
    with np.errstate(all="ignore"):
        scale = np.sqrt((folds - 1) / folds)  # of influences
        degrees = np.floor(degrees_of_freedom(folds, squares, fourths))
        spread = Spread(squares * scale**2, cubes * scale**3, fourths * scale**4, np.fmin(degrees, folds - 1))
    of_rows = [ranges[name] for name in sums[METRIC]] if isinstance(ranges, Mapping) else [ranges] * sums.height
    low, high = np.array(of_rows, dtype=np.float64).reshape(-1, 2).T
    limits = spread.limits(np.where(folds >= FEWEST_FOLDS, total, np.nan), upper_level(confidence), low, high)
    numbers = zip((*LIMITS, VARIANCE), (*limits, spread.squares), strict=True)
    return sums.select(*keys, *(pl.Series(name, number, nan_to_null=True) for name, number in numbers))


def degrees_of_freedom(folds: Number, squares: Number, fourths: Number) -> Number:
    """Return those of a variance (see `jackknife_intervals`), from the sums of deviations to the powers 2 and 4."""
    degrees: Number = (3.16 - 2.77 / folds**0.5) * squares**2 / fourths
    return degrees

"""Confidence intervals of correlated rows: the delete-one-fold jackknife over units."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.intervals.distributions import t_quantiles, upper_level
from streammetrics.intervals.limits import EVERYWHERE, Interval, Range, limits
from streammetrics.rows.folds import FEWEST_FOLDS, MOST_FOLDS

Number = TypeVar("Number", Expr, float)

CLEAR_OF_FOLDS = 5  # minimum value of a maximum, in standard errors


def jackknife_interval(
    left_out: Expr, value: Expr, confidence: float = 0.95, range: Range = EVERYWHERE, *, maximum: bool = False
) -> Interval:
    """Return an interval from the values of a metric without each of k folds.

    The standard error is the square root of (k - 1)/k Σ d², where d are the deviations of the values from their mean
    (Tukey 1958; for groups of rows Shao & Tu 1995, 2.3). Student's t has (3.16 - 2.77/√k) (Σ d²)² / Σ d⁴ degrees of
    freedom, at most k - 1 (Johnson & Rust 1992). There are few if a few folds have most of the variance, for example
    because few of them have positives.

    Folds must consist of whole units, so that they are independent (see `streammetrics.rows.folds`). To compare two
    models on the same rows, pass the differences of their metrics, so that common variation cancels.

    The jackknife is not valid for quantiles. Limits are within the range of the metric, and null for fewer than five
    folds, and if the metric is undefined without one of the folds. A ``maximum`` over thresholds also has no limits if
    it could be noise, whose maximum is never 0. ``left_out`` has a row per fold.

    >>> table = pl.DataFrame({"a": [0.80, 0.82, 0.81, 0.83, 0.82], "b": [0.70, 0.73, 0.71, 0.74, 0.73]})
    >>> auc = jackknife_interval(pl.col("a"), pl.lit(0.815), range=(0, 1))
    >>> table.select(x.round(4) for x in auc).row(0)
    (0.7516, 0.8651)
    >>> difference = jackknife_interval(pl.col("a") - pl.col("b"), pl.lit(0.095))
    >>> table.select(x.round(4) for x in difference).row(0)
    (0.0678, 0.1222)
    """
    level = upper_level(confidence)
    k, squares = left_out.len(), (left_out - left_out.mean()) ** 2
    degrees = degrees_of_freedom(k, squares.sum(), (squares**2).sum())
    known = pl.min_horizontal(degrees.floor(), k - 1).cast(pl.Int64, strict=False)
    t = known.replace_strict(_t_quantiles(level), default=None, return_dtype=pl.Float64)
    variance = (k - 1) / k * squares.sum()
    sound = (left_out.null_count() == 0) & (k >= FEWEST_FOLDS)
    if maximum:
        sound &= value > CLEAR_OF_FOLDS * variance.sqrt()
    return limits(value, pl.when(sound).then(variance.sqrt()), t, range)


def degrees_of_freedom(folds: Number, squares: Number, fourths: Number) -> Number:
    """Return those of a variance (see `jackknife_interval`), from the sums of deviations to the powers 2 and 4."""
    found: Number = (3.16 - 2.77 / folds**0.5) * squares**2 / fourths
    return found


def _t_quantiles(level: float) -> dict[int, float]:
    degrees = range(1, MOST_FOLDS)
    return dict(zip(degrees, t_quantiles(level, np.array(degrees, dtype=float)).tolist(), strict=True))

"""Interval endpoints from a value and its standard error, on a scale that keeps them within a range."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.expressions import each, without_nan

Values = NDArray[np.float64]
Number = TypeVar("Number", Expr, NDArray[np.float64])
Interval: TypeAlias = tuple[Expr, Expr]
Range: TypeAlias = tuple[float, float]

EVERYWHERE: Range = (-inf, inf)
FARTHEST = 5.0
LEAST_ERROR = 1e-12  # of a standard error, as a share of the distance to the nearer of two ends


def limits(value: Expr, error: Expr, quantile: float | Expr, range: Range = EVERYWHERE) -> Interval:
    """Return the value plus and minus ``quantile`` times its standard error.

    If the range has one finite end, this is computed on the logarithm of the distance to this end. If it has two, it is
    computed on the logit scale, which for the range (-1, 1) is proportional to Fisher's z. The standard error is
    transformed by the delta method.

    Args:
        value: The estimate.
        error: Its standard error.
        quantile: Quantile of the normal or of Student's t distribution.
        range: Smallest and largest possible value.

    Returns:
        ``ci_lower`` and ``ci_upper``. They are null if the value is at an end of its range or not finite, and if the
        error is 0 or comes from rounding, because the true variation is then unknown.

    >>> table = pl.DataFrame({"value": [0.9, 1.0], "error": [0.05, 0.05]})
    >>> table.select(x.round(4) for x in limits(pl.col("value"), pl.col("error"), 1.96)).rows()
    [(0.802, 0.998), (0.902, 1.098)]
    >>> table.select(x.round(4) for x in limits(pl.col("value"), pl.col("error"), 1.96, range=(0, 1))).rows()
    [(0.7518, 0.9639), (None, None)]
    """
    quantile = pl.lit(quantile) if isinstance(quantile, float | int) else quantile
    lower, upper = (partial(_limit, side=side, range=range) for side in (-1, 1))
    columns = {"value": value, "error": error, "quantile": quantile}
    return named(each(lower, **columns), each(upper, **columns))


def named(lower: Expr, upper: Expr) -> Interval:
    """Return limits as ``ci_lower`` and ``ci_upper``, with null for NaN."""
    return without_nan(lower).alias("ci_lower"), without_nan(upper).alias("ci_upper")


def tidy(table: pl.DataFrame, by: Sequence[str], metrics: Sequence[str], lower: Values, upper: Values) -> pl.DataFrame:
    """Return limits of shape (rows, metrics), NaN if there are none, in long format.

    The columns are ``by``, from the rows of a table, ``metric``, ``ci_lower``, and ``ci_upper``, by row and then by
    metric.
    """
    rows = table[np.repeat(np.arange(table.height), len(metrics))]
    return rows.select(
        *by,
        pl.Series("metric", [*metrics] * table.height, dtype=pl.String),
        pl.Series("ci_lower", lower.ravel(), nan_to_null=True),
        pl.Series("ci_upper", upper.ravel(), nan_to_null=True),
    )


def _limit(value: Expr, error: Expr, quantile: Expr, side: int, range: Range) -> Expr:
    low, high = range
    sound = (error > 0) & error.is_finite() & value.is_between(low, high, closed="none")
    ends = [distance for distance, end in ((value - low, low), (high - value, high)) if abs(end) != inf]
    if len(ends) == 1:  # steps of many times the distance to the end are meaningless
        sound &= quantile * error <= FARTHEST * ends[0]
    elif ends:
        sound &= error > LEAST_ERROR * pl.min_horizontal(ends)
    return pl.when(sound).then(moved(value, side * quantile * error, *range))


def moved(value: Number, step: Number, low: float, high: float) -> Number:
    """Move a value by a step on the scale of its range. Accepts arrays and expressions."""
    above, below = value - low, high - value
    if (low, high) == EVERYWHERE:
        return value + step
    if high == inf:
        return low + above * _exp(step / above)
    if low == -inf:
        return high - below * _exp(-step / below)
    odds = above / below * _exp(step / above + step / below)
    return low + (high - low) / (1 + 1 / odds)


def _exp(value: Number) -> Number:
    return value.exp() if isinstance(value, Expr) else np.exp(value)

"""Intervals where rows of one unit belong together: leave out one fold of units at a time."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from polars import Expr

from streammetrics.metrics.metric import Range
from streammetrics.rows.folds import FOLDS
from streammetrics.uncertainty.distributions import t_quantile, upper_level
from streammetrics.uncertainty.limits import EVERYWHERE, Interval, limits


def leave_one_out(table: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """The table once for each of its folds, without the rows of that fold.

    Args:
        table: group columns ``by``, the column ``fold``, and any others.
        by: group columns; each group has folds of its own.

    Returns:
        The table with ``left_out`` in place of ``fold``. Rows are to be merged by group, ``left_out`` and key.

    >>> table = pl.DataFrame({"fold": [0, 1, 2], "tp": [5, 7, 9]})
    >>> leave_one_out(table).group_by("left_out", maintain_order=True).sum().rows()
    [(0, 16), (1, 14), (2, 12)]
    """
    folds = table.select(*by, left_out="fold").unique(maintain_order=True)
    pairs = folds.join(table, on=by, nulls_equal=True) if by else folds.join(table, how="cross")
    return pairs.filter(pl.col("left_out") != pl.col("fold")).drop("fold")


def jackknife_interval(
    left_out: Expr,
    value: Expr,
    confidence: float = 0.95,
    folds: int = FOLDS,
    range: Range = EVERYWHERE,
) -> Interval:
    """Interval from the values of a metric without each of k folds: Student's t with k - 1 degrees of freedom.

    The standard error is the root of (k - 1)/k Σ (v - mean of v)² (Tukey 1958; for groups of rows Shao & Tu 1995, 2.3).
    Folds must hold whole units, so that they are independent (see `streammetrics.rows.folds`). For the difference of
    two models on the same rows, pass the differences: what both models share then cancels.

    Quantiles have no interval here: the jackknife is not sound for them.

    Args:
        left_out: the metric without each fold, one row for each.
        value: the metric over all folds, folded to one number.
        confidence: probability with which the interval is to hold the metric.
        folds: the most folds that a group can have.
        range: smallest and largest possible value of the metric, within which the limits stay (see `limits`).

    Returns:
        ``ci_lower`` and ``ci_upper``; null for a single fold, and where the metric is undefined without one of them.

    Raises:
        SpecificationError: for a confidence that is not between 0 and 1.

    >>> table = pl.DataFrame({"a": [0.80, 0.82, 0.81, 0.83], "b": [0.70, 0.73, 0.71, 0.74]})
    >>> auc = jackknife_interval(pl.col("a"), pl.lit(0.815), range=(0, 1))
    >>> table.select(x.round(4) for x in auc).row(0)
    (0.7454, 0.8689)
    >>> difference = jackknife_interval(pl.col("a") - pl.col("b"), pl.lit(0.095))
    >>> table.select(x.round(4) for x in difference).row(0)
    (0.0674, 0.1226)
    """
    level = upper_level(confidence)
    k = left_out.len()
    t = k.replace_strict(_t_quantiles(level, folds), default=None, return_dtype=pl.Float64)
    variance = (k - 1) / k * ((left_out - left_out.mean()) ** 2).sum()
    return limits(value, pl.when(left_out.null_count() == 0).then(variance.sqrt()), t, range)


def _t_quantiles(level: float, folds: int) -> dict[int, float]:
    """Quantiles by number of folds."""
    return {k: t_quantile(level, k - 1) for k in range(2, folds + 1)}

"""Confidence interval of the ROC AUC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.metrics.intervals.distributions import bisected, normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import Spread, tidy
from streammetrics.metrics.intervals.method import FEWEST, GROUP, Method, Sample

if TYPE_CHECKING:
    from streammetrics.metrics.intervals.influence import Influence
    from streammetrics.metrics.metric import Metric

Values = NDArray[np.float64]

FEW_PLACEMENTS = 30  # number of rows of a class below which the variance of its placements is unreliable


class AUC(Method):
    """The ROC AUC, and linear functions of it. See `auc_limits`; weighted rows have influences."""

    def influence(self, metric: Metric, influences: Sequence[Influence]) -> Influence | None:
        """The influence on the table, of as many rows with weights as without."""
        influence = super().influence(metric, influences)
        return None if influence is None else replace(influence, fewest=(FEWEST, FEWEST))

    def serving(self, metric: Metric, sample: Sample) -> Method | None:
        """This method if rows have no weights."""
        return super().serving(metric, sample) if sample.weighted else self

    def limits(self, sample: Sample, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
        """Return the index of the sample, metric, and limits."""
        keys = sample.table.select(sample.index).unique(maintain_order=True)
        table = sample.table.select(pl.struct(sample.index).rle_id().alias(GROUP), "neg", "pos")
        *limits, spread = auc_limits(table, confidence)
        low, high = np.array([m.range for m in metrics], dtype=np.float64).T
        lower, upper = (low + (high - low) * limit for limit in limits)
        return tidy(keys, sample.index, [m.name for m in metrics], lower, upper, spread.scaled(high - low))


def auc_limits(table: pl.DataFrame, confidence: float = 0.95) -> tuple[Values, Values, Spread]:
    """Return limits and the spread of the ROC AUC from the placements of DeLong, DeLong & Clarke-Pearson (1988).

    The placement of a positive is the share of negatives below it, and the placement of a negative is the share of
    positives above it. Ties count half. The variance of the AUC is the sum of the variances of both placements, each
    divided by the number of rows of its class. It is correct for ties, so rows of the same bin are treated as tied.
    Student's t has the degrees of freedom of Welch (1947), and the skewness of the placements makes the limits
    asymmetric (see `Spread`).

    If a class has fewer than 30 rows, or the AUC is 0 or 1, the interval also contains the interval of Newcombe's
    method 5 (2006), whose variance depends only on the AUC.

    The table has ``group``, and ``neg`` and ``pos``, the unweighted rows of each bin, in ascending order of score. The
    rows of a group must be adjacent. Limits are NaN if a class has fewer than two rows. Arrays have the shape
    (groups, 1).

    >>> table = pl.DataFrame({"group": 0, "neg": [33, 6, 6, 11, 2], "pos": [3, 2, 2, 11, 33]})
    >>> [limit.item().__round__(4) for limit in auc_limits(table)[:2]]
    [0.8132, 0.9534]
    """
    level = upper_level(confidence)
    sums: dict[str, Expr] = {"auc": pl.first("auc")}
    for rows, influence in (("pos", "of_positive"), ("neg", "of_negative")):
        size = pl.col(rows).sum()
        centred = pl.col(influence) * (size / (size - 1)).sqrt()
        sums |= {rows: size, **{f"{rows} {power}": (pl.col(rows) * centred**power).sum() for power in (2, 3, 4)}}
    of_groups = table.select(GROUP, *placements()).group_by(GROUP, maintain_order=True).agg(**sums)
    columns = of_groups.drop(GROUP).fill_null(np.nan).to_numpy().T[..., np.newaxis]
    auc, (positives, *of_positives), (negatives, *of_negatives) = columns[0], columns[1:5], columns[5:]
    with np.errstate(all="ignore"):
        squares, cubes, fourths = (one + other for one, other in zip(of_positives, of_negatives, strict=True))
        degrees = squares**2 / (of_positives[0] ** 2 / (positives - 1) + of_negatives[0] ** 2 / (negatives - 1))
    spread = Spread(squares, cubes, fourths, degrees)
    lower, upper = spread.limits(auc, level, 0.0, 1.0)
    smaller = np.minimum(positives, negatives)
    few = (smaller >= 2) & ((smaller < FEW_PLACEMENTS) | np.isnan(lower))
    if few.any():
        sizes, z = (auc[few], positives[few], negatives[few]), normal_quantile(level)
        lower[few] = np.fmin(lower[few], newcombe_limit(*sizes, z, -1))
        upper[few] = np.fmax(upper[few], newcombe_limit(*sizes, z, 1))
    return np.where(smaller >= 2, lower, np.nan), np.where(smaller >= 2, upper, np.nan), spread


def placements() -> list[Expr]:
    """The rows of each bin, the AUC of its group, and the change of the AUC by one more negative or positive in it."""
    neg, pos = (pl.col(c).cast(pl.Float64) for c in ("neg", "pos"))
    negatives, positives = (rows.sum().over(GROUP) for rows in (neg, pos))
    below = (neg.cum_sum() - neg / 2).over(GROUP) / negatives
    above = (pos.cum_sum(reverse=True) - pos / 2).over(GROUP) / positives
    auc = (below * pos).sum().over(GROUP) / positives
    return [
        *(neg, pos, auc.alias("auc")),
        ((above - auc) / negatives).alias("of_negative"),
        ((below - auc) / positives).alias("of_positive"),
    ]


def newcombe_limit(auc: Values, positives: Values, negatives: Values, z: float, side: int) -> Values:
    """Return the lower (-1) or upper (1) limit by Newcombe's method 5 (2006), z standard errors from the AUC.

    >>> auc, ten = np.array([1.0]), np.array([10.0])
    >>> newcombe_limit(auc, ten, ten, 1.96, -1).round(4), newcombe_limit(auc, ten, ten, 1.96, 1)
    (array([0.8002]), array([1.]))
    """
    more = (positives + negatives) / 2 - 1

    def within(theta: Values) -> NDArray[np.bool_]:
        spread = theta * (1 - theta) * (1 + more * ((1 - theta) / (2 - theta) + theta / (1 + theta)))
        near: NDArray[np.bool_] = (theta - auc) ** 2 <= z**2 * spread / (positives * negatives)
        return near

    return bisected(auc, np.full_like(auc, (1 + side) / 2), within)[0]

"""Confidence interval of the ROC AUC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.base import SAMPLED
from streammetrics.metrics.intervals.distributions import bisected, normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import Spread
from streammetrics.metrics.intervals.method import FEWEST, GROUP, Method, Sample

if TYPE_CHECKING:
    from streammetrics.metrics.intervals.influence import Influence
    from streammetrics.metrics.metric import Metric

Values = NDArray[np.float64]

FEW_PLACEMENTS = 30  # number of rows of a class below which the variance of its placements is unreliable


class AUC(Method):
    """The ROC AUC, and linear functions of it. See `auc_intervals`; weighted rows have influences."""

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
        intervals, (*ends, rows, variance) = auc_intervals(table, confidence), map(pl.col, SAMPLED)
        parts = []
        for metric in metrics:
            low, high = metric.range
            name, scale = pl.lit(metric.name).alias("metric"), high - low
            limits = intervals.select(name, *(end * scale + low for end in ends), rows, variance * scale**2)
            parts.append(pl.concat([keys, limits], how="horizontal"))
        return pl.concat(parts)


def auc_intervals(table: pl.DataFrame, confidence: float = 0.95) -> pl.DataFrame:
    """Return intervals of the ROC AUC from the placements of DeLong, DeLong & Clarke-Pearson (1988).

    The placement of a positive is the share of negatives below it, and the placement of a negative is the share of
    positives above it. Ties count half. The variance of the AUC is the sum of the variances of both placements, each
    divided by the number of rows of its class. It is correct for ties, so rows of the same bin are treated as tied.
    Student's t has the degrees of freedom of Welch (1947), and the skewness of the placements makes the limits
    asymmetric (see `Spread`).

    If a class has fewer than 30 rows, or the AUC is 0 or 1, the interval also contains the interval of Newcombe's
    method 5 (2006), whose variance depends only on the AUC.

    The table has ``group``, and ``neg`` and ``pos``, the unweighted rows of each bin, in ascending order of score. The
    rows of a group must be adjacent. Limits are null if a class has fewer than two rows. The effective rows and the
    variance follow them.

    >>> table = pl.DataFrame({"group": 0, "neg": [33, 6, 6, 11, 2], "pos": [3, 2, 2, 11, 33]})
    >>> auc_intervals(table).select(pl.col("ci_lower", "ci_upper").round(4)).row(0)
    (0.8132, 0.9534)
    """
    level, powers = upper_level(confidence), (2, 3, 4)
    sums: dict[str, Expr] = {"auc": pl.first("auc")}
    for rows, influence in (("pos", "of_positive"), ("neg", "of_negative")):
        size = pl.col(rows).sum()
        centred = pl.col(influence) * (size / (size - 1)).sqrt()
        sums |= {rows: size, **{f"{rows} {power}": (pl.col(rows) * centred**power).sum() for power in powers}}
    of_groups = table.select(GROUP, *placements()).group_by(GROUP, maintain_order=True).agg(**sums)
    auc, positives, *of_positives, negatives, two, three, four = of_groups.drop(GROUP).fill_null(np.nan).to_numpy().T
    with np.errstate(all="ignore"):
        squares = of_positives[0] + two
        degrees = squares**2 / (of_positives[0] ** 2 / (positives - 1) + two**2 / (negatives - 1))
    spread = Spread(squares, of_positives[1] + three, of_positives[2] + four, degrees)
    lower, upper = spread.limits(auc, level, 0.0, 1.0)
    smaller = np.minimum(positives, negatives)
    few = (smaller >= 2) & ((smaller < FEW_PLACEMENTS) | np.isnan(lower))
    if few.any():
        rows_of_classes, z = (auc[few], positives[few], negatives[few]), normal_quantile(level)
        lower[few] = np.fmin(lower[few], newcombe_limit(*rows_of_classes, z, -1))
        upper[few] = np.fmax(upper[few], newcombe_limit(*rows_of_classes, z, 1))
    limits = (np.where(smaller >= 2, limit, np.nan) for limit in (lower, upper))
    numbers = dict(zip(SAMPLED, (*limits, spread.effective_rows, spread.squares), strict=True))
    return pl.DataFrame(numbers, nan_to_null=True)


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

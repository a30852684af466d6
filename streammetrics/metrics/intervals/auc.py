"""Confidence interval of the ROC AUC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.core import Floats
from streammetrics.metrics.intervals.distributions import bisected, normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import Spread
from streammetrics.metrics.intervals.method import FEWEST, Method, runs_of

if TYPE_CHECKING:
    from streammetrics.metrics.intervals.influence import Influence
    from streammetrics.metrics.intervals.sample import Sample
    from streammetrics.metrics.metric import Metric


FEW_PLACEMENTS = 30  # number of rows of a class below which the variance of its placements is unreliable


class AUC(Method):
    """The ROC AUC, and linear functions of it. See `auc_limits`; weighted rows have influences."""

    mixes_classes = False

    def influence(self, metric: Metric, influences: Sequence[Influence]) -> Influence | None:
        """The influence on the table, of as many rows with weights as without."""
        influence = super().influence(metric, influences)
        return None if influence is None else replace(influence, fewest=(FEWEST, FEWEST))

    def serving(self, metric: Metric, sample: Sample) -> Method | None:
        """This method if rows have no weights."""
        return super().serving(metric, sample) if sample.weighted else self

    def limits(self, sample: Sample, methods: Mapping[Metric, Any], confidence: float) -> Floats:
        """Return limits, effective rows, and variances."""
        *limits, spread = auc_limits(sample.numbered, confidence)
        low, high = np.array([m.range for m in methods], dtype=np.float64).T
        scale = high - low
        lower, upper = (low + scale * limit for limit in limits)
        return np.stack([lower, upper, np.broadcast_to(spread.effective_rows, lower.shape), spread.squares * scale**2])


def auc_limits(table: pl.DataFrame, confidence: float) -> tuple[Floats, Floats, Spread]:
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
    >>> [limit.item().__round__(4) for limit in auc_limits(table, 0.95)[:2]]
    [0.8132, 0.9534]
    """
    level = upper_level(confidence)
    (auc, slopes, counts), (starts, sizes) = placements(table), runs_of(table)
    rows = np.add.reduceat(counts, starts)
    with np.errstate(all="ignore"):
        scale = np.repeat(np.sqrt(rows / (rows - 1)), sizes, axis=0)
        squares, cubes, fourths = (np.add.reduceat(counts * (slopes * scale) ** power, starts) for power in (2, 3, 4))
        degrees = squares.sum(axis=1) ** 2 / (squares**2 / (rows - 1)).sum(axis=1)
    squares, cubes, fourths = (values.sum(axis=1, keepdims=True) for values in (squares, cubes, fourths))
    spread = Spread(squares, cubes, fourths, degrees[:, np.newaxis])
    lower, upper = spread.limits(auc, level, 0.0, 1.0)
    smaller = rows.min(axis=1, keepdims=True)
    few = (smaller >= 2) & ((smaller < FEW_PLACEMENTS) | np.isnan(lower))
    if few.any():
        negatives, positives = rows[few[:, 0]].T
        z = normal_quantile(level)
        lower[few] = np.fmin(lower[few], newcombe_limit(auc[few], positives, negatives, z, -1))
        upper[few] = np.fmax(upper[few], newcombe_limit(auc[few], positives, negatives, z, 1))
    return np.where(smaller >= 2, lower, np.nan), np.where(smaller >= 2, upper, np.nan), spread


@np.errstate(all="ignore")
def placements(table: pl.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return the AUC of each group, its change by one more negative or positive of each bin, and the rows of the bin.

    Shapes are (groups, 1) and (bins, 2).
    """
    counts, (starts, sizes) = table.select("neg", "pos").to_numpy().astype(np.float64), runs_of(table)
    total = np.repeat(np.add.reduceat(counts, starts), sizes, axis=0)
    lower = np.cumsum(counts, axis=0) - counts  # counts are exact
    lower += counts / 2 - np.repeat(lower[starts], sizes, axis=0)
    below, above = lower[:, 0] / total[:, 0], (total[:, 1] - lower[:, 1]) / total[:, 1]
    auc = np.add.reduceat(below * counts[:, 1] / total[:, 1], starts)
    placed = np.stack([above, below], axis=1)
    return auc[:, np.newaxis], (placed - np.repeat(auc, sizes)[:, np.newaxis]) / total, counts


def newcombe_limit(auc: Floats, positives: Floats, negatives: Floats, z: float, side: int) -> Floats:
    """Return the lower (-1) or upper (1) limit by Newcombe's method 5 (2006), z standard errors from the AUC.

    >>> auc, ten = np.array([1.0]), np.array([10.0])
    >>> newcombe_limit(auc, ten, ten, 1.96, -1).round(4), newcombe_limit(auc, ten, ten, 1.96, 1)
    (array([0.8002]), array([1.]))
    """
    more = (positives + negatives) / 2 - 1

    def within(theta: Floats) -> NDArray[np.bool_]:
        spread = theta * (1 - theta) * (1 + more * ((1 - theta) / (2 - theta) + theta / (1 + theta)))
        near: NDArray[np.bool_] = (theta - auc) ** 2 <= z**2 * spread / (positives * negatives)
        return near

    return bisected(auc, np.full_like(auc, (1 + side) / 2), within)[0]

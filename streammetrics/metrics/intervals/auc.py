"""Confidence interval of the ROC AUC."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import SAMPLED
from streammetrics.metrics.intervals.distributions import bisected, normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import Spread

Values = NDArray[np.float64]

FEW_PLACEMENTS = 30  # number of rows of a class below which the variance of its placements is unreliable


def auc_intervals(table: pl.DataFrame, by: Sequence[str] = (), confidence: float = 0.95) -> pl.DataFrame:
    """Return intervals of the ROC AUC from the placements of DeLong, DeLong & Clarke-Pearson (1988).

    The placement of a positive is the share of negatives below it, and the placement of a negative is the share of
    positives above it. Ties count half. The variance of the AUC is the sum of the variances of both placements, each
    divided by the number of rows of its class. It is correct for ties, so rows of the same bin are treated as tied.
    Student's t has the degrees of freedom of Welch (1947), and the skewness of the placements makes the limits
    asymmetric (see `Spread`).

    If a class has fewer than 30 rows, or the AUC is 0 or 1, the interval also contains the interval of Newcombe's
    method 5 (2006), whose variance depends only on the AUC.

    The table has ``neg`` and ``pos``, the unweighted rows of each bin, in ascending order of score. The rows of a group
    must be adjacent. Limits are null if a class has fewer than two rows. The effective rows and the variance follow
    them.

    >>> table = pl.DataFrame({"neg": [33, 6, 6, 11, 2], "pos": [3, 2, 2, 11, 33]})
    >>> auc_intervals(table).select(pl.col("ci_lower", "ci_upper").round(4)).row(0)
    (0.8132, 0.9534)
    """
    neg, pos = (pl.col(c).cast(pl.Float64) for c in ("neg", "pos"))
    of_positives = (neg.cum_sum() - neg / 2) / neg.sum()
    of_negatives = (pos.cum_sum(reverse=True) - pos / 2) / pos.sum()
    auc = (of_positives * pos).sum() / pos.sum()
    parts = {"auc": auc, "positives": pos.sum(), "negatives": neg.sum()}
    for side, placements, rows in (("positives", of_positives, pos), ("negatives", of_negatives, neg)):
        parts |= {f"{power} of {side}": (rows * (placements - auc) ** power).sum() for power in (2, 3, 4)}
    found = table.group_by(by, maintain_order=True).agg(**parts) if by else table.select(**parts)
    values, positives, negatives, *powers = (found[name].fill_null(np.nan).to_numpy() for name in parts)
    spread = _spread(positives, negatives, powers)
    lower, upper = _limits(upper_level(confidence), values, positives, negatives, spread)
    numbers = dict(zip(SAMPLED, (lower, upper, spread.effective_rows, spread.squares), strict=True))
    return found.select(*by, *(pl.Series(name, number, nan_to_null=True) for name, number in numbers.items()))


def _spread(positives: Values, negatives: Values, powers: Sequence[Values]) -> Spread:
    """The spread of the AUC, from sums of powers of the placements less the AUC, of positives and of negatives."""
    with np.errstate(all="ignore"):
        parts = []
        for i, rows in enumerate((positives, negatives)):
            scale = np.sqrt(rows / (rows - 1)) / rows
            parts.append([total * scale**power for power, total in enumerate(powers[3 * i : 3 * i + 3], 2)])
        squares, cubes, fourths = (one + other for one, other in zip(*parts, strict=True))
        degrees = squares**2 / (parts[0][0] ** 2 / (positives - 1) + parts[1][0] ** 2 / (negatives - 1))
    return Spread(squares, cubes, fourths, degrees)


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


def _limits(level: float, auc: Values, positives: Values, negatives: Values, spread: Spread) -> tuple[Values, Values]:
    """Lower and upper limits, from the AUC, the rows of each class, and the spread."""
    lower, upper = spread.limits(auc, level, 0.0, 1.0)
    smaller = np.minimum(positives, negatives)
    few = (smaller >= 2) & ((smaller < FEW_PLACEMENTS) | np.isnan(lower))
    rows, z = (auc[few], positives[few], negatives[few]), normal_quantile(level)
    lower[few] = np.fmin(lower[few], newcombe_limit(*rows, z, -1))
    upper[few] = np.fmax(upper[few], newcombe_limit(*rows, z, 1))
    enough = smaller >= 2
    return np.where(enough, lower, np.nan), np.where(enough, upper, np.nan)

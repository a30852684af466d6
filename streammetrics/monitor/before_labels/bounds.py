"""Bounds of metrics if the number of positives in each bin is known only within bounds.

They hold for all possible numbers of positives and, if a bin hides the order of its rows, for all orders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streammetrics.base import ROUNDING
from streammetrics.core import Floats
from streammetrics.metrics import Metric
from streammetrics.monitor.before_labels.filled import METRICS, confusion, losses, value_of
from streammetrics.monitor.before_labels.groups import Group
from streammetrics.monitor.before_labels.rates import within_odds

Pair = tuple[float, float]
STEPS = 200  # maximum number of steps of the search for the smallest average precision
CLOSE = 1e-7  # tolerance of this search


@dataclass(frozen=True)
class Positives:
    """Bins by ascending score, with their rows and the smallest and largest numbers of positives.

    Any number of positives between ``fewest`` and ``most`` is possible in each bin, independently of the others.
    ``above`` contains the share of the rows of each bin that reach each threshold.
    """

    rows: Floats
    fewest: Floats
    most: Floats
    low: Floats
    high: Floats
    hidden: NDArray[np.bool_]
    above: Mapping[float, Floats]

    @classmethod
    def within(cls, group: Group, odds: float) -> Positives:
        """The occupied bins of a group, if odds can differ from those of its rates by at most a factor."""
        some = group.rows > 0
        rows, low, high = (side[some] for side in (group.rows, group.low, group.high))
        fewest, most = (rows * rate for rate in within_odds(group.rates[some], odds))
        above = {at: share[some] for at, share in group.bins.above.items()}
        return cls(rows, fewest, most, low, high, group.hidden[some], above)

    @property
    def mixed(self) -> Floats:
        """The largest product of positives and negatives of each bin, or 0 if the order of its rows is known."""
        positives = np.clip(self.rows / 2, self.fewest, self.most)
        return np.where(self.hidden, positives * (self.rows - positives), 0.0)


def bounds(bins: Positives, metric: str, threshold: float | None) -> Pair:
    """The smallest and the largest value of a metric."""
    if threshold is not None:
        return _decision_bounds(bins, METRICS[metric], bins.above[threshold])
    upward = bins.rows, bins.fewest, bins.most, bins.mixed
    downward = rows, fewest, most, mixed = [side[::-1] for side in upward]
    if metric == "expected_positives":
        return float(fewest.sum()), float(most.sum())
    if metric == "roc_auc":
        return 1 - largest_auc(*downward), largest_auc(*upward)
    if metric == "average_precision":
        smallest = smallest_average_precision(rows, fewest, most, bins.hidden[::-1])
        return smallest, largest_average_precision(rows, fewest, most, mixed)
    return _loss_bounds(bins, metric)


def _loss_bounds(bins: Positives, metric: str) -> Pair:
    """Bounds of a mean loss, for all scores between the ends of each bin.

    The loss of a negative rises with its score, and the loss of a positive falls. The loss of a bin is linear in its
    number of positives, so its extremes are at the fewest and the most positives.
    """
    low, high = (losses(score)[metric] for score in (bins.low, bins.high))
    smallest, largest = (
        [n * positive + (bins.rows - n) * negative for n in (bins.fewest, bins.most)]
        for negative, positive in ((low[0], high[1]), (high[0], low[1]))
    )
    total = bins.rows.sum()
    return float(np.minimum(*smallest).sum() / total), float(np.maximum(*largest).sum() / total)


def _decision_bounds(bins: Positives, metric: Metric, above: Floats) -> Pair:
    """Bounds of a metric that rises with each positive above the threshold and falls with each positive below it.

    At worst, the fewest positives are above the threshold and the most below it. If the threshold cuts a bin, its
    positives can be on either side, up to the number of rows on that side.
    """
    reach = bins.rows * above
    miss = bins.rows - reach
    fewest = [np.maximum(bins.fewest - other, 0).sum() for other in (miss, reach)]
    most = [np.minimum(bins.most, side).sum() for side in (reach, miss)]
    worst = confusion(fewest[0], most[1], bins.rows, above)
    best = confusion(most[0], fewest[1], bins.rows, above)
    return value_of(metric, worst), value_of(metric, best)


def largest_auc(rows: Floats, fewest: Floats, most: Floats, mixed: Floats) -> float:
    """The largest ROC AUC of bins by ascending score.

    ``mixed`` is the largest product of the positives and negatives of a bin that hides the order of its rows, else 0.

    Let rows be shares of all rows, P the total share of positives, and c the share of rows below each bin plus half of
    the bin itself. The share of correctly ordered pairs is then ``sum(c * positives) - P**2 / 2``. For a fixed P, this
    is linear, with weights that rise with the score. So it is largest if all bins above some bin have the most
    positives and all bins below it the fewest. In that bin, AUC is a ratio of two quadratic functions of P, whose
    extremes are at the ends or at a root of the derivative. A bin that hides the order of its rows adds at most half
    of ``mixed``.
    """
    total = rows.sum()
    hidden = mixed.sum() / total**2 / 2
    rows, fewest, most = rows / total, fewest / total, most / total
    below = np.cumsum(rows) - rows / 2
    others = (np.cumsum(fewest) - fewest) + (most.sum() - np.cumsum(most))
    weighted, weighted_most = below * fewest, below * most
    pairs = (np.cumsum(weighted) - weighted) + (weighted_most.sum() - np.cumsum(weighted_most))
    constant = pairs - below * others + hidden
    square = below - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(constant**2 + square * constant, 0))
        stationary = [constant / (constant + root), constant / (constant - root)]  # stable where square is near 0
    largest = 0.0
    for positives in (others + fewest, others + most, *stationary):
        inside = np.clip(np.nan_to_num(positives), others + fewest, others + most)
        auc = (constant + below * inside - inside**2 / 2) / (inside * (1 - inside))
        largest = max(largest, float(auc.max()))
    return min(largest + ROUNDING, 1.0)


def largest_average_precision(rows: Floats, fewest: Floats, most: Floats, mixed: Floats) -> float:
    """The largest average precision of bins by descending score, if their smallest positive rates never rise.

    Let M be the rows and T the positives from the highest bin down to a bin. Average precision is Q / P with
    ``Q = sum(positives * T / M)``. The denominators M are known, so Q is a quadratic form of the positives.

    ``Q - a * P`` is convex in the positives of each bin, so at the maximum of Q / P every bin has either its fewest or
    its most positives. Suppose that a bin had its fewest and the next lower bin its most positives. If neither more
    positives in the upper bin nor fewer in the lower bin improve the ratio, then ``d * m' / M' + r * m / M <= 0``. Here
    d is the precision down to the upper bin minus the smallest rate of the lower bin, r the largest rate of the upper
    bin, m its rows, M the rows down to it, and m' and M' are those of the lower bin. But d is at least 0, because
    smallest rates never rise, so the sum is positive. Therefore the bins with their most positives are the highest
    bins, which leaves one case for each number of them.

    If a bin of m rows hides their order, its positives can be ranked first. Each then has a precision of at most
    ``T / (M - m + positives)``, and of at most 1, instead of ``T / M``.
    """
    down = np.cumsum(rows)
    extra = (mixed / down * np.minimum(1.0, np.cumsum(most) / (down - rows + fewest))).sum()
    amount, positives = _cases(1 / down, most, fewest)
    return min(float(((amount + extra) / positives).max()) + ROUNDING, 1.0)


def smallest_average_precision(rows: Floats, fewest: Floats, most: Floats, hidden: NDArray[np.bool_]) -> float:
    """A lower bound of average precision of bins by descending score, within 1e-7, or a bit more after many steps.

    A hidden order can remove the terms in which positives of the same bin raise each other's precision. Without these
    terms, ``2 * Q = sum((1/M - 1/M') * T**2)``, where M' belongs to the next lower bin. Bins of a single score add
    ``sum(positives**2 / M)``. All coefficients are at least 0, so Q is convex and lies above its tangents. Each tangent
    gives a lower bound: the minimum of a ratio of two linear functions, which has the most positives in the bins of the
    smallest slopes. The point moves toward this minimum (Frank & Wolfe 1956) until its value agrees with the bound.
    """
    weight = 1 / np.cumsum(rows)
    square = np.where(hidden, 0.0, weight)
    falls = weight - np.append(weight[1:], 0.0)

    def slopes(point: Floats) -> Floats:
        gradient: Floats = np.cumsum((falls * np.cumsum(point))[::-1])[::-1] + square * point
        return gradient

    amount, positives = _cases(weight, fewest, most)
    first = int(np.argmin(amount / positives))
    point = np.concatenate([fewest[:first], most[first:]])
    bound = 0.0
    for _ in range(STEPS):
        slope = slopes(point)
        value = _dot(slope, point) / 2
        order = np.argsort(slope, kind="stable")
        gained = (most - fewest)[order]
        numerators = _dot(slope, fewest) - value + np.append(0.0, np.cumsum(slope[order] * gained))
        fractions = numerators / (fewest.sum() + np.append(0.0, np.cumsum(gained)))
        number = int(np.argmin(fractions))
        bound = max(bound, float(fractions[number]))
        if value / point.sum() - bound <= CLOSE:
            break
        corner = fewest.copy()
        corner[order[:number]] = most[order[:number]]
        point = _best_between(point, corner, slopes)
    return max(bound - ROUNDING, 0.0)


def _best_between(point: Floats, corner: Floats, slopes: Callable[[Floats], Floats]) -> Floats:
    """The point between two points that minimizes Q / P, which is a quadratic over a linear function of the step."""
    step = corner - point
    slope, bend = slopes(point), slopes(step)
    a, b, c = _dot(step, bend) / 2, _dot(step, slope), _dot(point, slope) / 2
    d, e = step.sum(), point.sum()
    square, half, constant = a * d, a * e, b * e - d * c  # coefficients of the derivative
    root = max(half**2 - square * constant, 0.0) ** 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = np.divide([-constant, -constant], [half + root, half - root])
    steps = np.array([1.0, *roots[(roots > 0) & (roots < 1)]])
    best: Floats = point + steps[np.argmin((a * steps**2 + b * steps + c) / (d * steps + e))] * step
    return best


def _dot(one: Floats, other: Floats) -> float:
    """The sum of products, without BLAS, whose threads would cost more time than they save."""
    return float((one * other).sum())


def _cases(weight: Floats, upper: Floats, lower: Floats) -> tuple[Floats, Floats]:
    """Q and P for each number of highest bins with ``upper`` positives, if all other bins have ``lower`` positives."""

    def sums(values: Floats) -> Floats:
        return np.append(0.0, np.cumsum(values))

    upper_sum, lower_sum, reach = sums(upper), sums(lower), sums(weight * lower)
    upper_pairs, lower_pairs = sums(weight * upper * np.cumsum(upper)), sums(weight * lower * np.cumsum(lower))
    amount = upper_pairs + (lower_pairs[-1] - lower_pairs) + (upper_sum - lower_sum) * (reach[-1] - reach)
    return amount, upper_sum + lower_sum[-1] - lower_sum

"""Bounds of metrics if the number of positives in each bin is known only within bounds.

They hold for all possible numbers of positives and, if a bin hides the order of its rows, for all orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streammetrics.before_labels.filled import METRICS, confusion, losses
from streammetrics.before_labels.groups import Group
from streammetrics.before_labels.ranking import largest_auc, largest_average_precision, smallest_average_precision
from streammetrics.before_labels.rates import Values, within_odds
from streammetrics.metrics import Metric

Pair = tuple[float, float]


@dataclass(frozen=True)
class Positives:
    """Bins by ascending score, with their rows and the smallest and largest numbers of positives.

    Any number of positives between ``fewest`` and ``most`` is possible in each bin, independently of the others.
    ``above`` contains the share of the rows of each bin that reach each threshold.
    """

    rows: Values
    fewest: Values
    most: Values
    low: Values
    high: Values
    hidden: NDArray[np.bool_]
    above: Mapping[float, Values]

    @classmethod
    def of(cls, group: Group, odds: float) -> Positives:
        """The occupied bins of a group, if odds can differ from those of its rates by at most a factor."""
        some = group.rows > 0
        rows, low, high = (side[some] for side in (group.rows, group.low, group.high))
        fewest, most = (rows * rate for rate in within_odds(group.rates[some], odds))
        above = {at: share[some] for at, share in group.bins.above.items()}
        return cls(rows, fewest, most, low, high, group.hidden[some], above)

    @property
    def mixed(self) -> Values:
        """The largest product of positives and negatives of each bin, or 0 if the order of its rows is known."""
        positives = np.clip(self.rows / 2, self.fewest, self.most)
        return np.where(self.hidden, positives * (self.rows - positives), 0.0)


def bounds(bins: Positives, metric: str, threshold: float | None) -> Pair:
    """The smallest and the largest value of a metric."""
    if threshold is not None:
        return _of_decisions(bins, METRICS[metric], bins.above[threshold])
    upward = bins.rows, bins.fewest, bins.most, bins.mixed
    downward = rows, fewest, most, mixed = [side[::-1] for side in upward]
    if metric == "expected_positives":
        return float(fewest.sum()), float(most.sum())
    if metric == "roc_auc":
        return 1 - largest_auc(*downward), largest_auc(*upward)
    if metric == "average_precision":
        smallest = smallest_average_precision(rows, fewest, most, bins.hidden[::-1])
        return smallest, largest_average_precision(rows, fewest, most, mixed)
    return _of_loss(bins, metric)


def _of_loss(bins: Positives, metric: str) -> Pair:
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


def _of_decisions(bins: Positives, metric: Metric, above: Values) -> Pair:
    """Bounds of a metric that rises with each positive above the threshold and falls with each positive below it.

    At worst, the fewest positives are above the threshold and the most below it. If the threshold cuts a bin, its
    positives can be on either side, up to the number of rows on that side.
    """
    reach = bins.rows * above
    miss = bins.rows - reach
    fewest = [np.maximum(bins.fewest - other, 0).sum() for other in (miss, reach)]
    most = [np.minimum(bins.most, side).sum() for side in (reach, miss)]
    cases = [confusion(tp, fn, bins.rows, above) for tp, fn in ((fewest[0], most[1]), (most[0], fewest[1]))]
    with np.errstate(invalid="ignore"):
        worst, best = (float(metric.formula(*(case[c] for c in metric.columns))) for case in cases)
    return worst, best

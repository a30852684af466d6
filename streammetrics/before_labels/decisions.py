"""Confusion-count metrics if the number of positives in each bin is known only within bounds."""

from __future__ import annotations

import numpy as np

from streammetrics.before_labels.rates import Positives, Values
from streammetrics.metrics import Metric
from streammetrics.metrics.ratios import accuracy, balanced_accuracy, f1, precision, recall, specificity

DECISIONS: dict[str, Metric] = {
    metric.name: metric for metric in (accuracy, balanced_accuracy, precision, recall, specificity, f1)
}
"""Metrics that rise with each positive above the threshold and fall with each positive below it."""


def share_above(rows: Values, predicted: float) -> Values:
    """The share of each bin that is among the ``predicted`` rows with the highest scores; bins by ascending score.

    >>> share_above(np.array([2.0, 0, 4, 3, 0]), 5)
    array([0. , 0. , 0.5, 1. , 1. ])
    """
    down = np.cumsum(rows[::-1])[::-1]
    reaching = np.clip(predicted - (down - rows), 0, rows)
    return np.where(rows > 0, reaching / np.where(rows > 0, rows, 1), down <= predicted)


def counts(rows: Values, positives: Values, above: Values) -> dict[str, Values]:
    """The confusion counts if the same share of positives as of all rows of a bin reaches the threshold."""
    reaching, predicted = (positives * above).sum(axis=-1), (rows * above).sum(axis=-1)
    return _counts(reaching, positives.sum(axis=-1) - reaching, predicted, rows.sum(axis=-1))


def corners(bins: Positives, above: Values) -> tuple[dict[str, Values], dict[str, Values]]:
    """The worst and the best confusion counts.

    The worst counts have the fewest positives above the threshold and the most positives below it. If the threshold
    cuts a bin, its positives can be on either side, up to the number of rows on that side.
    """
    reach = bins.rows * above
    miss = bins.rows - reach
    fewest = [np.maximum(bins.fewest - other, 0).sum() for other in (miss, reach)]
    most = [np.minimum(bins.most, side).sum() for side in (reach, miss)]
    predicted, total = reach.sum(), bins.rows.sum()
    return _counts(fewest[0], most[1], predicted, total), _counts(most[0], fewest[1], predicted, total)


def _counts(reaching: Values, missing: Values, predicted: Values, rows: Values) -> dict[str, Values]:
    return {"tp": reaching, "fp": predicted - reaching, "fn": missing, "tn": rows - predicted - missing}

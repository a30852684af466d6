"""Log loss and Brier score if the number of positives in each bin is known only within bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streammetrics.before_labels.rates import Positives, Values
from streammetrics.core import CLIP

Loss = Callable[[Values], tuple[Values, Values]]


def log_losses(score: Values) -> tuple[Values, Values]:
    """The log loss of a negative and of a positive with each score."""
    clipped = np.clip(score, CLIP, 1 - CLIP)
    return -np.log1p(-clipped), -np.log(clipped)


def brier_losses(score: Values) -> tuple[Values, Values]:
    """The Brier loss of a negative and of a positive with each score."""
    return score**2, (1 - score) ** 2


LOSSES: dict[str, Loss] = {"log_loss": log_losses, "brier_score": brier_losses}


def mean_loss(rows: Values, positives: Values, negative: Values, positive: Values) -> Values:
    """The mean of the losses of negatives and positives, along the last axis.

    >>> mean_loss(np.array([2.0]), np.array([0.5]), np.array([0.4]), np.array([0.8])).item()
    0.5
    """
    found: Values = (positives * positive + (rows - positives) * negative).sum(axis=-1) / rows.sum(axis=-1)
    return found


def loss_bounds(bins: Positives, low: Values, high: Values, loss: Loss) -> tuple[float, float]:
    """The smallest and the largest mean loss, for all scores between the ends of each bin.

    The loss of a negative rises with its score, and the loss of a positive falls. The loss of a bin is linear in its
    number of positives, so its extremes are at the fewest and the most positives.
    """
    at_low, at_high = loss(low), loss(high)
    smallest = _ends(bins, negative=at_low[0], positive=at_high[1])
    largest = _ends(bins, negative=at_high[0], positive=at_low[1])
    total = bins.rows.sum()
    return float(np.minimum(*smallest).sum() / total), float(np.maximum(*largest).sum() / total)


def _ends(bins: Positives, negative: Values, positive: Values) -> tuple[Values, Values]:
    fewest, most = (n * positive + (bins.rows - n) * negative for n in (bins.fewest, bins.most))
    return fewest, most

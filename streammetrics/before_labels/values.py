"""Metrics from the number of positives in each bin, and their bounds if this number is known only within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streammetrics.before_labels.decisions import DECISIONS, corners, counts, share_above
from streammetrics.before_labels.losses import LOSSES, loss_bounds, mean_loss
from streammetrics.before_labels.ranking import (
    average_precision,
    average_precision_bounds,
    roc_auc,
    roc_auc_bounds,
)
from streammetrics.before_labels.rates import Positives, Values
from streammetrics.text.decimals import percentage
from streammetrics.uncertainty.limits import Range

RANKING = {"roc_auc": roc_auc, "average_precision": average_precision}
RANKING_BOUNDS = {"roc_auc": roc_auc_bounds, "average_precision": average_precision_bounds}
POSITIVES = "expected_positives"
RANGES: dict[str, Range] = {POSITIVES: (0, inf), "log_loss": (0, inf)}
METRICS = (POSITIVES, *RANKING, *LOSSES, *DECISIONS)
BY_BIN = ("rows", "neg", "pos", "low", "high", "hidden", "rates")
FOREIGN = 0.01  # minimum share of scores outside the range of the reference for a note


@dataclass(frozen=True)
class Bins:
    """Bins by ascending score.

    ``above`` contains the share of the rows of each bin that reach each threshold. ``losses`` contains the mean losses
    of a negative and of a positive in each bin.
    """

    rows: Values
    above: Mapping[float, Values]
    losses: Mapping[str, tuple[Values, Values]]

    def value(self, metric: str, threshold: float | None, positives: Values) -> Values:
        """Compute a metric from the numbers of positives in each bin, along the last axis."""
        if metric == POSITIVES:
            total: Values = positives.sum(axis=-1)
            return total
        if metric in RANKING:
            return RANKING[metric](self.rows, positives)
        if metric in LOSSES:
            return mean_loss(self.rows, positives, *self.losses[metric])
        assert threshold is not None
        return _read(metric, counts(self.rows, positives, self.above[threshold]))


@dataclass(frozen=True)
class Group:
    """Rows of a group in bins by ascending score, with the negatives and positives of its reference.

    ``low`` and ``high`` are the smallest and the largest score of each bin, ``predicted`` is the number of rows that
    reach each threshold, and ``rates`` are the fitted positive rates. ``hidden`` marks the bins that can contain rows
    with different scores.
    """

    keys: tuple[Any, ...]
    rows: Values
    neg: Values
    pos: Values
    low: Values
    high: Values
    hidden: NDArray[np.bool_]
    predicted: dict[float, float]
    rates: Values

    @property
    def undefined(self) -> str | None:
        """The reason why no metric can be estimated, or None."""
        if not self.rows.sum():
            return "no rows"
        missing = [name for name, side in (("positives", self.pos), ("negatives", self.neg)) if not side.sum()]
        return f"no {'rows' if len(missing) > 1 else missing[0]} in the reference" if missing else None

    @cached_property
    def scored(self) -> Group:
        """The same group without bins that have no rows."""
        sides = {name: getattr(self, name)[self.rows > 0] for name in BY_BIN}
        return replace(self, **sides)

    @cached_property
    def bins(self) -> Bins:
        """The bins, with losses at the middle of each bin."""
        middle = self.low / 2 + self.high / 2
        probable = bool(((middle >= 0) & (middle <= 1)).all())  # margins have no log loss or Brier score
        losses = {name: loss(middle) for name, loss in LOSSES.items() if probable}
        above = {threshold: share_above(self.rows, n) for threshold, n in self.predicted.items()}
        return Bins(self.rows, above, losses)

    @property
    def note(self) -> str | None:
        """A note if many scores are outside the range of the reference."""
        known = np.flatnonzero(self.neg + self.pos)
        foreign = self.rows[: known[0]].sum() + self.rows[known[-1] + 1 :].sum()
        share = foreign / self.rows.sum()
        return f"{percentage(share)} of scores are outside the range of the reference" if share > FOREIGN else None


def bounds(metric: str, threshold: float | None, group: Group, positives: Positives) -> tuple[float, float]:
    """The smallest and the largest value of a metric, over all possible numbers of positives and scores in each bin."""
    if metric == POSITIVES:
        return float(positives.fewest.sum()), float(positives.most.sum())
    if metric in RANKING:
        return RANKING_BOUNDS[metric](positives)
    if metric in LOSSES:
        return loss_bounds(positives, group.low, group.high, LOSSES[metric])
    assert threshold is not None
    worst, best = (float(_read(metric, case)) for case in corners(positives, group.bins.above[threshold]))
    return worst, best


def _read(metric: str, confusion: dict[str, Values]) -> Values:
    """Compute a metric from arrays of confusion counts, NaN if it is undefined."""
    formula = DECISIONS[metric]
    with np.errstate(invalid="ignore"):
        found: Values = formula.formula(*(np.maximum(confusion[c], 0.0) for c in formula.columns))
    return found

"""Rows in bins, and how many of them are positive: expected, at least and at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streammetrics.before_labels.rates import Values, within_odds


@dataclass(frozen=True)
class Positives:
    """Bins by ascending score: their rows, and the expected, the smallest and the largest number of positives.

    Any number of positives between ``fewest`` and ``most`` is possible in each bin, independently of the others.
    ``hidden`` says in which bins rows can have different scores, so that their order is unknown.
    """

    rows: Values
    expected: Values
    fewest: Values
    most: Values
    hidden: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Values, rates: Values, odds: float, hidden: NDArray[np.bool_]) -> Positives:
        """Those of rates of positives, if the odds differ by at most a factor."""
        low, high = within_odds(rates, odds)
        return cls(rows, rows * rates, rows * low, rows * high, hidden)

    @property
    def mixed(self) -> Values:
        """The largest product of positives and negatives of each bin whose order is hidden, else 0."""
        positives = np.clip(self.rows / 2, self.fewest, self.most)
        found: Values = np.where(self.hidden, positives * (self.rows - positives), 0.0)
        return found

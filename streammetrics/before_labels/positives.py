"""Numbers of positives in each bin: expected, smallest, and largest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streammetrics.before_labels.rates import Values, within_odds


@dataclass(frozen=True)
class Positives:
    """Bins by ascending score, with their rows and the expected, smallest, and largest numbers of positives.

    Any number of positives between ``fewest`` and ``most`` is possible in each bin, independently of the others.
    ``hidden`` marks the bins whose rows can have different scores, so that their order is unknown.
    """

    rows: Values
    expected: Values
    fewest: Values
    most: Values
    hidden: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Values, rates: Values, odds: float, hidden: NDArray[np.bool_]) -> Positives:
        """Compute the numbers of positives from positive rates, if their odds can differ by at most a factor."""
        low, high = within_odds(rates, odds)
        return cls(rows, rows * rates, rows * low, rows * high, hidden)

    @property
    def mixed(self) -> Values:
        """The largest product of positives and negatives of each bin, or 0 if the order of its rows is known."""
        positives = np.clip(self.rows / 2, self.fewest, self.most)
        found: Values = np.where(self.hidden, positives * (self.rows - positives), 0.0)
        return found

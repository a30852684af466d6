"""The range of the cumulative errors of correlated rows, compared with those in which folds of units have other signs.

If scores are calibrated, the errors of a fold, labels minus scores, are as likely as the same errors with the other
sign, however its rows are correlated. Their range is then one of the ranges with random signs of the folds (a
randomization test, see Hemerik & Goeman 2018). This needs many units, since sums of a few rare events are skewed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from streammetrics.core import Floats, mix
from streammetrics.metrics.intervals.distributions import normal_quantile, t_quantile, upper_level

FLIPS = (1_023, 8_191)  # number of random signs, and the number if few of the first ones decide
DECIDE = 10  # ranges that decide a p-value or a quantile
AT_ONCE = 1 << 20  # sums that are computed at once
ROUNDING = 1e-9  # of a range

Bounds = tuple[float, float, float]  # value, lower, and upper bound


@dataclass(frozen=True)
class FoldSums:
    """Cumulative errors of the rows of each fold, by bin of the score.

    Args:
        sums: The errors up to the end of each bin, (folds, bins), with scores at the middle of the bins.
        weight: Sum of the weights of each fold.
        hidden: How far the exact range of the rows, and of other signs, can be apart from these numbers in total.
    """

    sums: Floats
    weight: Floats
    hidden: float

    @classmethod
    def of(cls, neg: Floats, pos: Floats, low: Floats, high: Floats) -> FoldSums:
        """The sums of negatives and positives, (folds, bins), in bins with scores from low to high."""
        middle, weight = (low + high) / 2, neg + pos
        apart = (weight * (high - low) / 2).sum()  # between the ends of bins
        inside = np.where(low < high, np.maximum(pos * (1 - low), neg * high), 0).sum(axis=0).max(initial=0)
        sums = (pos * (1 - middle) - neg * middle).cumsum(axis=1)
        return cls(sums, weight.sum(axis=1), float(2 * (apart + inside)))

    @property
    def size(self) -> float:
        """The range of the errors of all rows."""
        return float(_ranges(self.sums.sum(axis=0, keepdims=True))[0])

    @property
    def unit_size(self) -> float:
        """About how many rows are in the unit of a row, from the weights of folds, which do not depend on labels."""
        return float(len(self.weight) * self.weight.var(ddof=1) / self.weight.sum())

    def p_values(self) -> Bounds:
        """The share of signs with a range at least as large as that of the rows, which counts too."""
        size = self.size * (1 - ROUNDING)
        for count in FLIPS:
            ranges = self.flipped(count)
            numbers = [1 + int((ranges >= least).sum()) for least in (size, size + self.hidden, size - self.hidden)]
            if numbers[0] > DECIDE:
                break
        value, lower, upper = (number / (count + 1) for number in numbers)
        return value, lower, upper

    def expected(self) -> Bounds:
        """The mean range if scores are calibrated, as a share of the weights."""
        mean = float(self._sampling().flipped(FLIPS[0]).mean())
        return self._share(mean), self._share(mean - self.hidden), self._share(mean + self.hidden)

    def limits(self, confidence: float) -> tuple[float, float]:
        """The limits of the range as a share of the weights.

        They are wider by the ratio of Student's t to the normal distribution, since there are few folds.
        """
        ranges = self._sampling().flipped(FLIPS[(1 - confidence) * FLIPS[0] < DECIDE])
        level = upper_level(confidence)
        wider = t_quantile(level, len(self.sums) - 1) / normal_quantile(level)
        half = float(np.quantile(ranges, confidence, method="higher")) * wider
        return self._share(self.size - half), self._share(self.size + half)

    def _sampling(self) -> FoldSums:
        """The errors of each fold less those expected of it, whether or not scores are calibrated."""
        folds, share = len(self.sums), self.weight / self.weight.sum()
        errors = self.sums - share[:, None] * self.sums.sum(axis=0)
        return replace(self, sums=errors * (folds / (folds - 1)) ** 0.5)

    def flipped(self, count: int) -> Floats:
        """The ranges with some other signs of the folds."""
        signs, step = _signs(count, len(self.sums)), max(1, AT_ONCE // self.sums.shape[1])
        return np.concatenate([_ranges(signs[i : i + step] @ self.sums) for i in range(0, count, step)])

    def _share(self, size: float) -> float:
        return min(max(size / float(self.weight.sum()), 0.0), 1.0)


def _ranges(sums: Floats) -> Floats:
    """The range of the cumulative sums in each row, which start at 0."""
    ranges: Floats = sums.max(axis=1, initial=0) - sums.min(axis=1, initial=0)
    return ranges


@cache
def _signs(count: int, folds: int) -> Floats:
    """Random signs, (count, folds), which are the same on each machine."""
    bits = mix(np.arange(1, count * folds + 1, dtype=np.uint64)) >> np.uint64(63)
    return 1 - 2 * bits.reshape(count, folds).astype(np.float64)

"""Standard errors of estimates before labels arrive, from the sampling noise of both sets of labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from streammetrics.before_labels.rates import Values, cells, isotonic
from streammetrics.before_labels.values import Bins, Group

DRAWS = 200
PAIRS = 1 << 22  # maximum number of pairs of slices, over all draws, that are processed together


def standard_errors(group: Group, wanted: Sequence[tuple[str, float | None]]) -> Values:
    """The standard error of each metric at each threshold, from draws with a fixed seed.

    A parametric bootstrap: each draw resamples the labels of the reference and the future labels with the fitted rates.
    The error is the metric of the future labels minus the metric expected with rates refitted to the reference. Rows
    are assumed to be independent.
    """
    coarse = _Slices(group)
    rows, rates = coarse.bins.rows, coarse.rates
    random = np.random.default_rng(0)
    labels = _draws(random, rows, rates)
    known = np.flatnonzero(coarse.reference)
    size = coarse.reference[known]
    positives = _draws(random, size, rates[known])
    refitted = np.stack([np.interp(np.arange(len(rows)), known, r) for r in _refitted(size, positives)])
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = [coarse.bins.value(*one, labels) - coarse.bins.value(*one, rows * refitted) for one in wanted]
    return np.array([_spread(error) for error in errors])


def _refitted(size: Values, positives: Values) -> Iterator[Values]:
    """Isotonic rates of each draw, computed for a few draws at a time because memory grows with pairs of slices."""
    for part in np.array_split(positives, min(DRAWS, DRAWS * size.size**2 // PAIRS + 1)):
        yield from isotonic(size - part, part)


class _Slices:
    """A group in few bins: the cells of the isotonic regression, cut at the thresholds."""

    def __init__(self, group: Group) -> None:
        occupied = np.flatnonzero(group.neg + group.pos)
        own = cells(group.neg[occupied], group.pos[occupied])
        cell = np.floor(np.interp(np.arange(len(group.rows)), occupied, own))
        sides = [cell, *(np.ceil(above) for above in group.bins.above.values())]
        self._starts = np.flatnonzero(np.any([np.diff(side, prepend=-1) for side in sides], axis=0))
        self.reference = self._sum(group.neg + group.pos)
        everything = group.rows + group.neg + group.pos
        self.rates = self._mean(group.rates, everything)
        losses = {
            name: (self._mean(negative, group.rows), self._mean(positive, group.rows))
            for name, (negative, positive) in group.bins.losses.items()
        }
        above = {threshold: self._mean(share, group.rows) for threshold, share in group.bins.above.items()}
        self.bins = Bins(self._sum(group.rows), above, losses)

    def _sum(self, values: Values) -> Values:
        found: Values = np.add.reduceat(values, self._starts)
        return found

    def _mean(self, values: Values, rows: Values) -> Values:
        total = self._sum(rows)
        return self._sum(values * rows) / np.where(total > 0, total, 1)


def _spread(errors: Values) -> float:
    """The standard deviation of the errors, NaN if the metric is undefined in most draws."""
    known = errors[np.isfinite(errors)]
    return float(known.std()) if len(known) > DRAWS / 2 else np.nan


def _draws(random: np.random.Generator, rows: Values, rates: Values) -> Values:
    return random.binomial(rows.astype(np.int64), rates, (DRAWS, len(rows))).astype(np.float64)

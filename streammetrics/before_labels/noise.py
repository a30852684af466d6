"""Standard errors of estimates before labels arrive, from the sampling noise of both sets of labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from streammetrics.before_labels.filled import Bins, Wanted, read
from streammetrics.before_labels.groups import Group
from streammetrics.before_labels.rates import Values, cells, isotonic

DRAWS = 200
PAIRS = 1 << 22  # maximum number of pairs of slices, over all draws, that are processed together


def standard_errors(group: Group, wanted: Sequence[Wanted]) -> dict[Wanted, float]:
    """The standard error of each metric, from draws with a fixed seed, NaN if it is undefined in most draws.

    A parametric bootstrap: each draw resamples the labels of the reference and the future labels with the fitted rates.
    The error is the metric of the future labels minus the metric expected with rates refitted to the reference. Rows
    are assumed to be independent.
    """
    bins, reference, rates = _slices(group)
    random = np.random.default_rng(0)
    labels = _draws(random, bins.rows, rates)
    known = np.flatnonzero(reference)
    size = reference[known]
    positives = _draws(random, size, rates[known])
    refitted = np.stack([np.interp(np.arange(rates.size), known, r) for r in _refitted(size, positives)])
    found = read([(bins, labels), (bins, bins.rows * refitted)], wanted)
    errors = {one: found[one][:DRAWS] - found[one][DRAWS:] for one in wanted}
    known_of = {one: error[np.isfinite(error)] for one, error in errors.items()}
    return {one: float(error.std()) if error.size > DRAWS / 2 else np.nan for one, error in known_of.items()}


def _refitted(size: Values, positives: Values) -> Iterator[Values]:
    """Isotonic rates of each draw, computed for a few draws at a time because memory grows with pairs of slices."""
    for part in np.array_split(positives, min(DRAWS, DRAWS * size.size**2 // PAIRS + 1)):
        yield from isotonic(size - part, part)


def _slices(group: Group) -> tuple[Bins, Values, Values]:
    """A group in few bins, with their rows in the reference and their rates.

    These bins are the cells of the isotonic regression, cut at the thresholds.
    """
    reference = group.neg + group.pos
    occupied = np.flatnonzero(reference)
    cell = np.floor(np.interp(np.arange(group.rows.size), occupied, cells(group.neg[occupied], group.pos[occupied])))
    sides = [cell, *(np.ceil(above) for above in group.bins.above.values())]
    starts = np.flatnonzero(np.any([np.diff(side, prepend=-1) for side in sides], axis=0))

    def total(values: Values) -> Values:
        found: Values = np.add.reduceat(values, starts, axis=-1)
        return found

    def mean(values: Values, rows: Values) -> Values:
        return total(values * rows) / np.where(total(rows) > 0, total(rows), 1)

    above = {at: mean(share, group.rows) for at, share in group.bins.above.items()}
    losses = {metric: mean(loss, group.rows) for metric, loss in group.bins.losses.items()}
    return Bins(total(group.rows), above, losses), total(reference), mean(group.rates, group.rows + reference)


def _draws(random: np.random.Generator, rows: Values, rates: Values) -> Values:
    return random.binomial(rows.astype(np.int64), rates, (DRAWS, rows.size)).astype(np.float64)

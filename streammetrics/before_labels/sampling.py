"""The weight of scores in a prediction-powered estimate, and the sampling variance of the estimate.

An estimate sums up what rows add to the metric of the labeled rows, minus ``power`` times what they add to the
difference of the mean predictions with and without labels. The power with the smallest variance is a regression
coefficient: over rows if they are independent, over folds if the rows of a unit are correlated. A unit can have rows
with and without labels, so a fold has the rows of both sides.

References: Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453. Of few folds, the coefficient is uncertain
itself: Lavenberg & Welch (1981), A perspective on the use of control variables, Management Science 27(3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, nan

import numpy as np
import polars as pl

from streammetrics.before_labels.groups import Group
from streammetrics.before_labels.rates import Integers, Values
from streammetrics.intervals.jackknife import degrees_of_freedom
from streammetrics.rows.folds import FEWEST_FOLDS, MOST_FOLDS
from streammetrics.rows.roles import FOLD
from streammetrics.state.tables import State, find_groups
from streammetrics.statistics import GROUP


@dataclass(frozen=True)
class Terms:
    """What a row of each bin adds to an estimate.

    ``own`` and ``own_squares`` are the mean and the mean square of what a negative and a positive with a label add to
    the metric: arrays of shape (2, bins). ``predicted`` is the expected influence of a row.
    """

    group: Group
    own: Values
    own_squares: Values
    predicted: Values

    @cached_property
    def means(self) -> tuple[float, float]:
        """The mean prediction of the rows with labels and of the other rows."""
        labeled, others = (float(np.average(self.predicted, weights=n)) for n in (self.group.labeled, self.group.rows))
        return labeled, others

    @property
    def labeled(self) -> Values:
        """What a row with a label adds to the difference of the mean predictions."""
        added: Values = (self.predicted - self.means[0]) / self.group.labeled.sum()
        return added

    @property
    def others(self) -> Values:
        """What a row without a label adds to this difference."""
        added: Values = (self.means[1] - self.predicted) / self.group.rows.sum()
        return added


@dataclass(frozen=True)
class Tuned:
    """The power of an estimate, its variance, and the degrees of freedom of the variance."""

    power: float
    variance: float
    degrees: float = inf


@dataclass(frozen=True)
class Cells:
    """Bins of a group by fold of units: their folds, their lowest keys, and their rows by class: shape (classes, bins).

    Rows without labels are one class.
    """

    fold: Integers
    start: Integers
    rows: Values

    def sums(self, group: Group, added: Values) -> Values:
        """What the rows of each fold add, given what a row of each bin of the group adds, possibly by class."""
        bins = np.searchsorted(group.start, self.start, side="right") - 1
        weights = (self.rows * added[..., bins]).sum(axis=0)
        return np.bincount(self.fold, weights, MOST_FOLDS).astype(float)


def cells_by_group(state: State, folds: State, bins: pl.DataFrame, together: int) -> dict[int, Cells]:
    """The cells of each group of a state, given the same state by fold, the bins of this one, and how many folds to
    put ``together``.
    """
    numbers = find_groups(folds.keys.drop(FOLD), state.groups)
    groups = folds.groups.select(GROUP, pl.col(FOLD) // together, of=numbers)
    parts = bins.join(groups, on=GROUP).partition_by("of", as_dict=True)
    return {number: _cells(part.drop(GROUP, "of")) for (number,), part in parts.items()}


def _cells(bins: pl.DataFrame) -> Cells:
    fold, shift, bin = (bins[name].to_numpy().astype(np.int64) for name in (FOLD, "shift", "bin"))
    return Cells(fold, bin << shift, bins.drop(FOLD, "shift", "bin").to_numpy().T.astype(float))


def of_rows(terms: Terms) -> Tuned:
    """Independent rows, with weights or without."""
    group = terms.group
    squares, others = group.squares_by_class, group.squares["rows"]
    every = np.cov(terms.predicted, aweights=group.labeled + group.rows, ddof=0)
    shared = every * (squares.sum() / group.labeled.sum() ** 2 + others.sum() / group.rows.sum() ** 2)
    power = _power((squares * terms.own * terms.labeled).sum(), shared)
    rest = terms.own_squares - 2 * power * terms.own * terms.labeled + (power * terms.labeled) ** 2
    return Tuned(power, float((squares * rest).sum() + (others * (power * terms.others) ** 2).sum()))


def unknown(terms: Terms) -> Tuned:
    """Rows that are correlated in an unknown way, so that the variance is unknown."""
    return Tuned(of_rows(terms).power, nan)


def of_units(terms: Terms, labeled: Cells, others: Cells) -> Tuned:
    """Rows of units that are in folds. The variance is unknown if too few folds have labels.

    Rows of a bin that a threshold cuts count as independent within the bin.
    """
    group, folds = terms.group, np.unique(labeled.fold).size
    if folds < FEWEST_FOLDS:
        return unknown(terms)
    own = labeled.sums(group, terms.own)
    shared = labeled.sums(group, terms.labeled) + others.sums(group, terms.others)
    squares = (shared**2).sum()
    power = _power((own * shared).sum(), squares)
    rest = (own - power * shared) ** 2
    uncertain = 1 + (terms.means[0] - terms.means[1]) ** 2 / (folds * squares) if power else 1.0
    within = (group.squares_by_class * (terms.own_squares - terms.own**2)).sum()
    variance = folds / (folds - 2) * uncertain * rest.sum() + within
    fourths = (rest**2).sum()
    degrees = degrees_of_freedom(folds, rest.sum(), fourths) if fourths else inf
    return Tuned(power, float(variance), min(degrees, folds - 2))


def effective(rows: Values, squares: Values) -> float:
    """The effective number of rows (Kish 1965), given sums of weights and of their squares."""
    return float(rows.sum() ** 2 / squares.sum()) if squares.sum() else 0.0


def _power(both: float, shared: float) -> float:
    return float(np.clip(both / shared, 0, 1)) if shared > 0 else 0.0

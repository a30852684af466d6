"""Prediction-powered estimates: labels of a random sample, made more precise by the scores of all rows.

The metric of the labeled rows is corrected by what scores predict. Let psi be the influence of a row on the metric. It
depends on the label and the bin of scores. Let g be its expected value if the score is the probability of a positive.
Then ``value = metric + power * (mean of g without labels - mean of g with labels)``. Both means estimate the same
number, so the value is valid even if the scores are badly calibrated. The power gives the smallest variance.

References: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference, Science 382; the power:
Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd, inf, isfinite, isnan, nan

import numpy as np
import polars as pl

from streammetrics.base import STATUS
from streammetrics.core import Codes, Floats
from streammetrics.data import FEWEST_FOLDS, FOLD, MOST_FOLDS
from streammetrics.metrics import FEWEST, Metric, degrees_of_freedom, t_quantiles
from streammetrics.monitor.before_labels.estimates import Numbers, Row, available, estimated
from streammetrics.monitor.before_labels.filled import DECISIONS, Reading, bounded, confusion, value_of
from streammetrics.monitor.before_labels.filled import METRICS as CALIBRATED
from streammetrics.monitor.before_labels.groups import Group, groups, labels_of, scores_of
from streammetrics.report import Report
from streammetrics.statistics import GROUP, State

STEP = 1e-5  # of the rows, by which counts change to find the influence of a row


def prevalence(neg: pl.Expr, pos: pl.Expr) -> pl.Expr:
    """Share of rows that are positive."""
    return pos.sum() / (neg + pos).sum()


PREVALENCE = Metric(prevalence, range=(0, 1), better=None, aliases=())
METRICS = {"prevalence": PREVALENCE} | {
    name: m for name, m in CALIBRATED.items() if name not in ("expected_positives", "average_precision")
}


def powered(
    scores: Report, reference: Report, metrics: Mapping[str, Metric], level: float | None, *, strict: bool
) -> Iterator[Row]:
    """Yield the estimates of each group, with an upper ``level`` also their intervals."""
    labeled = bounded(reference.state, [*metrics.values()])
    tuned, why = _sampled(scores, reference)
    for block in groups(reference.state, scores.state):
        readings = available(metrics, block[0], strict=strict)
        for group in block:
            for one in readings:
                yield group, one, _powered(group, one, labeled.get(one), tuned, level, why)


def _sampled(scores: Report, reference: Report) -> tuple[Callable[[Terms], Tuned], str]:
    """How estimates are tuned, and why some have no interval."""
    if scores.unit is None and reference.unit is None:
        return tune_to_rows, "few_labeled_rows"
    common = gcd(scores.number_of_folds, reference.number_of_folds)
    if scores.unit != reference.unit or scores.folds is None or reference.folds is None or common < FEWEST_FOLDS:
        return unknown, "other_units"
    labels = reference.folds.table(labels_of(reference.folds, "")).select(GROUP, "shift", "bin", "neg", "pos")
    labeled = cells_by_group(reference.state, reference.folds, labels, reference.number_of_folds // common)
    rows = scores_of(scores.folds).bins.select(GROUP, "shift", "bin", "count")
    others = cells_by_group(scores.state, scores.folds, rows, scores.number_of_folds // common)

    def tuned(terms: Terms) -> Tuned:
        group = terms.group
        assert group.reference is not None  # else no metric is defined
        return tune_to_units(terms, labeled[group.reference], others[group.number])

    return tuned, "few_labeled_units"


def _powered(
    group: Group,
    one: Reading,
    labeled: Floats | None,
    tuned: Callable[[Terms], Tuned],
    level: float | None,
    why: str,
) -> Numbers:
    """The numbers of an estimate, given the metrics of the labeled rows and their bounds: shape (groups, 3)."""
    if group.undefined:
        return {STATUS: group.undefined}
    if labeled is None:
        return {STATUS: "not_in_reference"}
    value, *ends = labeled[group.reference].tolist()
    if isnan(value):
        return {STATUS: "no_predicted_positives_in_reference"}
    metric = METRICS[one[0]]
    terms, relevant = _terms(group, *one, value)
    tuning = tuned(terms)
    correction = tuning.power * (terms.means[1] - terms.means[0])
    value, low, high = np.clip(np.array([value, *ends]) + correction, *metric.range).tolist()
    reach = level and _quantile(group, relevant, tuning.degrees, level) * tuning.variance**0.5
    return estimated(metric, value, (low, high), reach, None, why)


def _quantile(group: Group, relevant: Floats, degrees: float, level: float) -> float:
    """The quantile of Student's t, or 0 if too few rows of a class have labels, or too few are ``relevant``."""
    smaller = min(map(effective, group.classes, group.class_squares))
    if min(smaller, effective(relevant * group.classes, relevant * group.class_squares)) < FEWEST:
        return 0.0
    return float(t_quantiles(level, np.array([min(smaller - 1, degrees)], dtype=float))[0])


def _terms(group: Group, metric: str, threshold: float | None, value: float) -> tuple[Terms, Floats]:
    """What rows add to an estimate, and the share of the negatives and positives of each bin that add to the metric."""
    shares, influence = _influence(group, metric, threshold, value)
    share = shares[:, None]
    mean, square = (share * influence).sum(axis=0), (share * influence**2).sum(axis=0)
    relevant = (share * (influence != 0)).sum(axis=0)
    score, n = group.low / 2 + group.high / 2, group.labeled.sum()
    return Terms(group, mean / n, square / n**2, (1 - score) * mean[0] + score * mean[1]), relevant


def _influence(group: Group, metric: str, threshold: float | None, value: float) -> tuple[Floats, Floats]:
    """The influence of a negative and a positive of each bin on the metric of the labeled rows.

    Bins that a threshold cuts have two sides: an array of shape (sides, 2, bins), and the share of each side.
    """
    n, ones = group.labeled.sum(), np.ones((1, group.rows.size))
    if threshold is not None:
        above = group.bins.above[threshold]
        tp = (group.pos * above).sum()
        counts = confusion(tp, group.pos.sum() - tp, group.labeled, above)
        by_cell = [[_slope(DECISIONS[metric], counts, cell) for cell in side] for side in (("fp", "tp"), ("tn", "fn"))]
        return np.stack([above, 1 - above]), np.array(by_cell)[..., None] * ones
    if metric == "prevalence":
        return ones, np.array([[-value], [1 - value]])[None] * ones
    if metric == "roc_auc":
        below, above = ((np.cumsum(side) - side / 2) / side.sum() for side in group.classes)
        return ones, np.array([[(1 - above - value) * n / group.neg.sum(), (below - value) * n / group.pos.sum()]])
    return ones, np.array([group.bins.losses[metric] - value])


def _slope(metric: Metric, counts: dict[str, Floats], cell: str) -> float:
    """The derivative of a metric by the share of the rows in a cell of the confusion counts."""
    step = STEP * sum(counts.values())
    ends = (counts | {cell: counts[cell] + side * step} for side in (1, -1))
    upper, lower = (value_of(metric, end) for end in ends)
    return (upper - lower) / (2 * STEP) if isfinite(upper - lower) else 0.0


@dataclass(frozen=True)
class Terms:
    """What a row of each bin adds to an estimate.

    ``added`` and ``added_squares`` are the mean and the mean square of what a negative and a positive with a label add
    to the metric: arrays of shape (2, bins). ``predicted`` is the expected influence of a row.
    """

    group: Group
    added: Floats
    added_squares: Floats
    predicted: Floats

    @cached_property
    def means(self) -> tuple[float, float]:
        """The mean prediction of the rows with labels and of the other rows."""
        labeled, others = (float(np.average(self.predicted, weights=n)) for n in (self.group.labeled, self.group.rows))
        return labeled, others

    @property
    def labeled(self) -> Floats:
        """What a row with a label adds to the difference of the mean predictions."""
        added: Floats = (self.predicted - self.means[0]) / self.group.labeled.sum()
        return added

    @property
    def others(self) -> Floats:
        """What a row without a label adds to this difference."""
        added: Floats = (self.means[1] - self.predicted) / self.group.rows.sum()
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

    fold: Codes
    start: Codes
    rows: Floats

    def sums(self, group: Group, added: Floats) -> Floats:
        """What the rows of each fold add, given what a row of each bin of the group adds, possibly by class."""
        bins = np.searchsorted(group.start, self.start, side="right") - 1
        weights = (self.rows * added[..., bins]).sum(axis=0)
        return np.bincount(self.fold, weights, MOST_FOLDS).astype(float)


def cells_by_group(state: State, folds: State, bins: pl.DataFrame, together: int) -> dict[int, Cells]:
    """The cells of each group of a state, given the same state by fold, the bins of this one, and how many folds to
    put ``together``.
    """
    groups = folds.groups.select(GROUP, pl.col(FOLD) // together, of=state.numbers_of(folds))
    parts = bins.join(groups, on=GROUP).partition_by("of", as_dict=True)
    return {number: _cells(part.drop(GROUP, "of")) for (number,), part in parts.items()}


def _cells(bins: pl.DataFrame) -> Cells:
    fold, shift, bin = (bins[name].to_numpy().astype(np.int64) for name in (FOLD, "shift", "bin"))
    return Cells(fold, bin << shift, bins.drop(FOLD, "shift", "bin").to_numpy().T.astype(float))


def tune_to_rows(terms: Terms) -> Tuned:
    """Independent rows, with weights or without."""
    group = terms.group
    squares, others = group.class_squares, group.squares["rows"]
    every = np.cov(terms.predicted, aweights=group.labeled + group.rows, ddof=0)
    shared = every * (squares.sum() / group.labeled.sum() ** 2 + others.sum() / group.rows.sum() ** 2)
    power = _power((squares * terms.added * terms.labeled).sum(), shared)
    residuals = terms.added_squares - 2 * power * terms.added * terms.labeled + (power * terms.labeled) ** 2
    return Tuned(power, float((squares * residuals).sum() + (others * (power * terms.others) ** 2).sum()))


def unknown(terms: Terms) -> Tuned:
    """Rows that are correlated in an unknown way, so that the variance is unknown."""
    return Tuned(tune_to_rows(terms).power, nan)


def tune_to_units(terms: Terms, labeled: Cells, others: Cells) -> Tuned:
    """Rows of units that are in folds. The variance is unknown if too few folds have labels.

    Rows of a bin that a threshold cuts count as independent within the bin.
    """
    group, folds = terms.group, np.unique(labeled.fold).size
    if folds < FEWEST_FOLDS:
        return unknown(terms)
    added = labeled.sums(group, terms.added)
    shared = labeled.sums(group, terms.labeled) + others.sums(group, terms.others)
    squares = (shared**2).sum()
    power = _power((added * shared).sum(), squares)
    residuals = (added - power * shared) ** 2
    uncertain = 1 + (terms.means[0] - terms.means[1]) ** 2 / (folds * squares) if power else 1.0
    within = (group.class_squares * (terms.added_squares - terms.added**2)).sum()
    variance = folds / (folds - 2) * uncertain * residuals.sum() + within
    fourths = (residuals**2).sum()
    degrees = degrees_of_freedom(folds, residuals.sum(), fourths) if fourths else inf
    return Tuned(power, float(variance), min(degrees, folds - 2))


def effective(rows: Floats, squares: Floats) -> float:
    """The effective number of rows (Kish 1965), given sums of weights and of their squares."""
    return float(rows.sum() ** 2 / squares.sum()) if squares.sum() else 0.0


def _power(both: float, shared: float) -> float:
    return float(np.clip(both / shared, 0, 1)) if shared > 0 else 0.0

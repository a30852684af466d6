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
from math import gcd, isfinite, isnan

import numpy as np
import polars as pl

from streammetrics.before_labels.estimates import Numbers, Row, available, estimated
from streammetrics.before_labels.filled import DECISIONS, Wanted, bounded, confusion
from streammetrics.before_labels.filled import METRICS as CALIBRATED
from streammetrics.before_labels.groups import Group, groups, labels_of, scores_of
from streammetrics.before_labels.rates import Values
from streammetrics.before_labels.sampling import Terms, Tuned, cells_by_group, effective, of_rows, of_units, unknown
from streammetrics.intervals.distributions import t_quantiles
from streammetrics.intervals.method import FEWEST
from streammetrics.metrics import Metric
from streammetrics.report.report import Report
from streammetrics.rows.folds import FEWEST_FOLDS
from streammetrics.statistics import GROUP

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
    shown = bounded(reference.state, [*metrics.values()])
    tuned, why = _sampled(scores, reference)
    for block in groups(reference.state, scores.state):
        wanted = available(metrics, block[0], strict=strict)
        for group in block:
            for one in wanted:
                yield group, one, _powered(group, one, shown.get(one), tuned, level, why)


def _sampled(scores: Report, reference: Report) -> tuple[Callable[[Terms], Tuned], str]:
    """How estimates are tuned, and why some have no interval."""
    if scores.unit is None and reference.unit is None:
        return of_rows, "too few rows with labels"
    common = gcd(scores.number_of_folds, reference.number_of_folds)
    if scores.unit != reference.unit or scores.folds is None or reference.folds is None or common < FEWEST_FOLDS:
        return unknown, "pass the same unit= and folds= for both sides"
    labels = reference.folds.table(labels_of(reference.folds, "")).select(GROUP, "shift", "bin", "neg", "pos")
    labeled = cells_by_group(reference.state, reference.folds, labels, reference.number_of_folds // common)
    rows = scores_of(scores.folds).bins.select(GROUP, "shift", "bin", "count")
    others = cells_by_group(scores.state, scores.folds, rows, scores.number_of_folds // common)

    def tuned(terms: Terms) -> Tuned:
        group = terms.group
        assert group.reference is not None  # else no metric is defined
        return of_units(terms, labeled[group.reference], others[group.number])

    return tuned, "too few units or rows with labels"


def _powered(
    group: Group,
    one: Wanted,
    shown: Values | None,
    tuned: Callable[[Terms], Tuned],
    level: float | None,
    why: str,
) -> Numbers:
    """The numbers of an estimate, given the metrics of the labeled rows and their bounds: shape (groups, 3)."""
    if group.undefined:
        return {"note": f"undefined: {group.undefined}"}
    if shown is None:
        return {"note": "undefined: the reference does not have this metric at this threshold"}
    value, *ends = shown[group.reference].tolist()
    if isnan(value):
        return {"note": "undefined: no predicted positives in the reference"}
    metric = METRICS[one[0]]
    terms, relevant = _terms(group, *one, value)
    found = tuned(terms)
    correction = found.power * (terms.means[1] - terms.means[0])
    value, low, high = np.clip(np.array([value, *ends]) + correction, *metric.range).tolist()
    reach = level and _quantile(group, relevant, found.degrees, level) * found.variance**0.5
    return estimated(metric, value, (low, high), reach, None, why)


def _quantile(group: Group, relevant: Values, degrees: float, level: float) -> float:
    """The quantile of Student's t, or 0 if too few rows of a class have labels, or too few are ``relevant``."""
    smaller = min(map(effective, group.by_class, group.squares_by_class))
    if min(smaller, effective(relevant * group.by_class, relevant * group.squares_by_class)) < FEWEST:
        return 0.0
    return float(t_quantiles(level, np.array([min(smaller - 1, degrees)], dtype=float))[0])


def _terms(group: Group, metric: str, threshold: float | None, value: float) -> tuple[Terms, Values]:
    """What rows add to an estimate, and the share of the negatives and positives of each bin that add to the metric."""
    shares, influence = _influence(group, metric, threshold, value)
    own, squares, relevant = (
        (shares[:, None] * amount).sum(axis=0) for amount in (influence, influence**2, influence != 0)
    )
    score, n = group.low / 2 + group.high / 2, group.labeled.sum()
    return Terms(group, own / n, squares / n**2, (1 - score) * own[0] + score * own[1]), relevant


def _influence(group: Group, metric: str, threshold: float | None, value: float) -> tuple[Values, Values]:
    """The influence of a negative and a positive of each bin on the metric of the labeled rows.

    Bins that a threshold cuts have two sides: an array of shape (sides, 2, bins), and the share of each side.
    """
    n, whole = group.labeled.sum(), np.ones((1, group.rows.size))
    if threshold is not None:
        above = group.bins.above[threshold]
        tp = (group.pos * above).sum()
        counts = confusion(tp, group.pos.sum() - tp, group.labeled, above)
        by_cell = [[_slope(DECISIONS[metric], counts, cell) for cell in side] for side in (("fp", "tp"), ("tn", "fn"))]
        return np.stack([above, 1 - above]), np.array(by_cell)[..., None] * whole
    if metric == "prevalence":
        return whole, np.array([[-value], [1 - value]])[None] * whole
    if metric == "roc_auc":
        below, above = ((np.cumsum(side) - side / 2) / side.sum() for side in group.by_class)
        return whole, np.array([[(1 - above - value) * n / group.neg.sum(), (below - value) * n / group.pos.sum()]])
    return whole, np.array([group.bins.losses[metric] - value])


def _slope(metric: Metric, counts: dict[str, Values], cell: str) -> float:
    """The derivative of a metric by the share of the rows in a cell of the confusion counts."""
    step = STEP * sum(counts.values())
    ends = (counts | {cell: counts[cell] + side * step} for side in (1, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        upper, lower = (float(metric.formula(*(end[c] for c in metric.columns))) for end in ends)
    return (upper - lower) / (2 * STEP) if isfinite(upper - lower) else 0.0

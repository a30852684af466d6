"""Prediction-powered estimates: labels of a random sample, made more precise by the scores of all rows.

The metric of the labeled rows is corrected by what scores predict. Let psi be the influence of a row on the metric. It
depends on the label and the bin of scores. Let g be its expected value if the score is the probability of a positive.
Then ``value = metric + power * (mean of g without labels - mean of g with labels)``. Both means estimate the same
number, so the value is valid even if the scores are badly calibrated. The power gives the smallest variance.

References: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference, Science 382; the power:
Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, isnan, nan
from typing import TypeAlias

import numpy as np
import polars as pl

from streammetrics.before_labels.estimates import Numbers, limit
from streammetrics.before_labels.filled import DECISIONS, Wanted, confusion
from streammetrics.before_labels.filled import METRICS as CALIBRATED
from streammetrics.before_labels.groups import Group
from streammetrics.before_labels.rates import Values
from streammetrics.frame import LIMITS
from streammetrics.intervals.distributions import t_quantiles
from streammetrics.intervals.limits import LEAST_ERROR
from streammetrics.intervals.method import FEWEST
from streammetrics.metrics import Metric

Side: TypeAlias = tuple[Values, Values, Values]  # share of each bin, influence of a negative and of a positive

STEP = 1e-5  # of the rows, by which counts change to find the influence of a row


def prevalence(neg: pl.Expr, pos: pl.Expr) -> pl.Expr:
    """Share of rows that are positive."""
    return pos.sum() / (neg + pos).sum()


PREVALENCE = Metric(prevalence, range=(0, 1), better=None, aliases=())
METRICS = {"prevalence": PREVALENCE} | {
    name: m for name, m in CALIBRATED.items() if name not in ("expected_positives", "average_precision")
}


def powered(
    group: Group, shown: Mapping[Wanted, Values], wanted: list[Wanted], level: float | None
) -> Iterator[tuple[Wanted, Numbers]]:
    """Yield the value and note of each metric, with an upper ``level`` also interval endpoints.

    ``shown`` has the metrics of the labeled rows and their bounds: an array of shape (groups of the reference, 3).
    """
    smaller = min(group.neg.sum(), group.pos.sum())
    quantile = float(t_quantiles(level, np.array([smaller - 1]))[0]) if level and smaller >= FEWEST else nan
    for one in wanted:
        if group.undefined:
            yield one, {"note": f"undefined: {group.undefined}"}
            continue
        if one not in shown:
            yield one, {"note": "undefined: the reference does not have this metric at this threshold"}
            continue
        assert group.reference is not None
        value, *bounds = shown[one][group.reference].tolist()
        if isnan(value):
            yield one, {"note": "undefined: no predicted positives in the reference"}
            continue
        correction, error = _correction(group, *one, value)
        value, low, high = np.clip(np.array([value, *bounds]) + correction, *METRICS[one[0]].range).tolist()
        found: Numbers = {"value": value, "lower": low, "upper": high}
        if level and not quantile * error > LEAST_ERROR:
            found["note"] = "no interval: too few rows with labels"
        elif level:
            ends = (limit(METRICS[one[0]], end, side * quantile * error) for end, side in ((low, -1), (high, 1)))
            found |= dict(zip(LIMITS, ends, strict=True))
        yield one, found


def _correction(group: Group, metric: str, threshold: float | None, value: float) -> tuple[float, float]:
    """What all scores add to the metric of the labeled rows, and the standard error of the sum, 0 of too few rows."""
    sides = _influence(group, metric, threshold, value)
    score = group.low / 2 + group.high / 2
    expected = np.sum(
        [share * ((1 - score) * negative + score * positive) for share, negative, positive in sides], axis=0
    )
    influence = np.concatenate([np.append(negative, positive) for _, negative, positive in sides])
    labeled = np.concatenate([np.append(share * group.neg, share * group.pos) for share, _, _ in sides])
    n, others = labeled.sum(), group.rows.sum()
    every = np.cov(expected, aweights=group.neg + group.pos + group.rows, ddof=0)
    cov = np.cov(influence, np.tile(expected, 2 * len(sides)), aweights=labeled, ddof=0)
    power = float(np.clip(cov[0, 1] / ((1 + n / others) * every), 0, 1)) if every > 0 else 0.0
    of_labels = (cov[0, 0] - 2 * power * cov[0, 1] + power**2 * cov[1, 1]) / n
    variance = of_labels + power**2 * every / others if labeled[influence != 0].sum() >= FEWEST else 0.0
    means = [np.average(expected, weights=rows) for rows in (group.rows, group.neg + group.pos)]
    return float(power * (means[0] - means[1])), float(variance**0.5)


def _influence(group: Group, metric: str, threshold: float | None, value: float) -> list[Side]:
    """The influence of each bin on the metric of the labeled rows. Bins that a threshold cuts have two sides."""
    n = group.neg.sum() + group.pos.sum()
    if threshold is not None:
        above = group.bins.above[threshold]
        tp = (group.pos * above).sum()
        counts = confusion(tp, group.pos.sum() - tp, group.neg + group.pos, above)
        by_cell = {cell: np.full_like(above, _slope(DECISIONS[metric], counts, cell)) for cell in counts}
        return [(above, by_cell["fp"], by_cell["tp"]), (1 - above, by_cell["tn"], by_cell["fn"])]
    whole = np.ones_like(group.rows)
    if metric == "prevalence":
        return [(whole, np.full_like(group.neg, -value), np.full_like(group.pos, 1 - value))]
    if metric == "roc_auc":
        below, above = ((np.cumsum(side) - side / 2) / side.sum() for side in (group.neg, group.pos))
        return [(whole, (1 - above - value) * n / group.neg.sum(), (below - value) * n / group.pos.sum())]
    of_negative, of_positive = group.bins.losses[metric]
    return [(whole, of_negative - value, of_positive - value)]


def _slope(metric: Metric, counts: dict[str, Values], cell: str) -> float:
    """The derivative of a metric by the share of the rows in a cell of the confusion counts."""
    step = STEP * sum(counts.values())
    ends = (counts | {cell: counts[cell] + side * step} for side in (1, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        upper, lower = (float(metric.formula(*(end[c] for c in metric.columns))) for end in ends)
    return (upper - lower) / (2 * STEP) if isfinite(upper - lower) else 0.0

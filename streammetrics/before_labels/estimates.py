"""Estimates of each group: values, bounds, intervals, and the odds factor needed to contain observed metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, inf, isnan, log
from typing import Any

import numpy as np

from streammetrics.before_labels.decisions import DECISIONS
from streammetrics.before_labels.losses import LOSSES
from streammetrics.before_labels.noise import standard_errors
from streammetrics.before_labels.rates import Positives
from streammetrics.before_labels.values import RANGES, Group, bounds
from streammetrics.errors import MetricError
from streammetrics.uncertainty.limits import moved

Wanted = tuple[str, float | None]  # a metric and its threshold, if it has one
Numbers = dict[str, Any]

MOST_ODDS = 1e6  # the largest factor that the search tries
HALVINGS = 25  # steps of the bisection on the logarithm
ROUNDING = 1e-9


def available(metrics: Sequence[str], group: Group, probabilities: bool, *, strict: bool) -> list[Wanted]:
    """Return the available metrics of a group, of confusion counts at each threshold. ``strict`` rejects others."""
    missing = [m for m in metrics if (m in LOSSES and not probabilities) or (m in DECISIONS and not group.predicted)]
    if strict and missing:
        needs = "probabilities" if missing[0] in LOSSES else "thresholds on the score"
        raise MetricError(f"Metric {missing[0]!r} requires {needs}, which the rows without labels do not have.")
    plain: list[Wanted] = [(m, None) for m in metrics if m not in DECISIONS and m not in missing]
    return [*plain, *((m, t) for t in sorted(group.predicted) for m in metrics if m in DECISIONS)]


def estimates(group: Group, wanted: Sequence[Wanted], odds: float, quantile: float | None) -> Iterator[Numbers]:
    """Yield the value, bounds, and note of each metric, with a normal ``quantile`` also interval endpoints."""
    if group.undefined:
        yield from ({"note": f"undefined: {group.undefined}"} for _ in wanted)
        return
    errors = np.zeros(len(wanted)) if quantile is None else quantile * standard_errors(group, wanted)
    scored = group.scored
    positives = Positives.of(scored.rows, scored.rates, odds, scored.hidden)
    for (metric, threshold), error in zip(wanted, errors, strict=True):
        value = float(scored.bins.value(metric, threshold, positives.expected))
        if isnan(value):
            yield {"note": "undefined: no predicted positives"}
            continue
        low, high = bounds(metric, threshold, scored, positives)
        low, high = min(low, value), max(high, value)
        found: Numbers = {"value": value, "lower": low, "upper": high, "note": group.note}
        if error > 0:
            found |= {"ci_lower": _limit(metric, low, -error), "ci_upper": _limit(metric, high, error)}
        elif quantile:
            found["note"] = "; ".join(filter(None, [group.note, "no interval: too few rows"]))
        yield found


def _limit(metric: str, bound: float, step: float) -> float:
    """Move a bound by a step on the transformed scale of the metric. A bound at the end of its range does not move."""
    low, high = RANGES.get(metric, (0.0, 1.0))
    if not low < bound < high:
        return bound
    with np.errstate(divide="ignore", over="ignore"):  # a large step reaches the end of the range
        return float(moved(np.array(bound), np.array(step), low, high))


def needed_odds(group: Group, wanted: Sequence[Wanted], shown: Mapping[Wanted, float | None]) -> Iterator[Numbers]:
    """Yield the observed value of each metric, its estimate, and the smallest odds whose bounds contain this value."""
    for metric, threshold in wanted:
        value = shown.get((metric, threshold))
        if group.undefined or value is None:
            yield {"value": value}
            continue
        scored = group.scored
        expected = float(scored.bins.value(metric, threshold, scored.rows * scored.rates))
        yield {"value": value, "expected": expected, "needed_odds": _needed(scored, metric, threshold, value)}


def _needed(group: Group, metric: str, threshold: float | None, value: float) -> float:
    def suffices(odds: float) -> bool:
        positives = Positives.of(group.rows, group.rates, odds, group.hidden)
        low, high = bounds(metric, threshold, group, positives)
        return low - ROUNDING * abs(low) <= value <= high + ROUNDING * abs(high)

    if suffices(1.0):
        return 1.0
    if not suffices(MOST_ODDS):
        return inf
    too_small, enough = 0.0, log(MOST_ODDS)
    for _ in range(HALVINGS):
        middle = (too_small + enough) / 2
        too_small, enough = (too_small, middle) if suffices(exp(middle)) else (middle, enough)
    return exp(enough)

"""Estimates of each group: values, bounds, intervals, and the odds factor needed to contain observed metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp, inf, isnan, log
from typing import Any, TypeAlias

import numpy as np

from streammetrics.before_labels.bounds import Positives, bounds
from streammetrics.before_labels.filled import DECISIONS, METRICS, Wanted, is_readable
from streammetrics.before_labels.groups import Group
from streammetrics.before_labels.noise import standard_errors
from streammetrics.errors import MetricError
from streammetrics.intervals.limits import moved
from streammetrics.metrics import Metric
from streammetrics.rounding import SUM_ROUNDING

Numbers: TypeAlias = dict[str, Any]

MOST_ODDS = 1e6  # the largest factor that the search tries
HALVINGS = 25  # steps of the bisection on the logarithm


def available(metrics: Mapping[str, Metric], group: Group, *, strict: bool) -> list[Wanted]:
    """Return the available metrics of a group, of confusion counts at each threshold. ``strict`` rejects others."""
    found = [name for name, metric in metrics.items() if is_readable(metric, group.bins.statistics)]
    if strict and (missing := [m for m in metrics if m not in found]):
        needs = "thresholds on the score" if missing[0] in DECISIONS else "probabilities"
        raise MetricError(f"Metric {missing[0]!r} requires {needs}, which the rows without labels do not have.")
    plain: list[Wanted] = [(m, None) for m in found if m not in DECISIONS]
    return plain + [(m, at) for at in sorted(group.reaching) for m in found if m in DECISIONS]


def estimates(
    group: Group, values: Mapping[Wanted, float], odds: float, quantile: float | None
) -> Iterator[tuple[Wanted, Numbers]]:
    """Yield the value, bounds, and note of each metric, with a normal ``quantile`` also interval endpoints."""
    if group.undefined:
        yield from ((one, {"note": f"undefined: {group.undefined}"}) for one in values)
        return
    errors = standard_errors(group, [*values]) if quantile else {}
    positives = Positives.of(group, odds)
    for one, value in values.items():
        if isnan(value):
            yield one, {"note": "undefined: no predicted positives"}
            continue
        metric, error = METRICS[one[0]], (quantile or 0) * errors.get(one, 0)
        low, high = bounds(positives, *one)
        low, high = min(low, value), max(high, value)
        found: Numbers = {"value": value, "lower": low, "upper": high, "note": group.note}
        if error > 0:
            found |= {"ci_lower": limit(metric, low, -error), "ci_upper": limit(metric, high, error)}
        elif quantile:
            found["note"] = "; ".join(filter(None, [group.note, "no interval: too few rows"]))
        yield one, found


def limit(metric: Metric, bound: float, step: float) -> float:
    """Move a bound by a step on the transformed scale of the metric. A bound at the end of its range does not move."""
    low, high = metric.range
    if not low < bound < high:
        return bound
    with np.errstate(divide="ignore", over="ignore"):  # a large step reaches the end of the range
        return float(moved(np.array(bound), np.array(step), low, high))


def needed_odds(group: Group, one: Wanted, value: float) -> float:
    """Return the smallest odds whose bounds contain the observed value of a metric."""

    def suffices(odds: float) -> bool:
        low, high = bounds(Positives.of(group, odds), *one)
        return low - SUM_ROUNDING * abs(low) <= value <= high + SUM_ROUNDING * abs(high)

    if suffices(1.0):
        return 1.0
    if not suffices(MOST_ODDS):
        return inf
    too_small, enough = 0.0, log(MOST_ODDS)
    for _ in range(HALVINGS):
        middle = (too_small + enough) / 2
        too_small, enough = (too_small, middle) if suffices(exp(middle)) else (middle, enough)
    return exp(enough)

"""Estimates of each group by any method: which metrics it has, and a value with its bounds, interval, and status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from streammetrics.base import LIMITS, REMARK, STATUS
from streammetrics.errors import MetricError
from streammetrics.metrics import LEAST_ERROR, Metric, moved
from streammetrics.monitor.before_labels.filled import DECISIONS, Reading, is_readable
from streammetrics.monitor.before_labels.groups import Group

Numbers: TypeAlias = dict[str, Any]
Row: TypeAlias = tuple[Group, Reading, Numbers]


def available(metrics: Mapping[str, Metric], group: Group, *, strict: bool) -> list[Reading]:
    """Return the available metrics of a group, of confusion counts at each threshold. ``strict`` rejects others."""
    names = [name for name, metric in metrics.items() if is_readable(metric, group.bins.statistics)]
    if strict and (missing := [m for m in metrics if m not in names]):
        needs = "thresholds on the score" if missing[0] in DECISIONS else "probabilities"
        raise MetricError(f"Metric {missing[0]!r} requires {needs}, which the rows without labels do not have.")
    plain: list[Reading] = [(m, None) for m in names if m not in DECISIONS]
    return plain + [(m, at) for at in sorted(group.reaching) for m in names if m in DECISIONS]


def estimated(
    metric: Metric, value: float, bounds: tuple[float, float], reach: float | None, remark: str | None, missing: str
) -> Numbers:
    """Return the numbers of an estimate, with an interval that reaches beyond the bounds on the scale of the metric.

    Without a ``reach``, no interval was asked for. If it is 0 or unknown, ``missing`` is the status.
    """
    status = "exact" if bounds[0] == bounds[1] else "bounded"
    numbers: Numbers = {"value": value, "lower": bounds[0], "upper": bounds[1], REMARK: remark, STATUS: status}
    if reach is None:
        return numbers
    if not reach > LEAST_ERROR:
        return numbers | {STATUS: missing}
    ends = (_limit(metric, end, side * reach) for end, side in zip(bounds, (-1, 1), strict=True))
    return numbers | dict(zip(LIMITS, ends, strict=True))


def _limit(metric: Metric, bound: float, step: float) -> float:
    """Move a bound by a step on the transformed scale of the metric. A bound at the end of its range does not move."""
    low, high = metric.range
    if not low < bound < high:
        return bound
    with np.errstate(divide="ignore", over="ignore"):  # a large step reaches the end of the range
        return float(moved(np.array(bound), np.array(step), low, high))

"""A report with other parts: of one model, at one threshold, or with its groups sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.metrics import Metric
from streammetrics.reading import estimates, models
from streammetrics.state.tables import select

if TYPE_CHECKING:
    from streammetrics.report.report import Report

PARTS = ("state", "metrics", "confidence", "folds", "unit", "always")


def with_parts(report: Report, **others: Any) -> Report:
    """Return the report with some of its `PARTS` replaced."""
    own = {name: getattr(report, name) for name in PARTS}
    return type(report)(**own | others)


def of_model(report: Report, name: str) -> Report:
    """Return the report of one model.

    Raises:
        ReportError: If there is no such model.
    """
    state, folds = (None if s is None else models.of_model(s, name) for s in (report.state, report.folds))
    return with_parts(report, state=state, folds=folds)


def at_only(report: Report, threshold: float) -> Report:
    """Return the report with confusion counts at one threshold only.

    Raises:
        MetricError: As in `estimates.at_only`.
    """
    state, folds = (None if s is None else estimates.at_only(s, threshold) for s in (report.state, report.folds))
    return with_parts(report, state=state, folds=folds)


def sorted_by(report: Report, metric: str | Metric) -> Report:
    """Return the report with its groups sorted by a metric, the worst first. The metric is shown first.

    If it has no preferred direction, the highest value comes first. A group with several values, such as those of
    several thresholds, is placed by the worst. Groups in which the metric is undefined come last.

    Raises:
        MetricError: If the metric is unknown or not available.
    """
    found = report.find(metric)
    shown = report.showing([found, *report.metrics])
    if not report.by:
        return shown
    descending = found.better != "high"
    worst = pl.col("value").max() if descending else pl.col("value").min()
    groups = report.rows(found).group_by(report.by, maintain_order=True).agg(worst)
    groups = groups.sort("value", descending=descending, nulls_last=True, maintain_order=True)
    return with_parts(shown, state=select(report.state, groups.drop("value")))

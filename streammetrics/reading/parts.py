"""A report with replaced parts: of one model, at one threshold, or with its groups sorted."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from streammetrics.metrics import Metric
from streammetrics.reading import estimates, models
from streammetrics.reading.readings import R, with_parts
from streammetrics.state.tables import State, periods, select


def of_model(report: R, name: str) -> R:
    """Return the report of one model."""
    return _with_states(report, lambda state: models.of_model(state, name))


def of_periods(report: R, names: pl.Series, since: pl.Series, until: pl.Series) -> R:
    """Return the report of some periods of a report by windows, the group column that ``names`` is named after."""
    return _with_states(report, lambda state: periods(state, names.name, names, since, until))


def at_only(report: R, threshold: float) -> R:
    """Return the report with confusion counts at one threshold only."""
    return _with_states(report, lambda state: estimates.at_only(state, threshold))


def sorted_by(report: R, metric: str | Metric) -> R:
    """Return the report with its groups sorted by a metric, the worst first. The metric is shown first.

    If it has no preferred direction, the highest value comes first. A group with several values, such as those of
    several thresholds, is placed by the worst. Groups in which the metric is undefined come last.
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


def _with_states(report: R, change: Callable[[State], State]) -> R:
    """Return the report of another state, with the same change of its folds."""
    folds = None if report.folds is None else change(report.folds)
    return with_parts(report, state=change(report.state), folds=folds)

"""Ranking of the groups of a report by a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import METRIC, keys_of, require_free, whole
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import Metric
from streammetrics.reading.looks import with_row_count

if TYPE_CHECKING:
    from streammetrics.report import Report


def ranked(
    report: Report, metric: str | Metric, n: int, min_rows: int, by_bound: bool, keys: dict[str, Any], worst_first: bool
) -> pl.DataFrame:
    """Return groups ranked by a metric. See `Report.worst` and `Report.best`."""
    n, min_rows = whole(Argument("n"), n, least=0), whole(Argument("min_rows"), min_rows, least=0)
    metric = report.find(metric)
    if metric.better is None:
        raise MetricError(f"Metric {metric.name!r} has no preferred direction, so groups cannot be ranked by it.")
    descending = (metric.better == "low") == worst_first
    column = ("ci_lower" if descending else "ci_upper") if by_bound else "value"
    rows = report.rows(metric, **keys)
    if column not in rows.columns:
        raise ReportError(
            Argument("by_bound"), " requires confidence intervals. Pass a confidence level to finalize, such as 0.95."
        )
    if by_bound and rows["value"].count() and not rows[column].count():
        raise ReportError(
            f"Metric {metric.name!r} has no confidence intervals in this report. Rank by value, with ",
            Argument("min_rows"),
            ".",
        )
    index = keys_of(rows)
    return (
        with_rows(report, rows)
        .filter(pl.col("rows") >= min_rows, pl.col(column).is_not_null())
        .sort(column, "rows", descending=[descending, True], maintain_order=True)
        .head(n)
        .select(*index, METRIC, "value", "rows", pl.exclude(*index, METRIC, "value", "rows"))
    )


def sorted_by(report: Report, metric: str | Metric) -> Report:
    """Return the report with its groups sorted by a metric, the worst first. The metric is shown first.

    If it has no preferred direction, the highest value comes first. A group with several values, such as those of
    several thresholds, is placed by the worst. Groups in which the metric is undefined come last.
    """
    metric = report.find(metric)
    sorted_report = report.showing([metric, *report.metrics])
    if not report.by:
        return sorted_report
    descending = metric.better != "high"
    worst = pl.col("value").max() if descending else pl.col("value").min()
    groups = report.rows(metric).group_by(report.by, maintain_order=True).agg(worst)
    groups = groups.sort("value", descending=descending, nulls_last=True, maintain_order=True)
    return sorted_report._with(state=report.state.select(groups.drop("value")))


def with_rows(report: Report, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the number of rows of each group."""
    require_free(report.by, ["rows"])
    return with_row_count(frame, report.state, "rows").with_columns(pl.col("rows").cast(pl.Int64))

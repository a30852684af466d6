"""All numbers: tables of the metrics of all rows, and of the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import of_all_labels
from streammetrics.data import MODEL
from streammetrics.show.charts.groups import has_order, worst_first
from streammetrics.show.charts.importance import ranked_metrics
from streammetrics.show.pages.cards import CARDS, prose
from streammetrics.show.pages.evaluated import weight_of
from streammetrics.show.tables.estimates import CERTIFIED, groups_table, metrics_table, only_threshold
from streammetrics.show.tables.html import filtered

if TYPE_CHECKING:
    from streammetrics.report import Report

GROUPS = 1000  # rows of the table of groups
MANY = 50  # groups, above which a table of all metrics would be most of the page


def numbers(total: Report) -> str:
    """Return all metrics of all rows, with their bounds and notes, folded."""
    meaning = {m.name: prose(m) for m in total.metrics}
    table = metrics_table(total.frame.head(GROUPS), total.confidence, (), "Metrics of all rows", meaning)
    sampled = (
        f"<b>Confidence interval</b>: sampling uncertainty of the value, at a {(total.confidence or 0) * 100:g}% "
        f"confidence level. Metrics without a valid method have none.{_one_sided(total)}"
    )
    points = [
        "<b>Exact</b>: computed from all evaluated rows, without binning.",
        "<b>Certified bounds</b>: rows are counted in fine bins, and the value of the evaluated rows is proven to lie "
        "between these bounds, for any order within a bin.",
        *([sampled] if total.confidence else []),
        *only_threshold(total.frame),
        "<b>–</b>: the value is undefined. The note gives the reason.",
    ]
    items = "".join(f"<li>{point}</li>" for point in points)
    explained = f"<details><summary>How to read this table</summary><ul>{items}</ul></details>"
    return f"<details><summary>{len(meaning)} metrics</summary>{explained}{filtered(table, 'metrics')}</details>"


def labels(total: Report) -> str:
    """Return the table of the labels, the lowest recall first, with metrics in columns; empty without labels."""
    frame = total.frame.filter(pl.col("label").is_not_null()) if "label" in total.frame.columns else pl.DataFrame()
    if frame.is_empty():
        return ""
    keys = [*total.by, "label"]
    order = frame.filter(metric="recall").sort("value", maintain_order=True).select(keys).unique(maintain_order=True)
    frame = (
        pl.concat([order, frame.select(keys)])
        .unique(maintain_order=True)
        .join(frame, on=keys, nulls_equal=True, maintain_order="left_right")
    )
    table = groups_table(frame, keys, "Metrics of each label")
    sums = f" Positives are sums of the weights in {weight_of(total)}." if total.state.weighted else ""
    return f"<p>{_below(total)}{sums} Click a column header to sort.</p>{filtered(table, 'labels')}"


def groups(report: Report) -> str:
    """Return the table of the groups with their most important metrics, and one with all others, folded."""
    every = sizes = report.rows("rows")
    note = ""
    if sizes.height > GROUPS:
        largest = sizes.with_row_index("place").sort("value", descending=True).head(GROUPS).sort("place")
        sizes = largest.select(sizes.columns)
        note = f" Only the {GROUPS:,} largest of {every.height:,} groups are listed."
    metrics = [m for m in ranked_metrics(report) if report.rows(m).height == every.height][:CARDS]
    columns = [c for c in report.by if c != MODEL]
    if len(columns) == 1 and metrics and not has_order(sizes[columns[0]]):
        order = worst_first(report.rows(metrics[0]), columns[0], metrics[0], report.confidence).to_frame()
        sizes = order.join(sizes, on=columns, nulls_equal=True, maintain_order="left_right").select(sizes.columns)
    important = pl.concat([sizes, *map(report.rows, metrics)], how="diagonal_relaxed")
    others = report.frame.filter(~pl.col("metric").is_in(["rows", *(m.name for m in metrics)]))
    if sizes.height > MANY:
        others, note = others.clear(), f"{note} For other metrics of so many groups, use report.frame or --format csv."

    def table(frame: pl.DataFrame, caption: str, what: str) -> str:
        frame = of_all_labels(frame)
        listed = sizes.select(report.by).join(frame, on=report.by, nulls_equal=True, maintain_order="left_right")
        return "" if listed.is_empty() else filtered(groups_table(listed, report.by, caption), what)

    folded = table(others, "Other metrics of each group", "others")
    more = f"<details><summary>Other metrics of each group</summary>{folded}</details>" if folded else ""
    first = table(important, "Metrics of each group", "groups")
    return f"<p>{_below(report)}{note} Click a column header to sort.</p>{first}{more}"


def _below(report: Report) -> str:
    """The explanation of the text below each value of a table."""
    if report.confidence:
        return (
            f"Small print: {100 * report.confidence:.6g}% confidence interval, or certified bounds ({CERTIFIED}) if "
            f"there is none.{_one_sided(report)}"
        )
    return f"Small print: certified bounds ({CERTIFIED}). Values without it are exact."


def _one_sided(report: Report) -> str:
    """The explanation of a question mark in intervals, if there is one."""
    if not report.confidence:
        return ""
    ends = report.frame.select(pl.col("ci_lower", "ci_upper").is_null())
    return " ?: too few rows to compute this limit." if (ends["ci_lower"] != ends["ci_upper"]).any() else ""

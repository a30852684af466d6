"""Reports and accumulators in a notebook."""

from __future__ import annotations

from streammetrics.findings.findings import findings
from streammetrics.frame import of_all_labels
from streammetrics.html.findings import findings_list
from streammetrics.present.estimates import groups_table, metrics_table
from streammetrics.present.html import as_html
from streammetrics.present.table import Cell, Column, Table
from streammetrics.reading.readings import Readings
from streammetrics.text.markup import markup

LONGEST = 40  # groups, or rows


def report_html(report: Readings) -> str:
    """Return what stands out in the report, and a table: one row per metric, or one row per group."""
    return findings_list(findings(report)) + _numbers(report)


def _numbers(report: Readings) -> str:
    frame = report.frame
    if not report.by:
        rest = frame.height - LONGEST
        return as_html(metrics_table(frame.head(LONGEST), (), "Evaluation"), styled=False) + _more(rest, "rows")
    frame = of_all_labels(frame)
    groups = frame.select(report.by).unique(maintain_order=True)
    shown = frame.join(groups.head(LONGEST), on=report.by, how="semi", nulls_equal=True, maintain_order="left")
    made = groups_table(shown, report.by, "Evaluation by group")
    return as_html(made, styled=False) + _more(groups.height - LONGEST, "groups")


def accumulator_html(description: str, statistics: list[tuple[str, int]]) -> str:
    """Return a description of an accumulator, with the number of rows of each table."""
    rows = [[Cell(name), Cell(f"{size:,}", size)] for name, size in statistics]
    made = Table([Column("statistic", "head"), Column("rows of its table", "number")], rows, "Stored statistics")
    return f"<p><code>{markup(description)}</code></p>" + as_html(made, styled=False)


def _more(count: int, what: str) -> str:
    return f"<p>… and {count:,} more {what}</p>" if count > 0 else ""

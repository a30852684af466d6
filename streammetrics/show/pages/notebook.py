"""What notebooks show: what stands out, and tables, with the styles of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from streammetrics.base import markup, of_all_labels
from streammetrics.reading import Finding
from streammetrics.show.pages.findings import findings_list
from streammetrics.show.tables.estimates import groups_table, metrics_table, with_notes
from streammetrics.show.tables.html import as_html
from streammetrics.show.tables.page import resource
from streammetrics.show.tables.table import Cell, Column, Table

if TYPE_CHECKING:
    from streammetrics.report import Report

LONGEST = 40  # groups, or rows


def in_notebook(findings: Sequence[Finding], tables: Iterable[Table], lead: str = "") -> str:
    """Return findings and tables below a line of text."""
    drawn = (
        as_html(table, styled=False) + "".join(f"<p>{markup(note)}</p>" for note in table.notes) for table in tables
    )
    style, first = resource("notebook.css"), f"<p>{markup(lead)}</p>" if lead else ""
    return f'<div class="streammetrics"><style>{style}</style>{first}{findings_list(findings)}{"".join(drawn)}</div>'


def report_html(report: Report) -> str:
    """Return what stands out in the report, and a table: one row per metric, or one row per group."""
    return in_notebook(report.findings(), [_numbers(report)])


def accumulator_html(description: str, statistics: list[tuple[str, int]]) -> str:
    """Return a description of an accumulator, with the number of rows of each table."""
    rows = [[Cell(name), Cell(f"{size:,}", size)] for name, size in statistics]
    table = Table([Column("statistic", "head"), Column("rows of its table", "number")], rows, "Stored statistics")
    return in_notebook((), [table], f"{description}. Call finalize() to see its metrics.")


def latest(table: Table) -> Table:
    """Return the last rows of a table, the last first."""
    newest = list(reversed(table.rows[-LONGEST:]))
    return replace(table, rows=newest, notes=_more(len(table.rows) - len(newest), "rows"))


def _numbers(report: Report) -> Table:
    frame = report.frame
    if not report.by:
        notes = _more(frame.height - LONGEST, "rows")
        return with_notes([metrics_table(frame.head(LONGEST), report.confidence, (), "Evaluation")], *notes)[0]
    frame = of_all_labels(frame)
    groups = frame.select(report.by).unique(maintain_order=True)
    first = frame.join(groups.head(LONGEST), on=report.by, how="semi", nulls_equal=True, maintain_order="left")
    notes = _more(groups.height - LONGEST, "groups")
    return with_notes([groups_table(first, report.by, "Evaluation by group")], *notes)[0]


def _more(count: int, what: str) -> list[str]:
    return [f"… and {count:,} more {what}"] if count > 0 else []

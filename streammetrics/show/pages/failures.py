"""The section of a page on slices in which the model fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import markup
from streammetrics.errors import MetricError, ReportError
from streammetrics.reading import CALIBRATION, CONFIDENCE, MIN_ROWS, explained
from streammetrics.show.pages.pictures import is_undropped
from streammetrics.show.tables.html import scrolled
from streammetrics.show.tables.page import folded
from streammetrics.show.tables.slices import slices_table

if TYPE_CHECKING:
    from streammetrics.report import Report

LOSSES = ("log_loss_skill", "log_loss", "mae", "accuracy")  # preferred metrics, in order
OTHERWISE = {  # reason why a slice can be worse without a failure of the model
    "log_loss_skill": "is also lower in slices whose probabilities differ little, even if they are correct.",
    "log_loss": "is also higher in slices whose labels are more balanced, even if the probabilities are correct.",
}
MANY = 10  # groups of a single column, below which only slices that are found are worth a section
SHOWN = 20


def failures(report: Report, models: list[str]) -> str:
    """Return the worst slices of each model; empty if there are few groups and no slices, or no suitable metric."""
    columns = [c for c in report.by if c not in models]
    groups = report.rows("rows").select(report.by)
    if not columns:
        return ""
    few = len(columns) == 1 and groups[columns[0]].n_unique() < MANY
    keys = groups.select(models).unique(maintain_order=True).to_dicts() if models else [{}]
    ranked = [m for m in report.metrics if m.better and m.name != CALIBRATION]  # whose slices are not compared
    names = [metric.name for metric in ranked if not is_undropped(report, metric)]
    for metric in dict.fromkeys((*(loss for loss in LOSSES if loss in names), *names, *LOSSES)):
        try:
            slices = [(key, report.slices(metric, **key)) for key in keys]
        except (MetricError, ReportError):
            continue
        if few and all(frame.is_empty() for _, frame in slices):
            return ""
        other = f"<p>Slices are ranked by {metric}, because slices cannot be ranked by the metrics shown.</p>"
        return other * (metric not in names) + _section(report, metric, columns, slices)
    return ""


def _section(report: Report, metric: str, columns: list[str], slices: list[tuple[dict[str, Any], pl.DataFrame]]) -> str:
    what = "Slices of up to two group columns" if len(columns) > 1 else f"Values of {markup(columns[0])}"
    tested = f"({metric}, at least {MIN_ROWS} rows, 5% false discovery rate)"
    if all(frame.is_empty() for _, frame in slices):
        return f"<p>{what}: none is significantly worse than the rest {tested}.</p>"
    omitted = " Slices explained by another slice are omitted." if len(columns) > 1 else ""
    caution = f"<p>{markup(f'{metric} {OTHERWISE[metric]}')}</p>" if metric in OTHERWISE else ""
    tables = "".join(_slices(report, metric, key, columns, frame) for key, frame in slices)
    sentence = f"{what} that are significantly worse than the rest {tested}."
    details = folded("How to read them", f"<p>{explained(metric)}{omitted}</p>{caution}")
    return f"<p>{sentence}</p>{tables}{details}"


def _slices(report: Report, metric: str, key: dict[str, Any], columns: list[str], frame: pl.DataFrame) -> str:
    of = "".join(f" of {value}" for value in key.values())
    heading = "".join(f'<h3 class="over">{markup(str(value))}</h3>' for value in key.values())
    if frame.is_empty():
        return f"{heading}<p>{markup(f'No slices in which {metric}{of} is significantly worse.')}</p>"
    name = columns[0] if len(columns) == 1 else "slice"
    if len(columns) == 1:  # its name is the header
        frame = frame.with_columns(pl.col("slice").str.strip_prefix(f"{name} = "))
    caption = f"Slices{of} in which {metric} is worse"
    table = slices_table(frame, report.confidence or CONFIDENCE, SHOWN, name, caption)
    return heading + scrolled(table, f"slices{of}", sortable=True)

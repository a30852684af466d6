"""Fairness of a classifier over the values of a group column: criteria, and their metrics."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from streammetrics import charts
from streammetrics.frame import LIMITS, VALUE
from streammetrics.html.pictures import Maker
from streammetrics.metrics.words import words
from streammetrics.present.estimates import CERTIFIED, listed
from streammetrics.present.html import scrolled
from streammetrics.present.table import Cell, Column, Table, columns, key_cell
from streammetrics.reading.fairness import fairness
from streammetrics.reading.readings import Readings
from streammetrics.text import rows
from streammetrics.text.markup import markup

ENDS = {"highest": "max", "lowest": "min"}  # a value of the column, which can be null, and its metric
METRICS = ("predicted_positive_rate", "recall", "fpr", "precision")


def criteria(report: Readings, over: str) -> str:
    """Return a table of the fairness criteria: the highest and the lowest value, and their difference.

    Raises:
        MetricError: If there are no confusion counts.
        ReportError: If ``over`` is not a group column.
    """
    own = report.rollup(*(c for c in report.by if c in (over, "model")))
    found = fairness(own, over=over)
    keys = [c for c in found.columns[: found.columns.index("criterion")] if found[c].count()]
    listed = [
        [
            Cell(row["criterion"].replace("_", " ")),
            *map(key_cell, (row[k] for k in keys)),
            Cell(words(report.find(row["metric"])) if row["metric"] else ""),
            *(Cell("") if row[value] is None else key_cell(row[end]) for end, value in ENDS.items()),
            *(_measure(row, measure) for measure in ("difference", "ratio")),
            Cell(row["note"] or ""),
        ]
        for row in rows(found)
    ]
    named = columns(*keys, "metric", "highest", "lowest", "difference", "ratio")
    named = [Column("criterion", "head"), *named, Column("note", optional=True)]
    lead = (
        f"<p>Each criterion compares the values of {markup(over)} with the highest and the lowest metric. Difference: "
        "highest minus lowest, 0 if they are equal. Ratio: lowest divided by highest, 1 if they are equal. Below each: "
        f"its confidence interval, or its certified bounds ({CERTIFIED}) if it has none.</p>"
    )
    return lead + scrolled(Table(named, listed, f"Fairness criteria over {over}"), "fairness criteria")


def metrics_of(report: Readings, over: str) -> Iterator[Maker]:
    """Return the metrics of the criteria, for each value."""
    return (partial(charts.segments, report, metric, over) for metric in METRICS if report.readable(metric))


def _measure(row: dict[str, Any], name: str) -> Cell:
    found = {"value": row[name]} | {end: row.get(f"{name}_{end}") for end in (*VALUE[1:], *LIMITS)}
    return listed([found], bounded=True)[0]

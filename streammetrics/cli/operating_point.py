"""The operating-point command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streammetrics.cli import options
from streammetrics.cli.output import width, write
from streammetrics.cli.parameters import Number
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of
from streammetrics.metrics import CELLS, find_metric, requirements
from streammetrics.show import thresholds_table


@command(
    "operating-point",
    "streammetrics operating-point week.state --maximize recall --subject-to 'precision>=0.9' --confidence 0.95",
)
@options.file("state")
@click.option("--maximize", help="Metric to maximize, such as 'fbeta(beta=2)'.")
@click.option("--minimize", help="Metric to minimize, such as 'cost(fp=1, fn=10)'.")
@click.option("--subject-to", multiple=True, help="Constraint, such as 'precision >= 0.9'. Can be repeated.")
@click.option("--confidence", type=Number(), help="Confidence level at which the constraints hold for new rows.")
@options.by
@options.total
@options.model
@options.form
def operating_point_command(
    state: Path,
    maximize: str | None,
    minimize: str | None,
    subject_to: tuple[str, ...],
    confidence: float | None,
    form: str,
    output: Path | None,
    **read: Any,
) -> None:
    """Find the best threshold of each group of a saved state.

    The threshold is the best one for these rows that meets the constraints. With --confidence, it meets them for new
    rows, except in 5% of such evaluations if the level is 0.95. If no threshold does, the note says why.
    """
    report = report_of(state, **read)
    thresholds = report.operating_point(
        maximize=maximize, minimize=minimize, subject_to=subject_to, confidence=confidence
    )
    metrics = [find_metric(m, CELLS) for m in (maximize, minimize, *(r.metric for r in requirements(subject_to))) if m]
    advice = ["Chosen on these rows: check the threshold on others, where it is usually worse."]
    if confidence is not None:
        each = ", in each group" if thresholds.height > 1 else ""
        advice = [f"The constraints hold for new rows at {100 * confidence:g}% confidence{each}."]
    notes = advice if thresholds["threshold"].count() else []
    if confidence is None and thresholds["threshold"].null_count():
        notes = [
            *notes,
            f"–: no threshold meets {' and '.join(subject_to)}." if subject_to else "–: undefined, such as 0/0.",
        ]
    room = width() if form == "table" else None
    write(thresholds, [thresholds_table(thresholds, list(dict.fromkeys(metrics)), notes, room)], form, output)

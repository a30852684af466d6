"""The slices command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from streammetrics.cli import options
from streammetrics.cli.output import write
from streammetrics.cli.parameters import Number
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of
from streammetrics.reading import CONFIDENCE, MIN_ROWS, explained
from streammetrics.show import Table, slices_table


@command("slices", "streammetrics slices week.state log_loss --depth 2 --min-rows 500")
@options.file("state")
@click.argument("metric")
@options.by
@click.option("--depth", type=int, default=2, show_default=True, help="Maximum number of group columns of a slice.")
@click.option("--min-rows", type=int, default=MIN_ROWS, show_default=True, help="Minimum number of rows of a slice.")
@click.option("--fdr", type=Number(), default=0.05, show_default=True, help="False discovery rate.")
@options.model
@options.threshold
@click.option("--label", help="Label of the metric, if the state has several.")
@click.option("--confidence", type=Number(), help="Confidence level of the intervals. Default: 0.95.")
@options.form
def slices_command(
    state: Path,
    metric: str,
    by: tuple[str, ...],
    model: str | None,
    threshold: float | None,
    confidence: float | None,
    form: str,
    output: Path | None,
    **others: Any,
) -> None:
    """Find slices of a saved state in which a metric is worse.

    A slice is all rows with some values in up to --depth group columns. The list shows slices in which the metric is
    significantly worse than in all other rows, and which no other slice explains. With --by, only these group columns
    are used.
    """
    report = report_of(state, by, model=model, metrics=(metric,), threshold=threshold, confidence=confidence)
    slices = report.slices(metric, **{name: value for name, value in others.items() if value is not None})
    if slices.height:
        table = slices_table(slices, confidence or CONFIDENCE, slices.height if form == "markdown" else None)
        notes = [
            *table.notes,
            f"On average, at most {100 * others['fdr']:g}% of the slices found are false findings (--fdr).",
            explained(metric),
        ]
        table = replace(table, notes=notes)
    else:
        least = f"at least {others['min_rows']:,} rows"
        none = f"No slices of {least} in which {metric} is significantly worse than in the rest."
        table = Table([], [], notes=[f"{none} For smaller slices, pass --min-rows."])
    write(slices, [table], form, output)

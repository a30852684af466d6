"""The command that plans tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import polars as pl

import streammetrics as sm
from streammetrics.cli import options
from streammetrics.cli.output import write
from streammetrics.cli.parameters import Number
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of
from streammetrics.show import of_frame, with_notes


@command("rows-needed", "streammetrics rows-needed pilot.state --metric roc_auc --difference 0.002")
@options.file("state")
@options.file("b", required=False)
@options.models
@options.independent
@click.option("--metric", "metrics", multiple=True, required=True, help="Metric to plan for. Can be repeated.")
@click.option("--difference", type=Number(), required=True, help="Difference to find, such as 0.002.")
@click.option("--power", type=Number(), default=0.8, show_default=True, help="Probability of finding it.")
@options.level
@options.model
@options.threshold
@options.form
def rows_needed_command(
    state: Path,
    b: Path | None,
    models: tuple[str, str] | None,
    independent: bool,
    metrics: tuple[str, ...],
    difference: float,
    power: float,
    confidence: float,
    form: str,
    output: Path | None,
    **read: Any,
) -> None:
    """Plan how many rows a test needs, from a pilot.

    The difference is that from a fixed value, such as the limit of a requirement, or with a second state or --models
    that between two models. The mix of rows is that of the pilot. If its rows are correlated, evaluate it with --unit
    and --folds 200.
    """
    if b and models:
        raise click.UsageError("Pass either a second state or --models A B, not both.")
    one, *other = (report_of(path, total=True, metrics=metrics, **read) for path in (state, b) if path is not None)
    is_pair = bool(other or models)
    pilot = sm.compare(one, *other, models=models, independent=independent) if is_pair else one
    plans = [
        sm.rows_needed(pilot, metric, difference=difference, power=power, confidence=confidence) for metric in metrics
    ]
    frame = pl.DataFrame(plans)
    columns = [c for c in ("metric", "rows", "positives", "negatives") if frame[c].count()]
    rows = max(one.rows("rows")["value"].to_list())
    note = f"Rows that find a difference of {difference:g} with {100 * power:g}% power. The pilot has {rows:,.0f}."
    write(frame, with_notes([of_frame(frame.select(columns))], note), form, output)

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
from streammetrics.present.table import of_frame


@command("rows-needed", "streammetrics rows-needed pilot.state --metric roc_auc --difference 0.002")
@click.argument("state", type=click.Path(path_type=Path))
@click.option("--models", nargs=2, metavar="A B", help="Two models, to find a difference between them.")
@click.option("--metric", "metrics", multiple=True, required=True, help="Metric to plan for. Can be repeated.")
@click.option("--difference", type=Number(), required=True, help="Difference to find, such as 0.002.")
@click.option("--power", type=Number(), default=0.8, show_default=True, help="Probability of finding it.")
@click.option("--confidence", type=Number(), default=0.95, show_default=True, help="Confidence level of the interval.")
@options.model
@options.threshold
@options.form
def rows_needed_command(
    state: Path,
    models: tuple[str, str] | None,
    metrics: tuple[str, ...],
    difference: float,
    power: float,
    confidence: float,
    form: str,
    output: Path | None,
    **read: Any,
) -> None:
    """Plan how many rows a test needs, from a pilot.

    The difference is that from a fixed value, such as the limit of a requirement, or with --models that between two
    models. The mix of rows is that of the pilot.
    """
    report = report_of(state, total=True, metrics=metrics, **read)
    pilot = report if models is None else sm.compare(report, models=models)
    found = [
        sm.rows_needed(pilot, metric, difference=difference, power=power, confidence=confidence) for metric in metrics
    ]
    frame = pl.DataFrame(found)
    columns = [c for c in ("metric", "rows", "positives", "negatives") if frame[c].count()]
    write(frame, [of_frame(frame.select(columns))], form, output)

"""List metrics."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

import streammetrics as sm
from streammetrics.cli import options
from streammetrics.cli.output import write
from streammetrics.cli.root import command
from streammetrics.metrics.words import better
from streammetrics.present.table import of_frame


@command("metrics", "streammetrics metrics clicks.state")
@click.argument("state", required=False, type=click.Path(path_type=Path))
@options.form
def metrics_command(state: Path | None, form: str, output: Path | None) -> None:
    """List all metrics with their options, or those of a saved state."""
    found = sm.all_metrics()
    if state is not None:
        report = sm.Accumulator.load(state).finalize()
        found = [report.find(metric.name) for metric in found if metric.name in report]
    listed = {_with_options(metric): f"{metric.summary} {better(metric)}".replace("`", "").strip() for metric in found}
    frame = pl.DataFrame(sorted(listed.items()), schema=["metric", "meaning"], orient="row")
    write(frame, [of_frame(frame)], form, output)


def _with_options(metric: sm.Metric) -> str:
    """The name of a metric with all options and their defaults."""
    return metric.with_options(**{name: value for name, value in metric.options.items() if value is not None}).name

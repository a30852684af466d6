"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

from streammetrics.cli.output import FORMATS

by = click.option("--by", multiple=True, help="Group column; repeat for more.")
metrics = click.option(
    "--metric", "metrics", multiple=True, help="Metric to show, such as 'fbeta(beta=2)'; repeat for more."
)
confidence = click.option(
    "--confidence", type=float, help="Add sampling intervals that hold the metric with this probability, such as 0.95."
)
form = click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
output = click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write instead of printing.")
html = click.option("--html", type=click.Path(path_type=Path), help="File to write as an HTML page, with charts.")
total = click.option("--total", is_flag=True, help="Roll up all groups into one.")

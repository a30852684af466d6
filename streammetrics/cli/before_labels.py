"""The command that estimates metrics of scores whose labels have not arrived."""

from __future__ import annotations

from pathlib import Path

import click
import polars.selectors as cs

import streammetrics as sm
from streammetrics import text
from streammetrics.cli import options
from streammetrics.cli.output import width, write
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of


@command("expect", "streammetrics expect scores.state --reference labeled.state --odds 1.5")
@click.argument("scores", type=click.Path(path_type=Path))
@click.option("--reference", type=click.Path(path_type=Path), required=True, help="Saved state of rows with labels.")
@click.option(
    "--odds",
    type=float,
    default=1.0,
    show_default=True,
    help="Largest factor by which odds can differ from the reference.",
)
@options.by
@options.total
@options.metrics
@options.confidence
@click.option("--needed", is_flag=True, help="Show the odds factor required by the labels in SCORES.")
@options.form
@options.output
def expect_command(
    scores: Path,
    reference: Path,
    odds: float,
    by: tuple[str, ...],
    total: bool,
    metrics: tuple[str, ...],
    confidence: float | None,
    needed: bool,
    form: str,
    output: Path | None,
) -> None:
    """Estimate metrics of scores whose labels have not arrived.

    The bounds hold if, at each score, the odds of a positive differ from those of the reference by at most the factor
    --odds. The reference is rolled up to the group columns that both states have. If SCORES have labels, --needed shows
    the required factor.
    """
    report, other = report_of(scores, by, total), report_of(reference)
    if not set(other.by) <= set(report.by):
        other = other.rollup([c for c in other.by if c in report.by])
    found = sm.expect(report, other, odds=odds, metrics=metrics or None, confidence=confidence)
    if needed:
        frame = found.needed_odds(report)
        write(frame, text.plain(frame.with_columns(cs.float().round(4)), width()), form, output)
    else:
        write(found.frame, text.render(found.frame, report.by, width()), form, output)

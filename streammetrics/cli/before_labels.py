"""The command that estimates metrics of scores before labels arrive."""

from __future__ import annotations

from pathlib import Path

import click
import polars.selectors as cs

import streammetrics as sm
from streammetrics.cli import options
from streammetrics.cli.output import width, write
from streammetrics.cli.parameters import FileToRead, Number, OneOf
from streammetrics.cli.root import command
from streammetrics.cli.states import report_of
from streammetrics.show import metrics_table, of_frame, only_threshold, with_notes


@command("expect", "streammetrics expect scores.state --reference labeled.state --odds 1.5")
@options.file("scores")
@click.option(
    "--reference",
    metavar="FILE",
    type=FileToRead(),
    required=True,
    help="Saved state of rows with labels.",
)
@click.option(
    "--odds",
    type=Number(),
    default=1.0,
    show_default=True,
    help="Largest factor by which odds can differ from the reference.",
)
@click.option(
    "--method",
    type=OneOf(("calibration", "prediction-powered")),
    default="calibration",
    show_default=True,
    help="prediction-powered if the reference is a random sample of the same rows.",
)
@options.by
@options.total
@options.metrics
@options.confidence
@click.option("--needed", is_flag=True, help="Show the odds factor required by the labels in SCORES.")
@options.form
def expect_command(
    scores: Path,
    reference: Path,
    odds: float,
    method: str,
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
    --odds. Both are grouped by the columns they share. The window column is
    dropped if their periods do not overlap. If SCORES have labels, --needed shows the required factor.
    """
    report, other = report_of(scores, by, total), report_of(reference)
    common = []
    for column in (c for c in other.by if c in report.by):
        keys, reference_keys = (each.state.keys[column] for each in (report, other))
        if not keys.dtype.is_temporal() or keys.is_in(reference_keys.implode()).any():
            common.append(column)
    other = other.rollup(common)
    expectation = sm.expect(
        report,
        other,
        odds=odds,
        metrics=metrics or None,
        confidence=confidence,
        method="calibration" if method == "calibration" else "prediction_powered",
    )
    if needed:
        frame = expectation.needed_odds(report)
        write(frame, [of_frame(frame.with_columns(cs.float().round(4)))], form, output)
    else:
        from streammetrics.monitor import assumptions, expectation_tables  # when it is needed

        every = with_notes(
            [metrics_table(expectation.frame, confidence, report.by)],
            *only_threshold(expectation.frame),
            *assumptions(expectation),
        )
        write(
            expectation.frame, every if form == "markdown" else expectation_tables(expectation, width()), form, output
        )

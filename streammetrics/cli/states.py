"""Commands for saved states: merge, show, check, and drift."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import polars as pl

import streammetrics as sm
from streammetrics.base import few
from streammetrics.cli import options
from streammetrics.cli.output import GITHUB, show, show_tables, write, write_findings
from streammetrics.cli.parameters import FileToWrite, Number, OneOf
from streammetrics.cli.root import command
from streammetrics.cli.trivial_models import warning
from streammetrics.cli.verdicts import write_verdicts
from streammetrics.data import MODEL
from streammetrics.metrics import Requirement, better
from streammetrics.reading import metrics_by_view, of_model, single_threshold
from streammetrics.show import drift_table, measures_table, of_frame

LEVEL = 0.95  # of checks


@command("merge", "streammetrics merge monday.state tuesday.state -o week.state")
@options.file("states", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=FileToWrite(), help="File to save the merged state to.")
def merge_command(states: tuple[Path, ...], output: Path) -> None:
    """Merge saved states."""
    total = sm.Accumulator.load(*states)
    total.save(output)
    click.echo(f"{output}: {total}")


@command("show", "streammetrics show week.state --by country --metric roc_auc")
@options.file("state")
@options.selection
@options.metrics
@options.sort
@options.confidence
@options.always
@options.page
@options.form_of_reports
def show_command(
    state: Path, sort: str | None, html: Path | None, title: str | None, form: str, output: Path | None, **read: Any
) -> None:
    """Show the metrics of a saved state.

    With --by or --total, groups are rolled up to some of the group columns, or to one. With --sort, the group with the
    worst value comes first: the lowest if higher is better, else the highest.
    """
    require_no_page(html, read["threshold"])
    show(report_of(state, **read), form, output, html, title, sort=sort, has_findings=not read["metrics"])


@command("check", "streammetrics check week.state --require 'roc_auc>=0.80' --require 'log_loss_skill>=0.1'")
@options.file("state")
@click.option(
    "--require",
    "requirements",
    multiple=True,
    required=True,
    help="Requirement, such as 'roc_auc>=0.80'. Can be repeated.",
)
@click.option("--confidence", type=Number(), help=f"Confidence level of each interval endpoint. Default: {LEVEL}.")
@click.option("--bounds-only", is_flag=True, help="Ignore intervals: the verdicts apply to the evaluated rows.")
@click.option(
    "--open",
    type=OneOf(["pass", "fail"]),
    default="pass",
    show_default=True,
    help="Result of a requirement that is open (inconclusive), or has too few rows.",
)
@options.min_rows
@options.selection
@options.form_of_verdicts
@click.pass_context
def check_command(
    ctx: click.Context,
    /,
    state: Path,
    requirements: tuple[str, ...],
    confidence: float | None,
    bounds_only: bool,
    open: Any,
    min_rows: int,
    form: str,
    output: Path | None,
    **read: Any,
) -> None:
    """Check requirements on a saved state.

    Each requirement is checked in every group and for every model. It holds if the certified bounds and the confidence
    interval, widened by them, are on the required side of its limit. It is breached if they are on the other side, and
    otherwise open (inconclusive). The exit code is 1 if a requirement is breached or undefined. With --open fail, it is
    also 1 if a requirement is open or a group has too few rows. --format github prints annotations for GitHub Actions,
    --format junit a report for CI systems.

    A note below the table says if a model without use would pass too: one with scores times 0.0001, the same score for
    all rows, or shuffled scores.
    """
    if bounds_only and confidence is not None:
        raise click.UsageError("Pass either --confidence or --bounds-only, not both.")
    metrics = tuple(Requirement.parse(requirement).metric for requirement in requirements)
    report = report_of(state, metrics=metrics, **read)
    level = None if bounds_only else LEVEL if confidence is None else confidence
    verdicts = report.check(requirements, confidence=level, open=open, min_rows=min_rows)
    if (model := read["model"]) is not None:
        verdicts = replace(
            verdicts, frame=verdicts.frame.with_columns(rule=pl.format("{}, model {}", "rule", pl.lit(model)))
        )
    is_by_group = verdicts.frame.height > 1 and not (read["by"] or read["total"]) and bool(set(report.by) - {MODEL})
    advice = ["To check all groups together, add --total."] if is_by_group and not verdicts.hold else []
    if form in ("table", GITHUB):  # which show it
        advice.append(warning(report, requirements, read["threshold"]))
    write_verdicts(verdicts, form, output, f"streammetrics check {state}", advice)
    if not verdicts.hold:
        ctx.exit(1)


@command("drift", "streammetrics drift january.state may.state --by country")
@options.file("reference")
@options.file("current")
@options.by
@options.total
@options.model
@click.option("--of", multiple=True, help="Distribution: y_score, y_true, y_pred, or error. Can be repeated.")
@click.option("--bins", type=int, default=10, show_default=True, help="Number of quantile bins of PSI and JS.")
@options.confidence
@options.findings
@options.page
@options.form_of_findings
def drift_command(
    reference: Path,
    current: Path,
    of: tuple[str, ...],
    bins: int,
    confidence: float | None,
    findings: bool,
    html: Path | None,
    title: str | None,
    form: str,
    output: Path | None,
    **read: Any,
) -> None:
    """Measure the drift of a saved state from a reference."""
    one, other = (report_of(state, **read) for state in (reference, current))
    drift = sm.drift(one, other, of=of or None, bins=bins, confidence=confidence)
    if html is not None:
        drift.save_html(html, title or "Drift", names=names(reference, current))
    if findings:
        write_findings(drift.findings(), form, output)
        return
    tables = [drift_table(drift._judged, confidence, drift.metrics.note)]
    every = [measures_table(drift._judged, confidence)]
    show_tables(drift.frame, drift.findings, tables, every, form, output)


def require_no_page(html: Path | None, threshold: float | None) -> None:
    """Reject a page at one threshold."""
    if html is not None and threshold is not None:
        raise click.UsageError(
            "Pass either --html or --threshold, not both. For a page at a threshold, pass it to evaluate."
        )


def names(a: Path, b: Path) -> tuple[str, str]:
    """Return different names of two files, without their suffix: their paths if the names are equal."""
    one, other = (path.name.removesuffix(".state") for path in (a, b))
    if a == b:
        return one, f"{other} again"
    return (one, other) if one != other else (str(a), str(b))


def report_of(
    state: Path,
    by: tuple[str, ...] = (),
    total: bool = False,
    model: str | None = None,
    metrics: tuple[str, ...] = (),
    threshold: float | None = None,
    confidence: float | None = None,
    always: int | None = None,
) -> sm.Report:
    """Return the report of a saved state with these options."""
    if by and total:
        raise click.UsageError("Pass either --by or --total, not both.")
    acc = sm.Accumulator.load(state)
    rolled_up = bool(by or total)
    if rolled_up and not acc.seen:  # a report without groups has no total; an accumulator has one with 0 rows
        acc, rolled_up = acc.rollup(*by), False
    report = acc.finalize(metrics or None, confidence=confidence, always=always)
    report = report if model is None else of_model(report, model)
    report = report.rollup(*by) if rolled_up else report
    return report if threshold is None else report_at(report, threshold, metrics)


def report_at(report: sm.Report, threshold: float, metrics: tuple[str, ...]) -> sm.Report:
    """Return the report at one threshold, which must apply to one of the metrics, if there are any."""
    report = single_threshold(report, threshold)
    if metrics and not any(
        names and "threshold" in view.kept for _, view, names in metrics_by_view(report.state, report.metrics)
    ):
        raise click.UsageError(f"--threshold applies to metrics such as precision, but not to {few(metrics)}. Omit it.")
    return report


@command("findings", "streammetrics findings week.state --by country")
@options.file("state")
@options.selection
@options.form_of_findings
def findings_command(state: Path, form: str, output: Path | None, **read: Any) -> None:
    """Say what stands out in a saved state.

    Findings have a severity (bad, warn, or info) and a code, such as SM101, which the documentation explains. The most
    important ones come first.
    """
    write_findings(report_of(state, **read).findings(), form, output)


@command("metrics", "streammetrics metrics clicks.state")
@options.file("state", required=False)
@options.form
def metrics_command(state: Path | None, form: str, output: Path | None) -> None:
    """List all metrics, or those of a saved state."""
    metrics = sm.all_metrics()
    if state is not None:
        report = sm.Accumulator.load(state).finalize()
        metrics = [report.find(metric.name) for metric in metrics if metric.name in report]
    listed = {}
    for metric in metrics:
        options = {name: value for name, value in metric.options.items() if value is not None}
        meaning = f"{metric.summary} {better(metric)}".replace("`", "").strip()
        listed[metric.with_options(**options).name] = meaning
    frame = pl.DataFrame(sorted(listed.items()), schema=["metric", "meaning"], orient="row")
    write(frame, [of_frame(frame)], form, output)

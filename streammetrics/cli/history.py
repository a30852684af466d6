"""Commands that read histories: their metrics, the check of rules, and the page."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import polars as pl

import streammetrics as sm
from streammetrics.base import ends
from streammetrics.cli import options
from streammetrics.cli.output import WITH_FINDINGS, show
from streammetrics.cli.parameters import FileToWrite
from streammetrics.cli.root import Failure, command
from streammetrics.cli.states import report_at
from streammetrics.cli.store import store_commands
from streammetrics.cli.verdicts import write_verdicts
from streammetrics.reading import of_model

STDERR = 2


@command("report", "streammetrics store report history --since 2026-01-01 --every 1w", of=store_commands)
@click.argument("uri")
@options.period
@options.by
@options.model
@click.option("--every", help="Duration of the windows to show, such as 1d, 1w, or 1mo. Default: all in one.")
@options.threshold
@options.metrics
@options.sort
@options.confidence
@options.form_of_reports
def store_report(
    uri: str,
    since: str | None,
    until: str | None,
    by: tuple[str, ...],
    model: str | None,
    every: str | None,
    threshold: float | None,
    metrics: tuple[str, ...],
    sort: str | None,
    confidence: float | None,
    form: str,
    output: Path | None,
) -> None:
    """Show the metrics of a history for any time range and segments."""
    store = options.history(uri)
    acc = store.query(since, until, by=by, every=every)
    windows = store.windows().to_series().drop_nulls().sort()
    if not acc.seen and (since or until) and len(windows):
        raise Failure(f"The history at {uri} has no windows in this time range. Newest window: {windows[-1]}.")
    for sentence in _cut(acc, windows, since, until, every):
        click.echo(sentence, err=True)
    report = acc.finalize(metrics or None, confidence=confidence)
    report = report if model is None else of_model(report, model)
    show(report if threshold is None else report_at(report, threshold, metrics), form, output, sort=sort)


def _cut(
    acc: sm.Accumulator, windows: pl.Series, since: str | None, until: str | None, every: str | None
) -> Iterator[str]:
    """A sentence on the first and the last window, if the time range or the windows of the history cut them."""
    from streammetrics.monitor import clock, time_of  # when they are needed

    if every is None or not acc.seen:
        return
    starts = acc.finalize("rows").frame.to_series().unique().drop_nulls().sort()
    first, end, times = clock(starts.head(1)), ends(clock(starts.tail(1)), every), clock(windows)
    if since is not None and (first < time_of(since, starts)).any():
        yield f"Window {starts[0]} contains only rows since {since}."
    elif (first < times.head(1)).any():
        yield f"Window {starts[0]} is incomplete: the history begins at {windows[0]}."
    step = times.diff().median()
    if until is not None and (end > time_of(until, starts)).any():
        yield f"Window {starts[-1]} contains only rows before {until}."
    elif step is not None and (end > times.tail(1) + step).any():
        yield f"Window {starts[-1]} is incomplete: the newest window of the history is {windows[-1]}."


@command("check", "streammetrics store check history rules.toml", of=store_commands)
@click.argument("uri")
@options.file("rules")
@options.until
@click.option("--scores", help="URI of the history of scores, for rules with before_labels = true.")
@click.option("--on-breach", help="Command to run for new breaches, with their verdicts as JSON on its standard input.")
@options.form_of_verdicts
@click.pass_context
def store_check(
    ctx: click.Context,
    uri: str,
    rules: Path,
    until: str | None,
    scores: str | None,
    on_breach: str | None,
    form: str,
    output: Path | None,
) -> None:
    """Check the newest windows of a history against rules.

    RULES is a TOML file, such as:

    \b
    [[rule]]
    require = "roc_auc >= 0.8"
    over = "7d"

    \b
    [[rule]]
    require = "psi(of='y_score') <= 0.2"
    against = "28d"

    \b
    [[rule]]
    require = "accuracy >= 0.8"
    alarm = "1 per year"

    The exit code is 1 if a rule is breached or undefined, unless its severity is "warn". --format github prints
    annotations for GitHub Actions, --format junit a report for CI systems.

    --on-breach runs a command once per breach, not at every check. It runs again only after the rule has held, or when
    a new alarm begins. Reported breaches are stored in the table _told beside the history. If the command fails, the
    exit code is 2 and the next check runs it again. It also runs for rules with severity "warn". To skip them, filter
    the JSON by "severity".
    """
    unlabeled = None if scores is None else options.history(scores)
    store = options.history(uri)
    checked = sm.read_rules(rules)
    verdicts = sm.check(store, checked, until=until, scores=unlabeled)
    first = _findings(store, verdicts, checked, until) if form in WITH_FINDINGS else []
    write_verdicts(verdicts, form, output, f"streammetrics store check {uri}", first=first)
    if on_breach:
        from streammetrics.monitor import report_breaches  # when it is needed

        report_breaches(store, verdicts, partial(_run, on_breach))
    if not verdicts.hold:
        ctx.exit(1)


@command("page", "streammetrics store page history rules.toml -o history.html", of=store_commands)
@click.argument("uri")
@options.file("rules", required=False)
@click.option("-o", "--output", type=FileToWrite(), required=True, help="HTML file to write.")
@options.metrics
@options.by
@options.period
@click.option("--scores", help="URI of the history of scores, including rows without labels.")
@click.option(
    "--reference", help="Duration before each window that is the reference for drift. Default: the first windows."
)
@options.level
@click.option("--title", default="History", show_default=True, help="Title of the page.")
def store_page(
    uri: str,
    rules: Path | None,
    output: Path,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    scores: str | None,
    **options_of_page: Any,
) -> None:
    """Write a history as one HTML page.

    With RULES, a TOML file, the page shows their breaches.
    """
    options.history(uri).save_html(
        output,
        metrics=metrics or None,
        by=by or None,
        rules=[] if rules is None else sm.read_rules(rules),
        scores=None if scores is None else options.history(scores),
        **options_of_page,
    )


def _findings(
    store: sm.MetricStore, verdicts: sm.Verdicts, rules: Sequence[sm.Rule], until: str | None
) -> list[sm.Finding]:
    """What rules find, and missing windows. Whether some are overdue is asked only of the newest ones."""
    from streammetrics.monitor import now
    from streammetrics.reading import findings_of_rules  # when they are needed

    windows = store.windows()
    return findings_of_rules(now(verdicts, rules), windows.to_series(), windows if until is None else None)


def _run(command: str, verdicts: pl.DataFrame) -> None:
    """Run a command that reads verdicts. Its output goes to standard error."""
    ended = subprocess.run(command, shell=True, input=verdicts.write_json().encode(), stdout=STDERR, check=False)
    if ended.returncode:
        raise Failure(
            f"The command of --on-breach failed with exit code {ended.returncode}. The next check repeats it."
        )

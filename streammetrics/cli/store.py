"""Commands for histories."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import polars as pl
import polars.selectors as cs

import streammetrics as sm
from streammetrics.cli import options
from streammetrics.cli.output import show, write
from streammetrics.cli.parameters import FileToWrite, Number
from streammetrics.cli.root import Commands, Failure, command, done, epilog, main
from streammetrics.cli.states import at
from streammetrics.cli.verdicts import write_verdicts
from streammetrics.present.table import of_frame
from streammetrics.reading.parts import of_model
from streammetrics.times import ends

STDERR = 2
KNOWN: Final = "this batch ID is known. For other rows, pass a new --batch-id."


@main.group(
    "store",
    cls=Commands,
    epilog=epilog("streammetrics store append history monday.state", "streammetrics store check history rules.toml"),
)
def store_commands() -> None:
    """Manage a history of states in a Delta Lake table."""


@command("append", "streammetrics store append history monday.state tuesday.state", of=store_commands)
@click.argument("uri")
@click.argument("states", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--batch-id", help="Unique ID of this append. Default: the file name.")
@click.option("--source", help="Name of the source of the rows, instead of a batch ID. Requires --upto.")
@click.option(
    "--start", type=int, help="Offset of the first row. If it differs from the stored offset, nothing is appended."
)
@click.option("--upto", type=int, help="Offset after the last row, stored with the rows.")
@click.option("--window", help="Window column. Default: the only Date or Datetime group column.")
def store_append(
    uri: str,
    states: tuple[Path, ...],
    batch_id: str | None,
    source: str | None,
    window: str | None,
    **offsets: int | None,
) -> None:
    """Append saved states to a history.

    Appending a batch ID again changes nothing.
    """
    if (batch_id is not None or source is not None) and len(states) > 1:
        raise click.UsageError(
            "--batch-id and --source require a single state. Without them, the batch ID is the file name."
        )
    if len({path.name for path in states}) < len(states):
        raise click.UsageError("Two files have the same name. Append them one by one, with --batch-id.")
    store = sm.MetricStore(uri, window=window)
    for path in states:
        name = path.name if batch_id is None and source is None else batch_id
        acc = sm.Accumulator.load(path)
        if store.append(acc, batch_id=name, source=source, **offsets):
            result = "added"
            done(f"Added {acc.seen // len(acc.roles.models):,} rows to {uri}.")
        elif name is None or not acc.seen:
            result = "nothing to add"
        else:
            result = f"nothing added, because {KNOWN}"
        click.echo(f"{name or source}: {result}")


@command("offset", "streammetrics store offset history topic/3", of=store_commands)
@click.argument("uri")
@click.argument("source")
def store_offset(uri: str, source: str) -> None:
    """Show the stored offset of a source.

    Prints 0 if the history has no rows of SOURCE.
    """
    click.echo(sm.MetricStore(uri).offset(source) or 0)


@command(
    "replace",
    "streammetrics store replace history monday.state --window 2026-01-05 --batch-id corrected",
    of=store_commands,
)
@click.argument("uri")
@click.argument("state", type=click.Path(path_type=Path))
@click.option(
    "--window",
    metavar="TIME",
    required=True,
    help="Window to replace, such as 2026-01-31. With --until, the first one.",
)
@click.option("--until", help="End of the windows to replace, exclusive. Default: one window.")
@click.option("--batch-id", required=True, help="Unique ID of this replacement, different from those of appends.")
def store_replace(uri: str, state: Path, window: str, until: str | None, batch_id: str) -> None:
    """Replace windows of a history in one commit."""
    given = window if until is None else (window, until)
    replaced = sm.MetricStore(uri).replace(sm.Accumulator.load(state), window=given, batch_id=batch_id)
    click.echo(f"{batch_id}: {'replaced' if replaced else f'nothing replaced, because {KNOWN}'}")


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
    store = sm.MetricStore(uri)
    acc = store.query(since, until, by=by, every=every)
    kept = store.windows().to_series().drop_nulls().sort()
    if not acc.seen and (since or until) and len(kept):
        raise Failure(f"The history at {uri} has no windows in this time range. Newest window: {kept[-1]}.")
    for sentence in _cut(acc, kept, since, until, every):
        click.echo(sentence, err=True)
    report = acc.finalize(metrics or None, confidence=confidence)
    report = report if model is None else of_model(report, model)
    show(report if threshold is None else at(report, threshold, metrics), form, output, sort=sort)


def _cut(
    acc: sm.Accumulator, kept: pl.Series, since: str | None, until: str | None, every: str | None
) -> Iterator[str]:
    """A sentence on the first and the last window, if the time range or the windows of the history cut them."""
    from streammetrics.history.windows import clock, time_of  # when they are needed

    if every is None or not acc.seen:
        return
    starts = acc.finalize("rows").frame.to_series().unique().drop_nulls().sort()
    first, end, own = clock(starts.head(1)), ends(clock(starts.tail(1)), every), clock(kept)
    if since is not None and (first < time_of(since, starts)).any():
        yield f"Window {starts[0]} contains only rows since {since}."
    elif (first < own.head(1)).any():
        yield f"Window {starts[0]} is incomplete: the history begins at {kept[0]}."
    step = own.diff().median()
    if until is not None and (end > time_of(until, starts)).any():
        yield f"Window {starts[-1]} contains only rows before {until}."
    elif step is not None and (end > own.tail(1) + step).any():
        yield f"Window {starts[-1]} is incomplete: the newest window of the history is {kept[-1]}."


@command("check", "streammetrics store check history rules.toml", of=store_commands)
@click.argument("uri")
@click.argument("rules", type=click.Path(path_type=Path))
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
    unlabeled = None if scores is None else sm.MetricStore(scores)
    store = sm.MetricStore(uri)
    found = sm.check(store, sm.read_rules(rules), until=until, scores=unlabeled)
    write_verdicts(found, form, output, f"streammetrics store check {uri}")
    if on_breach:
        from streammetrics.history.told import tell  # when it is needed

        tell(store, found, partial(_run, on_breach))
    if not found.hold:
        ctx.exit(1)


@command("page", "streammetrics store page history rules.toml -o history.html", of=store_commands)
@click.argument("uri")
@click.argument("rules", required=False, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=FileToWrite(), required=True, help="HTML file to write.")
@options.metrics
@options.by
@options.period
@click.option("--scores", help="URI of the history of scores, including rows without labels.")
@click.option(
    "--reference", help="Duration before each window that is the reference for drift. Default: the first windows."
)
@click.option("--confidence", type=Number(), default=0.95, show_default=True, help="Confidence level of the intervals.")
@click.option("--title", default="History", show_default=True, help="Title of the page.")
def store_page(
    uri: str,
    rules: Path | None,
    output: Path,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    scores: str | None,
    **shown: Any,
) -> None:
    """Write a history as one HTML page.

    With RULES, a TOML file, the page shows their breaches.
    """
    sm.MetricStore(uri).save_html(
        output,
        metrics=metrics or None,
        by=by or None,
        rules=[] if rules is None else sm.read_rules(rules),
        scores=None if scores is None else sm.MetricStore(scores),
        **shown,
    )


@command("windows", "streammetrics store windows history", of=store_commands)
@click.argument("uri")
@options.form
def store_windows(uri: str, form: str, output: Path | None) -> None:
    """List the windows of a history.

    Each append adds one part (table row) per group. If a window has many more parts than groups, compact the history.
    """
    _list(sm.MetricStore(uri).windows(), form, output)


@command("describe", "streammetrics store describe history", of=store_commands)
@click.argument("uri")
@options.form
def store_describe(uri: str, form: str, output: Path | None) -> None:
    """List the versions of a history's specification."""
    _list(sm.MetricStore(uri).describe(), form, output)


def _list(frame: pl.DataFrame, form: str, output: Path | None) -> None:
    """Print a frame, as a table with times to the second, and "none" instead of no changes."""
    shown = frame.with_columns(cs.datetime().dt.truncate("1s"), cs.string().replace("", "none"))
    write(frame, [of_frame(shown)], form, output)


@command("compact", "streammetrics store compact history", of=store_commands)
@click.argument("uri")
def store_compact(uri: str) -> None:
    """Merge the parts and small files of a history.

    Query results do not change.
    """
    store = sm.MetricStore(uri)
    before = _size(store)
    store.compact()
    now = _size(store)
    click.echo(f"{uri}: {before[0]:,} parts, now {now[0]:,}; {before[1]:,} files, now {now[1]:,}")


def _size(store: sm.MetricStore) -> tuple[int, int]:
    """Numbers of parts and files of a history, which compaction reduces."""
    from streammetrics.history.store import history_of  # when it is needed

    return int(store.windows()["parts"].sum()), history_of(store).open().files


@command("retain", "streammetrics store retain history --since 2025-01-01", of=store_commands)
@click.argument("uri")
@click.option("--since", required=True, help="First window to keep, such as 2026-01-31.")
def store_retain(uri: str, since: str) -> None:
    """Drop old windows of a history."""
    from streammetrics.history.windows import clock, time_of  # when they are needed

    store = sm.MetricStore(uri)
    before = store.windows()
    starts = before.to_series().drop_nulls()
    if len(starts) and (clock(starts) < time_of(since, starts).item()).all():
        raise Failure(f"--since {since} would drop all windows of {uri}. Newest window: {starts[-1]}.")
    store.retain(since)
    click.echo(f"{uri}: {before.height:,} windows, now {store.windows().height:,}")


def _run(command: str, verdicts: pl.DataFrame) -> None:
    """Run a command that reads verdicts. Its output goes to standard error."""
    ended = subprocess.run(command, shell=True, input=verdicts.write_json().encode(), stdout=STDERR, check=False)
    if ended.returncode:
        raise Failure(
            f"The command of --on-breach failed with exit code {ended.returncode}. The next check repeats it."
        )

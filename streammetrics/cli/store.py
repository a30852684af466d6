"""Commands that write and list histories."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
import polars.selectors as cs

import streammetrics as sm
from streammetrics.cli import options
from streammetrics.cli.output import write
from streammetrics.cli.root import Commands, Failure, command, done, epilog, main
from streammetrics.show import of_frame

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
@options.file("states", nargs=-1, required=True)
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
    store = options.history(uri, window=window)
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
    click.echo(options.history(uri).offset(source) or 0)


@command(
    "replace",
    "streammetrics store replace history monday.state --window 2026-01-05 --batch-id corrected",
    of=store_commands,
)
@click.argument("uri")
@options.file("state")
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
    windows = window if until is None else (window, until)
    replaced = options.history(uri).replace(sm.Accumulator.load(state), window=windows, batch_id=batch_id)
    click.echo(f"{batch_id}: {'replaced' if replaced else f'nothing replaced, because {KNOWN}'}")


@command("windows", "streammetrics store windows history", of=store_commands)
@click.argument("uri")
@options.form
def store_windows(uri: str, form: str, output: Path | None) -> None:
    """List the windows of a history.

    Each append adds one part (table row) per group. If a window has many more parts than groups, compact the history.
    """
    frame = options.history(uri).windows()
    write(frame, [of_frame(frame.with_columns(cs.datetime().dt.truncate("1s")))], form, output)


@command("compact", "streammetrics store compact history", of=store_commands)
@click.argument("uri")
def store_compact(uri: str) -> None:
    """Merge the parts and small files of a history.

    Query results do not change.
    """
    store = options.history(uri)
    before = _size(store)
    store.compact()
    now = _size(store)
    click.echo(f"{uri}: parts: {before[0]:,}, now {now[0]:,}; files: {before[1]:,}, now {now[1]:,}")


def _size(store: sm.MetricStore) -> tuple[int, int]:
    """Numbers of parts and files of a history, which compaction reduces."""
    return int(store.windows()["parts"].sum()), len(store._open().table.file_uris())


@command("retain", "streammetrics store retain history --since 2025-01-01", of=store_commands)
@click.argument("uri")
@click.option("--since", required=True, help="First window to keep, such as 2026-01-31.")
def store_retain(uri: str, since: str) -> None:
    """Drop old windows of a history."""
    from streammetrics.monitor import clock, time_of  # when they are needed

    store = options.history(uri)
    before = store.windows()
    starts = before.to_series().drop_nulls()
    if len(starts) and (clock(starts) < time_of(since, starts).item()).all():
        raise Failure(f"--since {since} would drop all windows of {uri}. Newest window: {starts[-1]}.")
    store.retain(since)
    click.echo(f"{uri}: {before.height:,} windows, now {store.windows().height:,}")

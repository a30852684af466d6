"""Output of commands."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from pathlib import Path

import click
import polars as pl
import polars.selectors as cs

import streammetrics as sm
from streammetrics.base import without_awkward, write_file
from streammetrics.errors import escaped
from streammetrics.metrics import with_defaults
from streammetrics.reading import sorted_by
from streammetrics.report import as_json
from streammetrics.show import (
    PIPED,
    Outcome,
    Table,
    add_to_summary,
    as_frame,
    as_markdown,
    as_text,
    commands,
    findings_table,
    inert,
    metrics_table,
    only_threshold,
    outcomes_of_findings,
    report_tables,
    terminal_width,
    with_notes,
)

FORMATS = ("table", "json", "csv", "parquet", "markdown")
PROMETHEUS = "prometheus"
GITHUB = "github"  # a table, which is also added to the summary of the step
FINDINGS = 3  # above a report
WITH_FINDINGS = ("table", "markdown", GITHUB)  # formats for readers
METRICS = "metrics"  # nested, for experiment trackers
SAFE_CSV = "safe csv"  # without formulas
WIDTH = "streammetrics.width"  # of the context of a command
FORMULA = r"^[=+@\t\r\n-]"  # first characters of cells that a spreadsheet runs
COLOURS = {"✓": "green", "?": "yellow", "!": "yellow", "✗": "red", "bad": "red", "warn": "yellow"}
VERDICT = r"(?:(?<=  )|^)(?:✓ holds|[?] open|[?✗] too few rows|[!✗] breached|[!✗] undefined|✗ open)"
SEVERITY = r"^(?:bad|warn)(?= +SM\d)"  # of findings, in the first column
COLOURED = re.compile(f"{VERDICT}|{SEVERITY}", re.MULTILINE)


def show(
    report: sm.Report,
    form: str,
    output: Path | None,
    html: Path | None = None,
    title: str | None = None,
    source: str | None = None,
    sort: str | None = None,
    has_findings: bool = False,
) -> None:
    """Print a report, sorted by a metric if requested, and write it as a page if requested, with the source.

    With ``has_findings``, tables begin with the first findings.
    """
    report = report if sort is None else sorted_by(report, sort)
    if html is not None:
        report.save_html(html, title or "Evaluation", source=source)
    if form == PROMETHEUS:
        save_data(sm.export.to_prometheus(report).rstrip("\n"), output)
        return
    if form == METRICS:
        save_data(as_json(report.frame, report.by).rstrip("\n"), output)
        return
    more = f"Read all of them with --format csv{'' if sort else ', or the worst first with --sort'}."
    tables = report_tables(report.frame, report.by, width(), with_defaults(report.metrics), more, report.confidence)
    every = with_notes([metrics_table(report.frame, report.confidence, report.by)], *only_threshold(report.frame))
    show_tables(report.frame, report.findings if has_findings else list, tables, every, form, output)


def show_tables(
    frame: pl.DataFrame,
    findings: Callable[[], Sequence[sm.Finding]],
    tables: Sequence[Table],
    every: Sequence[Table],
    form: str,
    output: Path | None,
) -> None:
    """Write tables below the first findings: those of a terminal, or all of Markdown; or a frame."""
    first = findings() if form in WITH_FINDINGS else []
    begin = [findings_table(first, FINDINGS)] if first else []
    if form == GITHUB:
        write_for_github([*begin, *tables], [*begin, *every], outcomes_of_findings(first), output)
    else:
        write(frame, [*begin, *(every if form == "markdown" else tables)], form, output)


def write_findings(findings: Sequence[sm.Finding], form: str, output: Path | None) -> None:
    """Write findings alone: all of them, as a table or as data."""
    tables = [findings_table(findings)]
    if form == GITHUB:
        write_for_github(tables, tables, outcomes_of_findings(findings), output)
    else:
        write(as_frame(findings), tables, form, output)


def write_for_github(
    tables: Iterable[Table], summary: Iterable[Table], annotations: Iterable[Outcome], output: Path | None
) -> None:
    """Write tables and annotations for the log of GitHub Actions, and tables for the summary of the step."""
    print_or_save("\n".join([inert(as_lines(tables)), *commands(annotations)]), output)
    add_to_summary(as_markdown(*summary))


def asked_width() -> int | None:
    """Return ``--width``."""
    context = click.get_current_context(silent=True)
    return context.meta.get(WIDTH) if context else None


def width() -> int:
    """Return the maximum number of characters of a line: ``--width``, that of the terminal, or 120."""
    return asked_width() or terminal_width() or PIPED


def as_lines(tables: Iterable[Table]) -> str:
    """Return tables in lines of the width of the terminal, with colored verdicts and severities."""
    return COLOURED.sub(
        lambda word: click.style(word[0], fg=COLOURS[word[0].split()[0]]), as_text(*tables, width=width())
    )


def write(frame: pl.DataFrame, tables: Iterable[Table], form: str, output: Path | None) -> None:
    """Write a frame in one of the formats, as data or as tables, to a file if one is given."""
    if form == "parquet":
        if output is None and sys.stdout.isatty():
            raise click.UsageError("--format parquet requires --output.")
        content = BytesIO()
        frame.write_parquet(content)
        write_file(output, content.getvalue()) if output else sys.stdout.buffer.write(content.getvalue())
        return
    if form in ("table", "markdown"):
        print_or_save(as_lines(tables) if form == "table" else as_markdown(*tables, width=asked_width()), output)
        return
    frame = without_awkward(frame)
    if form == "json":
        data = frame.write_json()
    else:
        frame = frame.with_columns(cs.list().cast(pl.List(pl.String)).list.join(" "))  # codes of reasons
        data = (frame if form == "csv" else _quoted(frame)).write_csv().rstrip("\n")
    save_data(data, output)


def print_or_save(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file if one is given."""
    if output is None:
        click.echo(text, color=False if os.environ.get("NO_COLOR") else None)  # https://no-color.org
    else:
        write_file(output, (click.unstyle(text) + "\n").encode())


def save_data(data: str, output: Path | None) -> None:
    """Print data, or write them to a file if one is given. Only a terminal gets escaped control characters."""
    if output is not None:
        write_file(output, f"{data}\n".encode())
    elif sys.stdout.isatty():
        click.echo("\n".join(map(escaped, data.split("\n"))))
    else:
        click.echo(data, color=True)


def _quoted(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with a quote before names and texts that a spreadsheet would run as formulas."""
    texts = frame.with_columns((cs.string() | cs.categorical() | cs.enum()).cast(pl.String))
    quoted = texts.with_columns(cs.string().str.replace(FORMULA, "'$0"))
    return quoted.rename({name: f"'{name}" for name in quoted.columns if re.match(FORMULA, name)})

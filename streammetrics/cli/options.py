"""Common options of commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any, Final, TypeAlias

import click

import streammetrics as sm
from streammetrics.cli.output import FORMATS, GITHUB, METRICS, PROMETHEUS, SAFE_CSV, WIDTH
from streammetrics.cli.parameters import FileToRead, FileToWrite, Number, OneOf, storage_options
from streammetrics.cli.verdicts import FORMATS as VERDICT_FORMATS

Command: TypeAlias = Callable[..., None]


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return several options as one, in this order."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def file(name: str, **options: Any) -> Callable[[Command], Command]:
    """Return an argument that is the path of a file, such as a saved state."""
    return click.argument(name, type=FileToRead(), **options)


def history(uri: str, window: str | None = None) -> sm.MetricStore:
    """Return a history, also in an object store."""
    return sm.MetricStore(uri, window=window, storage_options=storage_options())


def formats(*names: str) -> Callable[[Command], Command]:
    """Return the options of the output: its format, width, and file."""
    options = together(
        click.option("--format", "form", type=OneOf(names), default="table", show_default=True, help="Output format."),
        click.option(
            "--width",
            type=click.IntRange(min=40),
            help="Maximum width of tables, in characters. Default: terminal width, or 120; none for Markdown.",
        ),
        click.option(
            "--safe-csv",
            is_flag=True,
            help="Quote text that a spreadsheet would run as a formula, such as =1+1, for --format csv.",
        ),
        output,
    )

    def with_form(command: Command) -> Command:
        @wraps(command)
        def chosen(*arguments: Any, form: str, safe_csv: bool, width: int | None, **others: Any) -> None:
            click.get_current_context().meta[WIDTH] = width
            if safe_csv and form != "csv":
                raise click.UsageError("--safe-csv requires --format csv.")
            if form == PROMETHEUS:
                from streammetrics.export import prometheus_client

                prometheus_client()  # raise if it is missing before reading data
            command(*arguments, form=SAFE_CSV if safe_csv else form, **others)

        return options(chosen)

    return with_form


def only_one(ctx: click.Context, parameter: click.Parameter, values: tuple[float, ...]) -> float | None:
    """Return the value of an option."""
    if len(values) > 1:
        raise click.UsageError(f"{parameter.opts[0]} accepts one number in {ctx.info_name}, got {len(values)}.")
    return values[0] if values else None


output: Final = click.option("-o", "--output", type=FileToWrite(), help="File to write instead of printing.")
form: Final = formats(*FORMATS)
form_of_reports: Final = formats(*FORMATS, PROMETHEUS, METRICS, GITHUB)
form_of_findings: Final = formats(*FORMATS, GITHUB)
form_of_verdicts: Final = formats(*FORMATS, *VERDICT_FORMATS)
by: Final = click.option("--by", multiple=True, help="Group column. Can be repeated.")
model: Final = click.option("--model", help="Name of the model, if the state has several.")
threshold: Final = click.option(
    "--threshold",
    type=Number(),
    multiple=True,  # else the last of several would count
    callback=only_one,
    help="Decision threshold on the score, such as 0.3. Default: the stored thresholds.",
)
metrics: Final = click.option(
    "--metric", "metrics", multiple=True, help="Metric to show, such as 'fbeta(beta=2)'. Can be repeated."
)
sort: Final = click.option("--sort", help="Metric to sort groups by, worst group first. The metric is shown first.")
confidence: Final = click.option(
    "--confidence", type=Number(), help="Confidence level of intervals, such as 0.95. Default: no intervals."
)
level: Final = click.option(
    "--confidence", type=Number(), default=0.95, show_default=True, help="Confidence level of the intervals."
)
always: Final = click.option(
    "--always",
    type=int,
    help="Make intervals valid however often you look; they are tightest near this many rows.",
)
models: Final = click.option(
    "--models", nargs=2, metavar="A B", help="Two models of one state, instead of a second state."
)
independent: Final = click.option(
    "--independent", is_flag=True, help="Treat the states as independent samples, which need no --unit."
)
min_rows: Final = click.option(
    "--min-rows", type=click.IntRange(min=1), default=1, show_default=True, help="Minimum number of rows of a group."
)
workers: Final = click.option(
    "--workers", type=click.IntRange(min=1), help="Number of threads. Default: one per CPU core."
)
findings: Final = click.option("--findings", is_flag=True, help="Write only what stands out, for example as JSON.")
html: Final = click.option("--html", type=FileToWrite(), help="File to write as an HTML page, with charts.")
title: Final = click.option("--title", help="Title of the page of --html.")
page: Final = together(html, title)
total: Final = click.option("--total", is_flag=True, help="Roll up all groups into one.")
selection: Final = together(by, total, model, threshold)
since: Final = click.option("--since", help="Start of the time range, such as 2026-01-31. Default: no start.")
until: Final = click.option("--until", help="End of the time range, exclusive. Default: no end.")
period: Final = together(since, until)

"""Evaluate files of predictions."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import few
from streammetrics.cli import options
from streammetrics.cli.columns import Columns, label
from streammetrics.cli.output import WITH_FINDINGS, show
from streammetrics.cli.parameters import FileToWrite, Number, OneOf, storage_options
from streammetrics.cli.receipts import write_receipt
from streammetrics.cli.root import EXAMPLE, as_option, command, done
from streammetrics.cli.watching import watch
from streammetrics.core import FAMILIES
from streammetrics.data import SEVERAL, Column, Files, frames, open_files, require_columns
from streammetrics.errors import Argument, SourceError
from streammetrics.pipeline import accumulate, require_rows
from streammetrics.reading import missing_class
from streammetrics.tasks import binary, multiclass, multilabel, predictions, regression

FIRST_ROWS = 100_000
LEVEL = 0.95  # of the intervals of a receipt
TASKS: dict[str, Callable[..., Accumulator]] = {
    "binary": binary,
    "multiclass": multiclass,
    "multilabel": multilabel,
    "predictions": predictions,
    "regression": regression,
}


@command("evaluate", EXAMPLE)
@click.argument("paths", nargs=-1, required=True)
@click.option("--task", type=OneOf(list(TASKS)), default="binary", show_default=True, help="Task of the model.")
@click.option("--where", help="SQL condition on the rows to evaluate, such as \"country = 'DE' AND price > 10\".")
@click.option("--null-value", "null_values", multiple=True, help="Text that stands for null in CSV. Can be repeated.")
@click.option("--text", multiple=True, help="Column of CSV to read as text, such as 1.10. Can be repeated.")
@click.option(
    "--y-true",
    multiple=True,
    help="Column of the labels or true values. name=column per label in multilabel tasks. Not for --task predictions.",
)
@click.option("--y-score", multiple=True, help="Column of the scores. name=column per model or label.")
@click.option("--y-pred", multiple=True, help="Column of the predictions. name=column per model or label.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    help="Class of each position if the scores are one list column. Repeat in order.",
)
@click.option("--order", multiple=True, help="Label for weighted kappa, from lowest to highest. Can be repeated.")
@click.option("--sample-weight", help="Column of the weights.")
@click.option("--count", help="Column of the number of equal rows that each row stands for.")
@click.option("--unit", help="Column that identifies correlated rows, such as a user ID. Intervals account for it.")
@click.option("--folds", type=int, help="Number of parts of the units, 5 to 256. Default: 20; for plans, about 200.")
@click.option(
    "--by",
    multiple=True,
    help="Group column, or an SQL expression such as \"DATE_TRUNC('month', day) AS month\". Can be repeated.",
)
@click.option(
    "--fingerprint",
    multiple=True,
    help="Column that identifies a row, such as request_id, for receipts and comparisons. Can be repeated.",
)
@click.option(
    "--threshold",
    "thresholds",
    type=Number(),
    multiple=True,
    help="Decision threshold on the score. Can be repeated. Default: 0.5, or 0 with --domain real.",
)
@click.option("--positive", help="Positive label, if labels are not 0/1.")
@click.option("--negative", help="Negative label. Any third label then raises an error.")
@click.option(
    "--nulls",
    type=OneOf(["raise", "drop"]),
    help="How to handle nulls and NaN. Default: raise (for --task predictions: drop).",
)
@click.option("--domain", type=OneOf(["probability", "real"]), help="Domain of the scores. Default: probability.")
@click.option("--renormalize", is_flag=True, default=None, help="Divide class probabilities by their sum.")
@click.option("--one-vs-one", is_flag=True, default=None, help="Also accumulate pairs of classes, for roc_auc_ovo.")
@click.option(
    "--family",
    "families",
    type=OneOf(list(FAMILIES)),
    multiple=True,
    help="Additional loss of a regression, such as log for msle. Can be repeated.",
)
@click.option(
    "--capacity",
    type=int,
    help="Maximum number of histogram bins per group. Default: 4,096 with groups or labels, otherwise 16,384.",
)
@click.option("--max-groups", type=click.IntRange(min=1), help="Maximum number of groups. Default: 1,000,000.")
@click.option(
    "--atom", "atoms", type=Number(), multiple=True, help="Value shared by many rows (point mass). Can be repeated."
)
@click.option("--rounding", type=Number(), help="Step to which scores were rounded before, such as 0.0001.")
@options.metrics
@options.sort
@click.option(
    "--save", type=FileToWrite(), help="File to save the state to, for merge, show, check, and other commands."
)
@click.option("--receipt", type=FileToWrite(), help="File to write a receipt to, for verify.")
@click.option("--watch", "watched", is_flag=True, help="Show progress and the metrics of the rows so far.")
@options.workers
@options.confidence
@options.always
@options.page
@options.form_of_reports
def evaluate_command(
    paths: tuple[str, ...],
    task: str,
    where: str | None,
    null_values: tuple[str, ...],
    text: tuple[str, ...],
    metrics: tuple[str, ...],
    sort: str | None,
    save: Path | None,
    fingerprint: tuple[str, ...],
    receipt: Path | None,
    watched: bool,
    workers: int | None,
    confidence: float | None,
    always: int | None,
    html: Path | None,
    title: str | None,
    form: str,
    output: Path | None,
    **arguments: Any,
) -> None:
    """Evaluate files of predictions.

    Files are Parquet, CSV, NDJSON, or Arrow IPC, by path, folder, or glob. CSV and NDJSON can be compressed (.gz,
    .zst). Columns are names or SQL expressions, such as "logit / 2" and "lower(country) AS country". In expressions,
    put spaces around =.

    With --watch and --save, Ctrl-C saves the state of the rows so far.
    """
    files = open_files(paths, null_values, text, storage_options())
    columns = Columns.read(files)
    require_columns(text, columns.schema.names())
    if where is not None:
        files = files.filtered(columns.condition(where))
    if fingerprint or receipt:
        require_columns(fingerprint, columns.schema.names())
        arguments["fingerprint"] = fingerprint or True
    acc = _task(task, columns, arguments)
    finalize = partial(acc.finalize, metrics or None, confidence=confidence, always=always)
    empty = finalize()  # refuse it before the data are read
    if sort is not None:
        empty.find(sort)
    start = time.perf_counter()
    with _saved_if_interrupted(acc, save if watched else None):
        if watched:
            watch(files, acc, finalize, workers)
        else:
            has_bar = importlib.util.find_spec("tqdm") is not None
            if sys.stderr.isatty() and not has_bar:
                click.echo("Evaluating … For a progress bar, install the 'progress' extra.", err=True)
            accumulate(files, into=acc, workers=workers, progress=sys.stderr.isatty() and has_bar)
        if where is not None and not acc.seen:
            raise SourceError(f"No row meets the condition {where!r}.")
        require_rows([acc], paths)
        if save:
            acc.save(save)
    if receipt:
        write_receipt(acc.receipt(metrics or None, confidence=confidence or LEVEL), receipt)
    done(f"Evaluated {acc.seen // len(acc.roles.models):,} rows in {time.perf_counter() - start:.1f} s.")
    report = finalize()
    if task == "binary" and arguments["positive"] and not arguments["negative"]:
        _name_negatives(files, columns.one(arguments["y_true"][0]), acc.roles.positive)
    if (metrics or form not in WITH_FINDINGS) and (warning := missing_class(report)):  # else it is a finding
        click.echo(f"Warning: {warning} {arguments['positive'] or 1}.", err=True)
    if not report.rows("rows")["value"].sum():
        dropped = report.rows("dropped")["value"].sum()
        click.echo(f"Warning: All {dropped:,.0f} rows were dropped, because of nulls or weights of 0.", err=True)
    source = ", ".join(paths)
    show(report, form, output, html, title, source=source, sort=sort, has_findings=not metrics)


def _name_negatives(files: Files, true: Column, positive: Any) -> None:
    """Say which labels count as negative, if the first rows have several."""
    column = pl.col(true) if isinstance(true, str) else true
    roots = column.meta.root_names()
    first = next(frames(files.parts(roots)[0], roots, FIRST_ROWS, files.where))
    labels = first.select(column).to_series().drop_nulls().unique().sort().to_list()
    negative = [label for label in labels if positive not in (label, str(label))]
    if len(negative) > 1:
        note = f"Labels other than {positive!r} count as negative: {few(negative)}."
        click.echo(f"Note: {note} To reject a third label, pass --negative.", err=True)


@contextmanager
def _saved_if_interrupted(acc: Accumulator, save: Path | None) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if save and acc.seen:
            acc.save(save)
            click.echo(f"Saved the rows so far: {save}: {acc}", err=True)
        raise


def _task(name: str, columns: Columns, options: dict[str, Any]) -> Accumulator:
    arguments: dict[str, Any] = {
        k: list(v) if isinstance(v, tuple) else v for k, v in options.items() if v not in (None, ())
    }
    parameters = inspect.signature(TASKS[name]).parameters
    if name == "multilabel" and "thresholds" in arguments:
        arguments["threshold"], *more = arguments.pop("thresholds")
        if more:
            raise click.UsageError(f"--threshold accepts one number in --task multilabel, got {1 + len(more)}.")
    if unknown := sorted(set(arguments) - set(parameters)):
        advice = " Pass --y-pred." if unknown[0] == "y_score" else ""
        raise click.UsageError(f"--task {name} does not accept {as_option(Argument(unknown[0]))}.{advice}")
    if missing := [k for k, p in parameters.items() if p.default is p.empty and k not in arguments]:
        needed = " and ".join(as_option(Argument(name)) for name in missing)
        raise click.UsageError(f"--task {name} requires {needed}. Columns of the files: {few(columns.schema)}.")
    key: Callable[[str], Any] = label if name in SEVERAL else str
    named = ["y_score", "y_pred"]
    if name == "multilabel":
        named.append("y_true")
    elif "y_true" in arguments:
        true, *more = arguments["y_true"]
        if more:
            raise click.UsageError(f"--y-true accepts one column in --task {name}, got {1 + len(more)}.")
        arguments["y_true"] = columns.one(true)
        if name in SEVERAL:  # labels have the type of their column
            key = partial(columns.value, column=arguments["y_true"])
    arguments |= {k: columns.named(arguments[k], key) for k in named if k in arguments}
    arguments |= {k: columns.one(arguments[k]) for k in ("sample_weight", "count", "unit") if k in arguments}
    arguments["by"] = columns.several("--by", arguments.get("by", ()))
    arguments |= {k: [key(text) for text in arguments[k]] for k in ("labels", "order") if k in arguments}
    target = arguments.get("y_true", arguments.get("y_pred"))
    if target is not None:
        arguments |= {k: columns.value(arguments[k], target) for k in ("positive", "negative") if k in arguments}
    return TASKS[name](**arguments)

"""Evaluate files of predictions."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streammetrics import demo as demo_data
from streammetrics.accumulator import Accumulator
from streammetrics.cli import options
from streammetrics.cli.output import show
from streammetrics.cli.root import command
from streammetrics.pipeline import accumulate, require_rows
from streammetrics.roles import SEVERAL
from streammetrics.tasks import binary, multiclass, multilabel, predictions, regression

TASKS: dict[str, Callable[..., Accumulator]] = {
    "binary": binary,
    "multiclass": multiclass,
    "multilabel": multilabel,
    "predictions": predictions,
    "regression": regression,
}


@command("evaluate", "streammetrics evaluate 'predictions/*.parquet' --y-true clicked --y-score p_click --by country")
@click.argument("paths", nargs=-1, required=True)
@click.option("--task", type=click.Choice(list(TASKS)), default="binary", show_default=True)
@click.option(
    "--y-true",
    multiple=True,
    help="Column of the labels or true values; name=column for each of several labels; none for --task predictions.",
)
@click.option("--y-score", multiple=True, help="Column of the scores; name=column for each model or label.")
@click.option("--y-pred", multiple=True, help="Column of the predictions; name=column for each model or label.")
@click.option("--label", "labels", multiple=True, help="Label, where scores come as lists; repeat for all.")
@click.option("--order", multiple=True, help="Label in its order, for weighted kappa; repeat from the lowest up.")
@click.option("--sample-weight", help="Column of the weights.")
@click.option("--unit", help="Column of what rows belong to, such as a user; intervals allow for it.")
@options.by
@click.option(
    "--threshold", "thresholds", type=float, multiple=True, help="Score that counts as positive; repeat for more."
)
@click.option("--positive", help="Label that is positive, where labels are not 0/1.")
@click.option("--negative", help="Label that is negative; a third one is then an error.")
@click.option("--nulls", type=click.Choice(["raise", "drop"]), help="raise unless given; for --task predictions drop.")
@click.option("--domain", type=click.Choice(["probability", "real"]), help="Of scores; probability unless given.")
@click.option("--renormalize", is_flag=True, default=None, help="Divide class probabilities by their sum.")
@click.option("--capacity", type=int, help="Most bins of a histogram.")
@click.option("--atom", "atoms", type=float, multiple=True, help="Value that many rows share; repeat for more.")
@options.metrics
@click.option("--save", type=options.FileToWrite(), help="File to save the state to, for merge, show and check.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads; one for each core unless given.")
@options.confidence
@options.html
@options.form
@options.output
def evaluate_command(
    paths: tuple[str, ...],
    task: str,
    metrics: tuple[str, ...],
    save: Path | None,
    workers: int | None,
    confidence: float | None,
    html: Path | None,
    form: str,
    output: Path | None,
    **given: Any,
) -> None:
    """Evaluate files of predictions: Parquet, CSV, NDJSON or Arrow IPC, by path, folder or glob."""
    acc = _task(task, given)
    acc.finalize(metrics or None)  # an unknown metric is refused before the data are read
    progress = sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
    accumulate(list(paths), acc, workers=workers, progress=progress)
    require_rows([acc])
    if save:
        acc.save(save)
    report = acc.finalize(metrics or None, confidence=confidence)
    if task == "binary" and not report.rows("positives")["value"].sum():
        click.echo(f"Warning: no row has the positive label {given['positive'] or 1}.", err=True)
    show(report, form, output, html)


@command("demo", "streammetrics demo --rows 500000")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("predictions"))
@click.option("--rows", type=click.IntRange(min=1000), default=2_000_000, show_default=True, help="Rows to write.")
def demo(folder: Path, rows: int) -> None:
    """Write thirty days of click predictions to FOLDER and evaluate them by country."""
    click.echo(f"Writing {rows:,} predictions of {demo_data.DAYS} days to {folder}/ …")
    paths = demo_data.write_predictions(folder, rows)
    start = time.perf_counter()
    acc = accumulate(paths, binary(y_true="clicked", y_score="p_click", by="country"))
    report = acc.finalize()
    click.echo(f"Evaluated {rows:,} rows in {time.perf_counter() - start:.1f} s, in one pass.\n\n{report}\n")
    click.echo(f"All countries together, from the same tables:\n\n{acc.rollup().finalize()}\n")
    click.echo("The same by hand:")
    click.echo(
        f"  streammetrics evaluate '{folder}/*.parquet' \\\n"
        "    --y-true clicked --y-score p_click --by country --save clicks.state"
    )
    click.echo("  streammetrics check clicks.state --require 'roc_auc>=0.70'")


def _task(name: str, options: dict[str, Any]) -> Accumulator:
    """The accumulator of a task, with the options that were given."""
    given = {k: list(v) if isinstance(v, tuple) else v for k, v in options.items() if v not in (None, ())}
    key = _label if name in SEVERAL else str
    given |= {k: _columns(given[k], key) for k in ("y_true", "y_score", "y_pred") if k in given}
    given |= {k: [_label(text) for text in given[k]] for k in ("labels", "order") if k in given}
    parameters = inspect.signature(TASKS[name]).parameters
    if unknown := sorted(set(given) - set(parameters)):
        raise click.UsageError(f"--task {name} takes no --{unknown[0].replace('_', '-')}.")
    if missing := [k for k, p in parameters.items() if p.default is p.empty and k not in given]:
        raise click.UsageError(f"--task {name} needs --{missing[0].replace('_', '-')}.")
    return TASKS[name](**given)


def _columns(texts: list[str], key: Callable[[str], Any]) -> Any:
    """A column, or with name=column a mapping of models or labels to columns."""
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = [text.partition("=") for text in texts]
    if not all(column for _, _, column in pairs):
        raise click.UsageError(f"write name=column for each of several columns, not {' '.join(texts)}.")
    return {key(name): column for name, _, column in pairs}


def _label(text: str) -> Any:
    """A label as a number or a boolean where it reads like one."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float) else text

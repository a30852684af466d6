"""The command line: the public functions, one command each."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import polars as pl
import polars.selectors as cs

from streammetrics import demo as demo_data
from streammetrics.accumulator import Accumulator
from streammetrics.compare import compare
from streammetrics.drift import drift
from streammetrics.errors import StreamMetricsError
from streammetrics.history import MetricStore
from streammetrics.pipeline import accumulate, require_rows
from streammetrics.report import Report
from streammetrics.roles import SEVERAL
from streammetrics.rules import check as check_rules
from streammetrics.rules import read_rules
from streammetrics.tasks import binary, multiclass, multilabel, predictions, regression
from streammetrics.text import plain
from streammetrics.version import __version__

TASKS: dict[str, Callable[..., Accumulator]] = {
    "binary": binary,
    "multiclass": multiclass,
    "multilabel": multilabel,
    "predictions": predictions,
    "regression": regression,
}
FORMATS = ("table", "json", "csv", "parquet")
COLOURS = {"holds": "green", "open": "yellow", "breached": "red"}
VERDICT = re.compile(r"(?<=  )(holds|open|breached)(?=$|: )", re.MULTILINE)  # in the last column


class _Failure(click.ClickException):
    """One line to the user."""

    exit_code = 2


class _Commands(click.Group):
    """Commands whose errors are one clear line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (StreamMetricsError, OSError) as error:
            raise _Failure(str(error).partition("\n")[0]) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Evaluate model predictions of any size in one pass."""


def _command(name: str, example: str, of: click.Group | None = None) -> Callable[[Callable[..., None]], click.Command]:
    return (of or main).command(name, epilog=_example(example))


def _example(*lines: str) -> str:
    return "\n  ".join(("\b\nExample:", *lines))


_by = click.option("--by", multiple=True, help="Group column; repeat for more.")
_metrics = click.option(
    "--metric", "metrics", multiple=True, help="Metric to show, such as 'fbeta(beta=2)'; repeat for more."
)
_confidence = click.option(
    "--confidence", type=float, help="Add sampling intervals that hold the metric with this probability, such as 0.95."
)
_format = click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
_output = click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write instead of printing.")
_html = click.option("--html", type=click.Path(path_type=Path), help="File to write as an HTML page, with charts.")


@_command("evaluate", "streammetrics evaluate 'predictions/*.parquet' --y-true clicked --y-score p_click --by country")
@click.argument("paths", nargs=-1, required=True)
@click.option("--task", type=click.Choice(list(TASKS)), default="binary", show_default=True)
@click.option("--y-true", multiple=True, help="Column of the labels or true values; none for --task predictions.")
@click.option("--y-score", multiple=True, help="Column of the scores; name=column for each model or label.")
@click.option("--y-pred", multiple=True, help="Column of the predictions; name=column for each model or label.")
@click.option("--label", "labels", multiple=True, help="Label, where scores come as lists; repeat for all.")
@click.option("--order", multiple=True, help="Label in its order, for weighted kappa; repeat from the lowest up.")
@click.option("--sample-weight", help="Column of the weights.")
@click.option("--unit", help="Column of what rows belong to, such as a user; intervals allow for it.")
@_by
@click.option(
    "--threshold", "thresholds", type=float, multiple=True, help="Score that counts as positive; repeat for more."
)
@click.option("--positive", help="Label that is positive, where labels are not 0/1.")
@click.option("--negative", help="Label that is negative; a third one is then an error.")
@click.option("--nulls", type=click.Choice(["raise", "drop"]), help="raise unless given; for --task predictions drop.")
@click.option("--domain", type=click.Choice(["probability", "real"]), help="Of scores; probability unless given.")
@click.option("--renormalize", is_flag=True, default=None, help="Divide class probabilities by their sum.")
@click.option("--capacity", type=int, help="Bins of a histogram.")
@click.option("--atom", "atoms", type=float, multiple=True, help="Value that many rows share; repeat for more.")
@_metrics
@click.option("--save", type=click.Path(path_type=Path), help="File to save the state to, for merge, show and check.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads; one for each core unless given.")
@_confidence
@_html
@_format
@_output
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
    **options: Any,
) -> None:
    """Evaluate files of predictions: Parquet, CSV, NDJSON or Arrow IPC, by path, folder or glob."""
    acc = _task(task, options)
    acc.finalize(metrics or None)  # an unknown metric is refused before the data are read
    progress = sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
    accumulate(list(paths), acc, workers=workers, progress=progress)
    require_rows([acc])
    if save:
        acc.save(save)
    _show(acc.finalize(metrics or None, confidence=confidence), form, output, html)


@_command("merge", "streammetrics merge monday.state tuesday.state -o week.state")
@click.argument("states", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to save the total to.")
def merge_command(states: tuple[Path, ...], output: Path) -> None:
    """Add up saved states."""
    total = Accumulator.load(*states)
    total.save(output)
    click.echo(f"{output}: {total}")


@_command("show", "streammetrics show week.state --by country --metric roc_auc")
@click.argument("state", type=click.Path(path_type=Path))
@_by
@click.option("--total", is_flag=True, help="Roll up all groups into one.")
@_metrics
@_confidence
@_html
@_format
@_output
def show(
    state: Path,
    by: tuple[str, ...],
    total: bool,
    metrics: tuple[str, ...],
    confidence: float | None,
    html: Path | None,
    form: str,
    output: Path | None,
) -> None:
    """Show the metrics of a saved state, rolled up to some of its group columns."""
    _show(_rolled_up(state, by, total).finalize(metrics or None, confidence=confidence), form, output, html)


@_command("check", "streammetrics check week.state --require 'roc_auc>=0.80' --require 'ece<=0.02'")
@click.argument("state", type=click.Path(path_type=Path))
@click.option("--require", "requirements", multiple=True, required=True, help="Requirement, such as 'roc_auc>=0.80'.")
@_by
@click.option("--total", is_flag=True, help="Roll up all groups into one.")
@click.pass_context
def check(ctx: click.Context, state: Path, requirements: tuple[str, ...], by: tuple[str, ...], total: bool) -> None:
    """Check requirements on a saved state, in every group.

    A requirement holds where the certified bounds leave no doubt: with >= the lower one decides, with <= the upper one.
    The exit code is 1 where one fails.
    """
    report = _rolled_up(state, by, total).finalize()
    failures = [sentence for text in requirements for sentence in report.violations(text)]
    for sentence in failures:
        _echo(click.style(sentence, fg="red"))
    if failures:
        ctx.exit(1)
    held = f"All {len(requirements)} requirements hold." if len(requirements) > 1 else f"{requirements[0]} holds."
    _echo(click.style(held, fg="green"))


@_command("compare", "streammetrics compare monday.state tuesday.state --metric roc_auc")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@_by
@click.option("--total", is_flag=True, help="Roll up all groups into one.")
@_metrics
@_confidence
@click.option("--independent", is_flag=True, help="The states are of different rows, so intervals need no --unit.")
@_format
@_output
def compare_command(
    a: Path,
    b: Path,
    by: tuple[str, ...],
    total: bool,
    metrics: tuple[str, ...],
    confidence: float | None,
    independent: bool,
    form: str,
    output: Path | None,
) -> None:
    """Show the difference of each metric of two saved states, and which is better for certain."""
    one, other = (_rolled_up(state, by, total).finalize(metrics or None) for state in (a, b))
    found = compare(one, other, confidence=confidence, independent=independent)
    _write(found.frame, str(found), form, output)


@_command("drift", "streammetrics drift january.state may.state --by country")
@click.argument("reference", type=click.Path(path_type=Path))
@click.argument("current", type=click.Path(path_type=Path))
@_by
@click.option("--total", is_flag=True, help="Roll up all groups into one.")
@click.option("--of", multiple=True, help="Distribution: y_score, y_true, y_pred or error; repeat for more.")
@click.option("--bins", type=int, default=10, show_default=True, help="Bins of PSI and JS.")
@_format
@_output
def drift_command(
    reference: Path,
    current: Path,
    by: tuple[str, ...],
    total: bool,
    of: tuple[str, ...],
    bins: int,
    form: str,
    output: Path | None,
) -> None:
    """Show how far the distributions of a saved state have moved from those of a reference."""
    one, other = (_rolled_up(state, by, total) for state in (reference, current))
    found = drift(one, other, of=of or None, bins=bins)
    _write(found.frame, str(found), form, output)


@main.group(
    "store",
    cls=_Commands,
    epilog=_example("streammetrics store append history monday.state", "streammetrics store check history rules.toml"),
)
def store_commands() -> None:
    """Keep a history of states in a Delta Lake table."""


@_command("append", "streammetrics store append history monday.state tuesday.state", of=store_commands)
@click.argument("uri")
@click.argument("states", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--batch-id", help="What tells this batch from all others; the name of the file unless given.")
@click.option("--window", help="Group column that is the window; the only one of dates or times unless given.")
def store_append(uri: str, states: tuple[Path, ...], batch_id: str | None, window: str | None) -> None:
    """Add saved states to the history at URI. A batch that is known already changes nothing."""
    if batch_id is not None and len(states) > 1:
        raise click.UsageError("--batch-id names one state; without it each has the name of its file.")
    if len({path.name for path in states}) < len(states):
        raise click.UsageError("two files have the same name; append them one by one, with --batch-id.")
    store = MetricStore(uri, window=window)
    for path in states:
        name = batch_id or path.name
        added = store.append(Accumulator.load(path), batch_id=name)
        click.echo(f"{name}: {'added' if added else 'nothing to add'}")


_since = click.option("--since", help="First window, such as 2026-01-31.")
_until = click.option("--until", help="Before which windows end; the newest is the last unless given.")


@_command("report", "streammetrics store report history --since 2026-01-01 --every 1w", of=store_commands)
@click.argument("uri")
@_since
@_until
@_by
@click.option("--every", help="Show windows of this length, such as 1d, 1w or 1mo, instead of one for all.")
@_metrics
@_confidence
@_format
@_output
def store_report(
    uri: str,
    since: str | None,
    until: str | None,
    by: tuple[str, ...],
    every: str | None,
    metrics: tuple[str, ...],
    confidence: float | None,
    form: str,
    output: Path | None,
) -> None:
    """Show the metrics of the history at URI, of any time and by any segments."""
    acc = MetricStore(uri).query(since, until, by=by, every=every)
    _show(acc.finalize(metrics or None, confidence=confidence), form, output)


@_command("check", "streammetrics store check history rules.toml", of=store_commands)
@click.argument("uri")
@click.argument("rules", type=click.Path(path_type=Path))
@_until
@_format
@_output
@click.pass_context
def store_check(ctx: click.Context, uri: str, rules: Path, until: str | None, form: str, output: Path | None) -> None:
    """Check the newest windows of the history at URI against the rules of a TOML file.

    \b
    [[rule]]
    require = "roc_auc >= 0.8"
    over = "7d"

    \b
    [[rule]]
    require = "psi(of='y_score') <= 0.2"
    against = "28d"

    The exit code is 1 where a rule does not hold for certain.
    """
    findings = check_rules(MetricStore(uri), read_rules(rules), until=until)
    shown = VERDICT.sub(lambda match: click.style(match[0], fg=COLOURS[match[1]]), str(findings))
    _write(findings.frame, shown, form, output)
    if not findings.hold:
        ctx.exit(1)


@_command("windows", "streammetrics store windows history", of=store_commands)
@click.argument("uri")
@_format
@_output
def store_windows(uri: str, form: str, output: Path | None) -> None:
    """Show which windows the history at URI holds."""
    frame = MetricStore(uri).windows()
    _write(frame, plain(frame.with_columns(cs.datetime().dt.truncate("1s"))), form, output)


@_command("compact", "streammetrics store compact history", of=store_commands)
@click.argument("uri")
def store_compact(uri: str) -> None:
    """Add up the parts of each window of the history at URI, and put small files together. No answer changes."""
    MetricStore(uri).compact()


@_command("retain", "streammetrics store retain history --since 2025-01-01", of=store_commands)
@click.argument("uri")
@click.option("--since", required=True, help="First window to keep, such as 2026-01-31.")
def store_retain(uri: str, since: str) -> None:
    """Drop the windows of the history at URI before a time."""
    MetricStore(uri).retain(since)


@_command("demo", "streammetrics demo --rows 500000")
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


def _rolled_up(state: Path, by: tuple[str, ...], total: bool) -> Accumulator:
    if by and total:
        raise click.UsageError("give --by or --total, not both.")
    acc = Accumulator.load(state)
    return acc.rollup(*by) if by or total else acc


def _show(report: Report, form: str, output: Path | None, html: Path | None = None) -> None:
    if html is not None:
        report.save_html(html)
    _write(report.frame, str(report), form, output)


def _write(frame: pl.DataFrame, text: str, form: str, output: Path | None) -> None:
    if form == "parquet":
        if output is None and sys.stdout.isatty():
            raise click.UsageError("Parquet is not for a terminal; give --output.")
        frame.write_parquet(output or sys.stdout.buffer)
        return
    writers = {"table": text, "json": frame.write_json(), "csv": frame.write_csv().rstrip("\n")}
    if output is None:
        _echo(writers[form])
    else:
        output.write_text(click.unstyle(writers[form]) + "\n", encoding="utf-8")


def _echo(text: str) -> None:
    """Print, in colour only on a terminal that wants it (https://no-color.org)."""
    click.echo(text, color=False if os.environ.get("NO_COLOR") else None)

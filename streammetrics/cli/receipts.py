"""Commands for receipts: write one of a saved state, and verify one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import click

from streammetrics.accumulator import Accumulator
from streammetrics.cli import options
from streammetrics.cli.columns import Columns
from streammetrics.cli.parameters import storage_options
from streammetrics.cli.root import command
from streammetrics.data import open_files
from streammetrics.pipeline import verify
from streammetrics.report import Receipt


@command("receipt", "streammetrics receipt week.state --require 'roc_auc>=0.80' -o week.json")
@options.file("state")
@options.metrics
@options.level
@click.option("--require", multiple=True, help="Requirement to check in each group. Can be repeated.")
@options.output
def receipt_command(
    state: Path, metrics: tuple[str, ...], confidence: float, require: tuple[str, ...], output: Path | None
) -> None:
    """Write a receipt of a saved state.

    It says what was evaluated, and what the result was, in at most 2 kB of JSON. The rows must have been evaluated with
    --fingerprint. Anyone with the rows can verify the receipt.
    """
    receipt = Accumulator.load(state).receipt(metrics or None, confidence=confidence, require=require)
    write_receipt(receipt, output)


def write_receipt(receipt: Receipt, output: Path | None) -> None:
    """Print a receipt, or write it to a file."""
    if output is None:
        click.echo(str(receipt), nl=False)
    else:
        receipt.save(output)
        click.echo(f"{output}: receipt of {receipt.rows:,} rows", err=True)


@command("verify", "streammetrics verify week.json 'predictions/*.parquet'")
@options.file("receipt")
@click.argument("paths", nargs=-1, required=True)
@click.option("--where", help="SQL condition on the rows, as in the evaluation of the receipt.")
@options.workers
@click.pass_context
def verify_command(
    ctx: click.Context, receipt: Path, paths: tuple[str, ...], where: str | None, workers: int | None
) -> None:
    """Verify a receipt from files or a saved state.

    Files are evaluated again, in any order and divided in any way. The exit code is 1 if anything differs from the
    receipt.
    """
    states = [path for path in paths if Path(path).suffix == ".state"]
    if states and (len(paths) > 1 or where is not None):
        raise click.UsageError("Pass either one saved state, without --where, or files of rows.")
    if states:
        verification = verify(receipt, states[0], storage_options=storage_options())
    else:
        files = open_files(paths, storage_options=storage_options())
        files = files if where is None else files.filtered(Columns.read(files).condition(where))
        has_bar = sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
        verification = verify(receipt, files, workers=workers, progress=has_bar)
    click.echo(str(verification))
    if not verification.identical:
        ctx.exit(1)

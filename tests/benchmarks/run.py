"""Measure the library against its targets and its peers: prints the tables of docs/performance.md, and writes JSON.

A wrong answer fails the benchmark: every case compares results before it reports a ratio.
"""

from __future__ import annotations

import json
import platform
import tempfile
from dataclasses import asdict
from pathlib import Path

import cases
import click
import data
import engines
import groups
import histories
import measure
import multiclass
import peers
import per_row
import regression

CASES = (
    *cases.CASES,
    *per_row.CASES,
    *regression.CASES,
    *multiclass.CASES,
    *groups.CASES,
    *histories.CASES,
    *peers.CASES,
    *engines.CASES,
)


@click.command()
@click.option("--rows", default=20_000_000, show_default=True, help="Rows of the data.")
@click.option("--only", multiple=True, type=click.Choice([c.__name__ for c in CASES]), help="Cases to run.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the data is kept for the next run.")
@click.option("--json", "output", type=click.Path(path_type=Path), default="benchmarks.json", show_default=True)
@click.option("--rounds", default=measure.ROUNDS, show_default=True, help="Most rounds of a comparison.")
def main(rows: int, only: tuple[str, ...], folder: Path | None, output: Path, rounds: int) -> None:
    """Measure the library against its targets and its peers."""
    measure.most_rounds = rounds
    folder = folder or Path(tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    path = data.write(folder, rows)
    figures = []
    for case in CASES:
        if only and case.__name__ not in only:
            continue
        try:
            for figure in case(path):
                figures.append(figure)
                click.echo(f"{figure.table}: {figure.row}: {figure.column}: {figure}", err=True)
        except ModuleNotFoundError as error:
            click.echo(f"{case.__name__} is left out: {error.name} is not installed", err=True)
    click.echo(measure.tables(figures))
    machine = {"python": platform.python_version(), "machine": platform.machine(), "rows": rows}
    output.write_text(json.dumps(machine | {"figures": [asdict(f) | {"met": f.met} for f in figures]}, indent=1))


if __name__ == "__main__":  # engines start processes, which read this file
    main()

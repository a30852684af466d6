"""Measure the library against its targets and its peers: prints the tables of docs/performance.md, and writes JSON.

A wrong answer fails the benchmark: every case compares results before it reports a ratio. With ``--beside``, the same
cases run in another installation, such as the latest release in a virtual environment, with the extra ``bench``. Both
take turns after each run, so that a noisy machine is noisy for both.
"""

from __future__ import annotations

import json
import platform
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import beside
import cases
import click
import engines
import groups
import histories
import inputs
import measure
import memory
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
    *memory.CASES,
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
@click.option("--beside", "python", help="Python of another installation, which runs the same cases.")
@click.option("--takes-turns", is_flag=True, hidden=True)  # as the other installation
def main(
    rows: int,
    only: tuple[str, ...],
    folder: Path | None,
    output: Path,
    rounds: int,
    python: str | None,
    takes_turns: bool,
) -> None:
    """Measure the library against its targets and its peers."""
    measure.most_rounds = rounds
    folder = (folder or Path(tempfile.gettempdir())).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in CASES if not only or case.__name__ in only]
    if takes_turns:
        (case,) = chosen
        beside.take_turns(lambda: case(inputs.write(folder, rows)))
        return
    path = inputs.write(folder, rows)
    figures = []
    for case in chosen:
        options = ("--rows", rows, "--rounds", rounds, "--folder", folder, "--only", case.__name__)
        with beside.Other.of(python, __file__, *options, folder=folder) as other:
            try:
                found = list(case(path))
            except ModuleNotFoundError as error:
                click.echo(f"{case.__name__} is left out: {error.name} is not installed", err=True)
                continue
            for figure in found:
                figures.append(replace(figure, beside=other.value(figure)))
                click.echo(f"{beside.key(figure)}: {figures[-1]}", err=True)
    click.echo(measure.tables(figures))
    machine = {"python": platform.python_version(), "machine": platform.machine(), "rows": rows}
    output.write_text(json.dumps(machine | {"figures": [asdict(f) | {"met": f.met} for f in figures]}, indent=1))


if __name__ == "__main__":  # engines start processes, which read this file
    main()

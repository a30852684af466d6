"""What a row of a histogram by group costs, and how much memory it takes: groups by bins by rows, with no cliff.

Each cell of the grid runs in a process of its own, in memory, on one thread. It fails where a row costs more than twice
as much as in a neighbouring cell.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import click

CELL = """
import json, resource, sys, time
import numpy as np, polars as pl, streammetrics as sm

groups, capacity, rows = map(int, sys.argv[1:])
random, batch = np.random.default_rng(0), 1 << 20

def batches(rows):
    for start in range(0, rows, batch):
        n = min(batch, rows - start)
        score = random.beta(0.5, 8, n)
        yield pl.DataFrame({"y": random.random(n) < score, "p": score, "g": random.integers(0, groups, n)})

def keep():
    return sm.Accumulator(sm.statistics.ScoreHistogram(capacity), y_true="y", y_score="p", by="g" if groups > 1 else [])

for frame in batches(batch):
    keep().update(frame).compact()  # loads and compiles what is needed
acc, seconds = keep(), 0.0
for frame in batches(rows):
    start = time.process_time()
    acc.update(frame)
    seconds += time.process_time() - start
start = time.process_time()
acc.compact()
seconds += time.process_time() - start
assert acc.seen == rows
print(json.dumps([seconds / rows * 1e9, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))
"""


CLIFF = 2


@click.command()
@click.option("--groups", multiple=True, type=int, default=[1, 10, 50, 250, 1_000, 3_000, 10_000, 30_000, 100_000])
@click.option("--capacity", multiple=True, type=int, default=[256, 1_024, 4_096, 16_384], show_default=True)
@click.option("--rows", multiple=True, type=int, default=[2_000_000, 20_000_000], show_default=True)
def main(groups: Sequence[int], capacity: Sequence[int], rows: Sequence[int]) -> None:
    """Print processor time per row in ns, table included, and peak memory in GB."""
    click.echo("| Rows | Groups | Bins | CPU time per row | Peak memory |\n" + "|---" * 5 + "|")
    found: dict[tuple[int, ...], float] = {}
    for n, g, c in product(rows, groups, capacity):
        found[g, c, n], memory = measured(g, c, n)
        time, space = f"{found[g, c, n]:,.0f} ns", f"{memory:.2g} GB"
        click.echo(f"| {n // 1_000_000} million | {g:,} | {c:,} | {time} | {space} |")
    steep = [
        f"{a} and {b}" for a, b in neighbours(groups, capacity, rows) if not 1 / CLIFF < found[a] / found[b] < CLIFF
    ]
    if steep:
        raise click.ClickException("More than twice the time of a neighbour (groups, bins, rows): " + "; ".join(steep))


def neighbours(*axes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of cells that differ by one step of one axis."""
    for axis, steps in enumerate(axes):
        others = [each if i != axis else [None] for i, each in enumerate(axes)]
        for rest, (low, high) in product(product(*others), pairwise(sorted(steps))):
            yield tuple(low if v is None else v for v in rest), tuple(high if v is None else v for v in rest)


def measured(*cell: int) -> tuple[float, float]:
    """Processor time per row in ns, and peak memory in GB."""
    command = [sys.executable, "-c", CELL, *map(str, cell)]
    folder = tempfile.gettempdir()  # where nothing hides what is installed
    ns, memory = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout)
    return ns, memory


if __name__ == "__main__":
    main()

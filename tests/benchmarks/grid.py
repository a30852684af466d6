"""What a row of a histogram by group costs, and how much memory it takes: groups by bins by rows, with no cliff.

Each cell of the grid runs in a process of its own, in memory, on one thread.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product

import click

CELL = """
import json, resource, sys, time
import numpy as np, polars as pl, streammetrics as sm
from streammetrics.core import choice

groups, capacity, rows, fast = map(int, sys.argv[1:])
choice.LARGE = choice.LARGE if fast else 1 << 62
random, batch = np.random.default_rng(0), 1 << 20

def batches(rows):
    for start in range(0, rows, batch):
        n = min(batch, rows - start)
        score = random.beta(0.5, 8, n)
        yield pl.DataFrame({"y": random.random(n) < score, "p": score, "g": random.integers(0, groups, n)})

def keep():
    return sm.Accumulator(sm.ScoreHistogram(capacity), y_true="y", y_score="p", by="g" if groups > 1 else [])

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


@click.command()
@click.option("--groups", multiple=True, type=int, default=[1, 50, 1_000, 10_000, 100_000], show_default=True)
@click.option("--capacity", multiple=True, type=int, default=[256, 1_024, 16_384], show_default=True)
@click.option("--rows", multiple=True, type=int, default=[2_000_000, 20_000_000], show_default=True)
def main(groups: tuple[int, ...], capacity: tuple[int, ...], rows: tuple[int, ...]) -> None:
    """Print processor time per row in ns, table included, and peak memory in GB: with the extra fast, and without."""
    click.echo(
        "| Rows | Groups | Bins | CPU time with `fast` | Without | Memory with `fast` | Without |\n" + "|---" * 7 + "|"
    )
    for n, g, c in product(rows, groups, capacity):
        (fast, memory), (plain, plain_memory) = (cell(g, c, n, compiled) for compiled in (1, 0))
        figures = f"{fast:,.0f} ns | {plain:,.0f} ns | {memory:.2g} GB | {plain_memory:.2g} GB"
        click.echo(f"| {n // 1_000_000} million | {g:,} | {c:,} | {figures} |")


def cell(*arguments: int) -> tuple[float, float]:
    """Processor time per row in ns, and peak memory in GB."""
    command = [sys.executable, "-c", CELL, *map(str, arguments)]
    ns, memory = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return ns, memory


if __name__ == "__main__":
    main()

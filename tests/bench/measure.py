"""Runs measured side by side: interleaved, so that a noisy machine is noisy for all of them."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from streammetrics import Accumulator, Estimate

ROUNDS = 5
most_rounds = ROUNDS  # fewer where times do not matter
take_turns: Callable[[], object] = int  # lets another installation run, and waits for it
PEAK = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"  # kB


@dataclass(frozen=True)
class Timing:
    """Medians over the rounds, in seconds, and what the last run returned."""

    wall: float
    cpu: float
    result: Any


@dataclass(frozen=True)
class Figure:
    """One value of a table. ``sense`` says which side of the target, if there is one, is good."""

    table: str
    row: str
    value: float
    sense: str = "<="
    target: float | None = None
    unit: str = "×"
    column: str = "Measured"
    beside: float | None = None  # the same in another installation

    @property
    def met(self) -> bool:
        if self.target is None:
            return True
        return self.value <= self.target if self.sense == "<=" else self.value >= self.target

    def __str__(self) -> str:
        text = f"{number(self.value, self.unit)}{'' if self.met else ' (missed)'}"
        if self.beside is None:
            return text
        return f"{text}, beside {number(self.beside, self.unit)}: {number(self.value / self.beside, '×')}"


def number(value: float, unit: str) -> str:
    """Three digits and the unit, such as 2,610/s or 1.03e-4."""
    mantissa, exponent = f"{value:.2e}".split("e")
    text = f"{float(mantissa):g}e{int(exponent)}" if 0 < value < 1e-3 else f"{float(f'{value:.3g}'):,.10g}"
    return text + (f" {unit}" if unit.isalpha() else unit)


def tables(figures: Sequence[Figure]) -> str:
    """The figures as Markdown, in the form of docs/performance.md."""
    lines: list[str] = []
    for title in dict.fromkeys(figure.table for figure in figures):
        found = [figure for figure in figures if figure.table == title]
        cells = {(figure.row, figure.column): figure for figure in found}
        columns = list(dict.fromkeys(figure.column for figure in found))
        with_targets = any(figure.target is not None for figure in found)
        head = [*columns, "Target"] if with_targets else columns
        lines += [f"**{title}**", "", f"| | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
        for row in dict.fromkeys(figure.row for figure in found):
            line = [str(cells.get((row, column), "–")) for column in columns]
            if with_targets:
                goals = (target(f) for f in found if f.row == row and f.target is not None)
                line.append(" / ".join(dict.fromkeys(goals)))
            lines.append(f"| {row} | {' | '.join(line)} |")
        lines.append("")
    return "\n".join(lines)


def target(figure: Figure) -> str:
    return f"{'≤' if figure.sense == '<=' else '≥'} {number(figure.target, figure.unit)}"


def side_by_side(runs: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, Timing]:
    """Time runs in turns, after one that does not count; a single round comes without that."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    results = {name: run() for name, run in runs.items()} if most_rounds > 1 else {}
    for _ in range(min(rounds, most_rounds)):
        for name, run in runs.items():
            gc.collect()
            wall, cpu = time.perf_counter(), cpu_seconds()
            results[name] = run()
            times[name].append((time.perf_counter() - wall, cpu_seconds() - cpu))
            take_turns()
    return {
        name: Timing(median(w for w, _ in found), median(c for _, c in found), results[name])
        for name, found in times.items()
    }


def cpu_seconds() -> float:
    """Processor time of this process, all its threads together."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def fill(acc: Accumulator, batches: Sequence[pl.DataFrame]) -> Accumulator:
    """Take in all batches, down to the table."""
    for frame in batches:
        acc.update(frame)
    return acc.compact()


def peak(code: str, *arguments: str) -> float:
    """Most memory, in GB, that a process of its own took; what it inherits from this one does not count."""
    return int(alone(f"{code}\n{PEAK}", *arguments).split()[-1]) / 1e6  # a progress bar can come before


def alone(code: str, *arguments: str, **variables: str) -> str:
    """What some code prints in a process of its own, which imports what is installed and not what lies here."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | variables
    command = [sys.executable, "-c", code, *arguments]
    folder = tempfile.gettempdir()
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=folder).stdout


def close(found: float, expected: float) -> None:
    """Fail where sums differ by more than rounding."""
    assert abs(found - expected) <= 1e-9 * abs(expected), (found, expected)


def within(estimate: Estimate, truth: float) -> None:
    """Fail where the truth lies outside of the bounds."""
    assert estimate.lower - 1e-9 <= truth <= estimate.upper + 1e-9, (estimate, truth)

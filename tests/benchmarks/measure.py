"""Runs measured side by side: interleaved, so that a noisy machine is noisy for all of them."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from streammetrics import Accumulator, Estimate
from streammetrics.kernels import choice

ROUNDS = 5
most_rounds = ROUNDS  # fewer where times do not matter
PEAK = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"  # kB


@dataclass(frozen=True)
class Timing:
    """Medians over the rounds, in seconds, and what the last run returned."""

    wall: float
    cpu: float
    result: Any


@dataclass(frozen=True)
class Figure:
    """One line of the table. ``sense`` says which side of the target, if there is one, is good."""

    what: str
    value: float
    sense: str = "<="
    target: float | None = None
    unit: str = "x"

    @property
    def met(self) -> bool:
        if self.target is None:
            return True
        return self.value <= self.target if self.sense == "<=" else self.value >= self.target


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
    return {
        name: Timing(median(w for w, _ in found), median(c for _, c in found), results[name])
        for name, found in times.items()
    }


def cpu_seconds() -> float:
    """Processor time of this process, all its threads together."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def compiled(wanted: bool):
    """With the kernels of the extra ``fast``, or as in an installation without it."""
    before = choice.LARGE
    choice.LARGE = before if wanted else 1 << 62
    try:
        yield
    finally:
        choice.LARGE = before


def fill(acc: Accumulator, batches: Sequence[pl.DataFrame]) -> Accumulator:
    """Take in all batches, down to the table."""
    for frame in batches:
        acc.update(frame)
    return acc.compact()


def either(run: Callable[[], Any], fast: bool) -> Callable[[], Any]:
    """A run with or without compiled kernels."""

    def wrapped() -> Any:
        with compiled(fast):
            return run()

    return wrapped


def peak(code: str, *arguments: str) -> float:
    """Most memory, in GB, that a process of its own took; what it inherits from this one does not count."""
    command = [sys.executable, "-c", f"{code}\n{PEAK}", *arguments]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(printed.split()[-1]) / 1e6  # a progress bar can come before


def close(found: float, expected: float) -> None:
    """Fail where sums differ by more than rounding."""
    assert abs(found - expected) <= 1e-9 * abs(expected), (found, expected)


def within(estimate: Estimate, truth: float) -> None:
    """Fail where the truth lies outside of the bounds."""
    assert estimate.lower - 1e-9 <= truth <= estimate.upper + 1e-9, (estimate, truth)

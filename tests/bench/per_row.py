"""What a row in memory costs in nanoseconds of processor time, and what the metrics of many groups cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import inputs
import numpy as np
import polars as pl
from measure import Figure, fill, side_by_side

import streammetrics as sm
from streammetrics.data.rows.codes import encode

ROWS, BATCH = 8_000_000, 1_000_000
FEW = 2_000_000  # where most rows make a bin
GROUPS = (1_000, 5_000)
TABLE = "In memory: CPU time per row (lower is better)"


def rows_in_memory(path: Path) -> Iterator[Figure]:
    """Batches in memory to tables: the suite, and histograms by group."""
    rng = np.random.default_rng(0)
    batches = [batch(rng) for _ in range(ROWS // BATCH)]
    few = batches[: FEW // BATCH]
    binary = {"y_true": "label", "y_score": "score"}

    def histogram(bins: int, by: str) -> sm.Accumulator:
        return sm.Accumulator(sm.statistics.ScoreHistogram(bins), **binary, by=by)

    regression = sm.regression(y_true="score", y_pred="predicted", by="country")
    suites = {
        "`sm.binary`": (sm.binary(**binary), 11),
        "`sm.binary` by 50 countries, 1,024 bins": (sm.binary(**binary, by="country", capacity=1_024), 20),
    }
    for what, (task, target) in suites.items():
        yield from cost(what, batches, task, target)
    yield from cost("Score histogram of 16,384 bins by 50 countries", batches, histogram(16_384, "country"), 15)
    for groups, target in zip(GROUPS, (45, 50), strict=True):
        what = f"Score histogram of 1,024 bins by {groups:,} groups, 2 million rows"
        yield from cost(what, few, histogram(1_024, f"of_{groups}"), target)
    yield from cost("`sm.regression` by 50 countries, 2 million rows", few, regression)


def two_threads(path: Path) -> Iterator[Figure]:
    """The suite by country from memory, on one thread and on two."""
    rng = np.random.default_rng(0)
    batches = [batch(rng) for _ in range(ROWS // BATCH)]
    task = sm.binary(y_true="label", y_score="score", by="country", capacity=1_024)

    def on(workers: int) -> Callable[[], sm.Accumulator]:
        return lambda: sm.accumulate(batches, task, workers=workers).compact()

    times = side_by_side({workers: on(workers) for workers in (1, 2)})
    assert times[1].result.seen == times[2].result.seen == ROWS
    what = "`sm.binary` by 50 countries, data in memory: run time of one thread relative to two (higher is better)"
    yield Figure("Threads", what, times[1].wall / times[2].wall, ">=", 1.8)


def categories(path: Path) -> Iterator[Figure]:
    """Numbers of a column of categories, and row counts by it over the same without groups."""
    rng = np.random.default_rng(0)
    batches = [batch(rng).with_columns(pl.col("country").cast(pl.Categorical)) for _ in range(ROWS // BATCH)]

    def rows(by: Sequence[str]) -> Callable[[], sm.Accumulator]:
        return lambda: fill(sm.Accumulator(sm.statistics.RowCounts(), by=by), batches)

    def numbered() -> list[Any]:
        return [encode(frame.select("country"))[1] for frame in batches]

    times = side_by_side({"numbers": numbered, "groups": rows(["country"]), "none": rows([])})
    cpu = {name: time.cpu / ROWS * 1e9 for name, time in times.items()}
    what = "Categorical group column with 50 values: number the groups"
    yield Figure(TABLE, what, cpu["numbers"], "<=", 1.5, "ns")
    yield Figure(TABLE, f"{what} and arrange the rows", cpu["groups"] - cpu["none"], unit="ns")


def read_groups(path: Path) -> Iterator[Figure]:
    """The whole suite for many groups."""
    rng = np.random.default_rng(0)
    for groups, target in ((10_000, 1), (100_000, 4)):
        rows = pl.concat(batch(rng) for _ in range(2)).with_columns(g=pl.Series(rng.integers(0, groups, 2 * BATCH)))
        acc = sm.binary(y_true="label", y_score="score", by="g", capacity=256).update(rows).compact()
        time = side_by_side({"read": lambda acc=acc: acc.finalize().frame}, rounds=3)["read"]
        assert time.result.filter(metric="rows")["value"].sum() == rows.height
        table = "Report of many groups from a state: run time of all metrics of `sm.binary` (lower is better)"
        yield Figure(table, f"{groups:,} groups", time.wall, "<=", target, "s")


def batch(rng: np.random.Generator) -> pl.DataFrame:
    """A million rows of a rare event."""
    groups = {f"of_{number}": rng.integers(0, number, BATCH) for number in GROUPS}
    rows = inputs.predictions(BATCH, seed=int(rng.integers(1 << 32)))
    return rows.with_columns(predicted=pl.col("score") + rng.normal(0, 0.1, BATCH), **groups)


def cost(
    what: str, batches: Sequence[pl.DataFrame], task: sm.Accumulator, target: float | None = None
) -> Iterator[Figure]:
    """Nanoseconds of a row, the table included."""
    rows = sum(frame.height for frame in batches)
    time = side_by_side({what: lambda: fill(task.empty(), batches)}, rounds=3)[what]
    assert time.result.seen == rows
    yield Figure(TABLE, what, time.cpu / rows * 1e9, "<=", target, "ns")


CASES = (rows_in_memory, two_threads, categories, read_groups)

"""What a row in memory costs in nanoseconds of processor time, and what the metrics of many groups cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import data
import numpy as np
import polars as pl
from measure import Figure, both, either, fill, side_by_side

import streammetrics as sm
from streammetrics.core import Codes
from streammetrics.rows.codes import encode

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
        return sm.Accumulator(sm.ScoreHistogram(bins), **binary, by=by)

    regression = sm.regression(y_true="score", y_pred="predicted", by="country")
    by_country = sm.binary(**binary, by="country", capacity=1_024)
    yield from cost("`sm.binary`", batches, sm.binary(**binary), 9, 25)
    yield from cost("`sm.binary` by 50 countries, 1,024 bins", batches, by_country, 16, 45)
    what = "Score histogram of 16,384 bins by 50 countries"
    yield from cost(what, batches, histogram(16_384, "country"), 15, 60)
    for groups, target in zip(GROUPS, (60, 90), strict=True):
        what = f"Score histogram of 1,024 bins by {groups:,} groups, 2 million rows"
        yield from cost(what, few, histogram(1_024, f"of_{groups}"), target, 220)
    yield from cost("`sm.regression` by 50 countries, 2 million rows", few, regression)


def categories(path: Path) -> Iterator[Figure]:
    """Numbers of a column of categories, and row counts by it over the same without groups."""
    rng = np.random.default_rng(0)
    batches = [batch(rng).with_columns(pl.col("country").cast(pl.Categorical)) for _ in range(ROWS // BATCH)]

    def rows(by: Sequence[str]) -> Callable[[], sm.Accumulator]:
        return lambda: fill(sm.Accumulator(sm.RowCounts(), by=by), batches)

    def numbered() -> list[Codes]:
        return [encode(frame.select("country"))[1] for frame in batches]

    numbers, arranged = [], []
    for fast in (True, False):
        runs = {"numbers": numbered, "groups": rows(["country"]), "none": rows([])}
        times = side_by_side({name: either(run, fast) for name, run in runs.items()})
        cpu = {name: time.cpu / ROWS * 1e9 for name, time in times.items()}
        numbers.append(cpu["numbers"])
        arranged.append(cpu["groups"] - cpu["none"])
    what = "Categorical group column with 50 values: number the groups"
    yield from both(TABLE, what, *numbers, 1.5, 3, unit="ns")
    yield from both(TABLE, f"{what} and arrange the rows", *arranged, unit="ns")


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
    rows = data.predictions(BATCH, seed=int(rng.integers(1 << 32)))
    return rows.with_columns(predicted=pl.col("score") + rng.normal(0, 0.1, BATCH), **groups)


def cost(what: str, batches: Sequence[pl.DataFrame], task: sm.Accumulator, *targets: float) -> Iterator[Figure]:
    """Nanoseconds of a row with and without compiled kernels, the table included."""
    rows = sum(frame.height for frame in batches)
    runs = {name: either(lambda: fill(task.empty(), batches), name == "fast") for name in ("fast", "plain")}
    times = side_by_side(runs, rounds=3)
    assert {time.result.seen for time in times.values()} == {rows}
    fast, plain = (times[name].cpu / rows * 1e9 for name in runs)
    yield from both(TABLE, what, fast, plain, *targets, unit="ns")


CASES = (rows_in_memory, categories, read_groups)

"""What a row in memory costs in nanoseconds of processor time, and what the metrics of many groups cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import data
import numpy as np
import polars as pl
from measure import Figure, either, fill, side_by_side

import streammetrics as sm
from streammetrics.kernels import Codes
from streammetrics.rows.codes import encode

ROWS, BATCH = 8_000_000, 1_000_000
FEW = 2_000_000  # where most rows make a bin
GROUPS = (1_000, 5_000)


def rows_in_memory(path: Path) -> Iterator[Figure]:
    """Batches in memory to tables: the suite, and histograms by group."""
    rng = np.random.default_rng(0)
    batches = [batch(rng) for _ in range(ROWS // BATCH)]
    few = batches[: FEW // BATCH]
    binary = {"y_true": "label", "y_score": "score"}

    def histogram(bins: int, by: str) -> sm.Accumulator:
        return sm.Accumulator(sm.ScoreHistogram(bins), **binary, by=by)

    yield from cost("the binary suite", batches, lambda: sm.binary(**binary), 9, 25)
    yield from cost(
        "the binary suite by 50 groups of text, 1,024 bins",
        batches,
        lambda: sm.binary(**binary, by="country", capacity=1_024),
        16,
        45,
    )
    yield from cost("16,384 bins by 50 groups", batches, lambda: histogram(16_384, "country"), 15, 60)
    for groups in GROUPS:
        name = f"1,024 bins by {groups:,} groups, 2 M rows"
        yield from cost(
            name, few, lambda groups=groups: histogram(1_024, f"of_{groups}"), 60 if groups < 5_000 else 90, 220
        )
    regression = {"y_true": "score", "y_pred": "predicted"}
    yield from cost("the regression suite by 50 groups", few, lambda: sm.regression(**regression, by="country"))


def categories(path: Path) -> Iterator[Figure]:
    """Numbers of a column of categories, and row counts by it over the same without groups."""
    rng = np.random.default_rng(0)
    batches = [batch(rng).with_columns(pl.col("country").cast(pl.Categorical)) for _ in range(ROWS // BATCH)]

    def rows(by: Sequence[str]) -> Callable[[], sm.Accumulator]:
        return lambda: fill(sm.Accumulator(sm.RowCounts(), by=by), batches)

    def numbered() -> list[Codes]:
        return [encode(frame.select("country"))[1] for frame in batches]

    for fast in (True, False):
        runs = {"numbers": numbered, "groups": rows(["country"]), "none": rows([])}
        times = side_by_side({name: either(run, fast) for name, run in runs.items()})
        cpu = {name: time.cpu / ROWS * 1e9 for name, time in times.items()}
        target = 1.5 if fast else 3
        yield Figure(f"numbering 50 categories, CPU per row, {named(fast)}", cpu["numbers"], "<=", target, "ns")
        yield Figure(f"the same and arranging rows, {named(fast)}", cpu["groups"] - cpu["none"], unit="ns")


def read_groups(path: Path) -> Iterator[Figure]:
    """The whole suite for many groups."""
    rng = np.random.default_rng(0)
    for groups, target in ((10_000, 1), (100_000, 4)):
        rows = pl.concat(batch(rng) for _ in range(2)).with_columns(g=pl.Series(rng.integers(0, groups, 2 * BATCH)))
        acc = sm.binary(y_true="label", y_score="score", by="g", capacity=256).update(rows).compact()
        time = side_by_side({"read": lambda acc=acc: acc.finalize().frame}, rounds=3)["read"]
        assert time.result.filter(metric="rows")["value"].sum() == rows.height
        yield Figure(f"the suite computed for {groups:,} groups, wall", time.wall, "<=", target, "s")


def batch(rng: np.random.Generator) -> pl.DataFrame:
    """A million rows of a rare event."""
    groups = {f"of_{number}": rng.integers(0, number, BATCH) for number in GROUPS}
    rows = data.predictions(BATCH, seed=int(rng.integers(1 << 32)))
    return rows.with_columns(predicted=pl.col("score") + rng.normal(0, 0.1, BATCH), **groups)


def cost(
    what: str, batches: Sequence[pl.DataFrame], made: Callable[[], sm.Accumulator], *targets: float
) -> Iterator[Figure]:
    """Nanoseconds of a row with and without compiled kernels, the table included."""
    rows = sum(frame.height for frame in batches)
    run = {fast: either(lambda: fill(made(), batches), fast) for fast in (True, False)}
    times = side_by_side({named(fast): run[fast] for fast in run}, rounds=3)
    for fast, target in zip(run, targets or (None, None), strict=True):
        time = times[named(fast)]
        assert time.result.seen == rows
        yield Figure(f"{what}, CPU per row, {named(fast)}", time.cpu / rows * 1e9, "<=", target, "ns")


def named(fast: bool) -> str:
    """What a figure says of compiled kernels."""
    return "fast" if fast else "without fast"


CASES = (rows_in_memory, categories, read_groups)

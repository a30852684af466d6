"""What many groups cost, against a group-by written by hand, and how much memory they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import inputs
import polars as pl
from measure import Figure, close, peak, side_by_side

import streammetrics as sm

GROUPS = {"1 group": None, "50 groups": "few", "10,000 groups": "many", "1,000,000 groups": "most"}
SUMS = "Confusion counts and losses by group: run time relative to a Polars query (lower is better)"
HISTOGRAMS = "Score histograms of 1,024 bins by group, from Parquet (lower is better)"
MEMORY = """
import sys, streammetrics as sm
statistics = [eval(f"sm.statistics.{text}") for text in sys.argv[3:]]
by = [sys.argv[2]] if sys.argv[2] else []
sm.accumulate(sys.argv[1], sm.Accumulator(*statistics, y_true="label", y_score="score", by=by)).compact()
"""


def keep(*statistics: sm.statistics.Statistic, by: str | Sequence[str] | None = None) -> sm.Accumulator:
    """Some statistics of a binary task by group."""
    return sm.Accumulator(*statistics, y_true="label", y_score="score", by=by or [])


def by_hand(scan: pl.LazyFrame, by: str | None) -> pl.DataFrame:
    """The same sums as a query: counts at 0.5 and losses with their squares, by group and label."""
    y, p = pl.col("label").cast(pl.Float64), pl.col("score")
    log_loss = -(p - (1 - y)).abs().clip(1e-15, 1 - 1e-15).log()
    rows = scan.with_columns(log_loss=log_loss, brier=(p - y) ** 2, predicted=p >= 0.5)
    sums = pl.sum("predicted", "log_loss", "brier"), (pl.col("log_loss", "brier") ** 2).sum().name.suffix("_square")
    keys = ["label"] if by is None else [by, "label"]
    return rows.group_by(keys).agg(pl.len().alias("rows"), *sums).collect(engine="streaming")


def many_groups(path: Path) -> Iterator[Figure]:
    """Files to counts and losses of each group, against the query."""
    path = inputs.write(path.parent, inputs.height(path), inputs.grouped)
    scan = pl.scan_parquet(path)
    for name, by in GROUPS.items():

        def ours(by: str | None = by) -> sm.Accumulator:
            task = keep(sm.statistics.ConfusionCounts(), sm.statistics.ProbabilityLoss(), by=by)
            return sm.accumulate(scan, task).compact()

        times = side_by_side({"ours": ours, "query": lambda by=by: by_hand(scan, by)}, rounds=3)
        expected, table = times["query"].result, times["ours"].result.state.tables["probability_loss"]
        assert table.height == expected.height
        close(float(table["log_loss_sum"].sum()), expected["log_loss"].sum())
        query = times["query"].wall
        yield Figure(SUMS, name, query, unit="s", column="Polars query")
        target = 1.5 if by == "most" else None
        yield Figure(SUMS, name, times["ours"].wall / query, "<=", target, column="streammetrics")


def many_histograms(path: Path) -> Iterator[Figure]:
    """Files to a score histogram of each of 10,000 groups."""
    path = inputs.write(path.parent, inputs.height(path), inputs.grouped)
    scan = pl.scan_parquet(path)
    runs = {"histograms": lambda: sm.accumulate(scan, keep(sm.statistics.ScoreHistogram(1_024), by="many")).compact()}
    timing = side_by_side(runs, rounds=1)["histograms"]
    report = timing.result.finalize(["rows", "roc_auc"]).frame.drop_nulls("value")
    assert (report["lower"] <= report["value"]).all()
    assert (report["value"] <= report["upper"]).all()
    yield Figure(HISTOGRAMS, "10,000 groups", timing.wall, unit="s", column="Run time")


def memory_of_groups(path: Path) -> Iterator[Figure]:
    """Most memory that processes take for their groups."""
    path = inputs.write(path.parent, inputs.height(path), inputs.grouped)
    for name, by in GROUPS.items():
        found = peak(MEMORY, str(path), by or "", "ConfusionCounts()", "ProbabilityLoss()")
        yield Figure(SUMS, name, found, unit="GB", column="Peak memory")
    found = peak(MEMORY, str(path), "many", "ScoreHistogram(1024)")
    yield Figure(HISTOGRAMS, "10,000 groups", found, unit="GB", column="Peak memory")


CASES = (many_groups, many_histograms, memory_of_groups)

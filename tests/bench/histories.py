"""What a long history of many groups costs: rolled up, against DuckDB on the same files; asked a little; compacted."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import duckdb
import inputs
import numpy as np
import polars as pl
from groups import keep
from measure import Figure, close, side_by_side

import streammetrics as sm

SEGMENTS = 1_000
TABLE = f"History of {SEGMENTS:,} segments (lower is better)"
FIRST = date(2016, 1, 1)
STEP = 50  # days that are appended together
SUMS = {
    "row_counts": "sum(cell.rows) as rows",
    "confusion_counts": "sum(cell.tp) as tp, sum(cell.fp) as fp, sum(cell.fn) as fn, sum(cell.tn) as tn",
    "probability_loss": ", ".join(
        f"sum(cell.{name}) as {name}"
        for name in ("weight", "log_loss_sum", "log_loss_square_sum", "brier_sum", "brier_square_sum")
    ),
}


def history(folder: str, days: int) -> sm.MetricStore:
    """Counts and losses of a thousand segments a day, two rows each."""
    store, random = sm.MetricStore(folder), np.random.default_rng(0)
    for start in range(0, days, STEP):
        number = min(STEP, days - start)
        score = random.random(2 * number * SEGMENTS)
        frame = pl.DataFrame({"label": random.random(len(score)) < score, "score": score}).with_columns(
            day=pl.lit(FIRST) + pl.duration(days=start + pl.int_range(pl.len()) // (2 * SEGMENTS)),
            segment=pl.int_range(pl.len()) // 2 % SEGMENTS,
        )
        acc = keep(sm.statistics.ConfusionCounts(), sm.statistics.ProbabilityLoss(), by=["day", "segment"])
        store.append(acc.update(frame.with_columns(pl.col("day").cast(pl.Date))), batch_id=f"{start}")
    return store


def by_hand(store: sm.MetricStore) -> dict[str, pl.DataFrame]:
    """The sums of each segment, by DuckDB."""
    files = [str(path) for path in Path(store.uri).glob("*.parquet")]
    query = "select segment, {} from (select segment, unnest({}) as cell from read_parquet($files)) group by segment"
    return {
        name: duckdb.sql(query.format(sums, name), params={"files": files}).pl().sort("segment")
        for name, sums in SUMS.items()
    }


def read_histories(path: Path) -> Iterator[Figure]:
    """700 days rolled up to segments; one day; one day and segment."""
    with tempfile.TemporaryDirectory() as folder:
        days = min(700, inputs.height(path) // SEGMENTS)
        store, day = history(folder, days), FIRST + timedelta(days=days // 2)
        ask = {"since": day, "until": day + timedelta(days=1)}
        runs = {
            "history": lambda: store.query(by="segment"),
            "duckdb": lambda: by_hand(store),
            "day": lambda: store.query(**ask),
            "cell": lambda: store.query(**ask, where=pl.col("segment") == 7),
        }
        times = side_by_side(runs, rounds=3)
        report = times["history"].result.finalize(["tp", "log_loss"]).frame.sort("segment")
        losses, counts = (times["duckdb"].result[name] for name in ("probability_loss", "confusion_counts"))
        assert report.filter(metric="true_positives")["value"].to_list() == counts["tp"].to_list()
        expected = (losses["log_loss_sum"].cast(pl.Float64) / losses["weight"]).sum()
        close(report.filter(metric="log_loss")["value"].sum(), expected)
        assert times["day"].result.seen == 2 * SEGMENTS
        assert times["cell"].result.seen == 2
        what = f"Roll up {days} days to segments"
        ratio = times["history"].cpu / times["duckdb"].cpu
        yield Figure(TABLE, f"{what}: CPU time relative to the same sums in DuckDB", ratio, "<=", 2)
        yield Figure(TABLE, f"{what}: run time", times["history"].wall, unit="s")
        yield Figure(TABLE, f"Query one of {days} days: run time", times["day"].wall, "<=", 0.1, "s")
        yield Figure(TABLE, f"Query one segment of one of {days} days: run time", times["cell"].wall, "<=", 0.1, "s")


def compact_histories(path: Path) -> Iterator[Figure]:
    """Ten years, late rows of every day added up, and asked afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        days = min(3_650, inputs.height(path) // SEGMENTS)
        store = history(folder, days)
        late = store.query(by=["day", "segment"], where=pl.col("segment") < 10)
        store.append(late, batch_id="late")
        before = store.query(by="segment").to_bytes()
        began = time.perf_counter()
        store.compact()
        compaction = time.perf_counter() - began
        assert store.windows()["parts"].to_list() == [SEGMENTS] * days
        year = {"since": FIRST + timedelta(days=max(0, days - 365)), "every": "1mo"}
        times = side_by_side({"all": lambda: store.query(by="segment"), "year": lambda: store.query(**year)}, rounds=1)
        assert times["all"].result.to_bytes() == before
        yield Figure(TABLE, f"Compact {days:,} days with late rows: run time", compaction, unit="s")
        yield Figure(TABLE, f"Roll up {days:,} compacted days to segments: run time", times["all"].wall, unit="s")
        what = f"Roll up the last year of {days:,} compacted days by month: run time"
        yield Figure(TABLE, what, times["year"].wall, unit="s")


CASES = (read_histories, compact_histories)

"""Engines of many workers: the whole binary suite over the engine's own scan and sum, and what states weigh.

Spark needs Java. Engines run on this machine alone, with a worker for each of two cores.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import inputs
import polars as pl
import pyarrow as pa
from groups import keep
from measure import Figure, side_by_side

import streammetrics as sm
from streammetrics.engines import dask, duckdb, merge, partial, ray, spark

FILES = 8
ROUNDS = 3
STATES = 64  # that are merged at once
RUN_TIME = "Engines: run time of `sm.binary` relative to a scan and sum by the engine (lower is better)"
SIZES = "Size of the state of a million rows, and time to merge it (lower is better)"
GROUPS = {"none": None, "50 groups": "few", "10,000 groups": "many"}


def task(by: str | None = None) -> sm.Accumulator:
    """All that `sm.binary` keeps."""
    return sm.binary(y_true="label", y_score="score", by=[] if by is None else [by])


def counts_and_losses(by: str | None) -> sm.Accumulator:
    """A part of it."""
    return keep(sm.statistics.ConfusionCounts(), sm.statistics.ProbabilityLoss(), by=by)


def files(path: Path) -> Path:
    """The data in a folder of several files."""
    folder = path.parent / f"{path.stem}-{FILES}-files"
    if not folder.exists():
        folder.mkdir()
        frame = pl.read_parquet(path)
        step = -(-frame.height // FILES)
        for number in range(FILES):
            frame.slice(number * step, step).write_parquet(folder / f"{number}.parquet")
    return folder


def compared(name: str, path: Path, own: Callable[[], float], ours: Callable[[], sm.Accumulator]) -> Iterator[Figure]:
    """Our suite over the engine's own sum of both columns; the sums of labels must agree."""
    times = side_by_side({"own": own, "ours": ours}, rounds=ROUNDS)
    table = times["ours"].result.state.tables["score_histogram"]
    assert table["pos"].sum() == times["own"].result
    assert times["ours"].result.seen == inputs.height(path)
    own_wall = times["own"].wall
    yield Figure(RUN_TIME, name, own_wall, unit="s", column="Scan and sum by the engine")
    yield Figure(RUN_TIME, name, times["ours"].wall / own_wall, column="Run time relative to it")


def duckdb_engine(path: Path) -> Iterator[Figure]:
    """DuckDB, two threads."""
    import duckdb as engine

    engine.sql("SET threads = 2")
    rows = engine.read_parquet(str(files(path) / "*.parquet"))
    own = rows.aggregate("sum(label::int), sum(score)")
    yield from compared(
        "DuckDB, two threads", path, lambda: own.fetchall()[0][0], lambda: duckdb.accumulate(rows, task())
    )


def dask_engine(path: Path) -> Iterator[Figure]:
    """Dask, two processes."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        rows = dd.read_parquet(str(files(path)))
        own = rows[["label", "score"]].sum()
        sources = {
            "Dask, two processes, `dask.dataframe`": rows,
            "Dask, files read by the library": str(files(path) / "*.parquet"),
        }
        for name, source in sources.items():
            runs = lambda: own.compute()["label"], lambda source=source: dask.accumulate(source, task())
            yield from compared(name, path, *runs)


def spark_session(partitions: int) -> Any:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}  # for workers
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": partitions, "spark.driver.memory": "4g"}
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def spark_engine(path: Path) -> Iterator[Figure]:
    """Spark in local mode, two threads."""
    from pyspark.sql import functions

    session = spark_session(4)
    rows = session.read.parquet(str(files(path)))
    first, second = functions.sum(functions.col("label").cast("long")), functions.sum("score")

    def own() -> float:  # planned anew each time, or Spark would keep what it shuffled
        return rows.select(first, second).collect()[0][0]

    def in_python() -> float:
        given = rows.select("label", "score").mapInArrow(_sums, "label long, score double")
        return given.select(first, second).collect()[0][0]

    yield from compared("Spark, two threads, sums in the JVM", path, own, lambda: spark.accumulate(rows, task()))
    yield from compared(
        "Spark, sums in Python by `mapInArrow`", path, in_python, lambda: spark.accumulate(rows, task())
    )
    session.stop()


def spark_groups(path: Path) -> Iterator[Figure]:
    """Spark, counts and losses of a million groups, which stay a data frame, against its own counts and sums."""
    from pyspark.sql import functions

    session = spark_session(8)
    rows = session.read.parquet(str(files(inputs.write(path.parent, inputs.height(path), inputs.grouped))))
    own = rows.groupBy("most", "label").agg(functions.count("*"), functions.sum("score"))
    runs = {
        "own": own.count,
        "ours": lambda: spark.states(rows, counts_and_losses("most")).selectExpr("max(most)", "count(*)").collect(),
    }
    times = side_by_side(runs, rounds=1)
    assert times["ours"].result[0][1] == rows.select("most").distinct().count()
    table = "Engines: run time of confusion counts and losses by a million groups (lower is better)"
    yield Figure(table, "Spark", times["own"].wall, unit="s", column="Counts and sums by the engine")
    yield Figure(table, "Spark", times["ours"].wall, unit="s", column="States of streammetrics")
    session.stop()


def ray_engine(path: Path) -> Iterator[Figure]:
    """Ray Data, two workers."""
    import ray as engine

    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for workers
    engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    rows = engine.data.read_parquet(str(files(path)))

    def own() -> float:
        whole = rows.select_columns(["label", "score"]).map_batches(_sum, batch_format="pyarrow", batch_size=None)
        return sum(block["label"].to_numpy().sum() for block in whole.iter_batches(batch_format="pyarrow"))

    yield from compared("Ray, two workers, sums by `map_batches`", path, own, lambda: ray.accumulate(rows, task()))
    engine.shutdown()


def _sum(batch: Any) -> pa.Table:
    from pyarrow.compute import sum as total

    return pa.table({"label": [total(batch["label"]).as_py() or 0], "score": [total(batch["score"]).as_py() or 0.0]})


def _sums(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from _sum(batch).to_batches()


def sizes_and_merges(path: Path) -> Iterator[Figure]:
    """What a state of a million rows weighs, and how long one takes to be added to others."""
    frame = pl.read_parquet(inputs.write(path.parent, inputs.height(path), inputs.grouped)).head(4_000_000)
    for name, by in GROUPS.items():
        parts = [partial(frame.slice(i * 1_000_000, 1_000_000), task(by)) for i in range(4)]
        weight = sum(part.nbytes for part in parts) / len(parts)
        yield Figure(SIZES, name, weight / 1e6, unit="MB", column="`sm.binary`")
        several = parts * (STATES // 4 if by != "many" else 1)
        time = side_by_side({"merge": lambda several=several: merge(several)}, rounds=ROUNDS)["merge"].wall
        yield Figure(SIZES, name, 1e3 * time / len(several), unit="ms", column="Merge")
        assert sm.Accumulator.from_arrow(merge(parts)).seen == 4_000_000
        size = partial(frame[:1_000_000], counts_and_losses(by)).nbytes / 1e6
        yield Figure(SIZES, name, size, unit="MB", column="Counts and losses only")


CASES = (duckdb_engine, dask_engine, spark_engine, spark_groups, ray_engine, sizes_and_merges)

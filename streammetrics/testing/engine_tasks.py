"""Test data for engines: files of rows, tasks, and the results of a single process."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import polars as pl

from streammetrics import tasks
from streammetrics.accumulator import Accumulator
from streammetrics.pipeline import accumulate
from streammetrics.statistics import (
    CalibrationBins,
    ClassLoss,
    ConfusionCounts,
    ConfusionMatrix,
    ErrorHistogram,
    ProbabilityLoss,
    ScoreHistogram,
    TDigest,
)
from streammetrics.testing.rows import rows_of

SIZES = (18_000, 10_000, 0, 6_000, 4_000, 2_000, 1)  # rows per file
FEW_ROWS = (900, 500, 0, 1)
CLASSES = {"cat": "p_cat", "cow": "p_cow", "dog": "p_dog"}
BY: list[str | pl.Expr] = ["country", pl.col("day").dt.truncate("1w").alias("week")]

MakeTask = Callable[[list[Any]], Accumulator]
Tasks = dict[str, MakeTask]
TASKS: Tasks = {
    "binary": lambda by: tasks.binary(y_true="clicked", y_score=(pl.col("p") ** 2).alias("p_square"), by=by),
    "multiclass": lambda by: tasks.multiclass(y_true="animal", y_score=CLASSES, by=by),
    "regression": lambda by: tasks.regression(y_true="actual", y_pred="predicted", by=by),
}
MORE: Tasks = {
    "models": lambda by: tasks.binary(y_true="clicked", y_score={"a": "p", "b": "p_cat"}, by=by),
    "units": lambda by: tasks.binary(y_true="clicked", y_score="p", by=by, unit="user"),
    "labels": lambda by: tasks.multiclass(y_true="animal", y_pred="guess", by=by),
    "label sets": lambda by: tasks.multilabel(y_true={"a": "clicked"}, y_score={"a": "p"}, by=by),
    "weights": lambda by: tasks.binary(y_true="clicked", y_score="p", sample_weight="p_cow", by=by),
    "digests": lambda by: Accumulator(TDigest(of="y_score"), y_score="p", by=by),
    "volume": lambda by: Accumulator(by=by),
}
EXACT: Tasks = {
    "binary": lambda by: Accumulator(
        ConfusionCounts((0.3, 0.5)), ScoreHistogram(), y_true="clicked", y_score="p", by=by
    ),
    "losses": lambda by: Accumulator(ProbabilityLoss(), CalibrationBins(), y_true="clicked", y_score="p", by=by),
    "losses of classes": lambda by: Accumulator(ClassLoss(), y_true="animal", y_score=CLASSES, by=by),
    "multiclass": lambda by: Accumulator(ConfusionMatrix(), y_true="animal", y_pred="guess", by=by),
    "regression": lambda by: Accumulator(ErrorHistogram(), y_true="actual", y_pred="predicted", by=by),
}
COLUMNS = (
    tasks.binary(y_true="clicked", y_score="p", unit="user"),
    tasks.multiclass(y_true="animal", y_pred="guess", y_score=CLASSES),
    tasks.regression(y_true="actual", y_pred="predicted"),
)  # of the rows
BOTH: dict[str, list[Any]] = {"whole": [], "by two columns": BY}


@cache
def files(sizes: tuple[int, ...] = SIZES) -> Path:
    """A folder of Parquet files with this many rows, created once and deleted at the end."""
    folder = Path(mkdtemp(prefix="streammetrics-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number, size in enumerate(sizes):
        rows(size, number).write_parquet(folder / f"{number}.parquet")
    return folder


def rows(size: int, seed: int) -> pl.DataFrame:
    """Rows for every kind of task. A group column has nulls, also at the end of a file."""
    rng = np.random.default_rng(seed)
    countries = pl.Series(["DE", "FR", None, "US"], dtype=pl.String)
    return pl.concat([rows_of(task)(size, rng) for task in COLUMNS], how="horizontal").with_columns(
        pl.col("predicted").cast(pl.Float32),
        country=countries.gather(rng.integers(0, min(size, 4) or 1, size)),
        day=pl.Series(rng.integers(20_000, 20_021, size), dtype=pl.Int32).cast(pl.Date),
        unused=pl.lit("text"),
    )


@cache
def alone(folder: Path, task: str, grouped: bool, exact: bool = False) -> Accumulator:
    """The state of the files in a single process."""
    acc = (EXACT if exact else {**TASKS, **MORE})[task](BY if grouped else [])
    return accumulate(str(folder / "*.parquet"), acc)

"""States of all tasks, and changes to what they hold."""

import numpy as np
import polars as pl
import pytest

import streammetrics as sm

rng = np.random.default_rng(0)


SIZE = 300


DATA = pl.DataFrame(
    {
        "y": rng.random(SIZE) < 0.4,
        "p": rng.random(SIZE),
        "q": rng.random(SIZE),
        "w": rng.random(SIZE) + 0.1,
        "g": pl.Series(["DE", "FR", None]).gather(rng.integers(0, 3, SIZE)),
        "k": pl.Series(["a", "b", "c"]).gather(rng.integers(0, 3, SIZE)),
        "l": pl.Series([3, 5, 8]).gather(rng.integers(0, 3, SIZE)),
        "day": pl.Series(["2024-01-01", "2024-02-29"]).str.to_date().gather(rng.integers(0, 2, SIZE)),
        "u": rng.integers(0, 60, SIZE),
    }
).with_columns(pb=(1 - pl.col("p")) * pl.col("q"), pc=(1 - pl.col("p")) * (1 - pl.col("q")))


SCORES = {"a": "p", "b": "pb", "c": "pc"}


LEVELS = dict(zip(np.array([3, 5, 8]), SCORES.values(), strict=True))


TASKS = {
    "plain": lambda: sm.binary(y_true="y", y_score="p"),
    "coarse": lambda: sm.binary(y_true="y", y_score="p", capacity=80, atoms=(0.5,)),
    "grouped": lambda: sm.binary(y_true="y", y_score="p", by="g", capacity=16),
    "models": lambda: sm.binary(y_true="y", y_score={"a": "p", "b": "q"}, by="g"),
    "weighted": lambda: sm.binary(y_true="y", y_score="p", sample_weight="w"),
    "labels": lambda: sm.Accumulator(sm.ConfusionCounts(()), y_true="y", y_pred="y", positive=True, metrics=["f1"]),
    "days": lambda: sm.multiclass(y_true="day", y_pred="day", by="g"),
    "ordered": lambda: sm.multiclass(y_true="l", y_pred="l", order=[8, 3, 5], sample_weight="w"),
    "classes": lambda: sm.multiclass(y_true="k", y_score=SCORES, by="g", capacity=16, one_vs_one=True),
    "integer classes": lambda: sm.multiclass(y_true="l", y_score=LEVELS),
    "class models": lambda: sm.multiclass(y_true="k", y_pred={"m": "k"}, y_score={"m": SCORES}, labels=["c", "a", "b"]),
    "several labels": lambda: sm.multilabel(y_true={True: "y", False: "y"}, y_score={False: "p", True: "q"}, by="g"),
    "regression": lambda: sm.regression(y_true="p", y_pred="q", by="g", capacity=16, families=["log", "poisson"]),
    "weighted regression": lambda: sm.regression(y_true="p", y_pred={"a": "q", "b": "w"}, sample_weight="w"),
    "units": lambda: sm.regression(y_true="p", y_pred="q", by="g", unit="u", capacity=16),
    "values": lambda: sm.Accumulator(sm.Histogram(16, atoms=(), of="y_true"), task="regression", y_true="w"),
    "digest": lambda: sm.Accumulator(sm.TDigest(compression=50), y_true="p", y_pred="q", unit="u"),
}


task = pytest.mark.parametrize("make", TASKS.values(), ids=TASKS.keys())


def with_cell(table, statistic, **values):
    frame = pl.DataFrame(pl.from_arrow(table))
    cell = pl.element().struct.with_fields(**{k: pl.lit(v, dtype_of(frame, statistic, k)) for k, v in values.items()})
    changed = frame.with_columns(pl.col(statistic).list.eval(cell)).to_arrow()
    return changed.cast(table.schema.remove_metadata()).replace_schema_metadata(table.schema.metadata)


def dtype_of(frame, statistic, field):
    return frame.schema[statistic].inner.to_schema()[field]


NAN = float("nan")

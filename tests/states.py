"""States of all tasks, and forged ones."""

import json

import polars as pl
import pytest
from data import FIRST_DAY, clicks, deliveries, digits, visits

import streammetrics as sm

SIZE, HEADER = 300, b"streammetrics"
DATA = pl.DataFrame(
    {
        "y": clicks()["clicked"][:SIZE],
        "p": clicks()["score"][:SIZE],
        "q": visits()["score"][:SIZE],
        "w": deliveries()["forecast"][:SIZE] / 40,
        "g": clicks()["country"][:SIZE].replace({"IN": None}),
        "k": deliveries()["route"][:SIZE].replace({"north": "a", "south": "b", "east": "c"}),
        "l": digits()["digit"][:SIZE].cast(pl.Int64) // 4,
        "day": clicks()["day"][:SIZE].replace_strict({FIRST_DAY: FIRST_DAY}, default=clicks()["day"][0]),
        "u": visits()["visitor"][:SIZE] % 60,
    }
).with_columns(pb=(1 - pl.col("p")) * pl.col("q"), pc=(1 - pl.col("p")) * (1 - pl.col("q")))
SCORES = {"a": "p", "b": "pb", "c": "pc"}
LEVELS = dict(zip(range(3), SCORES.values(), strict=True))
TASKS = {
    "plain": sm.binary(y_true="y", y_score="p"),
    "coarse": sm.binary(y_true="y", y_score="p", capacity=80, atoms=(0.5,)),
    "grouped": sm.binary(y_true="y", y_score="p", by="g", capacity=16),
    "models": sm.binary(y_true="y", y_score={"a": "p", "b": "q"}, by="g"),
    "weighted": sm.binary(y_true="y", y_score="p", sample_weight="w"),
    "labels": sm.Accumulator(sm.statistics.ConfusionCounts(()), y_true="y", y_pred="y", positive=True, metrics=["f1"]),
    "predictions": sm.predictions(y_score="p"),
    "days": sm.multiclass(y_true="day", y_pred="day", by="g"),
    "ordered": sm.multiclass(y_true="l", y_pred="l", order=[2, 0, 1], sample_weight="w"),
    "classes": sm.multiclass(y_true="k", y_score=SCORES, by="g", capacity=16, one_vs_one=True),
    "integer classes": sm.multiclass(y_true="l", y_score=LEVELS),
    "class models": sm.multiclass(y_true="k", y_pred={"m": "k"}, y_score={"m": SCORES}, labels=["c", "a", "b"]),
    "several labels": sm.multilabel(y_true={True: "y", False: "y"}, y_score={False: "p", True: "q"}, by="g"),
    "regression": sm.regression(y_true="p", y_pred="q", by="g", capacity=16, families=["log", "poisson"]),
    "weighted regression": sm.regression(y_true="p", y_pred={"a": "q", "b": "w"}, sample_weight="w"),
    "units": sm.regression(y_true="p", y_pred="q", by="g", unit="u", capacity=16),
    "values": sm.Accumulator(sm.statistics.Histogram(16, of="y_true"), task="regression", y_true="w"),
    "digest": sm.Accumulator(sm.statistics.TDigest(compression=50), y_true="p", y_pred="q", unit="u"),
    "errors": sm.Accumulator(
        *(
            sm.statistics.ErrorMoments(),
            sm.statistics.ErrorHistogram(16),
            sm.statistics.Histogram(16, of="y_pred"),
            sm.statistics.TDigest(50),
        ),
        y_true="p",
        y_pred="q",
        sample_weight="w",
        by="g",
        unit="u",
    ),
}
task = pytest.mark.parametrize("make", TASKS.values(), ids=TASKS.keys())


def state(name, rows=DATA):
    """The accumulator of a task and of rows."""
    return TASKS[name].empty().update(rows)


def header(table):
    return json.loads(table.schema.metadata[HEADER])


def with_header(table, **changes):
    """The table with other entries in its header; without those that are ``...``."""
    changed = {k: v for k, v in (header(table) | changes).items() if v is not ...}
    return table.replace_schema_metadata({HEADER: json.dumps(changed).encode()})


def with_columns(table, **changes):
    return with_header(table, columns=header(table)["columns"] | changes)


def with_options(table, name, **options):
    statistics = header(table)["statistics"]
    changed = [s | {"options": s["options"] | options} if s["name"] == name else s for s in statistics]
    return with_header(table, statistics=changed)


def with_cells(table, statistic, cell):
    """The table with other cells of a statistic, from an expression of the elements of its lists."""
    changed = pl.DataFrame(pl.from_arrow(table)).with_columns(pl.col(statistic).list.eval(cell)).to_arrow()
    return changed.replace_schema_metadata(table.schema.metadata)


def with_cell(table, statistic, **values):
    """The table with other values in all cells of a statistic."""
    types = pl.DataFrame(pl.from_arrow(table)).schema[statistic].inner.to_schema()
    literals = {name: pl.lit(value, types[name]) for name, value in values.items()}
    changed = with_cells(table, statistic, pl.element().struct.with_fields(**literals))
    return changed.cast(table.schema.remove_metadata()).replace_schema_metadata(table.schema.metadata)

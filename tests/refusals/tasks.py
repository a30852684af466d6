"""Tasks whose columns and options do not go together, and states that do not either."""

from functools import partial

import numpy as np
import polars as pl
from data import CLICKS, clicks

import streammetrics as sm
from refusals.batches import without_cause

NAN = float("nan")
MODELS = {"y_score": {"a": "p", "b": "q"}}
LABELS = {"y_true": {"news": "y", "art": "v"}, "y_score": {"news": "p", "art": "q"}}
BINARY = {  # what is wrong: options besides y_true= and y_score=, and the names
    "unknown nulls": ({"nulls": "ignore"}, "nulls=", "ignore"),
    "a negative label alone": ({"negative": 0}, "positive="),
    "a positive list": ({"positive": [1, 0]}, "positive=", "[1, 0]"),
    "a positive column": ({"positive": pl.Series([1])}, "positive="),
    "positive NaN": ({"positive": NAN}, "positive=", "nan"),
    "a negative list": ({"positive": 1, "negative": [0, 2]}, "negative="),
    "equal labels": ({"positive": 1, "negative": 1.0}, "different labels"),
    "a group column of reports": ({"by": "threshold"}, "'threshold'"),
    "a group column of states": ({"by": "row_counts"}, "'row_counts'"),
    "a group column twice": ({"by": ["g", "g"]}, "by=", "'g'", "2 times"),
    "a group column many times": ({"by": pl.Series(["g"] * 50 + ["h"] * 1_000)}, "'h'", "1,000 times"),
    "no group column": ({"by": None}, "None"),
    "a mapping of groups": ({"by": {"week": "day"}}, "pl.col('day').alias('week')"),
    "an empty name": ({"by": ""}, "''"),
    "a name of a null character": ({"y_score": pl.col("p").alias("a\0b")}, "named"),
    "a name of all columns": ({"by": "*"}, "'*'"),
    "a name of a pattern": ({"y_score": "^p.*$"}, "named"),
    "another column of the name": ({"y_score": pl.col("y") * 0.5}, "'y'"),
    "all columns": ({"y_score": pl.all()}, "single named column"),
    "no models": ({"y_score": {}}, "at least one model"),
    "a number for a column": ({"y_score": 7}, "7"),
    "columns without models": ({"y_score": ["p", "z"]}, "'p', 'z'"),
    "a list of scores": ({"y_score": [0.1, 0.2]}, "list"),
    "an array of scores": ({"y_score": np.array([0.1, 0.2])}, "ndarray"),
    "no score": ({"y_score": None}, "y_score="),
    "rounding of nothing": ({"y_score": None, "y_pred": "z", "rounding": 0.01}, "rounding=", "y_score="),
    "labels and thresholds": ({"y_pred": "z", "thresholds": [0.5]}, "thresholds=", "y_pred="),
    "other models of labels": ({"y_pred": {"a": "z"}}, "same models"),
    "a threshold of percent": ({"thresholds": [0.3, 30]}, "thresholds=", "30", "0.3", "domain='real'"),
    "a negative threshold": ({"thresholds": -0.1}, "thresholds=", "-0.1"),
    "no threshold": ({"thresholds": [None]}, "thresholds="),
    "a fingerprint of counts": ({"fingerprint": True, "count": "n"}, "fingerprint=", "count="),
    "a fingerprint of counts by ID": ({"fingerprint": "u", "count": "n"}, "fingerprint=", "count="),
    "an unknown domain": ({"domain": "margin"}, "domain=", "margin"),
    "half of a capacity": ({"capacity": 1e4}, "capacity=", "10000.0"),
    "folds without units": ({"folds": 50}, "folds=", "unit="),
    **{f"folds of {n!r}": ({"unit": "u", "folds": n}, "folds=", "5", repr(n)) for n in (4, 50.0, True)},
    **{f"max_groups of {n!r}": ({"by": "g", "max_groups": n}, "max_groups=", "1", repr(n)) for n in (0, -1, "many")},
}
MULTICLASS = {
    "nothing predicted": ({}, "y_score=, y_pred="),
    "rounding of nothing": ({"y_pred": "z", "rounding": 0.01}, "rounding=", "y_score="),
    "quotients of rounded scores": (
        {"y_score": {"a": "p", "b": "q"}, "renormalize": True, "rounding": 0.01},
        "rounding=",
        "renormalize=",
    ),
    "no labels": ({"y_score": "p"}, "label"),
    "text for labels": ({"y_score": "p", "labels": "abc"}, "'abc'"),
    "a number of labels": ({"y_score": "p", "labels": 3}, "labels=", "3"),
    "a number of labels in order": ({"y_score": "p", "order": 3}, "order=", "3"),
    "labels of two types": ({"y_score": {1: "p", "b": "q"}}, "1, 'b'"),
    "labels of two types that are equal": ({"y_score": "p", "labels": [True, 1, 0]}, "of one type"),
    "a label twice": ({"y_score": "p", "labels": ["a", "b", "a"]}, "'a'"),
    "a null label": ({"y_score": {None: "p", "b": "q"}}, "null"),
    "a label of NaN": ({"y_score": {NAN: "p", 1.0: "q"}}, "NaN"),
    "labels of wide integers": ({"y_score": "p", "labels": [2**80, 1]}, "strings, numbers, or Booleans"),
    "labels of lists": ({"y_score": "p", "labels": [[1], [2]]}, "strings, numbers, or Booleans"),
    "labels of bytes": ({"y_score": "p", "labels": [b"\xff", b"a"]}, "xff"),
    "other labels of scores": ({"y_score": {"a": "p", "c": "q"}, "labels": ["a", "b"]}, "'a', 'c'", "'a', 'b'"),
    "an order of others": ({"y_score": {"a": "p", "b": "q"}, "order": ["a", "c"]}, "'a', 'b'", "'a', 'c'"),
    "an order of fewer": ({"y_pred": "z", "labels": ["a", "b"], "order": ["a"]}, "'a'", "'a', 'b'"),
    "an order of a label twice": ({"y_pred": "z", "order": ["a", "a"]}, "'a'"),
    "models of numbers": ({"y_pred": {0: "z", 1: "z"}}, "name"),
    "other models": ({"y_pred": {"m": "z"}, "y_score": {"n": {"a": "p", "b": "q"}}}, "the same models"),
    "pairs of rounded scores": (
        {"y_score": {"a": "p", "b": "q"}, "one_vs_one": True, "rounding": 0.01},
        "rounding=",
        "one_vs_one=",
    ),
    "pairs of nothing": ({"y_pred": "z", "one_vs_one": True}, "one_vs_one=", "y_score="),
}
MULTILABEL = {
    "nothing predicted": ({"y_score": None}, "y_score=, y_pred="),
    "rounding of nothing": ({"y_score": None, "y_pred": LABELS["y_true"], "rounding": 0.01}, "rounding=", "y_score="),
    "no labels": ({"y_true": "y", "y_score": None, "y_pred": "z"}, "label"),
    "other labels": ({"y_pred": {"art": "z"}}, "'art'", "'news', 'art'"),
    **{f"a threshold of {n!r}": ({"threshold": n}, "threshold=", str(n)) for n in (NAN, 1.5, "0.5")},
}
PREDICTIONS = {
    "nothing predicted": ({}, "y_score=, y_pred="),
    "thresholds without scores": ({"y_pred": "z", "thresholds": (0.5,)}, "thresholds=", "y_score="),
    "thresholds and labels": ({"y_pred": "z", "y_score": "p", "thresholds": (0.5,)}, "thresholds=", "y_pred="),
    "thresholds that are equal": ({"y_score": "p", "thresholds": (0.5, 0.5)}, "thresholds="),
}
KINDS = {
    "binary": (partial(sm.binary, y_true="y", y_score="p"), BINARY),
    "multiclass": (partial(sm.multiclass, y_true="y"), MULTICLASS),
    "multilabel": (partial(sm.multilabel, **LABELS), MULTILABEL),
    "predictions": (sm.predictions, PREDICTIONS),
}
OTHERS = {  # options with which a task is another one, and names of what differs
    "a column": ({"y_score": "q"}, "y_score", "'p'", "'q'"),
    "models": (MODELS, "y_score"),
    "thresholds": ({"thresholds": (0.4,)}, "thresholds=(0.5,)", "thresholds=(0.4,)"),
    "a capacity": ({"capacity": 99}, "capacity=16384", "capacity=99"),
    "atoms": ({"atoms": (0.05,)}, "atoms"),
    "a domain": ({"domain": "real", "thresholds": (0.5,)}, "probability"),
    "bins": ({"calibration_bins": 5}, "bins=5"),
    "weights": ({"sample_weight": "w"}, "sample_weight"),
    "groups": ({"by": "g"}, "by"),
    "nulls": ({"nulls": "drop"}, "nulls"),
    "a positive label": ({"positive": 1}, "positive"),
    "pairs": ({"y_score": MODELS["y_score"], "pairs": False}, "different"),
}
CLICKED = sm.binary(by=["country", "day"], **CLICKS).update(clicks()[:50])
UNITS = partial(sm.binary, y_true="y", y_score="p", unit="u")


def _refused(call, *arguments, **options):
    return lambda: call(*arguments, **options)


def _merged(one, other):
    return lambda: one() + other()


def _tasks():
    for kind, (make, options) in KINDS.items():
        for wrong, (given, *names) in options.items():
            yield f"{kind}: {wrong}", (_refused(make, **given), *names)
    one = partial(sm.binary, y_true="y", y_score="p")
    for what, (given, *names) in OTHERS.items():
        alike = partial(one, **MODELS) if what == "pairs" else one
        yield f"a merge with another task by {what}", (_merged(partial(one, **given), alike), *names)


REFUSALS = {
    **dict(_tasks()),
    "a merge of more folds": (
        _merged(partial(UNITS, folds=50, by="g"), partial(UNITS, by="g")),
        *("50 folds", "20", "acc.rollup('g', folds=10)"),
    ),
    "a merge of folds that have no divisor": (_merged(partial(UNITS, folds=21), UNITS), "21 folds", "20"),
    "an unknown task": (
        lambda: sm.Accumulator(sm.statistics.ErrorMoments(), task="regresion", y_true="y", y_pred="p"),
        *("'regresion'", "'regression'"),
    ),
    "a merge with a list": (lambda: CLICKED.merge([CLICKED]), "list"),
    "a merge of text": (lambda: sm.merge(["a.state"]), "str"),
    "a rollup to folds that do not divide": (lambda: UNITS(folds=200).rollup(folds=30), "folds=", "200", "30"),
    "a rollup to more folds": (lambda: UNITS().rollup(folds=40), "folds=", "20", "40"),
    "a rollup to folds without units": (lambda: CLICKED.rollup(folds=10), "folds=", "unit="),
    "a filter without groups": (lambda: CLICKED.rollup().filter(pl.lit(True)), "filter"),
    "a filter by an unknown column": without_cause(lambda: CLICKED.filter(pl.col("days") == 1), "filter groups"),
    "a rollup to an unknown column": (lambda: CLICKED.rollup(pl.col("z") + 1), "'z'"),
    "a rollup to the number of the group": (lambda: CLICKED.rollup(pl.col("group") + 1), "'group'"),
    "a rollup that fails": without_cause(
        lambda: CLICKED.rollup(pl.col("country").dt.year()), "roll up groups to country"
    ),
    "a rollup to other rows": (lambda: CLICKED.rollup(pl.col("day").head(1)), "'day'", "other rows"),
    "a rollup to a mapping": (lambda: CLICKED.rollup({"week": "day"}), "pl.col('day').alias('week')"),
    "a rollup to ranks": (lambda: CLICKED.rollup(pl.col("day").rank().alias("made")), "'made'", "other rows"),
    "a rollup to structs": (lambda: CLICKED.rollup(pl.struct("country", "day").alias("s")), "roll up groups to s"),
    "a rollup to a column of models": (lambda: CLICKED.rollup(pl.col("country").alias("model")), "'model'"),
    "a rollup to a column of states": (lambda: CLICKED.rollup(pl.col("day").alias("row_counts")), "'row_counts'"),
    "a rollup to two columns at once": (lambda: CLICKED.rollup(pl.col("country", "day")), "single named column"),
    "an update of a rollup to a coarser column": (
        lambda: CLICKED.rollup(pl.col("day").dt.truncate("1w").alias("week")).update(clicks()[:50].drop("day")),
        "day",
    ),
    "metrics of other statistics": (lambda: sm.predictions(y_score="p").finalize(["recall"]), "'recall'"),
    "metrics of probabilities, of margins": (
        lambda: sm.binary(domain="real", **CLICKS).update(clicks()[:9]).finalize()["log_loss"],
        "'log_loss'",
    ),
}

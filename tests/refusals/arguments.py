"""Arguments of a wrong type or size, in every function that takes them."""

from functools import partial

import numpy as np
import polars as pl
from data import CLICKS, DELIVERIES, clicks

import streammetrics as sm
from streammetrics.engines import duckdb, ray, spark

ACC = sm.binary(by="country", **CLICKS).update(clicks())
REPORT = ACC.finalize()
COMPARISON = sm.compare(ACC, ACC)
WRONG = (True, 1.5, "2", b"2", [2], {"a": 2}, pl.Series([2, 3]), np.array([2, 3]), np.bool_(True), float("nan"), -1)

INTEGERS = {
    "min_rows= of a check": lambda n: REPORT.check("roc_auc >= 0.4", min_rows=n),
    "min_rows= of the worst groups": lambda n: REPORT.worst("log_loss", min_rows=n),
    "n= of the worst groups": lambda n: REPORT.worst("log_loss", n),
    "min_rows= of gaps": lambda n: REPORT.gaps("accuracy", over="country", min_rows=n),
    "min_rows= of slices": lambda n: REPORT.slices("log_loss", min_rows=n),
    "depth= of slices": lambda n: REPORT.slices("log_loss", depth=n),
    "bins= of drift": lambda n: sm.drift(ACC, ACC, bins=n),
    "min_rows= of a rule": lambda n: sm.Rule("roc_auc >= 0.5", min_rows=n),
    "workers= of evaluate": lambda n: sm.evaluate(iter([clicks()]), ACC.empty(), workers=n),
    "max_groups= of a task": lambda n: sm.binary(max_groups=n, **CLICKS),
}
LEVELS = {
    "confidence= of a check": lambda level: REPORT.check("roc_auc >= 0.4", confidence=level),
    "confidence= of finalize": lambda level: ACC.finalize("accuracy", confidence=level),
    "confidence= of compare": lambda level: sm.compare(ACC, ACC, confidence=level),
    "confidence= of drift": lambda level: sm.drift(ACC, ACC, confidence=level),
    "fdr= of slices": lambda level: REPORT.slices("log_loss", fdr=level),
    "confidence= of a rule": lambda level: sm.Rule("roc_auc >= 0.5", confidence=level),
}


def _each(functions, values, *names):
    """Return a refusal for each function and value."""
    return {
        f"{argument} {str(value).replace(chr(10), ' ')} ({type(value).__name__})": (partial(call, value), *names)
        for argument, call in functions.items()
        for value in values
    }


REFUSALS = {
    **_each(INTEGERS, ["2", -1], "integer"),
    **_each({"min_rows=": INTEGERS["min_rows= of a rule"]}, WRONG, "integer"),
    **_each(LEVELS, ["0.9", -1], "between"),
    **_each({"confidence=": LEVELS["confidence= of a rule"]}, WRONG, "between"),
    **_each({"open=": lambda value: REPORT.check("roc_auc >= 0.4", open=value)}, [*WRONG, None, ["fail"]], "open="),
    **_each(
        {"names=": lambda names: COMPARISON.save_html("page.html", names=names)},
        [*WRONG, "ab", ("a",), ("a", "b", "c"), ("a", 1), pl.Series(["a", "b"])],
        "names=",
    ),
    "text for a DuckDB relation": (lambda: duckdb.evaluate("select 1", ACC), "relation=", "str"),
    "text for a Spark data frame": (lambda: spark.evaluate("select 1", ACC), "df=", "str"),
    "text for a Ray dataset": (lambda: ray.evaluate("select 1", ACC), "dataset=", "str"),
    "statistics of two tasks": (
        lambda: sm.Accumulator(sm.statistics.ConfusionMatrix(), sm.statistics.ErrorMoments(), **DELIVERIES),
        *("multiclass", "regression"),
    ),
}

"""Look-ups, curves, rankings and gaps of groups, slices, requirements, and plans that a report cannot give."""

import math

import polars as pl
from data import CANDIDATES, CLICKS, DELIVERIES, TOPICS, VISITS, candidates, clicks, deliveries, topics, visits

import streammetrics as sm

ROWS = clicks()[:400].filter(pl.col("country") != "IN")
BINARY = sm.binary(by="country", thresholds=[0.2, 0.5], **CLICKS)
REPORT = BINARY.update(ROWS).finalize()
ALONE = sm.binary(**CLICKS).update(ROWS).finalize()
LIMITS = REPORT.with_confidence(0.9)
MODELS = sm.binary(by="country", **CANDIDATES).update(candidates()[:300])
REGRESSION = sm.regression(by="route", **DELIVERIES).update(deliveries()[:300]).finalize()
WEIGHTED = sm.binary(by="shop", **VISITS | {"unit": None}).update(visits()[:300]).finalize()
LABELS = sm.multilabel(by=pl.col("art").alias("seen"), **TOPICS).update(topics()[:300]).finalize()
UNITS = sm.regression(unit="route", **DELIVERIES).update(deliveries()[:300]).finalize()
BARE = sm.Accumulator(sm.statistics.ConfusionCounts(), **CLICKS).update(ROWS).finalize()
UNDEFINED = sm.binary(**CLICKS).update(ROWS.filter("clicked")).finalize()["roc_auc"]


def _named(column):
    """A report by a column of this name."""
    return sm.binary(by=["country", column], **CLICKS).update(ROWS.with_columns(pl.lit(1).alias(column))).finalize()


def _of(call, *values):
    return lambda: call(*values)


def _check(**given):
    return lambda: sm.compare(MODELS, models=("old", "new")).check(**given)


def _margin(margin, metric="roc_auc"):
    return _check(not_worse={metric: margin})


def _pair(**options):
    """Two models of weighted errors."""
    task = sm.regression(y_true="minutes", y_pred={"a": "forecast", "b": "naive"}, **options)
    return sm.compare(task.update(deliveries()[:300].with_columns(w=pl.col("naive") / 9)), models=("a", "b"))


def _plan(metric="roc_auc", pilot=ALONE, difference=0.01, **given):
    return lambda: sm.rows_needed(pilot, metric, difference=difference, **given)


LOOK_UPS = {
    "a value of several groups": (lambda: REPORT.get("roc_auc"), "roc_auc", "2 values", "country='DE'"),
    "a value of several thresholds": (
        lambda: REPORT.get("recall", country="DE"),
        *("recall", "2 values", "threshold=0.2"),
    ),
    "a dictionary of groups": (lambda: dict(REPORT), "values", "country="),
    "an unknown group": (lambda: REPORT.get("rows", country="XX"), "rows", "'XX'", "'DE'", "'FR'"),
    "an unknown key": (lambda: REPORT.get("rows", land="DE"), "'land'", "country", "threshold"),
    "a key of another type": (lambda: REPORT.get("rows", country=1), "'country'", "String", "1"),
    "a key of a foreign type": (lambda: REPORT.get("rows", country=...), "'country'", "Ellipsis"),
    **{f"the metric {name!r}": (_of(ALONE.__getitem__, name), str(name)) for name in (0, None, ("roc_auc", "f1"))},
    "a number without a value": (lambda: float(UNDEFINED), "no negatives"),
    "a requirement that is a number": (lambda: ALONE.check(5), "5"),
    "an unknown curve": (lambda: REPORT.curve("rok"), "'rok'", "roc", "pr", "det", "lift"),
    "an unknown order of ties": (lambda: REPORT.curve("roc", "random"), "order=", "'random'", "tied"),
    "a curve without a histogram": (lambda: BARE.curve("roc"), "ScoreHistogram"),
    "a calibration curve without bins": (lambda: BARE.curve("calibration"), "required"),
    "an operating point without a histogram": (lambda: BARE.operating_point(maximize="f1"), "ScoreHistogram"),
    "an operating point of a metric without a direction": (
        lambda: REPORT.operating_point(maximize="predicted_positive_rate"),
        "predicted_positive_rate",
    ),
    "a confusion matrix of two classes": (lambda: REPORT.confusion_matrix(), "ConfusionMatrix"),
    "a total by an unknown column": (lambda: REPORT.rollup("x"), "'x'", "country"),
}
GROUPS = {
    **{
        f"{name} by a metric without a direction": (_of(call, "prevalence"), "'prevalence'")
        for name, call in (("worst groups", REPORT.worst), ("slices", REPORT.slices))
    },
    "worst groups by a misspelled metric": (lambda: REPORT.worst("rok_auc"), "'rok_auc'", "'roc_auc"),
    "worst groups by limits that there are not": (
        lambda: REPORT.worst("roc_auc", by_bound=True),
        *("confidence", "finalize"),
    ),
    "worst groups by limits of a biased metric": (lambda: LIMITS.worst("ece", by_bound=True), "'ece'"),
    **{
        f"{name} by a column of the name of one of theirs": (_of(call, _named(column)), f"'{column}'")
        for name, column, call in (
            ("worst groups", "rows", lambda report: report.worst("accuracy")),
            ("gaps", "rows", lambda report: report.gaps("accuracy", over="country")),
            ("gaps of all", "ratio", lambda report: report.gaps("accuracy", over="country")),
            ("slices", "rest", lambda report: report.slices("log_loss")),
        )
    },
    "gaps over an unknown column": (lambda: REPORT.gaps("recall", over="h"), "'h'", "country"),
    "gaps from an unknown reference": (
        lambda: REPORT.gaps("recall", over="country", reference="x"),
        *("'x'", "country", "'DE'", "'FR'"),
    ),
    "gaps from a reference of too few rows": (
        lambda: REPORT.gaps("recall", over="country", reference="DE", min_rows=10_000),
        *("'DE'", "country", "none"),
    ),
    "fairness of errors": (lambda: REGRESSION.fairness(over="route"), "confusion counts"),
}
SLICES = {
    "slices by a biased metric": (lambda: REPORT.slices("ece"), "'ece'"),
    "slices by a metric whose rest is unknown": (lambda: REGRESSION.slices("r2"), "'r2'"),
    "slices of weighted rows": (lambda: WEIGHTED.slices("log_loss"), "unit="),
    "slices of no groups": (lambda: ALONE.slices("log_loss"), "columns"),
    "slices of several models": (lambda: MODELS.finalize().slices("log_loss"), *("model=", "'old'", "'new'")),
    "slices of several thresholds": (
        lambda: REPORT.slices("accuracy"),
        *("accuracy", "2 values", "threshold=", "0.2", "0.5"),
    ),
    "slices of several labels": (lambda: LABELS.slices("accuracy"), *("label=", "'art'", "'law'", "'war'")),
    "slices of an unknown label": (lambda: LABELS.slices("log_loss", label="x"), *("'x'", "'art'", "'law'", "'war'")),
    "slices at a threshold that does not matter": (lambda: REPORT.slices("log_loss", threshold=0.5), "'threshold'"),
}
GATES = {
    "a gate without requirements": (_check(), "not_worse=", "better="),
    "a gate on a metric without a direction": (_check(better=["prevalence"]), "prevalence"),
    "a gate on an unknown metric": (_check(better=["nonsense"]), "nonsense"),
    **{f"a margin {margin!r}": (_margin(margin), "roc_auc", repr(margin)) for margin in (-0.1, None, True, math.nan)},
    "a margin of all": (_margin(2), "roc_auc", "2", "'2%'"),
    "a margin that is text": (_check(not_worse=["roc_auc=x"]), "'x'"),
    "a relative margin of a metric that can be 0": (_margin("1%", "mcc"), "mcc"),
    "a rate of false discoveries with a space": (
        _check(not_worse="roc_auc", segments="5%"),
        *("segments=", "'5%'", "'fdr 5 %'"),
    ),
}
PLANS = {
    **{
        f"a plan for a difference of {difference!r}": (_plan(difference=difference), *("difference", *names))
        for difference, names in ((0, ["0"]), ("1%", ["1%"]), (2, ["roc_auc", "2", "0.02"]))
    },
    "a plan of a power of 80": (_plan(power=80), "power=", "80", "0.8"),
    "a plan for a biased metric": (_plan("ece"), "ece"),
    "a plan from a state": (_plan(pilot=MODELS), "finalize"),
    "a plan from several groups": (_plan(pilot=REPORT), "roc_auc", "2 values", "country='DE'"),
    "a plan from an unknown model": (
        _plan(pilot=MODELS.rollup().finalize(), model="c"),
        *("roc_auc", "'c'", "'new'", "'old'"),
    ),
    "a plan within the bounds": (
        _plan(pilot=sm.binary(capacity=64, **CLICKS).update(ROWS).finalize(), difference=1e-4),
        "roc_auc",
    ),
    "a plan for a quantile by unit": (_plan("median_error", UNITS), "median_error", "quantiles"),
    "a plan for two models of weighted rows": (_plan("mae", _pair(sample_weight="w")), "mae", "unit"),
    "a plan for two models by a metric without pairs": (_plan("r2", _pair()), "r2", "unit"),
}
REFUSALS = LOOK_UPS | GROUPS | SLICES | GATES | PLANS

"""Two evaluations that cannot be compared, whose distributions have no distance, and windows without a reference."""

import polars as pl
from data import CANDIDATES, CLICKS, DELIVERIES, TOPICS, candidates, clicks, deliveries, topics

import streammetrics as sm

ROWS, ERRORS = clicks()[:100], deliveries()[:100]
ALONE, GROUPS, DAYS = (sm.binary(by=by, **CLICKS).update(ROWS) for by in ((), "country", ["country", "day"]))
NUMBERS = sm.binary(by=pl.lit(1).alias("country"), **CLICKS).update(ROWS)
REGRESSION = sm.regression(**DELIVERIES).update(ERRORS)
LABELS = sm.multilabel(**TOPICS).update(topics()[:100])
MODELS = sm.binary(**CANDIDATES).update(candidates()[:100])
CLASSES = sm.multiclass(y_true="country", y_pred="country").update(ROWS)
HARD = sm.binary(y_true="clicked", y_pred="clicked").update(ROWS)
SCORES = sm.predictions(y_score="score").update(ROWS)
MARGINS = sm.predictions(y_score="score", domain="real").update(ROWS)
USED = ("of", "measure", "pair", "rows", "cells", "reference", "current", "current_rows", "reference_cells")


def _compare(*sides, **options):
    return lambda: sm.compare(*sides, **options).frame


def _drift(*sides, **options):
    return lambda: sm.drift(*sides, **options).frame


def _over(window="day", reference="7d"):
    return lambda: sm.drift_over(DAYS, window, reference=reference)


def _by(name):
    """An evaluation by a column of this name."""
    return sm.binary(by=pl.lit(1).alias(name), **CLICKS).update(ROWS)


REFUSALS = {
    "a comparison with a number": (_compare(ALONE, 3), "int"),
    "a comparison with more groups in the reference": (_compare(GROUPS, ALONE), "group columns"),
    "a comparison of other groups": (_compare(GROUPS, _by("shop")), "group columns"),
    "a comparison of groups of other types": (_compare(GROUPS, NUMBERS), "'country'"),
    "a comparison by a column that it uses": (_compare(*[_by("better")] * 2), "'better'"),
    "a comparison by a metric of another task": (
        _compare(REGRESSION, REGRESSION, metrics=["roc_auc"]),
        *("'roc_auc'", "binary", "multiclass"),
    ),
    "a comparison of two classes with many": (_compare(HARD, CLASSES), "same task"),
    "an unknown model": (lambda: MODELS.finalize().compare("old", "best"), "'best'", "'old'", "'new'"),
    "a model of one evaluation": (lambda: ALONE.finalize().compare("old", "new"), "'old'", "none"),
    "drift with one bin": (_drift(ALONE, ALONE, bins=1), "bins=", "2", "1"),
    "drift of what one side lacks": (_drift(ALONE, SCORES, of="error"), "'error'", "y_score"),
    "drift without distributions": (_drift(HARD, CLASSES), "Histogram"),
    "drift from probabilities to margins": (_drift(SCORES, MARGINS), "'probability'", "'real'"),
    "drift with more groups in the reference": (_drift(DAYS, GROUPS), "'day'"),
    "drift from labels to a task without them": (_drift(LABELS, ALONE), "'label'"),
    **{f"drift by a column {name!r}": (_drift(*[_by(name)] * 2), f"'{name}'") for name in USED},
    "windows of text": (_over("country"), "'country'", "Date", "country, day"),
    "windows of an unknown column": (_over("week"), "'week'", "Date"),
    **{
        f"a reference of {reference!r}": (_over(reference=reference), *names)
        for reference, *names in (
            ("7 days", "'7 days'"),
            ("-7d", "'-7d'"),
            ("0d", "'0d'", "'day'"),
            (("2026-01-01",), "'28d'"),
            (("yesterday", "2026-01-05"), "'yesterday'"),
            ((20260101, 20260105), "20260101"),
            (("2026-01-01T00:00Z", "2026-01-05"), "time zone"),
        )
    },
    "a reference without windows": (_over(reference=("2025-01-01", "2025-02-01")), "'day'", "2025-01-01", "2025-02-01"),
}

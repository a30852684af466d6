"""Joiners of late labels, whose refused rows do not come to wait; and metrics expected before labels arrive."""

from datetime import UTC, date, datetime, time, timedelta

import polars as pl
import pytest
from data import CLICKS, DIGITS, clicks, digits

import streammetrics as sm

DAY, NOON = date(2026, 1, 1), datetime(2026, 1, 1, 12)
CLICKED = sm.binary(y_true="y", y_score="p", by="day")
SCORE, LABEL = {"id": [1], "p": [0.1], "day": [DAY]}, {"id": [1], "y": [1]}


def _joiner(folder, **options):
    pytest.importorskip("deltalake")
    return sm.Joiner(sm.MetricStore(folder), **{"task": CLICKED, "key": "id", "expires": "45d"} | options)


def _after(first, add, batch):
    """A call that adds a batch to a joiner, perhaps after a score with some key."""

    def call(folder):
        joiner = _joiner(folder / "".join(filter(str.isalnum, str(first))))
        if first is not None:
            joiner.add_scores(SCORE | {"id": first})
        getattr(joiner, add)(batch)

    return call


def _joined(**options):
    return lambda folder: _joiner(folder / "joined", **options).add_scores({"_day": [1], **SCORE})


ROWS = {
    wrong: (_after([5] if "text" in wrong else None, add, batch), *names)
    for wrong, (add, batch, *names) in {
        "scores without a key and a window": ("add_scores", {"p": [0.1]}, "'id', 'day'"),
        "scores without a window": ("add_scores", {"id": [1], "p": [0.1]}, "'day'"),
        "a key that is null": ("add_scores", SCORE | {"id": [None]}, "'id'", "null", "1 of 1"),
        "a key that is NaN": ("add_scores", SCORE | {"id": [float("nan")]}, "'id'", "NaN", "1 of 1"),
        "a score beyond 1": ("add_scores", SCORE | {"p": [7.0]}, "[0, 1]"),
        "a window that is text": ("add_scores", SCORE | {"day": ["a"]}, "'day'", "Date", "String"),
        "a window that is null": ("add_scores", SCORE | {"day": pl.Series([None], dtype=pl.Date)}, "'day'", "null"),
        "a window at the end of the calendar": ("add_scores", SCORE | {"day": [date.max]}, "'day'", "9999-12-30"),
        "labels without a label": ("add_labels", {"id": [1]}, "'y'"),
        "a label that is none": ("add_labels", LABEL | {"y": [3]}, "labels"),
    }.items()
}
KEYS = {
    f"a key of type {keys.dtype} in {add}": (_after(None, add, batch | {"id": keys}), "'id'", *names)
    for keys, *names in (
        (pl.Series([1_001]).cast(pl.Datetime("ns")), "nanoseconds", "1 of 1"),
        (pl.Series([2**63], dtype=pl.UInt64), "1 of 1", "String"),
        (pl.Series([1], dtype=pl.Int128), "Int128"),
        (pl.Series([[1]]), "List", "String"),
        (pl.Series([[1]], dtype=pl.Array(pl.Int64, 1)), "Array"),
        (pl.Series([{"a": 1}]), "Struct"),
        (pl.Series([time(1)]), "Time"),
        (pl.Series([timedelta(1)]), "Duration"),
        (pl.Series([object()], dtype=pl.Object), "Object"),
    )
    for add, batch in (("add_scores", SCORE), ("add_labels", LABEL))
}
OTHER_KEYS = {
    f"a key {keys} after {first}": (_after(first, "add_labels", LABEL | {"id": keys}), "'id'", *names)
    for first, keys, *names in (
        ([DAY], [20454], "Date", "Int64"),
        ([NOON], [NOON.replace(tzinfo=UTC)], "Datetime"),
        ([DAY], ["2026-01-01"], "Date", "String"),
        ([1], ["02"], "Int64", "String"),
        ([1.5], [2**53 + 1], "Float64", "Int64"),
    )
}
JOINERS = {
    "rows that expire at once": (_joined(expires="0d"), "expires=", "'0d'"),
    "rows that expire within a day": (_joined(expires="23h"), "expires=", "'23h'"),
    "a duration that is none": (_joined(expires="soon"), "'soon'"),
    "no key": (_joined(key=[]), "key="),
    "a key that is the label": (_joined(key="y"), "'y'"),
    "no labels": (_joined(task=sm.predictions(y_score="p", by="day")), "labels="),
    "no window": (_joined(task=sm.binary(y_true="y", y_score="p", by="id")), "Date"),
    "columns that differ in case": (_joined(key=["id", "P"]), "'P'", "'p'"),
    "what is no accumulator": (_joined(task=3), "task=", "int"),
    "a column of the joiner": (_joined(key="_day"), "'_day'"),
}
SIDES = {
    "scores": lambda: sm.predictions(y_score="score").update(clicks()),
    "scores by country": lambda: sm.predictions(y_score="score", by="country").update(clicks()),
    "labels": lambda: sm.binary(**CLICKS).update(clicks()),
    "labels by country": lambda: sm.binary(by="country", **CLICKS).update(clicks()),
    "no thresholds": lambda: sm.predictions(y_score="score", thresholds=()).update(clicks()),
    "no scores": lambda: sm.predictions(y_pred="clicked").update(clicks()),
    "classes": lambda: sm.multiclass(**DIGITS).update(digits()),
    "margins": lambda: sm.predictions(y_score="score", domain="real").update(clicks()),
    "labels of margins": lambda: sm.binary(domain="real", **CLICKS).update(clicks()),
    "models": lambda: sm.predictions(y_score={"a": "score", "b": "score"}).update(clicks()),
    "labels of one model": lambda: sm.binary(y_true="clicked", y_score={"a": "score"}).update(clicks()),
}


def _expected(scores, reference, **options):
    return lambda: sm.expect(SIDES[scores](), SIDES[reference](), **options)


POWERED = {"method": "prediction_powered", "confidence": 0.95}
EXPECTED = {
    f"expect {options} of {scores} with {reference}": (_expected(scores, reference, **options), *rest)
    for scores, reference, options, *rest in (
        ("scores", "scores", {}, "reference"),
        *(("labels", "labels", {"odds": o}, "odds=", f"{o}") for o in (0.5, float("inf"), float("nan"))),
        ("scores", "labels", {"confidence": 95}, "confidence="),
        ("scores", "labels", {"metrics": "ks"}, "'ks'"),
        ("scores", "labels", {"method": "powered"}, "method=", "prediction_powered"),
        ("no thresholds", "labels", {"metrics": "recall"}, "'recall'"),
        ("no scores", "labels", {}, "scores"),
        ("classes", "classes", {}, "binary"),
        ("scores", "labels by country", {}, "'country'"),
        ("margins", "labels of margins", {"metrics": "log_loss"}, "'log_loss'"),
        ("scores", "labels of margins", {}, "'probability'", "'real'"),
        ("models", "labels of one model", {}, "'b'", "'a'"),
        ("models", "labels", {}, "'a', 'b'"),
        ("scores", "labels", POWERED | {"odds": 1.5}, "odds"),
        ("scores", "labels", POWERED | {"metrics": "average_precision"}, "'average_precision'", "prevalence"),
        ("scores by country", "labels", POWERED, "'country'"),
        ("scores", "scores", POWERED, "reference"),
    )
}


def _needed(scores, **options):
    return lambda: sm.expect(SIDES["scores"](), SIDES["labels"](), **options).needed_odds(SIDES[scores]())


NEEDED = {
    "odds that are needed without labels": (_needed("scores"), "labels"),
    "odds that prediction-powered estimates need": (_needed("labels", **POWERED), "odds"),
}
REFUSALS = {**ROWS, **KEYS, **OTHER_KEYS, **JOINERS, **EXPECTED, **NEEDED}

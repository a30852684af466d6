"""A joiner, and scores and labels for it."""

from datetime import date, timedelta

import streammetrics as sm

FIRST = date(2026, 1, 1)


def day(number):
    return FIRST + timedelta(days=number)


def task(by="day"):
    return sm.Accumulator(
        sm.statistics.ScoreHistogram(), sm.statistics.ConfusionCounts(), y_true="clicked", y_score="p", by=by
    )


def made(folder, acc=None, **options):
    return sm.Joiner(sm.MetricStore(folder / "history"), acc or task(), **({"key": "id", "expires": "45d"} | options))


def scores(ids, number=0):
    return {"id": [*ids], "p": [i % 10 / 10 for i in ids], "day": [day(number)] * len(ids)}


def labels(ids):
    return {"id": [*ids], "clicked": [i % 3 == 0 for i in ids]}

"""Rows, tasks, and stores of histories."""

from datetime import date, datetime

import numpy as np
import polars as pl
from data import FIRST_DAY

import streammetrics as sm

SCORES = {label: label for label in "abc"}
COLUMNS = {"y_true": "y", "y_score": "p", "by": ["day", "country"]}
ERRORS = {"y_true": "amount", "y_pred": "guess", "by": ["day", "country"]}
TASKS = {
    "binary": lambda: sm.binary(capacity=16, **COLUMNS),
    "models": lambda: sm.binary(
        capacity=16, sample_weight="w", unit="h", **COLUMNS | {"y_score": {"a": "p", "b": "q"}}
    ),
    "classes": lambda: sm.multiclass(
        capacity=16, one_vs_one=True, y_true="k", y_score=SCORES, by=["country", "day"], sample_weight="w"
    ),
    "regression": lambda: sm.regression(capacity=16, families=["log", "poisson"], sample_weight="w", **ERRORS),
}


COUNTS = lambda: sm.Accumulator(sm.statistics.ConfusionCounts(), y_true="y", y_score="p", by=["day", "country"])  # noqa: E731


def predictions(count, seed):
    rng = np.random.default_rng(seed)
    p, q = rng.random(count), rng.random(count)
    return pl.DataFrame(
        {
            "day": pl.Series([date(2026, 1, d) for d in range(1, 6)]).gather(rng.integers(0, 5, count)),
            "country": pl.Series(["DE", "FR", None]).gather(rng.integers(0, 3, count)),
            "y": rng.random(count) < p,
            "p": p,
            "q": q,
            "w": rng.random(count) + 0.01,
            "h": rng.integers(0, 4, count),
            "amount": rng.gamma(2, 10, count) + 0.01,
            "guess": rng.gamma(2, 10, count) + 0.01,
            "a": p,
            "b": (1 - p) * q,
            "c": (1 - p) * (1 - q),
            "k": pl.Series([*"abc"]).gather(rng.integers(0, 3, count)),
        }
    )


def asked(acc, since=None, until=None, by=(), every=None, where=None):
    """The answer that an accumulator of all rows gives."""
    if since is not None:
        acc = acc.filter(pl.col("day") >= pl.lit(since).str.to_date())
    if until is not None:
        acc = acc.filter(pl.col("day") < until)
    if where is not None:
        acc = acc.filter(where)
    return acc.rollup(*([pl.col("day").dt.truncate(every)] if every else []), *([by] if isinstance(by, str) else by))


def answers(store):
    """What a store answers, to the last bit."""
    return [store.query(**query).to_bytes() for query in ({"by": "day"}, {"since": "2026-01-02", "every": "3d"})]


def history(folder, acc, *frames):
    """A history of some batches."""
    return appended(sm.MetricStore(str(folder)), acc.empty, frames)


def appended(store, make, frames):
    for number, frame in enumerate(frames):
        assert store.append(make().update(frame), batch_id=f"batch {number}")
    return store


def rows(right, wrong, day=FIRST_DAY, **columns):
    """Right and wrong predictions of a day."""
    count = right + wrong
    return pl.DataFrame({"day": [day] * count, "y": [True] * count, "p": [1.0] * right + [0.0] * wrong, **columns})


def accuracy(*by, **options):
    """A task of such rows."""
    return sm.binary(y_true="y", y_score="p", by=["day", *by], **options)


def checked(store, *rules, **options):
    """The verdicts of a check, as dicts."""
    return sm.check(store, rules, **options).frame.rows(named=True)


NIGHT = pl.Series([datetime(2026, 3, 28, 22), datetime(2026, 3, 28, 23), datetime(2026, 3, 29, 1)])


def of_hours(hours, name="hour"):
    return sm.Accumulator(y_true="y", by=[name, "s"]).update({"y": [1] * len(hours), name: hours, "s": [*"aba"]})

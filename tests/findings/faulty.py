"""Rows whose true probabilities are known, and faults in them, which the shared data sets do not have."""

from datetime import date, timedelta

import numpy as np
import polars as pl

import streammetrics as sm

P, IN_B = pl.col("p"), pl.col("g") == "1"


def scored(rows=4_000, rate=0.2, spread=1.3, groups=3, seed=0):
    """Labels, their true probabilities, groups and days that tell nothing of them, and two numbers for each unit."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(np.log(rate / (1 - rate)), spread, rows)))
    y, g = rng.random(rows) < p, rng.integers(0, groups, rows).astype(str)
    days = pl.Series([date(2026, 1, 1) + timedelta(days=n) for n in range(10)]).gather(rng.integers(0, 10, rows))
    return pl.DataFrame({"y": y, "p": p, "g": g, "day": days, "u": np.arange(rows) // 2})


def errors(rows=4_000, seed=0):
    """True values and forecasts with a heavy tail of errors around 0."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 5, rows)
    return pl.DataFrame({"y": z + rng.standard_t(4, rows), "z": z, "g": rng.integers(0, 3, rows).astype(str)})


def classes(rows=4_000, temperature=1.0, labels=3, seed=0):
    """Labels of classes, and their probabilities raised to a power: true ones if the temperature is 1."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, (rows, labels))
    true, stated = (np.exp(odds / t) for t in (1, temperature))
    y = (true.cumsum(axis=1) / true.sum(axis=1, keepdims=True) < rng.random((rows, 1))).sum(axis=1)
    return pl.DataFrame({"y": y, "p": stated / stated.sum(axis=1, keepdims=True)})


def two_models(rows=4_000, noise=(0.8, 0.8), worse=0.8, groups=3, seed=0):
    """Labels, and the scores of two models with some noise, which is ``worse`` in group 1 of the new one."""
    rng = np.random.default_rng(seed)
    odds, g = rng.normal(-1, 1.3, rows), rng.integers(0, groups, rows)
    y = rng.random(rows) < 1 / (1 + np.exp(-odds))
    seen = [odds + rng.normal(size=rows) * noise[0], odds + rng.normal(size=rows) * np.where(g == 1, worse, noise[1])]
    p, q = (1 / (1 + np.exp(-x)) for x in seen)
    return pl.DataFrame({"y": y, "p": p, "q": q, "g": g.astype(str)})


def binary(frame, **options):
    return sm.binary(**{"y_true": "y", "y_score": "p", "by": "g"} | options).update(frame).finalize()


def total(frame, **options):
    return binary(frame, by=(), **options)


def regression(frame, **options):
    return sm.regression(**{"y_true": "y", "y_pred": "z", "by": "g"} | options).update(frame).finalize()


def several(frame, **options):
    labels = range(frame["p"].dtype.shape[0])
    return sm.multiclass(**{"y_true": "y", "y_score": "p", "labels": labels} | options).update(frame).finalize()


def labelled(y, z, **options):
    task = sm.multiclass(y_true="y", y_pred="z", **{name: name for name in options})
    return task.update({"y": y, "z": z} | options).finalize()


def models(frame, **options):
    task = {"y_true": "y", "y_score": {"old": "p", "new": "q"}, "by": "g"} | options
    return sm.compare(sm.binary(**task).update(frame), models=("old", "new"))


def moved(before, after, task=sm.binary, **options):
    """The drift from some rows to others."""
    task_of = {"y_true": "y"} if task is sm.binary else {}
    sides = (task(**task_of | {"y_score": "p"} | options).update(rows) for rows in (before, after))
    return sm.drift(*sides)


def shifted(shift, rows=4_000, seed=1, only=True):
    """Scores whose odds are shifted, everywhere or where a condition holds."""
    odds = (P / (1 - P)).log() + shift
    return scored(rows, seed=seed).with_columns(p=pl.when(only).then(1 / (1 + (-odds).exp())).otherwise("p"))

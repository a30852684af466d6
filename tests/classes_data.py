"""Rows of several classes."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import streammetrics as sm

LABELS = ["cow", "ant", "cat", "dog"]


SCORES = {label: f"p_{label}" for label in LABELS}


DAYS = [dt.date(2024, 1, d) for d in (3, 1, 2)]


def exactly(value):
    return pytest.approx(value, rel=1e-12, abs=1e-15)


def predictions(seed=0, rows=400, digits=16):
    """Labels, probabilities (distinct, or of few values), predicted labels, weights and groups."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(len(LABELS), 0.6), rows).clip(1e-6)
    p /= p.sum(axis=1, keepdims=True)
    p = p if digits == 16 else np.floor(p * 10**digits) / 10**digits
    p[:, 0] = np.maximum(1 - p[:, 1:].sum(axis=1), 0)
    actual = np.where(rng.random(rows) < 0.5, p.argmax(axis=1), rng.integers(0, 4, rows))
    return pl.DataFrame(
        {
            "y": pl.Series(LABELS).gather(actual),
            **{SCORES[label]: p[:, i] for i, label in enumerate(LABELS)},
            "z": pl.Series([*LABELS, "bee"]).gather(rng.integers(0, 5, rows)),
            "w": rng.random(rows) + 0.1,
            "g": rng.integers(0, 2, rows),
        }
    )


def evaluated(frame, **options):
    return sm.multiclass(**{"y_true": "y"} | options).update(frame).finalize()

"""Rows and reports that charts show."""

import re

import numpy as np
import polars as pl

import streammetrics as sm
from streammetrics import charts

SIZE = 4_000


rng = np.random.default_rng(0)


LOGIT = rng.normal(-2, 1.5, SIZE)


P = 1 / (1 + np.exp(-LOGIT))


Y = rng.random(SIZE) < P


DATA = pl.DataFrame(
    {
        "row": np.arange(SIZE),
        "y": Y,
        "p": P,
        "q": 1 / (1 + np.exp(-LOGIT / 2 - rng.normal(0, 1, SIZE))),
        "g": rng.choice(["DE", "FR", "US"], SIZE),
        "day": pl.Series(rng.integers(0, 5, SIZE)).cast(pl.Int32),
    }
).with_columns(day=pl.date(2026, 1, 28) + pl.duration(days="day"))


def two_models(rng, rows, noise):
    """Rows with the scores of an old model and of a new one, which has less noise."""
    odds = rng.normal(-1, 1.3, rows)
    return {
        "y": rng.random(rows) < 1 / (1 + np.exp(-odds)),
        "old": 1 / (1 + np.exp(-odds - rng.normal(size=rows))),
        "new": 1 / (1 + np.exp(-odds - rng.normal(size=rows) * noise)),
    }


def binary(confidence=None, **options):
    return sm.binary(**{"y_true": "y", "y_score": "p"} | options).update(DATA).finalize(confidence=confidence)


def regression(**predictions):
    truth = rng.gamma(2, 10, 2_000)
    data = {"y": truth, **{name: truth + noise for name, noise in predictions.items()}}
    return sm.regression(y_true="y", y_pred={name: name for name in predictions}).update(data).finalize()


def layer(picture, kind):
    return next(found.frame for found in picture.layers if found.kind == kind)


def labels(picture):
    """The texts of a chart, first those along x."""
    return re.findall(">([^<>]+)</text>", charts.as_svg(picture, "c"))


def away(points, line):
    """How far each point is from a line, by trying every straight part of it."""
    start, end = line[:-1], line[1:]
    step = end - start
    square = np.maximum((step**2).sum(axis=1), 1e-300)
    along = np.clip(((points[:, None] - start) * step).sum(axis=2) / square, 0, 1)
    return np.sqrt((((start + along[:, :, None] * step) - points[:, None]) ** 2).sum(axis=2)).min(axis=1)


def heights(picture, name):
    """The edges and the heights of the bars of a series."""
    path = layer(picture, "line").filter(series=name)
    edges = path["x"].to_numpy()[::2]
    return np.append(edges[:-1], edges[-1] * (1 + 1e-12)), path["y"].to_numpy()[1:-1:2]

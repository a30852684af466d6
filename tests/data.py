"""Six data sets that most tests share, each made once. A test that needs other rows says why.

Each comes with the columns that a task reads, for example ``sm.binary(by="country", **CLICKS).update(clicks())``.
Rows are predicted by models of different quality, scores are skewed and have ties, and groups differ in size.
"""

from datetime import date, timedelta
from functools import cache

import numpy as np
import polars as pl

FIRST_DAY = date(2026, 1, 1)
CLICKS = {"y_true": "clicked", "y_score": "score"}
DIGITS = {"y_true": "digit", "y_score": {str(digit): f"p{digit}" for digit in range(10)}}
TOPICS = {
    "y_true": {topic: topic for topic in ("art", "law", "war")},
    "y_score": {topic: f"p_{topic}" for topic in ("art", "law", "war")},
}
DELIVERIES = {"y_true": "minutes", "y_pred": "forecast"}
VISITS = {"y_true": "bought", "y_score": "score", "sample_weight": "weight", "unit": "visitor"}
CANDIDATES = {"y_true": "clicked", "y_score": {"old": "old", "new": "new"}}


def _share(odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-odds))


@cache
def clicks() -> pl.DataFrame:
    """4,000 clicks by country and day: most rows are of DE, IN has few, and its scores are too low."""
    rng = np.random.default_rng(1)
    country = rng.choice(["DE", "FR", "IN"], 4_000, p=[0.6, 0.3, 0.1])
    odds = rng.normal(-1.5, 1.5, 4_000)
    return pl.DataFrame(
        {
            "clicked": rng.random(4_000) < _share(odds),
            "score": _share(odds + rng.normal(0, 0.5, 4_000) - (country == "IN")).round(3),
            "country": country,
            "day": pl.Series([FIRST_DAY + timedelta(days=n) for n in range(10)]).gather(rng.integers(0, 10, 4_000)),
        }
    )


@cache
def digits() -> pl.DataFrame:
    """2,000 images of digits: one probability per digit, and the predicted digit. 4 and 9 are confused."""
    rng = np.random.default_rng(2)
    digit = rng.integers(0, 10, 2_000)
    odds = rng.normal(0, 1, (2_000, 10)) + 3 * np.eye(10)[digit]
    odds[digit == 4, 9] += 1.5
    odds[digit == 9, 4] += 1.5
    probabilities = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    names = np.array([str(label) for label in range(10)])
    return pl.DataFrame(
        {"digit": names[digit], "predicted": names[probabilities.argmax(axis=1)]}
        | {f"p{label}": probabilities[:, label] for label in range(10)}
    )


@cache
def topics() -> pl.DataFrame:
    """1,000 articles with any of three topics, of which war is rare."""
    rng = np.random.default_rng(3)
    odds = {"art": rng.normal(0, 2, 1_000), "law": rng.normal(-1, 1, 1_000), "war": rng.normal(-4, 1, 1_000)}
    labels = {topic: rng.random(1_000) < _share(each) for topic, each in odds.items()}
    return pl.DataFrame(labels | {f"p_{topic}": _share(each) for topic, each in odds.items()})


@cache
def deliveries() -> pl.DataFrame:
    """3,000 deliveries by route: positive times, forecasts of two models, and errors with a heavy tail."""
    rng = np.random.default_rng(4)
    forecast = rng.gamma(4, 10, 3_000) + 5
    return pl.DataFrame(
        {
            "minutes": forecast * np.exp(0.1 * rng.standard_t(3, 3_000)),
            "forecast": forecast.round(1),
            "naive": np.full(3_000, 45.0),
            "route": rng.choice(["north", "south", "east"], 3_000),
        }
    )


@cache
def visits() -> pl.DataFrame:
    """3,000 visits of 400 visitors, whose rows are alike, with weights, some of them 0."""
    rng = np.random.default_rng(5)
    visitor = rng.integers(0, 400, 3_000)
    odds = rng.normal(-1, 1, 400)[visitor] + rng.normal(0, 0.5, 3_000)
    return pl.DataFrame(
        {
            "bought": rng.random(3_000) < _share(odds),
            "score": _share(odds + rng.normal(0, 0.5, 3_000)),
            "weight": rng.gamma(2, 1, 3_000).round(2) * (rng.random(3_000) < 0.9),
            "visitor": visitor,
            "shop": rng.choice(["web", "app"], 3_000),
        }
    )


@cache
def candidates() -> pl.DataFrame:
    """2,000 clicks with the scores of an old and a better new model, some of them equal, and some null."""
    rng = np.random.default_rng(6)
    odds = rng.normal(-1, 1.5, 2_000)
    old, new = (_share(odds + rng.normal(0, noise, 2_000)).round(3) for noise in (1.0, 0.4))
    return pl.DataFrame(
        {
            "clicked": rng.random(2_000) < _share(odds),
            "old": old,
            "new": np.where(rng.random(2_000) < 0.3, old, new),
            "partial": pl.Series(new).set(pl.Series(rng.random(2_000) < 0.1), None),
            "country": rng.choice(["DE", "FR"], 2_000),
        }
    )

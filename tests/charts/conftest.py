"""Fixtures of several files."""

import numpy as np
import pytest
from chart_data import DATA, binary, regression, rng

import streammetrics as sm


@pytest.fixture(scope="module")
def report():
    return binary(confidence=0.95, capacity=64)


@pytest.fixture(scope="module")
def models():
    return binary(y_score={"logistic": "p", "trees": "q"})


@pytest.fixture(scope="module")
def segmented():
    acc = sm.binary(y_true="y", y_score="p", by=["g", "day"], metrics=["rows", "roc_auc", "log_loss"]).update(DATA)
    return acc.finalize(confidence=0.95)


@pytest.fixture(scope="module")
def forecasts():
    return regression(near=rng.normal(0, 1, 2_000), far=rng.normal(1, 5, 2_000))


@pytest.fixture(scope="module")
def rare():
    """Rare positives, and a threshold that few of them reach."""
    random = np.random.default_rng(0)
    p = 1 / (1 + np.exp(7 - 1.4 * random.normal(size=200_000)))
    rows = {"y": random.random(len(p)) < p, "p": p}
    return sm.binary(y_true="y", y_score="p", thresholds=[0.07], capacity=512).update(rows).finalize()

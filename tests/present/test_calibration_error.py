"""The sentence on the cumulative calibration error above the charts of calibration."""

import numpy as np
import pytest

import streammetrics as sm
from streammetrics.html.calibration import cumulative_error

RNG = np.random.default_rng(2)
SCORE = RNG.random(5_000)
ROWS = {"y": RNG.random(5_000) < SCORE, "p": SCORE, "q": SCORE**2, "k": RNG.choice([*"ab"], 5_000)}


def sentence(acc, confidence=0.95):
    return cumulative_error(acc.update(ROWS).finalize(confidence=confidence))


def test_calibrated_and_other_scores():
    told = sentence(sm.binary(y_true="y", y_score={"good": "p", "bad": "q"}))
    good, bad = told.split("</p>")[:2]
    assert good.startswith("<p>Cumulative calibration error of good: 0.0")
    assert "(95% CI 0" in good
    assert "p = 0." in good
    assert bad.endswith("(p &lt; 0.001).")
    assert "CI" not in sentence(sm.binary(y_true="y", y_score="p"), confidence=None)


@pytest.mark.parametrize(
    "acc",
    [
        sm.regression(y_true="p", y_pred="q"),
        sm.multiclass(y_true="k", y_score={"a": "p", "b": "q"}, renormalize=True),
        sm.binary(y_true="y", y_score="p", domain="real"),
        sm.binary(y_true="y", y_pred="y"),
    ],
    ids=["regression", "classes", "margins", "labels"],
)
def test_without_it(acc):
    assert sentence(acc) == ""


@pytest.mark.parametrize("others", [{"sample_weight": "q"}, {"unit": "p"}], ids=str)
def test_weights_and_units(others):
    assert "Calibrated scores would have about" in sentence(sm.binary(y_true="y", y_score="p", **others))

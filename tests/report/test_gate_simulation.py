"""A gate passes by chance at most as often as it says: requirements whose margin is the true difference."""

import math

import numpy as np
import pytest
from false_passes import OF_ERRORS, SETTINGS, Setting, drawn, passes, power, truth

import streammetrics as sm

FEW_SAMPLES = [(setting, 400) for setting in (SETTINGS[0], SETTINGS[1], OF_ERRORS[0])]
MANY_SAMPLES = [pytest.param(s, s.samples, marks=pytest.mark.long) for s in (*SETTINGS, *OF_ERRORS)]


@pytest.mark.thorough
@pytest.mark.parametrize(("setting", "samples"), [*FEW_SAMPLES, *MANY_SAMPLES], ids=str)
def test_requirements_at_their_margin_rarely_hold(setting, samples):
    most = 0.05 + 3 * math.sqrt(0.05 * 0.95 / samples)  # significantly more than 5%
    assert {name: share for name, share in passes(setting, samples).items() if share > most} == {}


@pytest.mark.thorough
def test_better_models_are_found_about_as_often_as_by_the_usual_tests():
    found = power(SETTINGS[2], 300)
    for gate, test in (("accuracy better", "McNemar's test"), ("roc_auc better", "DeLong's test")):
        by_chance, undecided, passed = found[gate]
        assert (by_chance, passed) == pytest.approx((found[test][0], found[test][2]), abs=0.06)
        assert by_chance < 0.09
        assert undecided == 0


def test_the_truth_is_that_of_many_rows():
    rows = drawn(np.random.default_rng(0), Setting("many rows", 400_000, 1), 1, (1.2, 1.1))
    report = sm.binary(y_true="y", y_score="b").update({c: v.ravel() for c, v in rows.items()}).finalize()
    for metric, value in truth(1.1, 0.3).items():
        assert report[metric].value == pytest.approx(value, abs=0.005), metric

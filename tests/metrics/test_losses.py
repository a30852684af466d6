"""Losses and calibration: scikit-learn, brute force, textbook values."""

import numpy as np
import pytest
import sklearn.metrics as sk

import streammetrics as sm

rng = np.random.default_rng(0)
EDGES = np.array([0.0, 1.0, 0.29, 0.57, 0.1, 0.3, 0.7, 1 - 2**-53, 5e-324])
P = np.concatenate([rng.beta(0.5, 2, 500), EDGES.repeat(2)])
Y = rng.random(len(P)) < np.clip(P, 0.1, 0.9)
W = rng.random(len(P)) + 0.1


def report(weight=None, bins=10):
    acc = sm.Accumulator(
        sm.ProbabilityLoss(),
        sm.CalibrationBins(bins),
        y_true="y",
        y_score="p",
        sample_weight=None if weight is None else "w",
    )
    data = {"y": Y, "p": P} | ({} if weight is None else {"w": weight})
    return acc.update(data).finalize()


def test_losses_per_class_and_weighted_by_class():
    found = report()
    loss = -np.log(np.abs(np.clip(P, 1e-15, 1 - 1e-15) - ~Y))
    positive, negative = loss[Y].mean(), loss[~Y].mean()
    assert found["log_loss(label=positive)"].value == pytest.approx(positive, rel=1e-12)
    assert found["log_loss(label=negative)"].value == pytest.approx(negative, rel=1e-12)
    assert found["balanced_log_loss"].value == pytest.approx((positive + negative) / 2, rel=1e-12)
    assert found["log_loss(positive_weight=3)"].value == pytest.approx(np.average(loss, weights=1 + 2 * Y), rel=1e-12)
    brier = (P - Y) ** 2
    assert found["balanced_brier_score"].value == pytest.approx((brier[Y].mean() + brier[~Y].mean()) / 2, rel=1e-12)


def test_best_constant_and_skill():
    found = report()
    constant = np.full(len(Y), Y.mean())
    assert found["baseline_log_loss"].value == pytest.approx(sk.log_loss(Y, constant), rel=1e-12)
    assert found["baseline_brier_score"].value == pytest.approx(sk.brier_score_loss(Y, constant), rel=1e-12)
    skill = 1 - found["log_loss"].value / found["baseline_log_loss"].value
    assert found["log_loss_skill"].value == pytest.approx(skill, rel=1e-12)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_brier_decomposition_adds_up(weight):
    found = report(weight)
    parts = {n: found[f"brier_{n}"].value for n in ("reliability", "resolution", "uncertainty", "within_bin")}
    total = parts["reliability"] - parts["resolution"] + parts["uncertainty"] + parts["within_bin"]
    assert total == pytest.approx(found["brier_score"].value, rel=1e-12)

"""Losses and calibration: scikit-learn, brute force, textbook values."""

import numpy as np
import pytest
import sklearn.metrics as sk
from sklearn.calibration import calibration_curve

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


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_losses_equal_scikit_learn(weight):
    found = report(weight)
    clipped = np.clip(P, 1e-15, 1 - 1e-15)
    assert found["log_loss"].value == pytest.approx(sk.log_loss(Y, clipped, sample_weight=weight), rel=1e-12)
    assert found["brier_score"].value == pytest.approx(sk.brier_score_loss(Y, P, sample_weight=weight), rel=1e-12)


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


def test_textbook_log_loss():
    acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 1, 0, 0], "p": [0.9, 0.6, 0.1, 0.4]})
    assert acc.finalize()["log_loss"].value == pytest.approx(0.308093, abs=5e-7)


@pytest.mark.parametrize(("y", "p"), [([1, 0], [0.0, 1.0]), ([1, 0], [1.0, 0.0])])
def test_log_loss_is_finite_at_zero_and_one(y, p):
    value = sm.binary(y_true="y", y_score="p").update({"y": y, "p": p}).finalize()["log_loss"].value
    assert value == pytest.approx(sk.log_loss(y, np.clip(p, 1e-15, 1 - 1e-15)), rel=1e-9)


@pytest.mark.parametrize("bins", [1, 5, 10, 100])
def test_reliability_curve_equals_scikit_learn(bins):
    observed, predicted = calibration_curve(Y, P, n_bins=bins)
    curve = report(bins=bins).curve("calibration")
    np.testing.assert_allclose(curve["observed_rate"], observed, rtol=1e-12)
    np.testing.assert_allclose(curve["mean_score"], predicted, rtol=1e-12)
    assert curve["weight"].sum() == len(P)


def test_calibration_errors_by_brute_force():
    found = report()
    bins = np.maximum(np.searchsorted(np.linspace(0, 1, 11), P, side="left") - 1, 0)
    gaps = np.array([abs(P[bins == b].mean() - Y[bins == b].mean()) for b in np.unique(bins)])
    shares = np.array([(bins == b).mean() for b in np.unique(bins)])
    assert found["ece"].value == pytest.approx((gaps * shares).sum(), rel=1e-12)
    assert found["mce"].value == pytest.approx(gaps.max(), rel=1e-12)
    assert found["rmsce"].value == pytest.approx(np.sqrt((gaps**2 * shares).sum()), rel=1e-12)
    assert found["mean_score"].value == pytest.approx(P.mean(), rel=1e-12)
    assert found["observed_rate"].value == pytest.approx(Y.mean(), rel=1e-12)


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_brier_decomposition_adds_up(weight):
    found = report(weight)
    parts = {n: found[f"brier_{n}"].value for n in ("reliability", "resolution", "uncertainty", "within_bin")}
    total = parts["reliability"] - parts["resolution"] + parts["uncertainty"] + parts["within_bin"]
    assert total == pytest.approx(found["brier_score"].value, rel=1e-12)


def test_nothing_is_undefined():
    empty = sm.binary(y_true="y", y_score="p").finalize()
    for metric in ("log_loss", "brier_score", "balanced_log_loss", "baseline_log_loss", "log_loss_skill", "ece", "mce"):
        assert empty[metric].value is None
        assert empty[metric].note == "undefined: 0/0"


@pytest.mark.parametrize("seed", range(20))
def test_stays_in_its_range(seed):
    chance = np.random.default_rng(seed)
    size = chance.integers(1, 8)
    data = {"y": chance.random(size) < chance.random(), "p": np.round(chance.random(size), chance.integers(0, 4))}
    acc = sm.Accumulator(sm.ProbabilityLoss(), sm.CalibrationBins(4), y_true="y", y_score="p").update(data)
    report = acc.finalize()
    for metric in report.metrics:
        value = report[metric.name].value
        low, high = metric.range
        assert value is None or low - 1e-12 <= value <= high + 1e-12, metric

"""ECCE of correlated rows: its p-value by signs of the folds, bounds, groups, labels, and few units."""

import numpy as np
import pytest
from scipy.stats import norm

import streammetrics as sm

ALL = ["ecce", "expected_ecce", "ecce_p_value"]
FEW = "too few units, or expected positives or negatives"


def correlated(seed, number=2_000, size=10, shape=(2, 2), effect=0.5):
    """Calibrated scores, and labels with an effect of the unit. Rows of a unit have the same score."""
    random, u = np.random.default_rng(seed), np.arange(number) // size
    score, of_unit = random.beta(*shape, len(u))[u], random.normal(size=len(u))[u]
    label = norm.cdf(effect**0.5 * of_unit + (1 - effect) ** 0.5 * random.normal(size=number)) < score
    return {"y": label.astype(int), "p": score, "u": u}


def evaluated(data, confidence=None, **options):
    return sm.binary(y_true="y", y_score="p", unit="u", **options).update(data).finalize(ALL, confidence=confidence)


def test_p_value_is_the_share_of_signs():
    data = correlated(0, 300)
    report, order = evaluated(data), np.argsort(data["p"], kind="stable")
    of_units = sm.Accumulator(y_true="y", by="u", unit="u").update(data).state.groups.sort("u")
    folds, last = of_units["fold"].to_numpy()[data["u"]], np.append(np.diff(data["p"][order]) > 0, True)
    steps = np.where(folds[order] == np.arange(20)[:, None], (data["y"] - data["p"])[order], 0).cumsum(axis=1)[:, last]
    signs = np.random.default_rng(1).choice([-1, 1], (20_000, 20))
    sums = np.insert(signs @ steps, 0, 0, axis=1)
    ranges = sums.max(axis=1) - sums.min(axis=1)
    size = report["ecce"].value * len(order)
    assert report["ecce_p_value"].value == pytest.approx((ranges >= size).mean(), abs=0.05)
    assert report["expected_ecce"].value == pytest.approx(ranges.mean() / len(order), rel=0.05)


@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_of_coarse_bins_contain_the_exact_values(weighted):
    data = correlated(3, 2_000, size=2)
    options = {"sample_weight": "w"} if weighted else {}
    data["w"] = np.random.default_rng(0).choice([1.0, 3.0], 2_000)
    exact, coarse = evaluated(data, **options), evaluated(data, capacity=200, **options)
    for name in ALL:
        assert coarse[name].lower < exact[name].value < coarse[name].upper, name
        assert exact[name].lower == exact[name].upper


def test_the_scale_of_weights_does_not_matter():
    weight = np.random.default_rng(0).choice([1.0, 3.0], 2_000)
    one, other = (evaluated(correlated(3) | {"w": w}, 0.9, sample_weight="w") for w in (weight, weight / 1_024))
    assert one["ecce_p_value"].value is not None
    assert one.frame.equals(other.frame)


@pytest.mark.thorough
def test_few_units_or_rare_positives():
    for data in (correlated(5, 40), correlated(5, 2_000, shape=(1, 99)), correlated(5, 30, size=10)):
        report = evaluated(data, 0.95)
        assert report["ecce_p_value"].note == FEW or "expected positives" in report["ecce_p_value"].note
        assert report["ecce"].ci_lower is None
    assert evaluated(correlated(6), 0.95)["ecce"].ci_lower == 0
    assert evaluated({"y": [], "p": [], "u": []}, 0.95).frame["value"].to_list() == [None] * 3
    certain = correlated(6) | {"p": correlated(6)["y"].astype(float)}
    assert evaluated(certain, 0.95)["ecce"].ci_lower is None
    weightless = evaluated(correlated(6) | {"w": np.zeros(2_000)}, 0.95, sample_weight="w")
    assert weightless.frame["note"].to_list() == ["0/0"] * 3


def test_errors_are_found_however_small_the_p_value():
    data = correlated(7, 8_000)
    data["p"] = data["p"] ** 1.5
    report = evaluated(data, 0.999)
    assert report["ecce_p_value"].value == 1 / 8_192
    assert report["ecce"].ci_lower > 0

"""The probability of predicted labels is compared with how often they are right."""

import re

import numpy as np
import polars as pl
import pytest

import streammetrics as sm


def digits():
    """Digits, and their probabilities by a model that takes pixels for independent, and has seen other digits."""
    datasets, models = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.naive_bayes")
    pixels, y = datasets.load_digits(return_X_y=True)
    train = np.arange(len(y)) < 400
    p = models.GaussianNB().fit(pixels[train], y[train]).predict_proba(pixels[~train])
    return pl.DataFrame({"y": y[~train], "p": p})


def classes(rows, labels=3, spread=1.5, temperature=1.0, seed=0):
    """Labels, and their probabilities raised to a power and normalized: true ones if the temperature is 1."""
    generator = np.random.default_rng(seed)
    odds = generator.normal(0, spread, (rows, labels))
    true, stated = (np.exp(odds / t) for t in (1, temperature))
    y = (true.cumsum(axis=1) / true.sum(axis=1, keepdims=True) < generator.random((rows, 1))).sum(axis=1)
    return pl.DataFrame({"y": y, "p": stated / stated.sum(axis=1, keepdims=True)})


def several(frame, **others):
    labels = range(frame["p"].dtype.shape[0])
    return sm.multiclass(**{"y_true": "y", "y_score": "p", "labels": labels} | others).update(frame).finalize()


def the(report, code="SM100"):
    return [finding for finding in report.findings() if finding.code == code]


def numbers(frame, least=0.5):
    """The mean probability of predicted labels, and how often they are right, where it is above a limit."""
    p = frame["p"].to_numpy()
    sure = p.max(axis=1) > least
    return p.max(axis=1)[sure].mean(), (p.argmax(axis=1) == frame["y"].to_numpy())[sure].mean()


def test_overconfident_readings_of_digits_are_the_first_finding():
    frame = digits()
    stated, right = numbers(frame)
    assert stated > 0.97 > 0.9 > right
    found, *others = several(frame).findings()
    assert (found.code, found.severity) == ("SM100", "bad")
    sentence = "Overconfident: labels with a probability above 50% have {:.2%} on average, but are right in {:.2%} of "
    assert str(found).startswith(sentence.format(stated, right))
    assert "SM105" not in [finding.code for finding in others]


def test_underconfident_labels_are_found():
    [found] = the(several(classes(4_000, temperature=2)))
    assert str(found).startswith("Underconfident: ")
    assert found.ci_lower > 1.05


@pytest.mark.parametrize("bins", [10, 1, 2, 3, 15])
def test_bins_above_a_half_hold_predicted_labels_only(bins):
    frame = classes(4_000, temperature=0.4)
    found = the(several(frame, calibration_bins=bins))
    if bins == 1:
        assert found == []
        return
    least = -(-bins // 2) / bins
    stated, right = numbers(frame, least)
    said = re.findall(r"[\d.]+%", str(found[0]))
    assert said == [f"{least:.0%}", f"{stated:.2%}", f"{right:.2%}"]
    assert found[0].value == pytest.approx((1 - stated) / (1 - right))


def test_certain_labels_that_are_wrong_are_found():
    frame = classes(4_000).with_columns(p=pl.col("p").arr.to_list())
    certain = frame.with_columns(p=pl.col("p").list.eval((pl.element() == pl.element().max()).cast(pl.Float64)))
    [found] = the(several(certain.with_columns(pl.col("p").list.to_array(3))))
    assert "have 100% on average" in str(found)
    assert found.severity == "bad"


@pytest.mark.parametrize("others", [{"sample_weight": "w"}, {"unit": "u"}, {"by": "g"}])
def test_labels_with_weights_units_and_groups(others):
    frame = classes(4_000, temperature=0.4)
    extra = {"w": 0.1, "u": pl.int_range(pl.len()) // 2, "g": pl.int_range(pl.len()) % 3}
    [found] = the(several(frame.with_columns(**extra), **others))
    [plain] = the(several(frame))
    assert found.value == pytest.approx(plain.value)
    assert found.where == {}


def test_models_are_named():
    frame = classes(4_000).with_columns(q=classes(4_000, temperature=0.4)["p"])
    [found] = the(several(frame, y_score={"good": "p", "bad": "q"}, labels=range(3)))
    assert found.where == {"model": "bad"}
    assert str(found).startswith("bad: overconfident: ")


def test_labels_of_calibrated_probabilities_are_no_finding():
    assert the(several(classes(4_000))) == []


def test_several_labels_of_a_row_have_no_predicted_label():
    p = np.full(2_000, 0.9)
    acc = sm.multilabel(y_true={"a": "y", "b": "y"}, y_score={"a": "p", "b": "p"})
    assert the(acc.update({"y": np.arange(2_000) % 2, "p": p}).finalize()) == []

"""Displays equal those that scikit-learn makes from the rows themselves."""

import sys

import numpy as np
import pytest
from sklearn import calibration, metrics

import streammetrics as sm

SIZE = 2_000
rng = np.random.default_rng(0)
P = rng.beta(1, 2, SIZE).round(2)
Y = rng.random(SIZE) < P


@pytest.fixture(scope="module")
def report():
    return sm.binary(y_true="y", y_score="p").update({"y": Y, "p": P}).finalize()


def test_roc(report):
    found, expected = report.to_display("roc"), metrics.roc_curve(Y, P, drop_intermediate=False)
    assert isinstance(found, metrics.RocCurveDisplay)
    np.testing.assert_allclose((found.fpr, found.tpr), expected[:2])
    assert found.roc_auc == pytest.approx(metrics.roc_auc_score(Y, P))


def test_pr(report):
    found, (precision, recall, _) = report.to_display("pr"), metrics.precision_recall_curve(Y, P)
    np.testing.assert_allclose((found.precision, found.recall), (precision, recall))
    assert found.average_precision == pytest.approx(metrics.average_precision_score(Y, P))
    assert found.prevalence_pos_label == pytest.approx(Y.mean())


def test_calibration(report):
    found, expected = report.to_display("calibration"), calibration.calibration_curve(Y, P, n_bins=10)
    np.testing.assert_allclose((found.prob_true, found.prob_pred), expected)


def test_det(report):
    found, (fpr, fnr, _) = report.to_display("det"), metrics.det_curve(Y, P, drop_intermediate=False)
    ours = set(zip(found.fpr.round(9), found.fnr.round(9), strict=True))
    assert set(zip(fpr.round(9), fnr.round(9), strict=True)) <= ours


def test_confusion(report):
    found = report.to_display("confusion")
    assert found.confusion_matrix.tolist() == metrics.confusion_matrix(Y, P >= 0.5).tolist()
    labels, guess = rng.choice(["a", "b", "c"], (2, 100))
    several = sm.multiclass(y_true="t", y_pred="z").update({"t": labels, "z": guess}).finalize()
    assert (several.to_display("confusion").confusion_matrix == metrics.confusion_matrix(labels, guess)).all()
    assert several.to_display("confusion").display_labels == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["roc", "pr", "det", "calibration", "confusion"])
def test_they_are_drawn(report, kind):
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed").use("Agg")
    assert report.to_display(kind).plot().ax_ is not None


def test_one_curve_is_needed(report):
    two = sm.binary(y_true="y", y_score={"a": "p", "b": "p"}).update({"y": Y, "p": P}).finalize()
    with pytest.raises(sm.ReportError, match=r"2 curves match\. Select one with: model"):
        two.to_display("roc")
    assert two.to_display("roc", model="a").roc_auc == report["roc_auc"].value
    with pytest.raises(sm.ReportError, match="Displays: roc, pr, det, calibration, confusion"):
        report.to_display("lift")


def test_without_scikit_learn_it_is_named(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(sm.SpecificationError, match="pip install scikit-learn"):
        report.to_display("roc")

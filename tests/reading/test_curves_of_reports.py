"""Curves and operating points of a report, against scikit-learn and by hand."""

import math

import numpy as np
import polars as pl
import pytest
from data import clicks
from sklearn import metrics as sk

import streammetrics as sm

LABEL, SCORE = [1, 1, 1, 0, 0], [0.3, 0.2, 0.7, 0.6, 0.5]


def report(label=LABEL, score=SCORE, **options):
    return sm.binary(y_true="y", y_score="p", **options).update({"y": label, "p": score}).finalize()


def point(report, **options):
    return report.operating_point(**options).row(0, named=True)


@pytest.mark.parametrize(("label", "score"), [(LABEL, SCORE), (clicks()["clicked"][:300], clicks()["score"][:300])])
def test_curves_are_those_of_scikit_learn(label, score):
    label, score = (pl.Series(x).to_numpy() for x in (label, score))
    found = {kind: report(label, score).curve(kind) for kind in ("roc", "pr", "det", "lift")}
    fpr, tpr, thresholds = sk.roc_curve(label, score, drop_intermediate=False)
    assert found["roc"]["fpr"].to_list() == pytest.approx(fpr)
    assert found["roc"]["recall"].to_list() == pytest.approx(tpr)
    assert found["roc"]["threshold"].to_list() == thresholds.tolist()
    precision, recall, _ = sk.precision_recall_curve(label, score)
    assert found["pr"]["recall"].to_list() == pytest.approx(recall[::-1])
    assert found["pr"]["precision"][0] is None
    assert found["pr"]["precision"][1:].to_list() == pytest.approx(precision[-2::-1])
    assert found["det"]["fpr"].to_list() == pytest.approx(fpr)
    assert found["det"]["fnr"].to_list() == pytest.approx(1 - tpr)
    order = np.sort(np.unique(score))[::-1]
    targeted = np.array([0, *((score >= t).mean() for t in order)])
    assert found["lift"]["targeted"].to_list() == pytest.approx(targeted)
    assert found["lift"]["gain"].to_list() == pytest.approx(tpr)
    assert found["lift"]["lift"][0] is None
    assert found["lift"]["lift"][1:].to_list() == pytest.approx(tpr[1:] / targeted[1:])


def test_operating_points():
    best = point(report(), maximize="f1")
    assert (best["threshold"], best["tp"], best["fp"], best["fn"], best["tn"]) == (0.2, 3, 2, 0, 0)
    assert best["lower"] == best["value"] == best["upper"] == 0.75
    for options, threshold in (
        ({"maximize": "recall", "subject_to": "fpr <= 0.01"}, 0.7),
        ({"minimize": sm.metrics.cost(fp=1, fn=10)}, 0.2),
        ({"minimize": "cost(fp=10, fn=1)"}, 0.7),
        ({"maximize": "recall", "subject_to": "fpr >= 0.5 and recall < .5"}, 0.6),  # of equal ones, the highest
        ({"minimize": "fpr"}, math.inf),
    ):
        assert point(report(), **options)["threshold"] == threshold
    assert set(point(report(), maximize="f1", subject_to="recall > 0.9 and fpr < 0.5").values()) == {None}
    assert point(report([0] * 5), maximize="mcc")["value"] is None
    assert report([], []).operating_point(maximize="f1")["threshold"].drop_nulls().is_empty()
    assert all(report([], []).curve(kind).is_empty() for kind in ("roc", "pr", "det", "lift"))
    assert point(report(score=[0.5] * 5), maximize="mcc")["value"] == 0


def test_thresholds_of_a_curve_differ_also_if_a_score_is_infinite():
    """No threshold is above an infinite score, so none predicts no positives."""
    found = report([1, 0, 0, 1], [math.inf, 0.5, math.inf, -math.inf], domain="real", thresholds=[math.inf])
    for kind in ("roc", "pr", "det", "lift"):
        curve = found.curve(kind)
        assert curve["threshold"].to_list() == [None, math.inf, 0.5, -math.inf]
        assert curve.select("tp", "fp").rows() == [(0, 0), (1, 1), (1, 2), (2, 2)]
    recall = found.curve("recall")
    assert recall.select("threshold", "value").rows() == [(math.inf, 0.5), (0.5, 0.5), (-math.inf, 1.0)]
    assert recall["value"][0] == found.get("recall", threshold=math.inf).value
    best = found.operating_point(minimize="fpr")
    assert best.select("threshold", "fp", "value", "lower", "upper").row(0) == (math.inf, 1, 0.5, 0.5, 0.5)
    assert found.operating_point(maximize="recall", subject_to="fpr <= 0.1")["threshold"].to_list() == [None]

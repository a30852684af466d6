import math

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import streammetrics as sm
from streammetrics.errors import MetricError
from streammetrics.metrics.ranking import pr_auc
from streammetrics.metrics.ratios import cost
from streammetrics.reading.curves import CURVES, curve, operating_point, threshold_table

BINS = {"low": [0.2, 0.3, 0.5, 0.6, 0.7], "neg": [0, 0, 1, 1, 0], "pos": [1, 1, 0, 0, 1]}
FIVE_ROWS = pl.DataFrame({"group": [0] * 5, **BINS})
GROUPS = pl.concat([FIVE_ROWS.with_columns(group=pl.lit(number)) for number in (1, 0)])
LABEL, SCORE = [1, 1, 1, 0, 0], [0.3, 0.2, 0.7, 0.6, 0.5]


def point(table=FIVE_ROWS, **options):
    return operating_point({"tied": table}, **options).drop("group").row(0, named=True)


def test_threshold_table():
    assert threshold_table(FIVE_ROWS).rows() == [
        (0, math.inf, 0, 0, 3, 2),
        (0, 0.7, 1, 0, 2, 2),
        (0, 0.6, 1, 1, 2, 1),
        (0, 0.5, 1, 2, 2, 0),
        (0, 0.3, 2, 2, 1, 0),
        (0, 0.2, 3, 2, 0, 0),
    ]


def test_groups_keep_their_order():
    table = threshold_table(GROUPS)
    assert table["group"].to_list() == [1] * 6 + [0] * 6
    assert table.filter(group=0).equals(threshold_table(FIVE_ROWS))
    assert operating_point({"tied": GROUPS}, maximize="f1")["group"].to_list() == [1, 0]


def test_roc_curve_equals_scikit_learn():
    fpr, tpr, thresholds = sk.roc_curve(LABEL, SCORE, drop_intermediate=False)
    found = curve("roc", FIVE_ROWS)
    assert found["fpr"].to_list() == pytest.approx(fpr)
    assert found["recall"].to_list() == pytest.approx(tpr)
    assert found["threshold"].to_list() == thresholds.tolist()


def test_pr_curve_equals_scikit_learn():
    precision, recall, _ = sk.precision_recall_curve(LABEL, SCORE)
    found = curve("pr", FIVE_ROWS)
    assert found["recall"].to_list() == pytest.approx(recall[::-1])
    assert found["precision"][0] is None
    assert found["precision"][1:].to_list() == pytest.approx(precision[-2::-1])


def test_det_curve_equals_scikit_learn():
    fpr, fnr, _ = sk.det_curve(LABEL, SCORE, drop_intermediate=False)
    found = curve("det", FIVE_ROWS)
    inner = found.filter(pl.col("threshold").is_in([0.7, 0.6, 0.5]))
    ours = set(zip(inner["fpr"].to_list(), inner["fnr"].round(12).to_list(), strict=True))
    assert ours <= set(zip(fpr.tolist(), fnr.round(12).tolist(), strict=True))


def test_lift_curve():
    found = curve("lift", FIVE_ROWS)
    assert found["targeted"].to_list() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert found["gain"].to_list() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 2 / 3, 1])
    assert found["lift"].to_list() == [None, *map(pytest.approx, (5 / 3, 5 / 6, 5 / 9, 5 / 6, 1))]


def test_pr_auc_is_the_area_below_the_interpolation_of_davis_and_goadrich():
    """True and false positives grow in proportion from one threshold to the next."""
    counts = threshold_table(FIVE_ROWS).select("tp", "fp").to_numpy()
    steps = np.linspace(0, len(counts) - 1, 100_001)[1:]
    tp, fp = (np.interp(steps, range(len(counts)), column) for column in counts.T)
    area = np.trapezoid(np.append(1, tp / (tp + fp)), np.append(0, tp / tp[-1]))
    assert pr_auc(FIVE_ROWS["neg"], FIVE_ROWS["pos"]) == pytest.approx(area, rel=1e-6)


@pytest.mark.parametrize("kind", CURVES)
def test_without_rows_a_curve_has_no_points(kind):
    assert curve(kind, FIVE_ROWS.clear()).is_empty()


def test_operating_points():
    best = point(maximize="f1")
    assert (best["threshold"], best["tp"], best["fp"], best["fn"], best["tn"]) == (0.2, 3, 2, 0, 0)
    assert best["lower"] == best["value"] == best["upper"] == 0.75
    assert point(maximize="recall", where="fpr <= 0.01")["threshold"] == 0.7
    assert point(minimize=cost(fp=1, fn=10))["threshold"] == 0.2
    assert point(minimize="cost(fp=10, fn=1)")["threshold"] == 0.7


def test_of_equal_thresholds_the_highest_is_taken():
    assert point(maximize="recall", where="fpr >= 0.5 and recall < .5")["threshold"] == 0.6
    assert point(minimize="fpr")["threshold"] == math.inf


def test_nothing_meets_the_constraints():
    assert set(point(maximize="f1", where="recall > 0.9 and fpr < 0.5").values()) == {None}
    assert operating_point({"tied": FIVE_ROWS.clear()}, maximize="f1").is_empty()


def test_a_single_class_has_no_best_mcc():
    assert point(FIVE_ROWS.with_columns(pos=0), maximize="mcc")["value"] is None
    assert point(FIVE_ROWS.with_columns(low=0.5).group_by("group", "low").sum(), maximize="mcc")["value"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either maximize= or minimize="),
        ({"maximize": "f1", "minimize": "cost"}, "either maximize= or minimize="),
        ({"maximize": "predicted_positive_rate"}, "no preferred direction"),
        ({"minimize": "recall"}, "better when high. Pass maximize="),
        ({"maximize": "roc_auc"}, "cannot be computed from"),
        ({"maximize": "f1", "where": "fpr = 0.1"}, "as a requirement"),
        ({"maximize": "f1", "where": "fpr <= low"}, "as a requirement"),
        ({"maximize": "f1", "where": "fprr <= 0.1"}, "Did you mean 'fpr"),
    ],
)
def test_unusable_objectives_and_constraints(options, message):
    with pytest.raises(MetricError, match=message):
        point(**options)


def test_thresholds_of_a_curve_differ_also_if_a_score_is_infinite():
    """No threshold is above an infinite score, so none predicts no positives."""
    rows = {"y": [1, 0, 0, 1], "p": [math.inf, 0.5, math.inf, -math.inf]}
    report = sm.binary(y_true="y", y_score="p", domain="real", thresholds=[math.inf]).update(rows).finalize()
    for kind in ("roc", "pr", "det", "lift"):
        curve = report.curve(kind)
        assert curve["threshold"].to_list() == [None, math.inf, 0.5, -math.inf]
        assert curve.select("tp", "fp").rows() == [(0, 0), (1, 1), (1, 2), (2, 2)]
    recall = report.curve("recall")
    assert recall.select("threshold", "value").rows() == [(math.inf, 0.5), (0.5, 0.5), (-math.inf, 1.0)]
    assert recall["value"][0] == report.get("recall", threshold=math.inf).value
    point = report.operating_point(minimize="fpr")
    assert point.select("threshold", "fp", "value", "lower", "upper").row(0) == (math.inf, 1, 0.5, 0.5, 0.5)
    assert report.operating_point(maximize="recall", where="fpr <= 0.1")["threshold"].to_list() == [None]

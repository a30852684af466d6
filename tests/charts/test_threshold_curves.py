"""Metrics over the threshold: values are exact, bounds contain those inside bins, and the chart shows both."""

import math

import numpy as np
import polars as pl
import pytest
from chart_data import P, Y, away, binary, layer
from sklearn import metrics as sk

import streammetrics as sm
from streammetrics import charts
from streammetrics.charts.thinning import HALF_A_PIXEL
from streammetrics.intervals.proportions import CELLS
from streammetrics.metrics import declared_metrics

OF_COUNTS = [metric for metric in declared_metrics() if {*metric.columns} <= {*CELLS}]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bounds_of_a_bin_contain_each_metric_at_all_thresholds_inside(weighted):
    """At every score, of bins that hold hundreds."""
    weights = {"sample_weight": pl.col("q").alias("w")} if weighted else {}
    coarse, fine = (binary(capacity=capacity, **weights) for capacity in (72, 1 << 20))
    for metric in OF_COUNTS:
        bins, scores = (report.curve(metric).sort("threshold") for report in (coarse, fine))
        inside = scores.drop_nulls("value").join_asof(bins.select("threshold", "lower", "upper"), on="threshold")
        inside = inside.drop_nulls("lower")
        assert inside.height > 1000, metric
        assert (inside["lower"] <= inside["value"] + 1e-9).all(), metric
        assert (inside["value"] <= inside["upper"] + 1e-9).all(), metric
        exact = bins.join(scores, on="threshold")
        near = pl.col("value").is_close("value_right", abs_tol=1e-9).fill_null(pl.col("value_right").is_null())
        assert exact.select(near).to_series().all(), metric


def test_a_curve_is_the_metric_at_each_threshold():
    curve = binary().curve("f1").filter(pl.col("threshold").is_finite())
    at = curve.sample(20, seed=0)
    assert at["value"].to_list() == pytest.approx([sk.f1_score(Y, t <= P) for t in at["threshold"]])
    assert curve["value"].max() == binary().operating_point(maximize="f1")["value"].item()


def test_few_scores_have_no_bounds_other_than_the_value():
    rows = {"y": [1, 0, 1, 1], "p": [0.9, 0.2, 0.4, 0.2]}
    curve = sm.binary(y_true="y", y_score="p").update(rows).finalize().curve(sm.metrics.recall)
    assert curve.select("threshold", "value", "lower", "upper").rows() == [
        (t, v, v, v) for t, v in ((math.inf, 0.0), (0.9, 1 / 3), (0.4, 2 / 3), (0.2, 1.0))
    ]


def test_curves_keep_groups_and_labels_apart():
    report = binary(by="g")
    whole = report.curve("f1")
    assert whole.filter(g="DE").equals(report.curve("f1", g="DE"))
    assert whole.columns == ["g", "threshold", "tp", "fp", "fn", "tn", "value", "lower", "upper"]
    rows = {"y": ["a", "b", "c"], "p": [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]]}
    labels = sm.multiclass(y_true="y", y_score="p", labels=["a", "b", "c"]).update(rows).finalize()
    assert labels.curve("recall").filter(label="c", threshold=0.8)["value"].item() == 1


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (
            "f11",
            r"Unknown metric 'f11'\. Did you mean .*Curves: roc, pr, .*, and confusion-count metrics such as f1\.$",
        ),
        ("roc_auc", r"^Metric 'roc_auc' cannot be computed from \(tp, fp, fn, tn\)\."),
        ("f1(average=macro)", r"cannot be computed from"),
    ],
)
def test_curves_of_other_metrics_are_refused(metric, message):
    with pytest.raises(sm.ReportError, match=message):
        binary().curve(metric)


@pytest.mark.parametrize("capacity", [64, 1 << 20])
def test_lines_pass_all_thresholds_and_bands_hold_the_bounds(capacity):
    report = binary(capacity=capacity)
    picture = charts.thresholds(report, ["precision", "recall"])
    for metric, name in (("precision", "Precision"), ("recall", "Recall")):
        points = report.curve(metric).drop_nulls().filter(pl.col("threshold").is_between(picture.x.low, picture.x.high))
        line = layer(picture, "line").filter(series=name)
        places, drawn = (
            np.column_stack([picture.x.place(f[x]), f[y]])
            for f, x, y in ((points, "threshold", "value"), (line, "x", "y"))
        )
        assert away(places, drawn).max() <= HALF_A_PIXEL * (1 + 1e-9)
        assert line["x"].is_sorted()
    assert any(found.kind == "band" for found in picture.layers) == (capacity == 64)
    assert ("certified" in picture.caption) == (capacity == 64)


def test_costs_have_a_scale_of_their_own():
    picture = charts.thresholds(binary(), ["recall", "cost(fp=1, fn=10)", "f1"])
    assert set(layer(picture, "line")["series"]) == {"Recall", "F1 score"}
    assert set(layer(picture.below, "line")["series"]) == {"Cost (fp=1, fn=10)"}
    assert (picture.y.low, picture.y.high) == (0, 1)
    assert picture.series == picture.below.series  # so that they share a legend
    alone = charts.thresholds(binary(), "cost(fp=1, fn=10)")
    assert alone.below is None
    assert alone.caption == "Lower is better."


def test_thresholds_of_the_report_are_marked_or_those_given():
    report = binary()
    for points, at in ((None, 0.5), (best := report.operating_point(maximize="f1"), best["threshold"].item())):
        picture = charts.thresholds(report, points=points)
        assert layer(picture, "reference")["x"].to_list() == [at, at]
        assert f"(dotted: {at:.4g})" in picture.x.title
        dots = dict(layer(picture, "dot").select("series", "y").rows())
        assert dots["F1 score"] == pytest.approx(report.get("f1", threshold=at).value)
    far = charts.thresholds(binary(thresholds=[0.9999999]))
    assert far.x.high == 0.9999999
    assert (
        charts.thresholds(binary(thresholds=np.linspace(0.1, 0.9, 5))).x.title == "Threshold (dotted: 0.1, 0.3, 0.5, …)"
    )


def test_one_metric_has_a_line_per_model_and_several_need_one_model(models):
    assert charts.thresholds(models, "f1").series == ("logistic", "trees")
    assert charts.thresholds(models, ["f1", "recall"], model="trees").series == ("F1 score", "Recall")
    with pytest.raises(sm.ReportError, match=r"^2 curves match\. Select one with: model\.$"):
        charts.thresholds(models)
    with pytest.raises(sm.ReportError, match="1 to 6 metrics, got 0"):
        charts.thresholds(models, [])
    both = charts.Together({"one": binary(), "other": binary(y_score="q")})
    assert charts.thresholds(both, "recall").series == ("one", "other")

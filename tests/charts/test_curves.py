"""Lines, bands, dots, and bars are the rows of the report's frames, and fewer points make the same picture."""

import math
import re

import numpy as np
import polars as pl
import pytest
from data import clicks, deliveries
from drawn import HALF_A_PIXEL, away, clicked, of_models, scale
from sklearn import metrics as sk

import streammetrics as sm

CLICKED, SCORE = clicks()["clicked"].to_numpy(), clicks()["score"].to_numpy()


def within(point, polygon):
    """Whether a point is inside of a polygon: a ray to the right crosses its border an odd number of times."""
    (x, y), (x1, y1), (x2, y2) = point, polygon.T, np.roll(polygon, -1, axis=0).T
    crossing = (y1 > y) != (y2 > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = x1 + (y - y1) / (y2 - y1) * (x2 - x1)
    return (crossing & (at > x)).sum() % 2 == 1


CURVES = {
    "roc": ("roc", "fpr", "recall"),
    "pr": ("pr", "recall", "precision"),
    "gain": ("lift", "targeted", "gain"),
    "lift": ("lift", "targeted", "lift"),
}


@pytest.mark.thorough
def test_lines_pass_all_points_of_the_curve_with_fewer():
    for capacity in (None, 64):
        report = of_models(capacity=capacity)
        for chart, (curve, x, y) in CURVES.items():
            drawn = getattr(report.plot, chart)()
            assert {*drawn.series} == {"old", "new"}
            low, high = drawn.y["scale"]["domain"]
            for name in drawn.series:
                rows = report.curve(curve).filter(model=name).drop_nulls([x, y]).filter(pl.col(y) <= high)
                rows = rows.filter(pl.col("targeted") >= 1e-3) if chart == "lift" else rows
                points, line = rows.select(x, y).to_numpy(), drawn.points("line", name)
                points, line = (places / [1, high - low] for places in (points, line))
                assert away(points, line).max() <= HALF_A_PIXEL * (1 + 1e-9), chart
                assert np.median(away(line, points)) < 0.01
                if capacity is None:
                    assert len(line) < 0.8 * len(points)
    rows = {"y": np.arange(20_000) * 7919 % 20_000 < np.arange(20_000), "p": np.linspace(0, 1, 20_000)}
    smooth = sm.binary(y_true="y", y_score="p", capacity=1 << 16).update(rows).finalize().plot.roc()
    assert len(smooth.points("line")) < 200


def test_the_true_curve_lies_within_the_certified_band():
    coarse, exact = clicked(capacity=16), clicked()
    for chart, (curve, x, y) in list(CURVES.items())[:3]:
        band = getattr(coarse.plot, chart)().points("band")
        truth = exact.curve(curve).drop_nulls([x, y]).select(x, y).to_numpy()[::5]
        inside = np.array([within(point, band) for point in truth])
        assert (inside | (away(truth, np.vstack([band, band[:1]])) <= 2 * HALF_A_PIXEL)).all()
        assert inside.mean() > 0.5
        assert "band" not in getattr(exact.plot, chart)().layers
        for report, banded in ((coarse, True), (exact, False)):
            assert ("shaded band" in getattr(report.plot, chart)().caption) == banded


def test_a_metric_over_the_threshold_is_that_of_the_rows():
    report = clicked(by="country")
    whole = report.curve("f1")
    assert whole.columns == ["country", "threshold", "tp", "fp", "fn", "tn", "value", "lower", "upper"]
    assert whole.filter(country="DE").equals(report.curve("f1", country="DE"))
    curve = report.rollup().curve("f1").filter(pl.col("threshold").is_finite())
    at = curve.sample(20, seed=0)
    assert at["value"].to_list() == pytest.approx([sk.f1_score(CLICKED, t <= SCORE) for t in at["threshold"]])
    assert curve["value"].max() == report.rollup().operating_point(maximize="f1")["value"].item()
    few = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1, 1], "p": [0.9, 0.2, 0.4, 0.2]}).finalize()
    rows = few.curve(sm.metrics.recall).select("threshold", "value", "lower", "upper").rows()
    assert rows == [(t, v, v, v) for t, v in ((math.inf, 0.0), (0.9, 1 / 3), (0.4, 2 / 3), (0.2, 1.0))]
    rows = {"y": ["a", "b", "c"], "p": [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]]}
    labels = sm.multiclass(y_true="y", y_score="p", labels=["a", "b", "c"]).update(rows).finalize()
    assert labels.curve("recall").filter(label="c", threshold=0.8)["value"].item() == 1


def test_metrics_by_threshold_pass_their_curves_and_mark_thresholds():
    for capacity in (64, None):
        report = clicked(capacity=capacity)
        drawn = report.plot.thresholds(["precision", "recall"])
        low, high = drawn.x["scale"]["domain"]
        size = np.array([high - low, 1])
        for metric in ("precision", "recall"):
            rows = report.curve(metric).drop_nulls().filter(pl.col("threshold").is_between(low, high, "none"))
            line = drawn.points("line", metric.capitalize())
            assert away(rows.select("threshold", "value").to_numpy() / size, line / size).max() <= HALF_A_PIXEL * 1.01
            assert (np.diff(line[:, 0]) >= 0).all()
        assert ("band" in drawn.layers) == ("certified" in drawn.caption) == (capacity == 64)
    best = report.operating_point(maximize="f1")
    for points, at in ((None, 0.5), (best, best["threshold"].item())):
        drawn = report.plot.thresholds(points=points)
        assert drawn.points("reference")[:, 0].tolist() == [at, at]
        assert f"{at:.4g}" in drawn.x["title"]
        [[x, y]] = drawn.points("dot", "F1 score")
        assert (x, y) == (at, pytest.approx(report.get("f1", threshold=at).value))
    many = clicked(thresholds=[*np.linspace(0.1, 0.9, 5), 0.9999999]).plot.thresholds()
    assert many.x["scale"]["domain"][1] == 0.9999999
    assert many.x["title"].endswith("0.1, 0.3, 0.5, …)")


def test_metrics_of_other_ranges_have_an_axis_below():
    drawn = clicked().plot.thresholds(["recall", "cost(fp=1, fn=10)", "f1"])
    assert set(drawn.rows("line")["series"]) == {"Recall", "F1 score"}
    assert set(drawn.below.rows("line")["series"]) == {"Cost (fp=1, fn=10)"}
    assert drawn.y["scale"]["domain"] == [0, 1]
    assert drawn.series == drawn.below.series  # so that they share a legend
    assert clicked().plot.thresholds("cost(fp=1, fn=10)").below is None
    assert of_models().plot.thresholds("f1").series == ["old", "new"]
    assert of_models().plot.thresholds(["f1", "recall"], model="new").series == ["F1 score", "Recall"]


def bars(drawn, name):
    """The edges and the heights of the bars of a series."""
    path = drawn.points("line", name)
    edges = path[::2, 0]
    return np.append(edges[:-1], edges[-1] * (1 + 1e-12)), path[1:-1:2, 1]


def test_bars_hold_the_rows_with_their_scores():
    drawn = clicked(capacity=1 << 16).plot.scores()
    assert drawn.series == ["negatives", "positives"]
    for name, scores in (("positives", SCORE[CLICKED]), ("negatives", SCORE[~CLICKED])):
        edges, heights = bars(drawn, name)
        np.testing.assert_allclose(heights, np.histogram(scores, edges)[0] / len(scores), atol=0.03)
        assert 0.97 < heights.sum() <= 1 + 1e-9
    assert {scale(drawn.x), scale(drawn.y)} == {"linear"}
    unlabelled = sm.predictions(y_score="score").update(clicks()).finalize().plot.scores()
    assert {*unlabelled.rows("line")["series"]} == {"all rows"}


def test_coarse_bins_are_spread_over_the_bars_that_they_span():
    rng = np.random.default_rng(0)  # smooth scores in groups, whose bins differ from those of the total
    p, y = rng.beta(2, 8, 100_000), rng.random(100_000) < 0.3
    batch = pl.DataFrame({"y": y, "p": p, "g": np.arange(len(p)) % 200})
    report = sm.binary(y_true="y", y_score="p", by="g").update(batch).finalize().rollup()
    for name, scores in (("positives", p[y]), ("negatives", p[~y])):
        edges, heights = bars(report.plot.scores(), name)
        np.testing.assert_allclose(heights, np.histogram(scores, edges)[0] / len(scores), atol=0.002)
    error = sm.regression(y_true="t", y_pred="p", capacity=256).update(batch.select("p", t=pl.lit(0.0))).finalize()
    path = error.plot.errors().rows("line").select("x", "y").to_numpy()
    edges, heights = np.append(path[::2, 0][:-1], path[-1, 0] + 1e-12), path[1:-1:2, 1]
    np.testing.assert_allclose(heights, np.histogram(p, edges)[0] / len(p), atol=0.002)


def test_dots_of_calibration_are_its_bins_with_their_intervals_and_rows():
    report = clicked(0.95)
    for chart, curve in (("calibration", "calibration"), ("quantile_calibration", "quantile_calibration")):
        drawn, bins = getattr(report.plot, chart)(), report.curve(curve)
        assert drawn.points("dot").tolist() == bins.select("mean_score", "observed_rate").to_numpy().tolist()
        ends = drawn.rows("interval")
        assert ends.height == bins.height
        assert (ends["y"] <= bins["observed_rate"]).all()
        assert (ends["y2"] >= bins["observed_rate"]).all()
    below = report.plot.calibration().below
    assert {*below.points("line")[:, 1]} >= {*map(float, report.curve("calibration")["weight"])}
    assert below.y["scale"]["domain"][0] == 0 == below.points("line")[:, 1].min()
    assert report.plot.quantile_calibration().x["scale"]["domain"] == [0, 1]


def test_error_curves_are_the_steps_of_their_frames():
    models = {"y_true": "minutes", "y_pred": {"forecast": "forecast", "naive": "naive"}}
    report = sm.regression(**models).update(deliveries()).finalize()
    for chart, along in (("error_cdf", "value"), ("rec", "tolerance")):
        drawn = getattr(report.plot, chart)()
        low, high = drawn.x["scale"]["domain"]
        for name in drawn.series:
            rows = report.curve(chart).filter(pl.col(along).is_between(low, high), model=name)
            size = np.array([high - low, 1])
            points = rows.select(along, "share").to_numpy()
            assert away(points / size, drawn.points("line", name) / size).max() <= 1.01 * HALF_A_PIXEL
        medians = dict(re.findall(r"([\d.]+) \((\w+)\)", drawn.subtitle))
        assert [*medians.values()] == ["forecast", "naive"]  # the best one first
        assert float(next(iter(medians))) == pytest.approx(report.get("median_absolute_error", model="forecast").value)
    same = {"y_true": "minutes", "y_pred": {"a": "naive", "b": "naive"}}
    assert "not certified" in sm.regression(**same).update(deliveries()).finalize().plot.rec().subtitle


@pytest.mark.thorough
def test_the_area_of_each_curve_stands_above_it_with_its_uncertainty():
    for chart, metric in (("roc", "roc_auc"), ("pr", "average_precision")):
        report, coarse = clicked(0.95), clicked(capacity=64)
        found = [float(n) for n in re.findall(r"0\.\d+", getattr(report.plot, chart)().subtitle)]
        estimate = report[metric]
        assert found[:3] == pytest.approx([estimate.value, estimate.ci_lower, estimate.ci_upper], abs=1e-3)
        bounds = [float(n) for n in re.findall(r"0\.\d+", getattr(coarse.plot, chart)().subtitle)]
        value, low, high = bounds if len(bounds) == 3 else (bounds[0], bounds[0] - bounds[1], bounds[0] + bounds[1])
        assert low <= coarse[metric].lower < coarse[metric].upper <= high
        assert value == pytest.approx(coarse[metric].value, abs=0.01)
        for model in ("old", "new"):
            shown = re.search(rf"([\d.]+) \({model}\)", getattr(of_models().plot, chart)().subtitle)
            assert float(shown[1]) == pytest.approx(of_models().get(metric, model=model).value, abs=1e-4)
    names = {"a" * 40: "score", "b" * 40: "score"}
    assert clicked(y_score=names).plot.roc().subtitle == ""


def test_detection_errors_are_shown_up_to_the_rarest():
    rng = np.random.default_rng(0)  # rare positives, and a threshold that few of them reach
    p = 1 / (1 + np.exp(7 - 1.4 * rng.normal(size=200_000)))
    rows = {"y": rng.random(len(p)) < p, "p": p}
    drawn = sm.binary(y_true="y", y_score="p", thresholds=[0.07], capacity=512).update(rows).finalize().plot
    det = drawn.det()
    for axis, places in zip((det.x, det.y), det.points("dot").T, strict=True):
        low, high = axis["scale"]["domain"]
        assert low < places.min() <= places.max() < high
    assert "99%" in det.texts
    assert "99.9%" not in det.texts
    for chart, marked in ((drawn.roc(), True), (drawn.lift(), False)):  # the lift begins at a share of 0.001
        assert ("dot: threshold" in chart.caption) == ("shaded band" in chart.caption) == marked
    perfect = clicked(y_score=pl.col("clicked").cast(pl.Float64).alias("s")).plot.det()
    assert "line" not in perfect.layers
    assert perfect.subtitle
    few = clicks().with_columns(g=pl.when(pl.int_range(pl.len()) < 30).then(pl.lit("few")).otherwise(pl.lit("many")))
    one, alone = clicked(rows=few, by="g").plot.det(g="few"), clicked(rows=few.filter(g="few")).plot.det()
    assert (one.x, one.y) == (alone.x, alone.y)

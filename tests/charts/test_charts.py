"""Charts: what they show is what the frames say, and fewer points make the same picture."""

import inspect
import json
import math
import re
from datetime import date
from functools import partial

import numpy as np
import polars as pl
import pytest
from chart_data import DATA, SIZE, P, Y, away, binary, heights, labels, layer, rng

import streammetrics as sm
from streammetrics import charts
from streammetrics.charts.plot import Plot
from streammetrics.charts.thinning import HALF_A_PIXEL
from streammetrics.charts.vega import specification
from streammetrics.html import page


class Pictures(Plot):
    """What the charts of a report are drawn from."""

    def _drawn(self, picture, *arguments, **options):
        return picture(self._report, *arguments, **options)


def charts_of(report):
    """Each chart that requires no metric, as a function."""
    for name in vars(Plot):
        drawn = getattr(Pictures(report), name)
        if name[0] != "_" and "metric" not in inspect.signature(drawn).parameters:
            yield drawn


@pytest.mark.parametrize(("kind", "x", "y"), [("roc", "fpr", "recall"), ("pr", "recall", "precision")])
def test_the_line_keeps_exact_points_and_passes_all_of_them(report, kind, x, y):
    curve = report.curve(kind).drop_nulls([x, y])
    line = layer(getattr(charts, kind)(report), "line").select("x", "y").to_numpy()
    points = curve.select(x, y).to_numpy()
    assert away(points, line).max() <= HALF_A_PIXEL * (1 + 1e-9)
    on_it = away(line, points)
    assert np.median(on_it) < 0.01


def test_the_gain_and_lift_of_points_is_that_of_the_curve(models):
    curve = models.curve("lift").filter(pl.col("targeted") >= 1e-3)
    for kind, column, high in (("gain", "gain", 1.0), ("lift", "lift", None)):
        picture = getattr(charts, kind)(models)
        for name in picture.series:
            line = layer(picture, "line").filter(series=name).select("x", pl.col("y") / (high or picture.y.high))
            points = curve.filter(model=name).select("targeted", pl.col(column) / (high or picture.y.high))
            assert away(points.to_numpy(), line.to_numpy()).max() <= HALF_A_PIXEL * (1 + 1e-9)


@pytest.mark.parametrize(
    ("kind", "x", "y"), [("roc", "fpr", "recall"), ("gain", "targeted", "gain"), ("pr", "recall", "precision")]
)
def test_the_true_curve_lies_within_the_band(kind, x, y):
    """The curve of few bins, and the rows themselves: every threshold lies in the band."""
    coarse, exact = binary(capacity=16), binary(capacity=1 << 20)
    band = layer(getattr(charts, kind)(coarse), "band").select("x", "y").to_numpy()
    truth = exact.curve("lift" if kind == "gain" else kind).drop_nulls([x, y]).select(x, y).to_numpy()[::5]
    inside = np.array([_within(point, band) for point in truth])
    near = away(truth, np.vstack([band, band[:1]])) <= 2 * HALF_A_PIXEL
    assert (inside | near).all()
    assert inside.mean() > 0.5
    assert layer(getattr(charts, kind)(exact), "band").is_empty()


def _within(point, polygon):
    """Whether a point is inside of a polygon: a ray to the right crosses its border an odd number of times."""
    (x, y), (x1, y1), (x2, y2) = point, polygon.T, np.roll(polygon, -1, axis=0).T
    crossing = (y1 > y) != (y2 > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = x1 + (y - y1) / (y2 - y1) * (x2 - x1)
    return (crossing & (at > x)).sum() % 2 == 1


def test_operating_points_are_those_counted_or_given(report):
    picture = charts.roc(report)
    assert layer(picture, "dot").select("x", "y", "text").rows() == [
        (report["fpr"].value, report["recall"].value, "threshold 0.5")
    ]
    best = report.operating_point(maximize="youden_j")
    dot = layer(charts.roc(report, points=best), "dot").row(0, named=True)
    assert dot["y"] - dot["x"] == pytest.approx(best["value"].item())


def test_scores_add_up(models, report):
    for found in (report, models):
        picture = charts.scores(found)
        for name in picture.series:
            path = layer(picture, "line").filter(series=name)
            assert path["y"][1::2].head(40).sum() <= 1 + 1e-9
            assert path["y"][1::2].head(40).sum() > 0.97
    assert charts.scores(report).series == ("negatives", "positives")
    unlabelled = sm.predictions(y_score="p").update(DATA).finalize()
    assert charts.scores(unlabelled).series == ("all rows",)


def test_a_bar_holds_the_rows_with_its_scores():
    edges, found = heights(charts.scores(binary(capacity=1 << 16)), "positives")
    np.testing.assert_allclose(found, np.histogram(P[Y], edges)[0] / Y.sum(), atol=2 / Y.sum())


def test_coarse_bins_are_spread_over_the_bars_they_span():
    p, y = rng.beta(2, 8, 100_000), rng.random(100_000) < 0.3
    batch = pl.DataFrame({"y": y, "p": p, "g": np.arange(len(p)) % 200})
    report = sm.binary(y_true="y", y_score="p", by="g").update(batch).finalize().rollup()
    for name, own in (("positives", p[y]), ("negatives", p[~y])):
        edges, found = heights(charts.scores(report), name)
        counts = np.histogram(own, edges)[0] / len(own)
        np.testing.assert_allclose(found, counts, atol=0.002)
    error = sm.regression(y_true="t", y_pred="p", capacity=256).update(batch.select("p", t=pl.lit(0.0))).finalize()
    edges, found = heights(charts.errors(error), "all rows")
    np.testing.assert_allclose(found, np.histogram(p, edges)[0] / len(p), atol=0.002)


def test_scores_of_several_reports_are_those_of_each():
    one, other = (sm.predictions(y_score="p").update({"p": [low, low + 0.1]}).finalize() for low in (0.1, 0.8))
    picture = charts.scores(charts.Together({"one": one, "other": other}))
    assert picture.series == ("one", "other")
    assert heights(picture, "one")[1].argmax() == 0
    assert heights(picture, "other")[1].argmax() == 8  # of ten bars, for few rows


def test_calibration_shows_its_bins_and_their_rows(report):
    curve = report.curve("calibration")
    picture = charts.calibration(report)
    assert layer(picture, "dot").select("x", "y").equals(curve.select(x="mean_score", y="observed_rate"))
    limits = layer(picture, "interval")
    assert (limits["y"] <= curve["observed_rate"]).all()
    assert (limits["y2"] >= curve["observed_rate"]).all()
    assert set(layer(picture.below, "line")["y"]) >= set(curve["weight"].cast(pl.Float64))


def test_calibration_in_bins_of_equal_size(report):
    curve = report.curve("quantile_calibration")
    picture = charts.quantile_calibration(report)
    assert layer(picture, "dot").select("x", "y").equals(curve.select(x="mean_score", y="observed_rate"))
    assert layer(picture, "interval").height == curve.height
    assert (picture.x.scale, picture.x.high, picture.below) == ("linear", 1, None)
    rare = {"y": rng.random(4_000) < 0.02, "p": rng.beta(1, 40, 4_000)}
    picture = charts.quantile_calibration(sm.binary(y_true="y", y_score="p").update(rare).finalize())
    assert picture.x.scale == picture.y.scale == "root"
    assert picture.x.high == picture.y.high < 0.5
    assert "square root axes" in picture.caption
    with pytest.raises(sm.MetricError, match="CalibrationBins is required"):
        sm.binary(y_true="y", y_score="p", domain="real").update(rare).finalize().curve("quantile_calibration")


def test_charts_of_weights_say_so():
    rows = {"y": Y, "z": Y, "w": np.linspace(1e4, 1e5, SIZE), "p": P}
    report = sm.binary(y_true="y", y_score="p", sample_weight="w").update(rows).finalize(confidence=0.95)
    below = charts.calibration(report).below
    assert (below.title, below.y.title) == ("Weight of each bin", "Weight")
    assert charts.scores(report).y.title == "Weight (share of each series)"
    assert charts.gain(report).x.title == "Weight targeted, highest scores first (share of weight)"
    errors = sm.regression(y_true="p", y_pred="w", sample_weight="w").update(rows).finalize()
    assert charts.error_cdf(errors).caption.startswith("Share of the weight with an error")
    assert charts.rec(errors).y.title == "Weight up to x (share)"
    picture = charts.confusion(report)
    assert layer(picture, "cell")["count"].to_list()[0] == f"{report.confusion_counts()['tn'].item():,.0f}"
    shown = json.dumps(specification(picture))
    assert "actual negative, predicted negative: weight " in shown
    assert "rows" not in shown
    both = charts.Together({"weights": report, "rows": binary()})
    assert charts.calibration(both).below.y.title == "Weight"


def test_captions_name_intervals_only_if_lines_are_drawn_beyond_the_dots():
    few, many = (
        sm.binary(y_true="y", y_score="p").update({"y": np.tile(Y, n), "p": np.tile(P, n)}).finalize(confidence=0.95)
        for n in (1, 100)
    )
    for chart in (charts.calibration, charts.quantile_calibration):
        assert "Vertical lines: 95% confidence intervals" in chart(few).caption
    assert charts.quantile_calibration(many).caption.endswith("The 95% confidence intervals are smaller than the dots.")
    weights = {"y": Y, "p": P, "w": P}
    weighted = sm.binary(y_true="y", y_score="p", sample_weight="w").update(weights).finalize(confidence=0.95)
    picture = charts.quantile_calibration(weighted)
    assert "intervals" not in picture.caption
    assert {mark.kind for mark in picture.layers} == {"reference", "line", "dot"}


def test_captions_of_confusion_matrices_name_their_diagonal():
    assert "Diagonal: specificity (negative) and recall (positive)." in charts.confusion(binary()).caption
    classes = sm.multiclass(y_true="y", y_pred="z").update({"y": ["a", "b"], "z": ["a", "a"]}).finalize()
    assert "Diagonal: recall of each label." in charts.confusion(classes).caption


def test_only_none_and_all_rows_are_0_and_100_percent():
    rows = {"y": ["n"] * 200_000 + ["p"] * 129, "z": ["n"] * 199_944 + ["p"] * (56 + 129)}
    found = charts.confusion(sm.multiclass(y_true="y", y_pred="z").update(rows).finalize())
    assert layer(found, "cell")["text"].to_list() == ["99.97%", "0.03%", "100%"]
    assert found.x.names == ("n", "p")


def test_confusion_matrices_have_labels_in_their_declared_order():
    rows = {"y": ["low", "high", "mid"], "z": ["low", "mid", "high"]}
    for order in ({"labels": ["low", "mid", "high"]}, {"order": ["low", "mid", "high"]}):
        found = charts.confusion(sm.multiclass(y_true="y", y_pred="z", **order).update(rows).finalize())
        assert found.x.names == found.y.names == ("low", "mid", "high")
    undeclared = charts.confusion(sm.multiclass(y_true="y", y_pred="z").update(rows).finalize())
    assert undeclared.x.names == ("high", "low", "mid")


@pytest.mark.parametrize("labels", [4, 30])
def test_cells_of_a_confusion_matrix_have_room_for_their_texts(labels):
    random = np.random.default_rng(0)
    truth = random.integers(0, labels, 5_000)
    guess = np.where(random.random(5_000) < 0.8, truth, random.integers(0, labels, 5_000))
    picture = charts.confusion(sm.multiclass(y_true="y", y_pred="z").update({"y": truth, "z": guess}).finalize())
    drawn = charts.as_svg(picture, "c")
    shown = re.findall(r">([^<>]*%)</text>", drawn.replace("&lt;", "≤").replace("&gt;", "≥"))
    assert {len(text) for text in shown} == {2, 3}
    assert specification(picture)["width"] >= labels * 36  # pixels, for four characters
    assert re.search(r"<title>actual 0, predicted 0: .*, \d\d\.\d\d%</title>", drawn)


def test_errors_in_a_confusion_matrix_have_a_color_scale_of_their_own():
    rows = {"y": ["a"] * 100 + ["b"] * 100, "z": ["a"] * 80 + ["b"] * 120}
    picture = charts.confusion(sm.multiclass(y_true="y", y_pred="z").update(rows).finalize())
    assert layer(picture, "cell").select("y", "x", "shade").rows() == [
        ("a", "a", 0.8),
        ("a", "b", 1.0),
        ("b", "b", 1.0),
    ]
    few = {"y": ["a"] * 100 + ["b"] * 100, "z": ["a"] * 99 + ["b"] * 101}
    pale = charts.confusion(sm.multiclass(y_true="y", y_pred="z").update(few).finalize())
    assert layer(pale, "cell").filter(x="b", y="a")["shade"].item() == 0.1


def test_confusion_matrices():
    labels = rng.choice([f"label {i:02d}" for i in range(40)], 3_000)
    guess = np.where(rng.random(3_000) < 0.8, labels, rng.permutation(labels))
    many = sm.multiclass(y_true="t", y_pred="z").update({"t": labels, "z": guess}).finalize()
    picture = charts.confusion(many)
    assert len(picture.x.names) == 30
    assert "30 labels with the most errors of 40" in picture.subtitle
    expected = many.confusion_matrix("actual").select(pl.col("actual", "predicted"), "share")
    cells = layer(picture, "cell").filter(pl.col("share") > 0)
    shown = cells.select("share", predicted="label " + pl.col("x"), actual="label " + pl.col("y"))
    both = shown.join(expected, on=["actual", "predicted"], suffix="_expected")
    assert both.height == shown.height > 30
    assert (both["share"] - both["share_expected"]).abs().max() < 1e-12
    assert picture.x.names[0].isdigit()
    assert picture.x.title == "Predicted (label …)"
    five = sm.multiclass(y_true="y", y_pred="z").update({"y": [*range(5)], "z": [*range(5)]}).finalize()
    assert specification(charts.confusion(five), width=300)["height"] == 5 * 40  # pixels, for a share and a count
    two = layer(charts.confusion(binary(thresholds=[0.2, 0.5]), threshold=0.2), "cell")
    assert two.filter(x="positive", y="positive")["share"].item() == pytest.approx((P[Y] >= 0.2).mean())
    with pytest.raises(sm.ReportError, match="Pass threshold="):
        charts.confusion(binary(thresholds=[0.2, 0.5]))
    with pytest.raises(sm.ReportError, match=r"2 confusion matrices match\. Select one with: model"):
        charts.confusion(binary(y_score={"a": "p", "b": "q"}))


@pytest.mark.parametrize(("kind", "along"), [("error_cdf", "value"), ("rec", "tolerance")])
def test_error_curves_are_the_steps_of_their_frames(forecasts, kind, along):
    picture, curve = getattr(charts, kind)(forecasts), forecasts.curve(kind)
    for name in picture.series:
        own = curve.filter(pl.col(along).is_between(picture.x.low, picture.x.high), model=name)
        points = np.column_stack([picture.x.place(own[along]), own["share"]])
        line = layer(picture, "line").filter(series=name)
        assert away(points, np.column_stack([picture.x.place(line["x"]), line["y"]])).max() <= 1.01 * HALF_A_PIXEL


def test_the_area_of_a_curve_is_told_with_its_confidence_level(report):
    assert re.fullmatch(r"AUC 0\.\d+ \(0\.\d+ to 0\.\d+, 95% CI\)", charts.roc(report).subtitle)


def test_a_band_is_named_where_it_can_be_seen(report):
    coarse, fine = charts.roc(report), charts.roc(binary(capacity=4096))
    assert "shaded band: certified bounds" in coarse.caption
    assert "band" not in fine.caption.lower()
    assert layer(fine, "band").is_empty()
    assert report["roc_auc"].upper - report["roc_auc"].lower > 1e-3


@pytest.mark.parametrize(("kind", "marks", "band"), [("roc", True, True), ("lift", False, False)])
def test_captions_name_what_is_in_the_plot(rare, kind, marks, band):
    """The lift begins at a share of 0.001 of the rows, and its bounds differ in a spike there."""
    picture = getattr(charts, kind)(rare)
    assert ("dot: threshold" in picture.caption) == marks
    assert ("shaded band" in picture.caption) == band


def test_detection_errors_are_shown_up_to_the_rarest(rare):
    picture = charts.det(rare)
    for name, axis in (("x", picture.x), ("y", picture.y)):
        dots = layer(picture, "dot")[name]
        assert axis.low < dots.min() <= dots.max() < axis.high
    assert picture.y.high > 0.995
    assert "99.9%" not in labels(picture)
    assert "99%" in labels(picture)


@pytest.mark.parametrize(("kind", "metric"), [("roc", "roc_auc"), ("pr", "average_precision")])
def test_the_area_of_each_model_stands_above_its_curves(models, kind, metric):
    subtitle = getattr(charts, kind)(models).subtitle
    for model in ("logistic", "trees"):
        shown = re.search(rf"([\d.]+) \({model}\)", subtitle)
        assert float(shown[1]) == pytest.approx(models.get(metric, model=model).value, abs=1e-4)


def test_the_area_of_a_curve_has_its_bounds(rare):
    assert re.fullmatch(r"AUC 0\.\d+ ± 0\.\d+", charts.roc(rare).subtitle)
    coarse = charts.pr(binary(capacity=64)).subtitle
    assert re.fullmatch(r"average precision 0\.\d+ within 0\.\d+ to 0\.\d+", coarse)


def test_a_model_without_errors_has_no_detection_error_tradeoff():
    perfect = binary(y_score=pl.col("y").cast(pl.Float64).alias("s"))
    assert charts.det(perfect).empty
    assert charts.det(perfect).subtitle == "no threshold has both false positives and false negatives"
    assert not charts.det(binary()).empty


def test_points_without_counts_are_refused(report):
    with pytest.raises(sm.ReportError, match=r"no column 'tp'\. Pass the result of operating_point\(\)"):
        charts.roc(report, points=pl.DataFrame({"threshold": [0.5]}))


def reports():
    ends = {"y": [1, 0, 1, 0], "p": [0.0, 1.0, 1.0, 0.0]}
    nothing = pl.DataFrame(schema={"y": pl.Boolean, "p": pl.Float64, "g": pl.String})
    yield "ends", sm.binary(y_true="y", y_score="p").update(ends)
    yield "nothing", sm.binary(y_true="y", y_score="p").update(nothing)
    yield "no groups", sm.binary(y_true="y", y_score="p", by="g").update(nothing)
    yield "one class", sm.binary(y_true="y", y_score="p").update({"y": [1, 1], "p": [0.5, 0.5]})
    yield "no positives", sm.binary(y_true="y", y_score="p").update({"y": [0, 0], "p": [0.5, 0.1]})
    yield "labels", sm.binary(y_true="y", y_pred="p").update({"y": [1, 0], "p": [1, 1]})
    weighted = sm.binary(y_true="y", y_score="p", sample_weight="w", domain="real")
    yield "real", weighted.update({"y": [1, 0, 1], "p": [math.inf, -1e300, 1e300], "w": [0.5, 1.5, 2.0]})
    yield "no labels", sm.predictions(y_score="p").update({"p": [0.1, 0.2, None]})
    regression = partial(sm.regression, y_true="y", y_pred="p")
    yield "no errors", regression()
    yield "large", regression().update({"y": [1e153, -1e153], "p": [-1e150, 1e150]})
    yield "no error", regression().update({"y": [1.0, 2.0], "p": [1.0, 2.0]})
    yield "no class", sm.multiclass(y_true="y", y_pred="p")
    several = sm.multilabel(y_true={"a": "y", "b": "p"}, y_score={"a": "p", "b": "p"})
    yield "several", several.update({"y": [1, 0], "p": [0.0, 1.0]})


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "acc"), list(reports()), ids=[name for name, _ in reports()])
def test_whatever_the_rows_a_chart_is_drawn_or_the_reason_told(name, acc):
    report, drawn = acc.finalize(), 0
    for draw in charts_of(report):
        try:
            picture = draw()
        except sm.StreamMetricsError:
            continue
        assert not re.search(r"\bnan|infinity", charts.as_svg(picture, "x").lower())
        json.dumps(charts.as_altair(picture).to_dict(), allow_nan=False)
        drawn += 1
    assert drawn


def test_infinite_metrics_can_be_saved():
    rows = {"y": [1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.8], "day": [date(2026, 1, 1)] * 2 + [date(2026, 1, 2)] * 2}
    report = sm.binary(y_true="y", y_score="p", by="day").update(rows).finalize()
    assert report.rows("lr_plus")["value"].to_list() == [math.inf, 0]
    for chart in (report.plot.segments("lr_plus"), report.plot.over_time("lr_plus")):
        json.dumps(chart.to_dict(), allow_nan=False)


def test_a_threshold_of_another_type_is_refused(report):
    with pytest.raises(sm.ReportError, match="Key 'threshold' must be Float64, got 'high'"):
        charts.confusion(report, threshold="high")


@pytest.mark.thorough
def test_altair_draws_what_the_pictures_say(models, segmented, forecasts):
    pytest.importorskip("altair", reason="Altair is not installed")
    made = [
        getattr(models.plot, k)()
        for k in ("roc", "pr", "det", "gain", "lift", "scores", "calibration", "quantile_calibration")
    ]
    made += [models.plot.confusion(model="trees"), models.plot.segments("roc_auc")]
    made += [segmented.plot.over_time("roc_auc"), segmented.plot.segments("roc_auc", "g")]
    made += [getattr(forecasts.plot, k)() for k in ("error_cdf", "rec", "errors")]
    made.append(sm.compare(models, models).plot.roc())
    for chart in made:
        specification = json.loads(chart.to_json())  # validated against the schema of Vega-Lite
        assert specification["$schema"].startswith("https://vega.github.io/schema/vega-lite")
        assert "NaN" not in json.dumps(specification)
    roc = json.loads(made[0].to_json())
    line = next(found for found in roc["layer"] if found["mark"].get("strokeWidth") == 2)
    shown = pl.DataFrame(line["data"]["values"]).select("series", "x", "y")
    assert shown.equals(layer(charts.roc(models), "line").select("series", "x", "y"))
    assert roc["encoding"]["x"]["title"] == "False positive rate (share of negatives)"
    assert "strokeDash" in line["encoding"]


def test_charts_are_saved_as_pictures(report, tmp_path):
    pytest.importorskip("altair", reason="Altair is not installed")
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    report.plot.roc().save(str(tmp_path / "roc.svg"))
    assert (tmp_path / "roc.svg").read_text(encoding="utf-8").startswith("<svg")


def test_without_altair_the_extra_is_named(report, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(
        sm.SpecificationError, match=r"Install it in a clone of streammetrics with: pip install '.\[plot\]'$"
    ):
        report.plot.roc()


def test_without_vl_convert_the_page_names_the_extra(report, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(sm.SpecificationError, match=r"pages require .*pip install '.\[plot\]'"):
        page(report)

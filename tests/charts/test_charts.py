"""Charts: what they show is what the frames say, and fewer points make the same picture."""

import json
import math
import re
from datetime import date, time, timedelta
from importlib import resources

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics import charts
from streammetrics.charts.picture import COLOURS, MOST, Axis, Picture, line
from streammetrics.charts.thinning import HALF_A_PIXEL, needed, thinned
from streammetrics.charts.vega import specification
from streammetrics.html import page

SIZE = 4_000
rng = np.random.default_rng(0)
LOGIT = rng.normal(-2, 1.5, SIZE)
P = 1 / (1 + np.exp(-LOGIT))
Y = rng.random(SIZE) < P
DATA = pl.DataFrame(
    {
        "row": np.arange(SIZE),
        "y": Y,
        "p": P,
        "q": 1 / (1 + np.exp(-LOGIT / 2 - rng.normal(0, 1, SIZE))),
        "g": rng.choice(["DE", "FR", "US"], SIZE),
        "day": pl.Series(rng.integers(0, 5, SIZE)).cast(pl.Int32),
    }
).with_columns(day=pl.date(2026, 1, 28) + pl.duration(days="day"))
KINDS = [
    "roc",
    "pr",
    "det",
    "gain",
    "lift",
    "scores",
    "calibration",
    "quantile_calibration",
    "confusion",
    "error_cdf",
    "rec",
    "errors",
]


def binary(confidence=None, **options):
    return sm.binary(**{"y_true": "y", "y_score": "p"} | options).update(DATA).finalize(confidence=confidence)


def regression(**predictions):
    truth = rng.gamma(2, 10, 2_000)
    data = {"y": truth, **{name: truth + noise for name, noise in predictions.items()}}
    return sm.regression(y_true="y", y_pred={name: name for name in predictions}).update(data).finalize()


@pytest.fixture(scope="module")
def report():
    return binary(confidence=0.95, capacity=64)


@pytest.fixture(scope="module")
def models():
    return binary(y_score={"logistic": "p", "trees": "q"})


@pytest.fixture(scope="module")
def segmented():
    acc = sm.binary(y_true="y", y_score="p", by=["g", "day"], metrics=["rows", "roc_auc", "log_loss"]).update(DATA)
    return acc.finalize(confidence=0.95)


@pytest.fixture(scope="module")
def forecasts():
    return regression(near=rng.normal(0, 1, 2_000), far=rng.normal(1, 5, 2_000))


def layer(picture, kind):
    return next(found.frame for found in picture.layers if found.kind == kind)


def labels(picture):
    """The texts of a chart, first those along x."""
    return re.findall(">([^<>]+)</text>", charts.as_svg(picture, "c"))


def away(points, line):
    """How far each point is from a line, by trying every straight part of it."""
    start, end = line[:-1], line[1:]
    step = end - start
    square = np.maximum((step**2).sum(axis=1), 1e-300)
    along = np.clip(((points[:, None] - start) * step).sum(axis=2) / square, 0, 1)
    return np.sqrt((((start + along[:, :, None] * step) - points[:, None]) ** 2).sum(axis=2)).min(axis=1)


@pytest.mark.parametrize(
    "points",
    [
        np.column_stack([np.linspace(0, 1, 500), np.sort(rng.random(500))]),
        np.column_stack([np.linspace(0, 1, 500), rng.random(500)]),
        np.column_stack([np.repeat(np.linspace(0, 1, 50), 2), np.sort(rng.random(100))]),
        rng.random((300, 2)),
        np.array([[0, 0], [1, 1], [0, 0], [1, 0]]),
        np.zeros((5, 2)),
        np.zeros((1, 2)),
        np.zeros((0, 2)),
    ],
    ids=["rising", "noise", "steps", "anywhere", "back and forth", "one place", "one point", "nothing"],
)
@pytest.mark.parametrize("tolerance", [HALF_A_PIXEL, 0.05])
def test_dropped_points_lie_on_the_line_that_is_left(points, tolerance):
    kept = needed(points[:, 0].astype(float), points[:, 1].astype(float), tolerance)
    if len(points):
        assert kept[0]
        assert kept[-1]
    if kept.sum() > 1:
        assert away(points.astype(float), points[kept].astype(float)).max() <= tolerance * (1 + 1e-9)


def test_a_smooth_curve_needs_few_points():
    x = np.linspace(0, 1, 20_000)
    frame = pl.DataFrame({"series": ["a"] * len(x), "x": x, "y": x**0.3})
    assert thinned(frame, Axis("x"), Axis("y")).height < 100


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


def test_tied_scores_have_no_band():
    tied = sm.binary(y_true="y", y_score="p").update(DATA.with_columns(pl.col("p").round(1))).finalize()
    assert layer(charts.roc(tied), "band").is_empty()


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


def heights(picture, name):
    """The edges and the heights of the bars of a series."""
    path = layer(picture, "line").filter(series=name)
    edges = path["x"].to_numpy()[::2]
    return np.append(edges[:-1], edges[-1] * (1 + 1e-12)), path["y"].to_numpy()[1:-1:2]


@pytest.mark.parametrize(("zeros", "scale"), [(0, "log"), (0.1, "log"), (0.5, "linear")])
def test_a_logarithmic_axis_can_lack_a_few_rows_at_zero(zeros, scale):
    random = np.random.default_rng(0)
    p = np.where(random.random(20_000) < zeros, 0, 10 ** random.uniform(-5, -1, 20_000))
    picture = charts.scores(sm.predictions(y_score="p").update({"p": p}).finalize())
    assert picture.x.scale == scale
    assert ("beyond the ends of the axis, including those at 0" in picture.subtitle) == (zeros == 0.1)
    if scale == "log":
        assert 1e-5 <= picture.x.low < 2e-5
        assert heights(picture, "all rows")[1].sum() == pytest.approx(1 - zeros, abs=0.02)


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
    assert heights(picture, "other")[1].argmax() > 20


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
    assert charts.quantile_calibration(many).caption.endswith(
        "The 95% confidence intervals are shorter than the marks."
    )
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
    assert layer(found, "cell")["text"].to_list() == ["99.97%", "0.03%", "0%", "100%"]
    assert found.x.names == ("n", "p")


def test_dots_at_the_end_of_an_axis_are_whole_and_those_beyond_are_not_drawn():
    places = pl.DataFrame({"series": ["all rows"] * 4, "x": [0.0, 0.5, 1.0, 1.2], "y": [0.0, 0.5, 1.0, 1.0]})
    dots = charts.Layer("dot", places.with_columns(text=pl.lit("a bin")))
    picture = charts.Picture("Dots", charts.Axis("x"), charts.Axis("y"), [dots], ("all rows",))
    for explore, drawn in ((False, 3), (True, 4)):
        [dots] = (
            part
            for part in charts.for_page(picture, explore)["layer"]
            if part["mark"]["type"] == "point" and part["mark"].get("filled")
        )
        assert dots["mark"]["clip"] == explore
        assert len(dots["data"]["values"]) == drawn


def test_low_precision_and_lift_fill_the_plot():
    random = np.random.default_rng(0)
    rows = {"y": random.random(4_000) < 0.3, "p": random.random(4_000), "q": random.random(4_000) / 2}
    rows["q"][rows["y"]] *= 2
    report = sm.binary(y_true="y", y_score={"none": "p", "some": "q"}).update(rows).finalize()
    assert charts.pr(report).y.high == charts.pr(report, model="some").y.high == 1
    assert charts.lift(report, model="some").y.high > 3 > charts.lift(report, model="none").y.high
    rare = sm.binary(y_true="y", y_score="p").update(
        {"y": [False] * 3 + [True] + [False] * 96, "p": np.linspace(1, 0, 100)}
    )
    assert charts.pr(rare.finalize()).y.high == pytest.approx(1.1 / 4)


def test_confusion_matrices_have_labels_in_their_declared_order():
    rows = {"y": ["low", "high", "mid"], "z": ["low", "mid", "high"]}
    for order in ({"labels": ["low", "mid", "high"]}, {"order": ["low", "mid", "high"]}):
        found = charts.confusion(sm.multiclass(y_true="y", y_pred="z", **order).update(rows).finalize())
        assert found.x.names == found.y.names == ("low", "mid", "high")
    undeclared = charts.confusion(sm.multiclass(y_true="y", y_pred="z").update(rows).finalize())
    assert undeclared.x.names == ("high", "low", "mid")


@pytest.mark.parametrize("chart", [charts.calibration, charts.quantile_calibration])
def test_intervals_do_not_leave_the_plot(chart):
    """The interval of a bin with few rows can be many times as long as the axis."""
    random = np.random.default_rng(0)
    p = random.beta(1, 60, 20_000).clip(max=0.09)
    rows = {"y": np.append(random.random(len(p)) < p, False), "p": np.append(p, 0.15)}
    rare = sm.binary(y_true="y", y_score="p").update(rows).finalize(confidence=0.95)
    picture = chart(rare)
    longest = layer(picture, "interval")["y2"].max()
    assert (longest > 4 * picture.y.high) == (chart is charts.calibration) == ("cut off" in picture.caption)
    assert "95% confidence intervals" in picture.caption
    assert float(charts.as_svg(picture, "c").partition('viewBox="')[2].split()[3].strip('">')) < 420


def test_uniform_scores_have_a_linear_axis_and_skewed_ones_a_logarithmic_one():
    uniform = rng.random(4_000)
    for scores, scale in ((uniform, "linear"), (uniform**4, "log")):
        assert charts.scores(sm.predictions(y_score="p").update({"p": scores}).finalize()).x.scale == scale


@pytest.mark.parametrize(("labels", "fewest"), [(4, 6), (6, 6), (7, 3), (10, 3)])
def test_shares_in_a_confusion_matrix_fit_their_cells(labels, fewest):
    random = np.random.default_rng(0)
    truth = random.integers(0, labels, 5_000)
    guess = np.where(random.random(5_000) < 0.86, truth, random.integers(0, labels, 5_000))
    report = sm.multiclass(y_true="y", y_pred="z").update({"y": truth, "z": guess}).finalize()
    drawn = charts.as_svg(charts.confusion(report), "c")
    shown = re.findall(r">([^<>]*%)</text>", drawn.replace("&lt;", "≤"))
    assert len(shown) == labels**2
    assert max(map(len, shown)) == fewest
    assert re.search(r"<title>actual 0, predicted 0: .*, \d\d\.\d\d%</title>", drawn)


def test_confusion_matrices():
    labels = rng.choice([f"label {i:02d}" for i in range(40)], 3_000)
    guess = np.where(rng.random(3_000) < 0.8, labels, rng.permutation(labels))
    many = sm.multiclass(y_true="t", y_pred="z").update({"t": labels, "z": guess}).finalize()
    picture = charts.confusion(many)
    assert len(picture.x.names) == 24
    assert "24 labels with the most errors of 40" in picture.subtitle
    expected = many.confusion_matrix("actual").select(pl.col("actual", "predicted"), "share")
    cells = layer(picture, "cell").filter(pl.col("share") > 0)
    shown = cells.select("share", predicted="label " + pl.col("x"), actual="label " + pl.col("y"))
    both = shown.join(expected, on=["actual", "predicted"], suffix="_expected")
    assert both.height == shown.height > 24
    assert (both["share"] - both["share_expected"]).abs().max() < 1e-12
    assert picture.x.names[0].isdigit()
    assert picture.x.title == "Predicted (label …)"
    drawn = specification(picture)
    assert drawn["width"] == drawn["height"]
    assert drawn["encoding"]["x"]["axis"]["labelAngle"] == 0
    assert specification(picture, width=300)["encoding"]["x"]["axis"]["labelAngle"] == -90
    five = sm.multiclass(y_true="y", y_pred="z").update({"y": [*range(5)], "z": [*range(5)]}).finalize()
    assert specification(charts.confusion(five), width=300)["height"] == 5 * 36  # pixels, for a share and a count
    two = layer(charts.confusion(binary(thresholds=[0.2, 0.5]), threshold=0.2), "cell")
    assert two.filter(x="positive", y="positive")["share"].item() == pytest.approx((P[Y] >= 0.2).mean())
    with pytest.raises(sm.ReportError, match="Pass threshold="):
        charts.confusion(binary(thresholds=[0.2, 0.5]))
    with pytest.raises(sm.ReportError, match=r"2 confusion matrices match\. Select one with: model"):
        charts.confusion(binary(y_score={"a": "p", "b": "q"}))


def test_the_best_models_are_named(forecasts):
    for kind in (charts.error_cdf, charts.rec):
        said = r"median absolute error: [\d.]+ \(near\), [\d.]+ \(far\)"
        assert re.fullmatch(said, kind(forecasts).subtitle)
    same = rng.normal(0, 1, 2_000)
    assert "order not certified" in charts.rec(regression(a=same, b=same)).subtitle


@pytest.mark.parametrize(("kind", "along"), [("error_cdf", "value"), ("rec", "tolerance")])
def test_error_curves_are_the_steps_of_their_frames(forecasts, kind, along):
    picture, curve = getattr(charts, kind)(forecasts), forecasts.curve(kind)
    for name in picture.series:
        own = curve.filter(pl.col(along).is_between(picture.x.low, picture.x.high), model=name)
        points = np.column_stack([picture.x.place(own[along]), own["share"]])
        line = layer(picture, "line").filter(series=name)
        assert away(points, np.column_stack([picture.x.place(line["x"]), line["y"]])).max() <= 1.01 * HALF_A_PIXEL


def test_segments_are_sorted_with_their_intervals(segmented):
    picture = charts.segments(segmented, "roc_auc", "g")
    rows = segmented.rollup("g").rows("roc_auc").sort("value")
    assert list(picture.y.names) == rows["g"].to_list()
    assert picture.caption == "Higher is better. Worst first."
    told = layer(picture, "dot")["text"][0]
    assert re.fullmatch(r"0\.(\d+) \(0\.(\d+) to 0\.(\d+)\)", told)
    assert len({len(digits) for digits in re.findall(r"\.(\d+)", told)}) == 1
    assert layer(picture, "interval").sort("y")["x"].to_list() == pytest.approx(rows.sort("g")["ci_lower"].to_list())
    assert "95% confidence interval" in picture.subtitle
    losses = charts.segments(segmented, "log_loss", "g")
    assert list(losses.y.names) == segmented.rollup("g").rows("log_loss").sort("value", descending=True)["g"].to_list()
    with pytest.raises(sm.ReportError, match="no groups to compare"):
        charts.segments(segmented.rollup(), "roc_auc")


def test_of_many_segments_the_worst_are_shown():
    many = binary(by=(pl.col("row") % 100).alias("place"))
    picture = charts.segments(many, "log_loss")
    worst = many.worst("log_loss", n=20)["place"].cast(pl.String).to_list()
    assert list(picture.y.names) == worst
    assert "the 20 worst of 100" in picture.subtitle
    every = charts.caterpillar(many, "log_loss")
    values = layer(every, "dot")["y"]
    assert values.to_list() == sorted(many.rows("log_loss")["value"], reverse=True)
    assert layer(every, "reference")["y"].to_list() == [many.rollup()["log_loss"].value] * 2
    with pytest.raises(sm.ReportError, match="shows all 3"):
        charts.caterpillar(binary(by="g"), "log_loss")
    with pytest.raises(sm.ReportError, match="groups are models"):
        charts.caterpillar(binary(y_score={f"model {i}": "p" for i in range(22)}), "log_loss")


def test_groups_without_a_value_are_counted():
    place = pl.col("row") % 41
    many = binary(by=pl.when("y").then(place % 40).otherwise(place).alias("g"))  # 40 has no positives
    every, worst = (chart(many, "roc_auc") for chart in (charts.caterpillar, charts.segments))
    assert every.title == "ROC AUC of 40 of 41 groups by g"
    assert "the 20 worst of 41" in worst.subtitle
    assert every.caption.endswith(" Undefined in 1 group.")
    assert worst.caption.endswith(" Undefined in 1 group.")


def test_the_area_of_a_curve_is_told_with_its_confidence_level(report):
    assert re.fullmatch(r"AUC 0\.\d+ \(0\.\d+ to 0\.\d+, 95% confidence\)", charts.roc(report).subtitle)


def test_groups_without_an_interval_are_told():
    rows = {
        "y": [1, 0] * 60,
        "p": [0.9, 0.2, 0.4, 0.6] * 30,
        "u": [0] * 40 + list(range(80)),
        "g": ["a"] * 40 + ["b"] * 80,
    }
    acc = sm.binary(y_true="y", y_score="p", by="g", unit="u").update(rows)
    report, some = (of.finalize(confidence=0.95) for of in (acc, acc.filter(pl.col("g") == "b")))
    sentence = "Dots without a line have no confidence interval."
    assert sentence in charts.segments(report, "log_loss").caption
    assert sentence not in charts.segments(some, "log_loss").caption


def test_models_of_a_segment_are_below_each_other(models):
    spec = specification(charts.segments(models, "roc_auc"))
    assert not any("yOffset" in part["encoding"] for part in spec["layer"])  # of models alone, each has a name
    acc = sm.binary(y_true="y", y_score={"a": "p", "b": "p"}, by="g")
    rows = {"y": [1, 0] * 40, "p": [0.9, 0.2, 0.4, 0.6] * 20, "g": ["a", "a", "b", "b"] * 20}
    spec = specification(charts.segments(acc.update(rows).finalize(confidence=0.95), "roc_auc", "g"))
    assert [part["encoding"]["yOffset"]["scale"]["domain"] for part in spec["layer"]] == [["a", "b"]] * 2


def test_more_than_two_histograms_are_outlines(report, models):
    assert [part.kind for part in charts.scores(report).layers] == ["band", "line"]
    assert [part.kind for part in charts.scores(models).layers] == ["line"]


def test_seasons_keep_their_order_and_names_lose_what_they_share():
    by = [(2015 + pl.col("row") % 5).alias("season"), ("shop " + pl.col("g")).alias("shop")]
    report = binary(by=by)
    assert charts.segments(report, "log_loss", "season").y.names == ("2015", "2016", "2017", "2018", "2019")
    shops = charts.segments(report, "log_loss", "shop")
    assert set(shops.y.names) == {"DE", "FR", "US"}
    assert shops.y.title == "shop (shop …)"
    assert set(layer(shops, "dot")["y"]) == {"DE", "FR", "US"}


def test_a_band_is_named_where_it_can_be_seen(report):
    coarse, fine = charts.roc(report), charts.roc(binary(capacity=4096))
    assert "shaded band: certified bounds" in coarse.caption
    assert "band" not in fine.caption.lower()
    assert layer(fine, "band").is_empty()
    assert report["roc_auc"].upper - report["roc_auc"].lower > 1e-3


@pytest.fixture(scope="module")
def rare():
    """Rare positives, and a threshold that few of them reach."""
    random = np.random.default_rng(0)
    p = 1 / (1 + np.exp(7 - 1.4 * random.normal(size=200_000)))
    rows = {"y": random.random(len(p)) < p, "p": p}
    return sm.binary(y_true="y", y_score="p", thresholds=[0.07], capacity=512).update(rows).finalize()


@pytest.mark.parametrize(("kind", "marks", "band"), [("roc", True, True), ("lift", False, False)])
def test_captions_name_what_is_in_the_plot(rare, kind, marks, band):
    """The lift begins at a share of 0.001 of the rows, and its bounds differ in a spike there."""
    picture = getattr(charts, kind)(rare)
    assert ("marks: thresholds" in picture.caption) == marks
    assert ("shaded band" in picture.caption) == band


def test_detection_errors_are_shown_up_to_the_rarest(rare):
    picture = charts.det(rare)
    for name, axis in (("x", picture.x), ("y", picture.y)):
        dots = layer(picture, "dot")[name]
        assert axis.low < dots.min() <= dots.max() < axis.high
    assert picture.y.high > 0.995
    assert "99.9%" not in labels(picture)
    assert "99%" in labels(picture)


def test_detection_errors_of_one_group_have_the_axes_of_that_group():
    groups = DATA.with_columns(g=pl.lit("mixed")), pl.DataFrame({"y": [0, 1, 0], "p": [0.1, 0.5, 0.9], "g": "few"})
    acc = sm.binary(y_true="y", y_score="p", by="g").update(pl.concat(groups, how="diagonal_relaxed"))
    shown, alone = charts.det(acc.finalize(), g="few"), charts.det(acc.filter(pl.col("g") == "few").finalize())
    assert (shown.x, shown.y) == (alone.x, alone.y)


@pytest.mark.parametrize("kind", ["roc", "pr", "calibration", "quantile_calibration", "scores"])
def test_legends_of_lines_are_lines_with_a_title(kind):
    """With and without dots on the lines, and with a chart below."""
    both = binary(y_score={"old": "p", "new": "q"}, thresholds=[0.5])
    picture = getattr(charts, kind)(both, **({"model": "old"} if kind == "scores" else {}))
    assert {*labels(picture)} >= {picture.legend, *picture.series}
    assert charts.as_svg(picture, "c").count('d="M-12.2,0L12.2,0"') == 2


def test_histograms_of_models_share_axes(models):
    one, other = (charts.scores(models, model=name) for name in ("logistic", "trees"))
    assert (one.x, one.y) == (other.x, other.y)
    assert one.title == "Distribution of scores: logistic"


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


def test_areas_of_long_names_are_left_out():
    report = binary(y_score={"a" * 40: "p", "b" * 40: "q"})
    assert charts.roc(report).subtitle == ""


def test_coarse_bins_are_told(report):
    assert "in bins wider than a bar" in charts.scores(binary(capacity=8)).subtitle
    assert "in bins wider" not in charts.scores(binary(capacity=4096)).subtitle


def test_counts_start_at_zero(report):
    below = charts.calibration(report).below
    assert below.y.low == 0
    assert layer(below, "line")["y"].min() == 0


def test_over_time(segmented):
    picture = charts.over_time(segmented, "roc_auc", by=[])
    rows = segmented.rollup("day").rows("roc_auc")
    assert layer(picture, "line")["y"].to_list() == rows["value"].to_list()
    assert charts.over_time(segmented, "roc_auc").series == ("DE", "FR", "US")
    assert labels(picture)[:5] == ["Jan 28", "Jan 29", "Jan 30", "Jan 31", "Feb 1"]
    fix = r"Convert dates that are text: .*pl\.col\('day'\)\.str\.to_date\(\)"
    with pytest.raises(sm.ReportError, match=f"requires a Date or Datetime group column. {fix}"):
        charts.over_time(segmented.rollup("g"), "roc_auc")
    with pytest.raises(sm.ReportError, match=f"must be Date or Datetime for a time axis, got String. {fix}"):
        charts.over_time(segmented, "roc_auc", "g")
    two = binary(by=["day", pl.col("day").cast(pl.Datetime).alias("time")])
    with pytest.raises(sm.ReportError, match=r"Pass window= to select .*: day, time\."):
        charts.over_time(two, "roc_auc")


def test_keys_choose_groups_and_the_largest_are_taken(segmented):
    picture = charts.roc(segmented, g="DE")
    assert picture.legend == "day"
    many = binary(by=(pl.col("row").sqrt().cast(pl.Int64)).alias("size"))
    picture = charts.roc(many)
    assert len(picture.series) == MOST
    assert [int(n) for n in picture.series] == [57, 58, 59, 60, 61, 62]  # the last one is not full
    assert "6 of 64 groups, those with the most rows" in picture.subtitle
    with pytest.raises(sm.ReportError, match=r"Unknown key 'country'. Keys: g, day"):
        charts.roc(segmented, country="DE")
    with pytest.raises(sm.ReportError, match="No row has g='XX'"):
        charts.roc(segmented, g="XX")


def test_of_many_labels_those_with_the_most_positives_are_taken():
    sizes = {"cancellation": 10, "praise": 20, **dict.fromkeys(("a", "b", "c", "d", "e"), 100), "technical": 400}
    truth = [name for name, size in sizes.items() for _ in range(size)]
    uniform = {name: np.full(len(truth), 1 / len(sizes)) for name in sizes}
    acc = sm.multiclass(y_true="y", y_score={name: name for name in sizes}).update({"y": truth, **uniform})
    report, largest = acc.finalize(), ("a", "b", "c", "d", "e", "technical")
    for kind in ("roc", "pr", "det", "gain", "lift", "calibration", "quantile_calibration"):
        picture = getattr(charts, kind)(report)
        assert picture.series == largest
        assert "6 of 8 labels, those with the most positives" in picture.subtitle
    picture = charts.scores(report)
    assert picture.series == tuple(f"{a} · {b}" for b in ("negatives", "positives") for a in ("a", "b", "technical"))
    assert "3 of 8 labels, those with the most positives" in picture.subtitle


def test_several_reports_have_the_same_largest_groups():
    """Also if the rows of all groups of one are more than those of any group of the other."""
    random = np.random.default_rng(0)

    def classes(labels, size):
        p = random.dirichlet(np.ones(len(labels)), size)
        rows = {"y": [labels[i] for i in p.argmax(axis=1)], **{c: p[:, i] for i, c in enumerate(labels)}}
        return sm.multiclass(y_true="y", y_score={c: c for c in labels}).update(rows).finalize()

    both = charts.Together({"large": classes("abc", 900), "small": classes("abcdefgh", 200)})
    shown = charts.scores(both)
    assert {name.split(" · ")[0] for name in shown.series} == {"large", "small"}
    [label] = re.findall(r"only (\w), the one of 8 labels with the most positives", shown.subtitle)
    assert label in "abc"
    curves = charts.roc(both)
    assert "3 of 8 labels, those with the most positives" in curves.subtitle
    assert curves.series == tuple(f"{report} · {c}" for report in ("large", "small") for c in "abc")


def test_a_model_without_errors_has_no_detection_error_tradeoff():
    perfect = binary(y_score=pl.col("y").cast(pl.Float64).alias("s"))
    assert charts.det(perfect).empty
    assert charts.det(perfect).subtitle == "no threshold has both false positives and false negatives"
    assert not charts.det(binary()).empty


def test_reports_are_laid_over_one_another(report, models):
    both = charts.Together({"coarse": report, "fine": binary()})
    assert charts.roc(both).series == ("coarse", "fine")
    assert charts.roc(both).legend == ""  # the names say what they are
    assert charts.scores(both).legend == "actual class"
    assert set(charts.segments(both, "roc_auc").y.names) == {"coarse", "fine"}
    with pytest.raises(sm.ReportError, match="group columns differ"):
        charts.Together({"a": report, "b": models})


@pytest.mark.parametrize("name", ["weight", "share", "predicted", "gain", "report"])
def test_groups_are_told_apart_whatever_their_column_is_called(name):
    data = DATA.head(200).with_columns(pl.Series(["light", "heavy"] * 100).alias(name))
    report = sm.binary(y_true="y", y_score="p", by=name).update(data).finalize()
    alone = sm.binary(y_true="y", y_score="p").update(data.filter(pl.col(name) == "heavy")).finalize()
    assert charts.roc(report).series == ("heavy", "light")
    assert len(charts.scores(report).series) == 4
    found, expected = charts.roc(report, **{name: "heavy"}), charts.roc(alone)
    assert found.layers[2].frame.drop("series").equals(expected.layers[2].frame.drop("series"))


@pytest.mark.parametrize(("name", "chart"), [("count", charts.scores), ("actual", charts.confusion)])
def test_group_columns_that_a_chart_cannot_have(name, chart):
    data = DATA.head(20).with_columns(pl.lit("x").alias(name))
    with pytest.raises(sm.ReportError, match=f"'{name}' has a name that charts use"):
        chart(sm.binary(y_true="y", y_score="p", by=name).update(data).finalize())


def test_points_without_counts_are_refused(report):
    with pytest.raises(sm.ReportError, match=r"no column 'tp'\. Pass the result of operating_point\(\)"):
        charts.roc(report, points=pl.DataFrame({"threshold": [0.5]}))


def test_names_of_two_groups_are_never_the_same():
    data = DATA.head(4).with_columns(a=pl.Series(["x · y", "x", None, "null"]), b=pl.Series(["z", "y · z", "z", "z"]))
    found = sm.binary(y_true="y", y_score="p", by=["a", "b"]).update(data).finalize()
    assert len(set(charts.calibration(found).series)) == 4


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (Axis("x", -0.03, 0.07), ["−0.02", "0.00", "0.02", "0.04", "0.06"]),
        (Axis("x", 0.0, 20_500.0), ["0", "5k", "10k", "15k", "20k"]),
        (Axis("x", 1e-4, 1.0, "log"), ["0.0001", "0.001", "0.01", "0.1", "1"]),
        (Axis("x", 0.015, 0.3, "log"), ["0.02", "0.05", "0.1", "0.2"]),
        (Axis("x", 1e-3, 0.99, "probit", percent=True), ["0.1%", "5%", "50%", "95%"]),
        (Axis("x", 0.0, 0.1, percent=True), ["0%", "2%", "4%", "6%", "8%", "10%"]),
    ],
)
def test_axes_are_marked_at_round_numbers(axis, expected):
    assert labels(Picture("t", axis, Axis("y"), [line((axis.low, axis.high), (0, 1))]))[: len(expected) + 1] == [
        *expected,
        "x",
    ]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-300), (1e300, 1.1e300), (-1e308, 1e308), (5.0, 5.0)])
def test_axes_of_extreme_values_have_numbers(low, high):
    svg = charts.as_svg(Picture("t", Axis("x", low, high), Axis("y"), [line((low, high), (0, 1))]), "c")
    assert not re.search("nan|inf", svg.lower())


def test_colours_stand_out():
    """At least 3 to 1 against the page, as WCAG 2 asks of graphics."""
    style = resources.files("streammetrics.html").joinpath("page.css").read_text(encoding="utf-8")
    light_page, dark_page, print_page = (
        tuple(f"#{c * (6 // len(c))}" for c in re.findall(r"--c\d: #(\w+);", line))
        for line in style.splitlines()
        if "--c0:" in line
    )
    assert light_page == print_page == tuple(colour.lower() for colour in COLOURS)
    assert len(dark_page) == MOST

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for colours, paper in ((light_page, "#ffffff"), (dark_page, "#1a1e24")):
        for colour in colours:
            light, dark = sorted((luminance(colour), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3


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
    yield "large", sm.regression(y_true="y", y_pred="p").update({"y": [1e153, -1e153], "p": [-1e150, 1e150]})
    yield "no error", sm.regression(y_true="y", y_pred="p").update({"y": [1.0, 2.0], "p": [1.0, 2.0]})
    yield "no class", sm.multiclass(y_true="y", y_pred="p")
    several = sm.multilabel(y_true={"a": "y", "b": "p"}, y_score={"a": "p", "b": "p"})
    yield "several", several.update({"y": [1, 0], "p": [0.0, 1.0]})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "acc"), list(reports()), ids=[name for name, _ in reports()])
def test_whatever_the_rows_a_chart_is_drawn_or_the_reason_told(name, acc):
    report, drawn = acc.finalize(), 0
    for kind in KINDS:
        try:
            picture = getattr(charts, kind)(report)
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


@pytest.mark.parametrize(
    "values",
    [[time(9), time(17)], [timedelta(1), timedelta(hours=2)]],
    ids=["times", "lengths"],
)
def test_groups_of_rare_types_are_segments(values):
    rows = {"y": [1, 0] * 2, "p": [0.1, 0.2, 0.3, 0.4], "g": [v for v in values for _ in range(2)]}
    report = sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize()
    with pytest.raises(sm.ReportError, match="requires a Date or Datetime group column"):
        report.plot.over_time("accuracy")
    assert str(values[0]) in charts.segments(report, "accuracy").y.names
    assert "ROC AUC by " in page(report)


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


def test_names_that_no_svg_can_have_are_escaped():
    """A renderer that meets them ends the program."""
    named = Picture("\ufffe", Axis("\x1b"), Axis("\uffff"), [line((0, 1), (0, 1))])
    assert {r"\x1b", r"\uffff"} <= set(labels(named))


def test_without_altair_the_extra_is_named(report, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(
        sm.SpecificationError, match=r"pip install 'streammetrics\[plot\]', or in a clone: uv sync --extra plot$"
    ):
        report.plot.roc()


def test_without_vl_convert_the_page_names_the_extra(report, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(sm.SpecificationError, match=r"pages require .*pip install 'streammetrics\[plot\]'"):
        page(report)

"""Groups, models, labels, and reports side by side in a chart: which are shown, and under what names."""

import re
from datetime import time, timedelta

import numpy as np
import polars as pl
import pytest
from chart_data import DATA, binary, labels, layer, regression, rng

import streammetrics as sm
from streammetrics import charts
from streammetrics.charts.picture import MOST
from streammetrics.charts.vega import specification
from streammetrics.html import page


def test_the_best_models_are_named(forecasts):
    for kind in (charts.error_cdf, charts.rec):
        said = r"median absolute error: [\d.]+ \(near\), [\d.]+ \(far\)"
        assert re.fullmatch(said, kind(forecasts).subtitle)
    same = rng.normal(0, 1, 2_000)
    assert "order not certified" in charts.rec(regression(a=same, b=same)).subtitle


def test_segments_are_sorted_with_their_intervals(segmented):
    picture = charts.segments(segmented, "roc_auc", "g")
    rows = segmented.rollup("g").rows("roc_auc").sort("value")
    assert list(picture.y.names) == rows["g"].to_list()
    assert picture.caption == "Higher is better. Dotted: all rows. Worst first, by the better end of the interval."
    told = layer(picture, "dot")["text"][0]
    assert re.fullmatch(r"0\.(\d+) \(0\.(\d+) to 0\.(\d+)\)", told)
    assert len({len(digits) for digits in re.findall(r"\.(\d+)", told)}) == 1
    assert layer(picture, "interval").sort("y")["x"].to_list() == pytest.approx(rows.sort("g")["ci_lower"].to_list())
    assert "95% confidence interval" in picture.subtitle
    losses = charts.segments(segmented, "log_loss", "g")
    assert list(losses.y.names) == segmented.rollup("g").rows("log_loss").sort("value", descending=True)["g"].to_list()
    with pytest.raises(sm.ReportError, match="no groups to compare"):
        charts.segments(segmented.rollup(), "roc_auc")


def test_small_groups_are_not_the_worst_by_chance():
    rows = {"y": [1] * 3 + [0] * 5 + [1] * 1200 + [0] * 800, "z": [0] * 3 + [1] * 5 + [1] * 1000 + [0] * 1000}
    rows["g"] = ["few"] * 8 + ["many"] * 1000 + ["more"] * 1000
    report = sm.binary(y_true="y", y_pred="z", by="g").update(rows).finalize(["accuracy"], confidence=0.95)
    names = charts.segments(report, "accuracy").y.names
    best = report.frame.sort("ci_upper")["g"].to_list()
    assert list(names) == best
    [total] = (part.frame["x"][0] for part in charts.segments(report, "accuracy").layers if part.kind == "reference")
    assert total == pytest.approx(report.rollup()["accuracy"].value)


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


def test_areas_of_long_names_are_left_out():
    report = binary(y_score={"a" * 40: "p", "b" * 40: "q"})
    assert charts.roc(report).subtitle == ""


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


def test_of_many_labels_that_rank_alike_those_with_the_most_positives_are_taken():
    sizes = {"cancellation": 10, "praise": 20, **dict.fromkeys(("a", "b", "c", "d", "e"), 100), "technical": 400}
    truth = [name for name, size in sizes.items() for _ in range(size)]
    uniform = {name: np.full(len(truth), 1 / len(sizes)) for name in sizes}
    acc = sm.multiclass(y_true="y", y_score={name: name for name in sizes}).update({"y": truth, **uniform})
    report, largest = acc.finalize(), ("a", "b", "c", "d", "e", "technical")
    for kind in ("roc", "pr", "det", "gain", "lift", "calibration", "quantile_calibration"):
        picture = getattr(charts, kind)(report)
        assert picture.series == largest
        assert "6 of 8 labels, those with the lowest ROC AUC" in picture.subtitle
    picture = charts.scores(report)
    assert picture.series == tuple(f"{a} · {b}" for b in ("negatives", "positives") for a in ("a", "b", "technical"))
    assert "3 of 8 labels, those with the lowest ROC AUC" in picture.subtitle


def test_of_many_labels_those_that_rank_worst_are_taken():
    random = np.random.default_rng(0)
    labels, truth = list("abcdefgh"), random.integers(0, 8, 2_000)
    p = random.dirichlet(np.ones(8), 2_000)
    p[np.arange(2_000), truth] += np.where(truth < 2, 1.0, 0.1)
    rows = {"y": [labels[i] for i in truth]} | {c: p[:, i] for i, c in enumerate(labels)}
    report = sm.multiclass(y_true="y", y_score={c: c for c in labels}, renormalize=True).update(rows).finalize()
    assert charts.roc(report).series == tuple("cdefgh")


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
    [label] = re.findall(r"only (\w), the one of 8 labels with the lowest ROC AUC", shown.subtitle)
    assert label in "abc"
    curves = charts.roc(both)
    assert "3 of 8 labels, those with the lowest ROC AUC" in curves.subtitle
    assert curves.series == tuple(f"{report} · {c}" for report in ("large", "small") for c in "abc")


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


def test_names_of_two_groups_are_never_the_same():
    data = DATA.head(4).with_columns(a=pl.Series(["x · y", "x", None, "null"]), b=pl.Series(["z", "y · z", "z", "z"]))
    found = sm.binary(y_true="y", y_score="p", by=["a", "b"]).update(data).finalize()
    assert len(set(charts.calibration(found).series)) == 4


@pytest.mark.parametrize("values", [[time(9), time(17)], [timedelta(1), timedelta(hours=2)]], ids=["times", "lengths"])
@pytest.mark.usefixtures("undrawn")
def test_groups_of_rare_types_are_segments(values):
    rows = {"y": [1, 0] * 2, "p": [0.1, 0.2, 0.3, 0.4], "g": [v for v in values for _ in range(2)]}
    report = sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize()
    with pytest.raises(sm.ReportError, match="requires a Date or Datetime group column"):
        report.plot.over_time("accuracy")
    assert str(values[0]) in charts.segments(report, "accuracy").y.names
    assert "ROC AUC by " in page(report)

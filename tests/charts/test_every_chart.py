"""Every chart in one table: the axes, and the marks with the fields of their rows."""

import json
import math
from datetime import date

import polars as pl
import pytest
from data import CANDIDATES, CLICKS, DELIVERIES, candidates, clicks, deliveries
from drawn import clicked, of_models, scale

import streammetrics as sm

BY_DAY = {"by": ["country", "day"], "metrics": ["rows", "roc_auc"]}


def forecasts():
    models = DELIVERIES | {"y_pred": {"forecast": "forecast", "naive": "naive"}}
    return sm.regression(**models).update(deliveries()).finalize()


def compared():
    return sm.compare(sm.binary(by="country", **CANDIDATES).update(candidates()), models=("old", "new"))


CURVE = {"reference": "x y", "line": "x y", "dot": "x y"}
BINS = {"reference": "x y", "interval": "x y y2", "line": "x y", "dot": "x y"}
PLACES = {"reference": "x", "interval": "x y x2", "dot": "x y"}
BARS = {"band": "x y", "line": "x y"}
CELLS = "share x y is_right shade shown below"
OF_TWO_CLASSES = {
    "roc": ("linear", "linear", CURVE),
    "pr": ("linear", "linear", CURVE),
    "det": ("linear", "linear", {"line": "x y", "dot": "x y"}),
    "gain": ("linear", "linear", CURVE),
    "lift": ("linear", "linear", CURVE),
    "thresholds": ("linear", "linear", CURVE),
    "scores": ("linear", "linear", BARS),
    "calibration": ("linear", "linear", BINS),
    "quantile_calibration": ("linear", "linear", BINS),
    "confusion": ("names", "names", {"cell": CELLS, "text": CELLS}),
}
OF_ERRORS = {
    "error_cdf": ("linear", "linear", {"reference": "x y", "line": "x y"}),
    "rec": ("linear", "linear", {"line": "x y"}),
    "errors": ("linear", "linear", BARS),
}
OF_GROUPS = {
    "segments": ("linear", "names", PLACES),
    "over_time": ("utc", "linear", {"band": "x y", "line": "x y", "dot": "x y"}),
}
CHARTS = {
    **{name: (lambda name=name: getattr(clicked(0.95).plot, name)(), *drawn) for name, drawn in OF_TWO_CLASSES.items()},
    **{name: (lambda name=name: getattr(forecasts().plot, name)(), *drawn) for name, drawn in OF_ERRORS.items()},
    **{
        name: (lambda name=name: getattr(clicked(0.95, **BY_DAY).plot, name)("roc_auc"), *drawn)
        for name, drawn in OF_GROUPS.items()
    },
    "rates": (
        lambda: clicked(0.95, **BY_DAY | {"metrics": ["calibration_ratio"]}).plot.rates("country"),
        "linear",
        "names",
        {"interval": "x y x2", "dot": "x y"},
    ),
    "forest": (lambda: compared().plot.forest(), "linear", "names", PLACES),
    "limits": (lambda: compared().check(not_worse={"roc_auc": 0.01}).plot.limits(), "linear", "names", PLACES),
}


def test_every_chart_has_its_axes_and_marks():
    public = {name for kind in (sm.Report.plot, sm.Comparison.plot, sm.Verdicts.plot) for name in _methods(kind)}
    assert public == {*CHARTS}
    for name, (draw, x, y, marks) in CHARTS.items():
        chart = draw()
        assert (scale(chart.x), scale(chart.y), chart.marks()) == (x, y, marks), name
        assert (name in ("calibration", "forest")) == (chart.below is not None)
        assert chart.title
        assert len({chart.x["title"], chart.y["title"]}) == 2 or name == "forest"


def _methods(plot):
    """The names of the charts of a property, which its help lists."""
    kind = {"Report": of_models().plot, "Comparison": compared().plot, "Verdicts": clicked().check("ece < 1").plot}
    return [name for name in dir(kind[plot.fget.__qualname__.partition(".")[0]]) if name[0] != "_"]


def rows_at_the_limits():
    """Reports of few or extreme rows."""
    of_two = {"y_true": "y", "y_score": "p"}
    nothing = pl.DataFrame(schema={"y": pl.Boolean, "p": pl.Float64, "g": pl.String})
    yield sm.binary(**of_two).update({"y": [1, 0, 1, 0], "p": [0.0, 1.0, 1.0, 0.0]})
    yield sm.binary(**of_two).update(nothing)
    yield sm.binary(**of_two, by="g").update(nothing)
    yield sm.binary(**of_two).update({"y": [1, 1], "p": [0.5, 0.5]})
    yield sm.binary(**of_two).update({"y": [0, 0], "p": [0.5, 0.1]})
    yield sm.binary(y_true="y", y_pred="p").update({"y": [1, 0], "p": [1, 1]})
    weighted = sm.binary(**of_two, sample_weight="w", domain="real")
    yield weighted.update({"y": [1, 0, 1], "p": [math.inf, -1e300, 1e300], "w": [0.5, 1.5, 2.0]})
    yield sm.predictions(y_score="p").update({"p": [0.1, 0.2, None]})
    for scores in ([0.0, 1e-300], [-1e300, 1e300], [5.0, 5.0], [-1e308, 1e308]):
        yield sm.predictions(y_score="p", domain="real").update({"p": scores})
    for errors in ({}, {"y": [1e153, -1e153], "p": [-1e150, 1e150]}, {"y": [1.0, 2.0], "p": [1.0, 2.0]}):
        acc = sm.regression(y_true="y", y_pred="p")
        yield acc.update(errors) if errors else acc
    yield sm.multiclass(y_true="y", y_pred="p")
    several = sm.multilabel(y_true={"a": "y", "b": "p"}, y_score={"a": "p", "b": "p"})
    yield several.update({"y": [1, 0], "p": [0.0, 1.0]})


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
def test_a_chart_of_any_rows_is_drawn_or_refused():
    for acc in rows_at_the_limits():
        plot, drawn = acc.finalize().plot, 0
        for name in (*OF_TWO_CLASSES, *OF_ERRORS):
            try:
                chart = getattr(plot, name)()
            except sm.StreamMetricsError:
                continue
            json.dumps(chart.spec, allow_nan=False)
            if name in ("roc", "scores", "calibration", "confusion", "errors"):  # of every kind of axis
                assert not {"nan", "infinity"} & {text.lower() for text in chart.texts}
            drawn += 1
        assert drawn


def test_a_chart_of_no_rows_or_infinite_values_is_drawn():
    plot = clicked(rows=clicks()[:0]).plot
    assert plot.scores().subtitle == plot.calibration().subtitle == "no values to draw"
    rows = {"y": [1, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.8], "day": [date(2026, 1, 1)] * 2 + [date(2026, 1, 2)] * 2}
    report = sm.binary(y_true="y", y_score="p", by="day").update(rows).finalize()
    assert report.rows("lr_plus")["value"].to_list() == [math.inf, 0]
    for chart in (report.plot.segments("lr_plus"), report.plot.over_time("lr_plus")):
        json.dumps(chart.spec, allow_nan=False)


@pytest.mark.thorough
@pytest.mark.usefixtures("with_altair")
def test_altair_takes_charts_of_all_marks_and_axes(tmp_path):
    """Others have the same, which the table of charts says."""
    for name in ("roc", "scores", "calibration", "confusion", "over_time", "forest"):
        specification = json.loads(CHARTS[name][0]().to_json())  # validated against the schema of Vega-Lite
        assert specification["$schema"].startswith("https://vega.github.io/schema/vega-lite"), name
    CHARTS["roc"][0]().save(str(tmp_path / "roc.svg"))
    assert (tmp_path / "roc.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.usefixtures("with_altair")
@pytest.mark.parametrize("library", ["altair", "vl_convert"])
def test_a_missing_extra_is_named(library, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, library, None)
    report = clicked(rows=clicks()[:50])
    with pytest.raises(sm.errors.SpecificationError, match=r"'\.\[plot\]'"):
        report.plot.roc() if library == "altair" else report.save_html(tmp_path / "page.html")


def test_names_of_control_characters_can_be_drawn():
    """A renderer that meets them ends the program."""
    rows = {"y": [0, 1] * 2, "p": [0.2, 0.7] * 2, "\ufffe": ["\x1b", "\x1b", "\uffff", "\uffff"]}
    chart = sm.binary(y_true="y", y_score="p", by="\ufffe").update(rows).finalize().plot.segments("accuracy")
    assert {r"\x1b", r"\uffff", r"\ufffe"} <= {*chart.texts}


def test_columns_are_any_names():
    for name in ("weight", "gain", "report"):
        rows = clicks()[:200].with_columns(pl.Series(name, ["light", "heavy"] * 100))
        report = clicked(rows=rows, by=name)
        assert report.plot.roc().series == ["heavy", "light"]
        assert len(report.plot.scores().series) == 4
        alone = clicked(rows=rows.filter(pl.col(name) == "heavy")).plot.roc()
        assert (report.plot.roc(**{name: "heavy"}).points("line") == alone.points("line")).all()


def test_operating_points_of_a_chart_are_those_of_the_report_or_those_given():
    report = clicked()
    fpr, recall = (report[name].value for name in ("fpr", "recall"))
    assert report.plot.roc().points("dot").tolist() == [[fpr, recall]]
    best = report.operating_point(maximize="youden_j")
    [(x, y)] = report.plot.roc(points=best).points("dot")
    assert y - x == pytest.approx(best["value"].item())


def test_two_reports_are_laid_over_one_another():
    rows = clicks()
    tasks = [sm.binary(by="country", **CLICKS).update(part) for part in (rows[:2_000], rows[2_000:])]
    plot = sm.compare(*(task.rollup() for task in tasks)).plot
    assert plot.roc().legend == ("", ["a", "b"])
    assert plot.scores().legend == ("", ["a", "b"])
    assert plot.scores(report="a").legend[0] == "actual class"
    assert plot.roc().below.rows("line").height == 200
    assert set(plot.segments("roc_auc").names) == {"a", "b"}
    assert plot.calibration().below.series == ["a", "b"]

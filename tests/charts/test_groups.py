"""Which groups, models, and labels a chart shows, under what names, and in which order."""

import re
from datetime import time, timedelta

import numpy as np
import polars as pl
import pytest
from data import DIGITS, clicks, digits
from drawn import clicked, of_models

import streammetrics as sm

OF_LABELS = ("roc", "pr", "det", "gain", "lift", "calibration", "quantile_calibration")


def test_keys_select_groups():
    report = clicked(by=["country", "day"])
    assert report.plot.roc(country="DE").legend[0] == "day"
    many = clicked(rows=clicks().with_row_index("row"), by=pl.col("row").sqrt().cast(pl.Int64).alias("size"))
    drawn = many.plot.roc()
    assert drawn.series == [str(size) for size in range(57, 63)]  # the largest; the last one is not full
    assert "6 of 64 groups" in drawn.subtitle


def test_of_many_labels_those_that_rank_worst_are_shown():
    report = sm.multiclass(**DIGITS).update(digits()).finalize()
    worst = sorted(report.rows("roc_auc").drop_nulls("label").sort("value")["label"][:6])
    for drawn in (report.plot.roc(), report.plot.calibration()):
        assert sorted(drawn.series) == worst
        assert "6 of 10 labels" in drawn.subtitle


def test_of_labels_that_rank_alike_those_with_the_most_positives_are_shown():
    sizes = {"cancellation": 10, "praise": 20, **dict.fromkeys("abcde", 100), "technical": 400}
    truth = [name for name, size in sizes.items() for _ in range(size)]
    uniform = {name: np.full(len(truth), 1 / len(sizes)) for name in sizes}
    acc = sm.multiclass(y_true="y", y_score={name: name for name in sizes}).update({"y": truth, **uniform})
    plot = acc.finalize().plot
    for chart in OF_LABELS:
        assert chart == "det" or getattr(plot, chart)().series == [*"abcde", "technical"]  # which has no points of ties
    names = [f"{label} · {side}" for side in ("negatives", "positives") for label in ("a", "b", "technical")]
    assert plot.scores().series == names


def test_both_sides_of_a_comparison_have_the_same_labels():
    """Also if the rows of all groups of one are more than those of any group of the other."""
    rng = np.random.default_rng(0)

    def classes(labels, size):
        p = rng.dirichlet(np.ones(len(labels)), size)
        rows = {"y": [labels[i] for i in p.argmax(axis=1)], **{c: p[:, i] for i, c in enumerate(labels)}}
        return sm.multiclass(y_true="y", y_score={c: c for c in labels}).update(rows)

    plot = sm.compare(classes("abc", 900), classes("abcdefgh", 200), metrics=["accuracy"]).plot
    assert plot.roc().series == [f"{side} · {label}" for side in "ab" for label in "abc"]
    assert "3 of 8 labels" in plot.scores().subtitle


def test_groups_are_sorted_from_the_worst_with_their_intervals():
    report = clicked(0.95, by="country")
    for metric, descending in (("roc_auc", False), ("log_loss", True)):
        rows = report.rows(metric).sort("ci_lower" if descending else "ci_upper", descending=descending)
        drawn = report.plot.segments(metric)
        assert drawn.names == rows["country"].to_list()
        ends = drawn.rows("interval").sort("y")
        for name, column in (("x", "ci_lower"), ("x2", "ci_upper")):
            assert ends[name].to_list() == pytest.approx(rows.sort("country")[column].to_list())
        dots = drawn.rows("dot").sort("y")
        assert dots["x"].to_list() == rows.sort("country")["value"].to_list()
        assert set(drawn.rows("reference")["x"]) == {report.rollup()[metric].value}
        assert len({len(digits) for digits in re.findall(r"\.(\d+)", dots["text"][0])}) == 1


def test_of_many_groups_the_worst_are_shown():
    rows = clicks().with_row_index("row").with_columns(place=pl.col("row") % 41)
    many = clicked(rows=rows, by="place")
    drawn = many.plot.segments("log_loss")
    assert drawn.names == many.worst("log_loss", n=20)["place"].cast(pl.String).to_list()
    assert "the 20 worst of 41" in drawn.subtitle
    no_positives = rows.filter(~pl.col("clicked") | (pl.col("place") < 40))
    assert "Undefined in 1 group" in clicked(rows=no_positives, by="place").plot.segments("roc_auc").caption
    units = clicks().with_columns(u=pl.when(country=pl.lit("IN")).then(0).otherwise(pl.int_range(pl.len()) // 4))
    for options, told in (({"unit": "u"}, True), ({}, False)):
        caption = clicked(0.95, rows=units, by="country", **options).plot.segments("log_loss").caption
        assert ("without a line" in caption) == told


def test_groups_with_an_order_keep_it():
    rows = clicks().with_columns(season=pl.col("day").dt.day() % 5 + 2015, shop=pl.format("shop {}", "country"))
    report = clicked(rows=rows, by=["season", "shop"])
    assert report.plot.segments("log_loss", "season").names == ["2015", "2016", "2017", "2018", "2019"]
    shops = report.plot.segments("log_loss", "shop")
    assert set(shops.names) == {"DE", "FR", "IN"} == set(shops.rows("dot")["y"])  # without what all have
    names = {"a": pl.Series(["x · y", "x", None, "null", ""]), "b": pl.Series(["z", "y · z", *"zzz"])}
    alike = clicks()[:5].with_columns(**names)
    assert len({*clicked(rows=alike, by=["a", "b"]).plot.calibration().series}) == 5  # names are never the same
    assert "''" in clicked(rows=alike, by="a").plot.segments("accuracy").names
    assert shops.y["title"] == "shop (shop …)"
    for values in ([time(9), time(17)], [timedelta(1), timedelta(hours=2)]):
        rare = clicks()[:4].with_columns(g=pl.Series(values * 2))
        assert str(values[0]) in clicked(rows=rare, by="g").plot.segments("accuracy").names


def test_two_models_at_a_name_are_below_each_other():
    drawn = of_models(by="country").plot.segments("roc_auc")
    assert drawn.series == ["old", "new"]
    assert "yOffset" in drawn.layers["dot"]["encoding"]


def test_cells_are_the_shares_of_the_confusion_matrix():
    labels = {"y_true": "digit", "y_pred": "predicted"}
    report = sm.multiclass(**labels).update(digits()).finalize()
    drawn = report.plot.confusion()
    cells = drawn.rows("cell").filter(pl.col("share") > 0).select("share", predicted="x", actual="y")
    expected = report.confusion_matrix("actual").filter(pl.col("share") > 0)
    both = cells.join(expected, on=["actual", "predicted"], suffix="_expected")
    assert both.height == cells.height == expected.height > 20
    assert (both["share"] - both["share_expected"]).abs().max() < 1e-12
    two = clicked(thresholds=[0.2, 0.5]).plot.confusion(threshold=0.2).rows("cell")
    positive = clicks().filter("clicked")["score"]
    assert two.filter(x="positive", y="positive")["share"].item() == pytest.approx((positive >= 0.2).mean())


def of_labels(truth, guess, **options):
    return sm.multiclass(y_true="y", y_pred="z", **options).update({"y": truth, "z": guess}).finalize().plot.confusion()


def test_of_many_labels_those_with_the_most_errors_have_cells():
    names = [f"label {i:02d}" for i in range(40)]
    drawn = of_labels(names * 20, names * 10 + (names[1:] + names[:1]) * 10)
    assert len(drawn.names) == 30
    assert "30 labels with the most errors of 40" in drawn.subtitle
    assert drawn.names[0].isdigit()  # without what all have
    assert drawn.x["title"] == "Predicted (label …)"
    assert drawn.spec["width"] >= 30 * 36  # pixels, for four characters
    few = of_labels([*range(5)], [*range(5)])
    assert few.spec["height"] == 5 * 40  # pixels, for a share and a count


def test_labels_have_their_declared_order():
    rows = ["low", "high", "mid"], ["low", "mid", "high"]
    for options, names in (
        ({}, ["high", "low", "mid"]),
        *(({o: ["low", "mid", "high"]}, None) for o in ("labels", "order")),
    ):
        drawn = of_labels(*rows, **options)
        assert drawn.names == drawn.x["scale"]["domain"] == (names or ["low", "mid", "high"])


def test_only_none_and_all_rows_are_0_and_100_percent():
    drawn = of_labels(["n"] * 200_000 + ["p"] * 129, ["n"] * 199_944 + ["p"] * (56 + 129))
    assert [text for text in drawn.texts if "%" in text and len(text) < 8] == ["&gt;99%", "&lt;1%", "100%"]
    assert [told.rpartition(", ")[2] for told in drawn.rows("cell")["text"]] == ["99.97%", "0.03%", "100%"]


def test_errors_have_a_color_scale_of_their_own():
    for wrong, shades in ((20, [0.8, 1.0, 1.0]), (1, [0.99, 0.1, 1.0])):
        cells = of_labels(["a"] * 100 + ["b"] * 100, ["a"] * (100 - wrong) + ["b"] * (100 + wrong)).rows("cell")
        assert cells.sort("y", "x")["shade"].to_list() == pytest.approx(shades)

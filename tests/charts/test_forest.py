"""Forest plots: their numbers are those of the comparison, and a grey interval contains 0."""

import numpy as np
import polars as pl
import pytest
from chart_data import layer, two_models

import streammetrics as sm
from streammetrics import charts
from streammetrics.charts.forest import OPEN
from streammetrics.charts.vega import PAPER, specification

rng = np.random.default_rng(5)
ROWS = 4_000
DATA = pl.DataFrame(two_models(rng, ROWS, 0.4) | {"g": rng.choice(["x", "y", None], ROWS)})


@pytest.fixture(scope="module")
def found():
    acc = sm.binary(y_true="y", y_score={"old": "old", "new": "new"}, by="g").update(DATA)
    return sm.compare(acc, models=("old", "new"))


def test_the_better_side_is_that_of_the_dot_and_grey_intervals_contain_0(found):
    picture = charts.forest(found)
    dots, ends = layer(picture, "dot"), layer(picture, "interval")
    frame = found.total.frame
    better = frame.filter(metric="log_loss")["better"].item()
    assert better == "new"
    assert dots.filter(y="Log loss")["series"].item() == "new better"
    assert dots.filter(y="Log loss")["x"].item() > 1  # although a lower loss is better
    around = ends.filter(pl.min_horizontal("x", "x2") <= 0, pl.max_horizontal("x", "x2") >= 0)
    assert set(around["y"]) == set(ends.filter(series=OPEN)["y"])
    assert ((ends["x2"] - ends["x"]).abs() <= 2 + 1e-9).all()
    assert "Without an interval: ks, ece." in picture.caption
    assert "Rows" not in picture.y.names


def test_groups_have_the_units_of_the_metric(found):
    picture = charts.forest(found, "roc_auc")
    rows = found.frame.filter(metric="roc_auc")
    assert sorted(layer(picture, "dot")["x"]) == pytest.approx(sorted(rows["difference"]))
    assert set(picture.y.names) == {"x", "y", "null"}
    assert picture.x.title == "roc_auc: new minus old"


def test_it_is_drawn_with_one_color_per_side_and_grey(found):
    drawn = str(specification(charts.forest(found)))
    assert f"['{PAPER['c0']}', '{PAPER['c1']}', '{PAPER['guide']}']" in drawn
    assert "yOffset" not in drawn
    pytest.importorskip("altair")
    assert "new compared with old" in str(found.plot.forest().title.text)
    assert "Difference in log loss by g" in str(found.plot.forest("log_loss").title.text)


def test_what_cannot_be_drawn(found):
    with pytest.raises(sm.ReportError, match="has no groups"):
        charts.forest(found.total, "roc_auc")
    with pytest.raises(sm.ReportError, match="preferred direction"):
        charts.forest(sm.compare(found.a, found.b, metrics=["prevalence"]))
    assert charts.forest(sm.compare(found.a, found.b, confidence=None)).empty

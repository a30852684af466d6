"""The chart of verdicts: what holds lies right of the limit, what is breached left of it, and what is open on it."""

import numpy as np
import polars as pl
import pytest
from chart_data import layer, two_models

import streammetrics as sm
from streammetrics import charts
from streammetrics.charts.forest import FARTHEST, MOST

rng = np.random.default_rng(5)
ROWS = 6_000
DATA = pl.DataFrame(two_models(rng, ROWS, 0.8) | {"g": rng.integers(0, 20, ROWS), "day": rng.integers(0, 3, ROWS)})
SCORES = {"old": "old", "new": "new"}
MARGINS = {"not_worse": {"roc_auc": 0.01, "log_loss": "0.5%", "recall": 0.3}, "better": ["brier_score", "specificity"]}


def compared(capacity=None, **options):
    acc = sm.binary(y_true="y", y_score=SCORES, capacity=capacity, **options).update(DATA)
    return sm.compare(acc, models=("new", "old")), sm.compare(acc, models=("old", "new"))


def sides(picture):
    """The smaller and the larger end of each interval, by its place."""
    ends = layer(picture, "interval")
    return ends.select("y", "series", low=pl.min_horizontal("x", "x2"), high=pl.max_horizontal("x", "x2"))


@pytest.mark.parametrize("options", [{"by": "day"}, {}, {"capacity": 64}])
@pytest.mark.parametrize("side", [0, 1])
def test_the_side_of_the_limit_is_the_verdict(options, side):
    verdicts = compared(**options)[side].check(**MARGINS)
    picture = charts.limits(verdicts.frame)
    drawn = sides(picture)
    assert sorted(drawn["series"]) == sorted(verdicts.frame["verdict"])
    assert (drawn.filter(series="holds")["low"] >= -1e-9).all()
    assert (drawn.filter(series="breached")["high"] <= 1e-9).all()
    is_open = drawn.filter(series="open")
    assert ((is_open["low"] <= 1e-9) & (is_open["high"] >= -1e-9)).all()
    inside = drawn.filter(pl.col("low") > -FARTHEST, pl.col("high") < FARTHEST)
    assert (inside["high"] - inside["low"]).to_list() == pytest.approx([2.0] * inside.height)


def test_every_verdict_of_two_sides_is_tried():
    of_all = pl.concat(found.check(**MARGINS).frame for found in compared(by="day"))
    assert {"holds", "breached", "open"} <= set(of_all["verdict"])


def test_places_name_the_group_and_the_rule_and_dots_the_numbers():
    found = compared(by="day")[1].check(not_worse={"log_loss": "0.5%"})
    picture = charts.limits(found.frame)
    assert picture.y.names == tuple(f"day {day} · log_loss not worse by 0.5%" for day in range(3))
    (text, *_) = layer(picture, "dot")["text"]
    assert text.startswith("day 0 · log_loss not worse by 0.5%: -")
    assert text.endswith("%), holds")
    alone = charts.limits(compared()[1].check(not_worse={"recall": 0.3}).frame)
    assert alone.y.names == ("recall not worse by 0.3",)  # of one threshold


def test_of_many_verdicts_those_that_fail_are_first():
    found = compared(by="g")[1].check(**MARGINS)
    picture = charts.limits(found.frame)
    assert len(picture.y.names) == MOST
    known = found.frame["ci_lower"].count()
    assert picture.subtitle.startswith(f"the first {MOST} of {known:,}; ")
    failing = found.frame.filter(~pl.col("passes"))["verdict"].value_counts()
    drawn = layer(picture, "dot")["series"]
    assert min(MOST, failing["count"].sum()) <= drawn.is_in(["open", "breached"]).sum()


def test_verdicts_of_reports_and_those_without_an_interval():
    report = sm.binary(y_true="y", y_score="new").update(DATA).finalize()
    found = report.check(["roc_auc >= 0.5", "log_loss <= 0.1", "ece <= 0.1"])
    picture = charts.limits(found.frame)
    assert layer(picture, "dot")["series"].to_list() == ["holds", "breached"]
    assert abs(layer(picture, "dot")["x"]).to_list() == [FARTHEST] * 2
    assert picture.caption == "At an end of the axis: larger distances. Without an interval: 1 of 3."
    assert charts.limits(report.check("ece <= 0.1").frame).empty
    assert charts.limits(report.check("roc_auc >= 0.5", confidence=None).frame).empty


@pytest.mark.thorough
def test_expected_values_are_not_widened_by_their_bounds_again(tmp_path):
    pytest.importorskip("deltalake")
    days = DATA.with_columns(day=pl.date(2026, 1, 1) + pl.duration(days=DATA["day"]))
    last = pl.col("day") == pl.date(2026, 1, 3)
    labels, scores = (sm.MetricStore(tmp_path / name) for name in ("labels", "scores"))
    binary = sm.binary(y_true="y", y_score="new", by="day", capacity=64)
    labels.append(binary.update(days.filter(~last)), batch_id="labels")
    scores.append(sm.predictions(y_score="new", by="day", capacity=64).update(days), batch_id="scores")
    rules = [sm.Rule(f"roc_auc >= {limit}", before_labels=True, odds=1.2) for limit in np.linspace(0.6, 0.9, 61)]
    frame = sm.check(labels, rules, scores=scores).frame
    assert {"holds", "open", "breached"} == set(frame["verdict"])
    assert (frame["lower"] < frame["value"]).all()
    drawn = sides(charts.limits(pl.concat(part.head(9) for part in frame.partition_by("verdict"))))
    assert (drawn.filter(series="holds")["low"] >= -1e-9).all()
    assert (drawn.filter(series="breached")["high"] <= 1e-9).all()


@pytest.mark.thorough
def test_the_chart_and_the_page_of_a_gate(tmp_path):
    pytest.importorskip("altair")
    found = compared(by="day")[1]
    gate = found.check(**MARGINS)
    assert "Distance from each limit" in str(gate.plot.limits().title.text)
    found.save_html(tmp_path / "gate.html", check=gate)
    page = (tmp_path / "gate.html").read_text(encoding="utf-8").partition("<h2")[2]
    assert page.index("Requirements") < page.index("Distance from each limit") < page.index("What stands out")
    assert page.count("the gate passes in at most 5% of samples") == 1
    assert "roc_auc not worse by 0.01" in page
    found.save_html(tmp_path / "without.html")
    assert "Requirements" not in (tmp_path / "without.html").read_text(encoding="utf-8")

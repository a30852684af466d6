"""Forest plots and limits: places tell the better side and the verdict."""

import re

import numpy as np
import polars as pl
import pytest
import vl_convert
from data import CANDIDATES, CLICKS, candidates, clicks
from drawn import Drawn

import streammetrics as sm

MARGINS = {"not_worse": {"roc_auc": 0.01, "log_loss": "0.5%", "recall": 0.3}, "better": ["brier_score", "specificity"]}
METRICS = {
    "ROC AUC": "roc_auc",
    "Average precision": "average_precision",
    "Log loss skill": "log_loss_skill",
    "Precision": "precision",
    "Recall": "recall",
    "Accuracy": "accuracy",
}
FARTHEST = 8  # half widths of an interval, at the ends of the axis
MOST = 30  # names


def compared(first="old", second="new", **options):
    rows = candidates().with_row_index("row").with_columns(place=pl.col("row") % 20)
    acc = sm.binary(**CANDIDATES | options).update(rows)
    return sm.compare(acc, models=(first, second))


def sides(drawn):
    """The smaller and the larger end of each interval."""
    return drawn.rows("interval").select(
        "y", "series", low=pl.min_horizontal("x", "x2"), high=pl.max_horizontal("x", "x2")
    )


def test_each_metric_has_an_axis_of_its_own_whose_right_side_is_better():
    found = compared()
    panels = {words: Drawn(part) for words, part in zip(METRICS, found.plot.forest().spec["vconcat"], strict=True)}
    seen = set()
    for words, drawn in panels.items():
        [row] = found.total.frame.filter(metric=METRICS[words]).to_dicts()
        [dot], [ends], (left, right) = drawn.rows("dot").to_dicts(), sides(drawn).to_dicts(), drawn.x["scale"]["domain"]
        assert drawn.names[0].startswith(words)
        assert left == -right < 0
        assert dot["x"] == row["difference"]
        assert ends["low"] <= row["ci_lower"] < row["ci_upper"] <= ends["high"] <= right
        assert dot["series"] == {"old": "old better", "new": "new better"}.get(row["better"], "not significant")
        assert (ends["low"] <= 0 <= ends["high"]) == (row["better"] is None)
        seen.add(row["better"])
    assert seen == {"old", "new", None}
    acc = sm.binary(**CANDIDATES, metrics=["log_loss", "brier_score"]).update(candidates())
    losses = sm.compare(acc, models=("old", "new")).plot.forest()
    left, right = losses.x["scale"]["domain"]
    assert right < losses.rows("dot")["x"][0] < 0 < left  # the new model is better, with a lower loss


def test_groups_have_the_units_of_the_metric():
    found = compared(by="country")
    drawn = found.plot.forest("roc_auc")
    rows = found.frame.filter(metric="roc_auc")
    assert sorted(drawn.rows("dot")["x"]) == pytest.approx(sorted(rows["difference"]))
    assert set(drawn.names) == {"DE", "FR"}
    assert drawn.x["title"] == "ROC AUC: new minus old"
    without = sm.compare(found.a, found.b, confidence=None).plot.forest()
    assert not without.rows("dot").height


def test_the_side_of_the_limit_is_the_verdict():
    seen = set()
    for options in ({"by": "country"}, {"capacity": 64}):
        for models in (("old", "new"), ("new", "old")):
            verdicts = compared(*models, **options).check(**MARGINS)
            drawn = sides(verdicts.plot.limits())
            assert sorted(drawn["series"]) == sorted(verdicts.frame["verdict"])
            assert (drawn.filter(series="holds")["low"] >= -1e-9).all()
            assert (drawn.filter(series="breached")["high"] <= 1e-9).all()
            is_open = drawn.filter(series="open")
            assert ((is_open["low"] <= 1e-9) & (is_open["high"] >= -1e-9)).all()
            inside = drawn.filter(pl.col("low") > -FARTHEST, pl.col("high") < FARTHEST)
            assert (inside["high"] - inside["low"]).to_list() == pytest.approx([2.0] * inside.height)
            seen |= {*verdicts.frame["verdict"]}
    assert seen == {"holds", "breached", "open"}


def test_limits_name_the_group_and_the_rule():
    found = compared(by="country").check(not_worse={"log_loss": "0.5%"}).plot.limits()
    assert found.names == [f"log_loss not worse by 0.5% · country {name}" for name in ("DE", "FR")]
    lines = re.findall(">([^<>]+)</tspan>", vl_convert.vegalite_to_svg(found.spec))
    assert {"log_loss not worse by 0.5%", "country DE", "country FR"} <= {*lines}
    assert found.rows("dot")["text"][0].endswith("%), holds")
    assert compared().check(not_worse={"recall": 0.3}).plot.limits().names == ["recall not worse by 0.3"]


def test_of_many_verdicts_those_that_fail_are_first():
    verdicts = compared(by="place").check(**MARGINS)
    drawn = verdicts.plot.limits()
    assert len(drawn.names) == MOST
    assert f"{MOST} of {verdicts.frame['ci_lower'].count()}" in drawn.subtitle
    failing = verdicts.frame.filter(~pl.col("passes")).height
    shown = drawn.rows("dot")["series"]
    assert min(MOST, failing) <= shown.is_in(["open", "breached"]).sum()


def test_far_values_lie_at_the_end_and_those_without_an_interval_are_counted():
    report = sm.binary(**CLICKS).update(clicks()).finalize()
    drawn = report.check(["roc_auc >= 0.5", "log_loss <= 0.1", "ece <= 0.1"]).plot.limits()
    assert drawn.rows("dot")["series"].to_list() == ["holds", "breached"]
    assert np.abs(drawn.points("dot")[:, 0].astype(float)).tolist() == [FARTHEST] * 2
    assert "1 of 3" in drawn.caption
    for check in (report.check("ece <= 0.1"), report.check("roc_auc >= 0.5", confidence=None)):
        assert not check.plot.limits().rows("dot").height


@pytest.mark.thorough
def test_expected_values_are_not_widened_by_their_bounds_again(tmp_path):
    pytest.importorskip("deltalake")
    last = pl.col("day") == clicks()["day"].max()
    labels, scores = (sm.MetricStore(tmp_path / name) for name in ("labels", "scores"))
    task = {"by": "day", "capacity": 64}
    labels.append(sm.binary(**CLICKS, **task).update(clicks().filter(~last)), batch_id="labels")
    scores.append(sm.predictions(y_score="score", **task).update(clicks()), batch_id="scores")
    rules = [sm.Rule(f"roc_auc >= {limit}", before_labels=True, odds=1.2) for limit in np.linspace(0.6, 0.9, 21)]
    verdicts = sm.check(labels, rules, scores=scores)
    assert {"holds", "open", "breached"} == set(verdicts.frame["verdict"])
    assert (verdicts.frame["lower"] < verdicts.frame["value"]).all()
    drawn = sides(verdicts.plot.limits())
    assert (drawn.filter(series="holds")["low"] >= -1e-9).all()
    assert (drawn.filter(series="breached")["high"] <= 1e-9).all()

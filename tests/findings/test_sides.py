"""Findings of comparisons: each code occurs for what it names, and not without it."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run

import streammetrics as sm

ROWS = 6_000
MODELS = {"y_true": "y", "y_score": {"old": "p", "new": "q"}}


def scored(seed=0, rows=ROWS, noise=(0.8, 0.8), worse=0.8, groups=3):
    """Labels, and the scores of two models with some noise, which is ``worse`` in group 1 of the new one."""
    rng = np.random.default_rng(seed)
    odds, g = rng.normal(-1, 1.3, rows), rng.integers(0, groups, rows)
    y = rng.random(rows) < 1 / (1 + np.exp(-odds))
    seen = [odds + rng.normal(size=rows) * noise[0], odds + rng.normal(size=rows) * np.where(g == 1, worse, noise[1])]
    p, q = (1 / (1 + np.exp(-x)) for x in seen)
    return pl.DataFrame({"y": y, "p": p, "q": q, "g": g.astype(str)})


def models(frame, **others):
    return sm.compare(sm.binary(**MODELS | {"by": "g"} | others).update(frame), models=("old", "new"))


def one(frame, score="p"):
    return sm.binary(y_true="y", y_score=score, by="g").update(frame)


CALIBRATED = 1 / (1 + (1 / pl.col("q") - 1) ** 3)
FAULTS = {
    "SM701": lambda: models(scored(noise=(1.5, 0.3), worse=0.3)),
    "SM702": lambda: models(scored(noise=(1.5, 0.3), worse=4, groups=6)),
    "SM703": lambda: models(scored(noise=(1.5, 0.3), worse=0.3).with_columns(q=CALIBRATED)),
    "SM704": lambda: sm.compare(one(scored()), one(scored(1, 5_000))),
    "SM705": lambda: sm.compare(one(scored()), one(scored(1, groups=4)), independent=True),
    "SM706": lambda: sm.compare(one(scored()), one(scored()), independent=True),
}


@pytest.mark.parametrize("code", FAULTS)
def test_what_a_code_names_is_found(code):
    [finding] = [finding for finding in FAULTS[code]().findings() if finding.code == code]
    assert 10 < len(str(finding)) < 220


def test_the_verdict_comes_first_with_its_numbers():
    found = FAULTS["SM702"]()
    verdict, group, *_ = found.findings()
    row = found.total.frame.filter(metric="roc_auc").row(0, named=True)
    assert (verdict.code, verdict.severity, verdict.metric) == ("SM701", "info", "roc_auc")
    assert (verdict.value, verdict.ci_lower) == (row["difference"], row["ci_lower"])
    assert str(verdict).startswith("new is better: ROC AUC is 0.0")
    assert (group.code, group.where) == ("SM702", {"g": "1"})
    assert str(group).startswith("old is better in groups of g, by ROC AUC: 1 (old 0.")
    swapped = sm.compare(one(scored(noise=(0.3, 0.3))), one(scored(1, noise=(2.5, 0.3))), independent=True)
    assert swapped.findings()[0].severity == "warn"


def test_the_primary_metric_is_the_first_given_that_can_be_better():
    acc = sm.binary(**MODELS).update(scored())
    for metrics, primary in (
        (None, "roc_auc"),
        (["prevalence", "log_loss", "roc_auc"], "log_loss"),
        (["rows", "f1"], "f1"),
        (["rows"], None),
    ):
        found = sm.compare(acc, models=("old", "new"), metrics=metrics)
        assert (found.primary and found.primary.name) == primary
    thresholds = sm.binary(**MODELS, thresholds=[0.2, 0.5]).update(scored())
    assert sm.compare(thresholds, models=("old", "new"), metrics=["recall", "log_loss"]).primary.name == "log_loss"


def test_the_verdict_of_sides_without_intervals_or_labels():
    first = sm.compare(one(scored()), one(scored(1))).findings()[0]
    assert str(first).startswith("Open, without a confidence interval: ROC AUC of b is 0.0")
    scores = [sm.predictions(y_score="p").update(scored(seed)) for seed in (0, 1)]
    assert sm.compare(*scores, independent=True).findings() == []
    assert sm.compare(*scores, independent=True, metrics="rows").findings() == []


@pytest.mark.thorough
def test_groups_of_several_columns_models_and_nulls():
    frame = scored(noise=(1.5, 0.3), worse=4, groups=6).with_columns(
        h=pl.int_range(pl.len()) % 2, g=pl.when(pl.col("g") != "1").then("g")
    )
    [found] = [f for f in models(frame, by=["g", "h"]).findings() if f.code == "SM702"]
    assert found.where == {"g": None}
    assert "of g, by ROC AUC: null (old" in str(found)
    sides = [sm.binary(**MODELS, by="g").update(scored(seed)) for seed in (0, 1)]
    first, second, *_ = sm.compare(*sides, independent=True).findings()
    assert [first.where, second.where] == [{"model": "old"}, {"model": "new"}]


@pytest.mark.thorough
@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.long) for start in (40, 80))])
def test_few_comparisons_of_equal_models_have_findings_besides_the_verdict(start):
    false = sum(
        any(finding.code in ("SM702", "SM703") for finding in models(scored(seed, 2_000, groups=8)).findings())
        for seed in range(start, start + 40)
    )
    assert false <= 5  # at most 5% on average


def test_the_command_begins_with_findings(tmp_path):
    for name, score in (("old", "p"), ("new", "q")):
        one(scored(noise=(1.5, 0.3), worse=0.3), score).save(tmp_path / f"{name}.state")
    compare = ["compare", tmp_path / "old.state", tmp_path / "new.state", "--independent", "--metric", "roc_auc"]
    assert "info      SM701  new is better: ROC AUC is 0." in run(*compare).splitlines()[2]
    assert "| info | SM701 | new is better: " in run(*compare, "--format", "markdown")
    assert json.loads(run(*compare, "--format", "json"))[0]["metric"] == "roc_auc"

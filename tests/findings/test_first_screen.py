"""The first screen of a page: what is worst in words and as a picture, what to do, and what else was checked."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from faulty import IN_B, P, binary, scored, total
from test_findings import FAULTS, NONE, WRONG_WAY

import streammetrics as sm
from streammetrics.show.charts import rates, stated, values
from streammetrics.show.pages.summary import ACTIONS

SCREENS = {
    "too few positives": (
        lambda: total(scored().with_columns(P * 0.6)),
        "Predicts 40% too few positives",
        "Calibration in bins of equal size",
        ["Recalibrate. The ranking stays.", "Choose another threshold."],
    ),
    "too few positives of a group": (
        FAULTS["too few positives of a group"],
        "Predicts 60% too few in g 1, and 19% too few positives",
        "Predicted and observed rate by g",
        ["Recalibrate by g.", "Look at g = 1 first."],
    ),
    "the wrong way round": (
        lambda: total(WRONG_WAY),
        "Predicts 194% too many positives, and ranks the wrong way round",
        "Calibration in bins of equal size",
        [
            "Recalibrate. The ranking stays.",
            "Check labels and scores: one may be that of the other class.",
            "Do not use these values: a constant is better.",
            "Choose another threshold.",
        ],
    ),
    "one class": (
        lambda: total(scored().with_columns(y=True)),
        "Was evaluated on rows of one class, and predicts 75% too few positives",
        "Calibration in bins of equal size",
        ["Recalibrate. The ranking stays.", "Evaluate more rows of the rare class.", "Choose another threshold."],
    ),
    "a good ranking": (
        lambda: total(scored(20_000, spread=2.5).with_columns(P * 0.5)),
        "Ranks well, but predicts 50% too few positives",
        "Calibration in bins of equal size",
        ["Recalibrate. The ranking stays.", "Choose another threshold."],
    ),
    "overconfident labels": (
        FAULTS["overconfident labels"],
        "Ranks well, but overstates its confidence: 83.52% stated, 69.54% right",
        "Stated confidence, and how often it is right",
        ["Recalibrate. The ranking stays."],
    ),
    "biased errors of a group": (
        FAULTS["biased errors of a group"],
        "Predicts 0.69 too high on average, and 1.99 too high in g 1",
        "Errors",
        ["Correct the mean error by g.", "Look at g = 1 first."],
    ),
    "no faults": (
        NONE["calibrated scores"],
        "Nothing stands out in 4,000 rows",
        "Calibration in bins of equal size",
        [],
    ),
    "two models": (
        lambda: binary(scored().with_columns(q=P * 0.3), y_score={"bad": "q", "good": "p"}, by=()),
        "bad predicts 70% too few positives, and does worse than a constant",
        "Calibration in bins of equal size",
        [
            "Recalibrate. The ranking stays.",
            "Do not use these values: a constant is better.",
            "Choose another threshold.",
        ],
    ),
}


def page_of(report, tmp_path):
    report.save_html(tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def verdict_of(page):
    return re.search(r'<p class="verdict">(.*?)</p>', page)[1]


@pytest.mark.parametrize("case", SCREENS)
def test_the_first_screen_has_the_worst_findings_a_picture_and_what_to_do(case, tmp_path):
    report, verdict, picture, actions = SCREENS[case]
    page = page_of(report(), tmp_path)
    assert verdict_of(page) == verdict
    assert re.search(r"<figure><figcaption><h3>(.*?)</h3>", page)[1] == picture
    assert re.findall(r"<li><b>(.*?)</b>", page.partition('<ol class="todo">')[2].partition("</ol>")[0]) == actions


FEW = {0: "No rows were evaluated", 1: "1 row: too few to judge", 19: "19 rows: too few to judge"}


@pytest.mark.parametrize(("rows", "verdict"), FEW.items())
def test_few_rows_are_not_judged(rows, verdict, tmp_path):
    page = page_of(total(scored().head(rows)), tmp_path)
    assert verdict_of(page) == verdict
    assert "<figure>" not in page
    assert 'class="facts"' not in page


def test_the_most_confused_labels_are_named_if_nothing_stands_out(tmp_path):
    labels = list("abc") * 100
    rows = {"y": labels, "z": ["b" if y == "a" and i < 24 else y for i, y in enumerate(labels)]}
    page = page_of(sm.multiclass(y_true="y", y_pred="z").update(rows).finalize(confidence=0.95), tmp_path)
    assert verdict_of(page) == "Nothing stands out in 300 rows, but a is taken for b in 8.00% of its rows"
    heading, below = re.search(r"<figcaption><h3>(.*?)</h3><p class=\"sub\">(.*?)</p>", page).groups()
    assert (heading, below) == ("Confusion matrix", "a is taken for b in 8.00% of its rows")


@pytest.mark.parametrize("weighted", [False, True])
def test_stated_confidence_and_how_often_it_is_right_are_those_of_the_rows(weighted):
    generator = np.random.default_rng(0)
    scores = pl.DataFrame(generator.dirichlet([0.3, 0.4, 0.5], 3_000), schema=["a", "b", "c"])
    true = np.where(generator.random(3_000) < 0.5, generator.choice([*"abc"], 3_000), np.array([*"abc"])[0])
    rows = scores.with_columns(y=pl.Series(true), w=generator.random(3_000))
    task = sm.multiclass(y_true="y", y_score={c: c for c in "abc"}, sample_weight="w" if weighted else None)
    chart = stated(task.update(rows).finalize())
    weight, shown = pl.col("w") if weighted else pl.col("w") * 0 + 1, {}
    for row in values(chart, "dot"):
        shown.setdefault(row["y"].split(" ")[0], []).append(row["x"])
    for label in "abc":
        sure = rows.filter(pl.col(label) > 0.5)
        means = [(weight * side).sum() / weight.sum() for side in (pl.col(label), pl.col("y") == label)]
        assert shown[label] == pytest.approx([sure.select(mean).item() for mean in means])
    distances = [abs(first - second) for first, second in shown.values()]
    assert distances == sorted(distances, reverse=True)


@pytest.mark.thorough
def test_comparisons_begin_with_their_verdict(tmp_path):
    faults = {
        "new is better by ROC AUC": "a better model",
        "new is better by ROC AUC, but old is better by log loss": "a better model that is worse calibrated",
        "scores rose from 0.255 to 0.425 on average": "shifted scores",
    }
    for verdict, fault in faults.items():
        comparison = FAULTS[fault]()
        assert verdict_of(page_of(comparison, tmp_path)).lower().startswith(verdict.lower())


def test_faults_are_found_or_checked_or_cannot_be_there(tmp_path):
    page = page_of(total(scored().with_columns(P * 0.6)), tmp_path)
    [checked] = re.findall(r"Also checked, without a finding: (.*?)\.", page)
    assert "swapped labels" in checked
    assert "positives" not in checked  # too few are found
    assert "groups" not in checked  # of which there are none
    assert "0 on average" not in checked  # which are faults of a regression


def test_every_finding_of_a_report_has_one_action():
    codes = [code for action in ACTIONS for code in action.codes]
    assert len(codes) == len({*codes})
    sentences = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8")
    assert {*codes} == {code for code in re.findall(r"^    (SM\d{3})", sentences, re.MULTILINE) if code < "SM700"}


def test_rates_of_groups_are_those_of_their_rows():
    rows = scored(20_000, groups=4).with_columns(pl.when(IN_B).then(P * 0.4).otherwise(P))
    chart = rates(binary(rows), "g")
    layers = [layer for layer in chart["layer"] if layer["mark"]["style"] == "dot"]
    shown = {row["y"].split(" ")[0]: [] for row in layers[0]["data"]["values"]}
    for layer in layers:
        for row in layer["data"]["values"]:
            shown[row["y"].split(" ")[0]].append(row["x"])
    true = {g: [part["p"].mean(), part["y"].mean()] for (g,), part in rows.group_by("g")}
    assert {*shown} == {*true}
    assert all(np.allclose(shown[g], true[g]) for g in true)
    assert next(iter(shown)) == "1"
    assert layers[0]["data"]["values"][0]["y"] == "1 · 61% too few"

"""Findings tell apart what is wrong, what is right, and what too few rows show."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run

import streammetrics as sm

P = pl.col("p")


def scored(rows, rate, spread=1.3, seed=0):
    """Labels and their true probabilities."""
    generator = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-generator.normal(np.log(rate / (1 - rate)), spread, rows)))
    return pl.DataFrame({"y": generator.random(rows) < p, "p": p})


def binary(frame, **others):
    return sm.binary(**{"y_true": "y", "y_score": "p"} | others).update(frame).finalize()


def findings(report, code):
    return [finding for finding in report.findings() if finding.code == code]


def test_a_wide_interval_of_the_ranking_is_not_evidence_against_it():
    [found] = findings(binary(scored(200, 0.1, 0.7)), "SM202")
    assert found.severity == "info"
    assert str(found).startswith("Too few rows to tell whether it ranks better than chance: ROC AUC is 0.")
    assert found.ci_lower < 0.5 < 0.55 < found.ci_upper


def test_scores_that_do_not_rank_are_found_if_their_interval_excludes_a_useful_model():
    [found] = findings(binary(scored(20_000, 0.2).with_columns(P.shuffle(1))), "SM202")
    assert found.severity == "warn"
    assert str(found).startswith("Ranks no better than chance: ROC AUC is 0.")
    assert found.ci_upper < 0.55


def too_extreme(rows, factor=1.0):
    """Scores that are too extreme in a frame whose rate is 0.3, with a factor on the scores."""
    return scored(rows, 0.3).with_columns(((P * 1.6 - P.mean() * 0.6).clip(0, 1) * factor).clip(0, 1))


@pytest.mark.parametrize("factor", [1, 1.05])
def test_an_uncertain_number_of_positives_is_not_called_right(factor):
    [found] = findings(binary(too_extreme(4_000, factor)), "SM105")
    assert "ight on average" not in str(found)
    assert str(found).endswith("Too few rows to tell whether their number is right.")


def test_a_number_of_positives_is_called_right_if_its_interval_is_close_to_it():
    frame = too_extreme(40_000)
    frame = frame.with_columns(P * (pl.col("y").mean() / P.mean()))
    [found] = findings(binary(frame), "SM105")
    assert str(found).startswith("Right on average, but not in each range of scores: ")


@pytest.mark.parametrize(("y", "sentence"), [
    (False, "Predicts too many positives: 20."),
    (True, "Predicts 79% too few positives: 20."),
])  # fmt: skip
def test_rows_of_one_class_are_not_called_right_on_average(y, sentence):
    report = binary(scored(4_000, 0.15).with_columns(y=pl.lit(y)))
    [found] = findings(report, "SM101")
    assert (found.severity, str(found)[: len(sentence)]) == ("bad", sentence)
    assert findings(report, "SM105") == []


def test_few_rows_of_one_class_contradict_no_scores():
    for label, share in ((False, 0.1), (True, 0.9)):
        for rows in (10, 30, 50):
            frame = pl.DataFrame({"y": [label] * rows, "p": np.linspace(share - 0.03, share + 0.03, rows)})
            assert findings(binary(frame), "SM101") == []


def test_scores_of_0_and_1_can_be_wrong():
    frame = scored(4_000, 0.3)
    assert str(findings(binary(frame.with_columns(p=pl.lit(0.0))), "SM101")[0]).startswith("Predicts 100% too few ")


def test_an_infinite_ratio_is_valid_json(tmp_path):
    state = tmp_path / "a.state"
    sm.binary(y_true="y", y_score="p").update(scored(4_000, 0.15).with_columns(y=pl.lit(False))).save(state)
    found = json.loads(run("findings", state, "--format", "json"), parse_constant=pytest.fail)
    assert "SM101" in [finding["code"] for finding in found]


@pytest.mark.parametrize("threshold", [0.5, 0.99])
def test_a_threshold_on_the_score_of_rare_events_is_no_fault_of_the_model(threshold):
    [found] = findings(binary(scored(20_000, 0.02), thresholds=[threshold]), "SM301")
    assert found.severity == "info"


def test_a_threshold_below_which_no_score_is_no_fault_of_the_model():
    assert findings(binary(scored(4_000, 0.85, 0.2)), "SM302")[0].severity == "info"


def test_predicted_labels_of_one_class_are_bad():
    for label, code in ((False, "SM301"), (True, "SM302")):
        frame = scored(4_000, 0.5).with_columns(z=pl.lit(label))
        report = sm.binary(y_true="y", y_pred="z").update(frame).finalize()
        assert findings(report, code)[0].severity == "bad"


def test_the_label_with_the_highest_probability_need_not_be_the_predicted_one():
    frame = pl.DataFrame({"y": ["a", "a", "b"] * 100, "p": [[0.7, 0.3]] * 300, "z": ["a"] * 300})
    scores = sm.multiclass(y_true="y", y_score="p", labels=["a", "b"]).update(frame).finalize()
    labels = sm.multiclass(y_true="y", y_pred="z").update(frame).finalize()
    assert [findings(report, "SM303")[0].severity for report in (scores, labels)] == ["info", "warn"]

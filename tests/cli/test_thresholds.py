"""Metrics at a threshold, and one of several models, on the command line."""

import json

import polars as pl
import pytest
from commands import run

import streammetrics as sm


def test_thresholds_of_tasks(folder):
    evaluate = ["evaluate", folder / "days", "--y-score", "a=p_click", "--threshold", 0.3, "--task"]
    found = run(*evaluate, "multilabel", "--y-true", "a=clicked", "--format", "csv")
    task = sm.multilabel(y_true={"a": "clicked"}, y_score={"a": "p_click"}, threshold=0.3)
    report = sm.evaluate(folder / "days", task)
    assert pl.read_csv(found.encode())["value"].round(9).equals(report.frame["value"].round(9))
    twice = run(*evaluate, "multilabel", "--y-true", "a=clicked", "--threshold", 0.5, code=2)
    assert "--threshold accepts one number in --task multilabel, got 2." in twice
    multiclass = run(*evaluate, "multiclass", "--y-true", "clicked", code=2)
    assert "--task multiclass does not accept --threshold." in multiclass


@pytest.mark.thorough
def test_each_command_can_read_one_of_several_models(folder, tmp_path):
    scores = ["--y-score", "good=p_click", "--y-score", "bad=1 - p_click", "--by", "day", "--by", "country"]
    two, history = tmp_path / "two.state", tmp_path / "history"
    run("evaluate", folder / "days", "--y-true", "clicked", *scores, "--save", two)
    run("store", "append", history, two, "--window", "day")
    commands = (
        ["show", two, "--total", "--metric", "roc_auc"],
        ["compare", two, two, "--total", "--metric", "roc_auc", "--independent"],
        ["drift", two, two, "--total", "--of", "y_score"],
        ["slices", two, "log_loss"],
        ["store", "report", history, "--metric", "roc_auc"],
    )
    for command in commands:
        assert "bad" not in run(*command, "--model", "good")
        assert "Unknown model 'best'. Models: 'good', 'bad'." in run(*command, "--model", "best", code=2)
    assert json.loads(run(*commands[0], "--model", "good", "--format", "json"))[0]["value"] > 0.6
    both = ["compare", two, "--models", "good", "bad", "--model", "good"]
    assert "Pass either --models or --model, not both." in run(*both, code=2)


@pytest.mark.thorough
def test_metrics_are_read_at_any_threshold(folder, tmp_path):
    scores = ["--y-score", "good=p_click", "--y-score", "bad=1 - p_click", "--threshold", "0.5", "--threshold", "0.3"]
    run("evaluate", folder / "days", "--y-true", "clicked", *scores, "--save", tmp_path / "two.state")
    report = sm.Accumulator.load(tmp_path / "two.state").finalize()
    asked = ["--metric", "recall", "--metric", "roc_auc", "--threshold"]
    for threshold in (0.12, 0.3):
        rows = json.loads(run("show", tmp_path / "two.state", *asked, threshold, "--format", "json"))
        recalls, areas = ([row for row in rows if row["metric"] == name] for name in ("recall", "roc_auc"))
        for row in recalls:
            found = report.get("recall", model=row["model"], threshold=threshold)
            assert (row["threshold"], row["value"], row["lower"]) == (threshold, found.value, found.lower)
        assert [row["value"] for row in areas] == report.rows("roc_auc")["value"].to_list()
    shown = run("show", tmp_path / "two.state", *asked, 0.12)
    assert shown.splitlines()[-1] == "Scores of at least 0.12 count as positive."
    limit = f"{report.get('recall', model='good', threshold=0.12).value - 1e-6:.9f}"
    check = ["check", tmp_path / "two.state", "--model", "good", "--require", f"recall>={limit}", "--threshold"]
    assert "threshold 0.12" in run(*check, 0.12)
    run(*check, 0.9, code=1)
    compared = run("compare", tmp_path / "two.state", "--models", "good", "bad", *asked, 0.12, "--format", "json")
    assert [row["threshold"] for row in json.loads(compared)] == [0.12, None]


@pytest.mark.thorough
def test_a_comparison_says_which_threshold_to_evaluate_for_intervals(folder, tmp_path):
    scores = ["--y-score", "good=p_click", "--y-score", "bad=1 - p_click", "--threshold", "0.5", "--threshold", "0.3"]
    run("evaluate", folder / "days", "--y-true", "clicked", *scores, "--save", tmp_path / "two.state")
    compare = ["compare", tmp_path / "two.state", "--models", "good", "bad", "--metric"]
    assert "Differences at threshold 0.12 have" in run(*compare, "recall", "--threshold", 0.12)
    assert "evaluate with threshold 0.12." in " ".join(run(*compare, "recall", "--threshold", 0.12).split())
    assert "Differences" not in run(*compare, "recall", "--threshold", 0.3)
    assert "Differences" not in run(*compare, "recall")
    assert "Differences" not in run(*compare, "roc_auc")


def test_errors_about_thresholds_say_what_to_type(folder, tmp_path):
    check = ["check", folder / "state", "--require"]
    assert "of precision. Pass --threshold 0.3 separately." in run(*check, "precision(threshold=0.3)>=0.1", code=2)
    unused = "--threshold applies to metrics such as precision, but not to 'roc_auc', 'ece'. Omit it."
    assert unused in run(*check, "roc_auc>=0.1", "--require", "ece<=1", "--threshold", 0.3, code=2)
    assert "not to 'roc_auc'." in run("show", folder / "state", "--metric", "roc_auc", "--threshold", 0.3, code=2)
    assert "not to 'roc_auc'." in run("slices", folder / "state", "roc_auc", "--threshold", 0.3, code=2)
    percent = run("show", folder / "state", "--threshold", 30, code=2)
    assert percent == "Error: --threshold must be between 0 and 1 for probabilities, got 30. For 30%, pass 0.3.\n"
    limit = "Error: The limit of roc_auc >= 80 must be between 0 and 1, got 80. For 80%, pass 0.8.\n"
    assert run(*check, "roc_auc >= 80", code=2) == limit
    page = ["show", folder / "state", "--threshold", "0.3", "--html", tmp_path / "page.html"]
    either = "Pass either --html or --threshold, not both. For a page at a threshold, pass it to evaluate."
    assert either in run(*page, code=2)
    assert "--threshold accepts one number in show, got 2." in run(*page[:4], "--threshold", "0.1", code=2)
    run("evaluate", folder / "days", "--y-true", "clicked", "--y-pred", "clicked", "--save", tmp_path / "labels.state")
    missing = run("show", tmp_path / "labels.state", "--threshold", "0.3", code=2)
    assert "Threshold 0.3 requires the statistic ScoreHistogram, or one of the stored thresholds: none." in missing
    with pytest.raises(sm.errors.MetricError, match=r"'threshold' of precision. Pass threshold=0.3 separately.$"):
        sm.Accumulator.load(folder / "state").finalize(["precision(threshold=0.3)"])
    labels = sm.multilabel(y_true={"a": "y", "b": "y"}, y_score={"a": "p", "b": "p"})
    labels.update({"y": [0, 1], "p": [0.1, 0.9]}).save(tmp_path / "labels.state")
    several = run("show", tmp_path / "labels.state", "--threshold", "0.3", code=2)
    assert "A threshold requires a binary task, got the labels 'a', 'b'." in several


@pytest.mark.thorough
def test_reports_say_which_scores_are_positive(folder):
    assert run("show", folder / "state", "--total").splitlines()[-1] == "Scores of at least 0.5 count as positive."
    assert "count as positive" in run("show", folder / "state").splitlines()[-1]
    assert "count as positive" not in run("show", folder / "state", "--metric", "roc_auc")
    assert "0.5 count as positive.\n" in run("show", folder / "state", "--metric", "recall")

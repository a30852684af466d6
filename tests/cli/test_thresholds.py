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


@pytest.mark.thorough
def test_each_command_can_read_one_of_several_models(two_models, tmp_path):
    two, history = two_models.with_name("by day.state"), tmp_path / "history"
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
def test_metrics_are_read_at_any_threshold(two_models):
    report = sm.Accumulator.load(two_models).finalize()
    asked = ["--metric", "recall", "--metric", "roc_auc", "--threshold"]
    for threshold in (0.12, 0.3):
        rows = json.loads(run("show", two_models, *asked, threshold, "--format", "json"))
        recalls, areas = ([row for row in rows if row["metric"] == name] for name in ("recall", "roc_auc"))
        for row in recalls:
            found = report.get("recall", model=row["model"], threshold=threshold)
            assert (row["threshold"], row["value"], row["lower"]) == (threshold, found.value, found.lower)
        assert [row["value"] for row in areas] == report.rows("roc_auc")["value"].to_list()
    assert run("show", two_models, *asked, 0.12).endswith("Scores of at least 0.12 count as positive.\n")
    limit = f"{report.get('recall', model='good', threshold=0.12).value - 1e-6:.9f}"
    check = ["check", two_models, "--model", "good", "--require", f"recall>={limit}", "--threshold"]
    assert "threshold 0.12" in run(*check, 0.12)
    run(*check, 0.9, code=1)
    compared = run("compare", two_models, "--models", "good", "bad", *asked, 0.12, "--format", "json")
    assert [row["threshold"] for row in json.loads(compared)] == [0.12, None]

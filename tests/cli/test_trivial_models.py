"""Gates that a model without use passes are answered with a rule that it fails."""

import json

import numpy as np
import pytest
from commands import run

import streammetrics as sm


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A state of calibrated scores, a twentieth of which are positive, in one group, and in several."""
    folder, generator = tmp_path_factory.mktemp("trivial"), np.random.default_rng(5)
    scores = 1 / (1 + np.exp(3.5 - 1.5 * generator.normal(size=40_000)))
    rows = {"p": scores, "y": generator.random(40_000) < scores, "g": np.arange(40_000) % 3}
    sm.binary(y_true="y", y_score="p").update(rows).save(folder / "all.state")
    sm.binary(y_true="y", y_score="p", by="g").update(rows).save(folder / "groups.state")
    return folder


@pytest.mark.parametrize(
    ("requirements", "passing"),
    [
        (["roc_auc>=0.7", "ece<=0.07"], "scores times 0.0001"),
        (["accuracy>=0.9"], "scores times 0.0001, the same score for all rows, shuffled scores"),
        (["ece<=0.05"], "the same score for all rows"),
        (["roc_auc>=0.7", "log_loss_skill>=0.05"], ""),
        (["mcc>=0.01"], ""),
        (["rows>=10"], ""),  # says nothing of a model
    ],
)
@pytest.mark.parametrize("state", ["all.state", "groups.state"])
def test_models_without_use_that_pass_are_named_with_a_rule_that_they_fail(folder, state, requirements, passing):
    check = ["check", folder / state, *(part for text in requirements for part in ("--require", text))]
    last = run(*check, "--width", 400).splitlines()[-1]
    if not passing:
        assert "without use" not in last
        return
    sentence, _, rule = last.partition(" Add a requirement that they fail, such as --require ")
    assert sentence == f"Models without use would pass too: {passing}."
    last = run(*check, "--require", rule.strip("'."), "--width", 400).splitlines()[-1]
    assert "without use" not in last


def test_the_exit_code_and_other_formats_stay(folder):
    frame = json.loads(run("check", folder / "all.state", "--require", "roc_auc>=0.9", "--format", "json", code=1))
    assert [row["verdict"] for row in frame] == ["breached"]


def test_margins_and_custom_tables_have_no_such_models(tmp_path):
    rows = {"p": [0.5, 3.0, -2.0, 4.0] * 50, "y": [0, 1, 0, 1] * 50}
    histogram = sm.statistics.ScoreHistogram(domain="real")
    sm.Accumulator(histogram, y_true="y", y_score="p").update(rows).save(tmp_path / "margins.state")
    assert "without use" not in run("check", tmp_path / "margins.state", "--require", "roc_auc>=0.6")

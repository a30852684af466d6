"""``streammetrics compare`` with requirements, as a pipeline runs it."""

import numpy as np
import pytest
from commands import run

import streammetrics as sm

METRICS = ["--not-worse", "roc_auc=0.01", "--not-worse", "log_loss=2%"]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A state of two models, of which the candidate is better, by country."""
    rng = np.random.default_rng(0)
    y, common = rng.random(6_000) < 0.3, rng.normal(size=6_000)
    see = {"champion": 1.0, "candidate": 1.2}
    scores = {name: 1 / (1 + np.exp(1.4 - s * y - common - 0.3 * rng.normal(size=6_000))) for name, s in see.items()}
    rows = {"y": y, **scores, "country": rng.choice(["DE", "FR"], 6_000)}
    path = tmp_path_factory.mktemp("gate") / "both.state"
    sm.binary(y_true="y", y_score={name: name for name in see}, by="country").update(rows).save(path)
    for name in see:
        sm.binary(y_true="y", y_score=name).update(rows).save(path.with_name(f"{name}.state"))
    return path


def gate(both, *options, models=("champion", "candidate"), code=0):
    return run("compare", both, "--models", *models, *options, code=code)


def test_a_gate_passes_if_every_requirement_holds_in_every_group(both):
    shown = gate(both, *METRICS, "--better", "brier_score", "--total").splitlines()
    assert shown[0].split() == ["rule", "value", "90%", "interval", "verdict"]
    assert [line.split()[-1] for line in shown[2:5]] == ["holds"] * 3
    assert shown[3].startswith("log_loss not worse by 2%  ")
    assert shown[3].count("%") == 3  # the value and its interval too
    assert shown[5:7] == ["All 3 hold.", "In every line: bound exact."]
    assert shown[8] == "Values are candidate - champion."
    assert shown[9] == "If one of these 3 requirements is not met, the gate passes in at most 5% of samples."
    assert gate(both, *METRICS, "--by", "country").count("holds") == 4
    assert "\nAll 2 hold.\n" in gate(both, *METRICS, "--total", "--format", "markdown")


@pytest.mark.thorough
def test_the_exit_code_tells_breached_from_open(both):
    backwards = {"models": ("candidate", "champion")}
    assert "breached" in gate(both, *METRICS, "--total", **backwards, code=1)
    undecided = ("--better", "recall=0.08", "--total", "--threshold", "0.5")
    assert gate(both, *undecided, code=3).splitlines()[2].endswith("open: about 210,000 rows would decide")
    gate(both, *undecided, "--open", "fail", code=1)
    gate(both, *undecided, "--open", "pass")
    gate(both, *undecided, *METRICS, **backwards, code=1)
    few = gate(both, *METRICS, "--total", "--min-rows", "6001", code=3)
    assert "Failing: 2 of 2, open" in few
    assert "Failing: 2 of 2, of which 1 open" in gate(both, *undecided, "--better", "roc_auc=0.4", code=1)


def test_two_states_without_intervals_are_open_with_the_fix(both):
    states = [both.with_name(f"{name}.state") for name in ("champion", "candidate")]
    shown = run("compare", *states, *METRICS, code=3)
    assert shown.count("open: no interval of the difference") == 2
    assert "Compare different rows as independent." in shown
    assert "holds" in run("compare", *states, *METRICS, "--independent")


@pytest.mark.thorough
def test_a_gate_has_the_formats_of_a_check(both):
    backwards = [*METRICS, "--total", "--format"], {"models": ("candidate", "champion"), "code": 1}
    junit, github = (gate(both, *backwards[0], form, **backwards[1]) for form in ("junit", "github"))
    assert 'name="streammetrics compare candidate champion" tests="2" failures="2"' in junit
    assert "::error title=log_loss not worse by 2%25::breached; value" in github

"""Findings of drift: each code occurs for what it names, and not without it."""

import re
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from commands import run

import streammetrics as sm

ROWS = 6_000


def scored(seed=0, rows=ROWS, shift=0.0, in_group=0.0, rate=0.0, groups=3):
    """Labels and scores whose odds are shifted everywhere, or in group 1; labels have another rate."""
    rng = np.random.default_rng(seed)
    odds, g = rng.normal(-1, 1.3, rows), rng.integers(0, groups, rows)
    y = rng.random(rows) < 1 / (1 + np.exp(-odds - rate))
    p = 1 / (1 + np.exp(-odds - shift - in_group * (g == 1)))
    day = [date(2026, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 10, rows)]
    return pl.DataFrame({"y": y, "p": p, "g": g.astype(str), "day": day})


def moved(confidence=None, task=sm.binary, columns=("y_true", "y_score"), **now):
    names = {"y_true": "y", "y_score": "p"}
    make = {name: names[name] for name in columns}
    return sm.drift(
        *(task(**make, by="g").update(rows) for rows in (scored(), scored(1, **now))), confidence=confidence
    )


FAULTS = {
    "SM711": lambda: moved(shift=1.0),
    "SM712": lambda: moved(in_group=1.5),
    "SM713": lambda: moved(rate=0.5),
}


@pytest.mark.parametrize("code", FAULTS)
def test_what_a_code_names_is_found(code):
    [finding] = [finding for finding in FAULTS[code]().findings() if finding.code == code]
    assert finding.severity in ("warn", "bad")
    assert 10 < len(str(finding)) < 220


@pytest.mark.parametrize(("shift", "severity", "told"), [(0.6, "warn", "drifted"), (1.0, "bad", "shifted")])
def test_the_verdict_follows_from_the_interval_of_psi(shift, severity, told):
    first = moved(shift=shift).findings()[0]
    assert (first.severity, str(first).partition(":")[0]) == (severity, f"y_score {told}")


@pytest.mark.thorough
def test_sides_without_drift_are_stable():
    [first, *others] = moved(groups=8).findings()
    assert (first.code, first.severity, first.metric) == ("SM711", "info", "psi")
    assert str(first).startswith("y_score is stable: PSI is 0.0")
    assert not {finding.code for finding in others} & {"SM712", "SM713"}
    assert [str(f) for f in moved(0.95, groups=8).findings()] == [str(first), *map(str, others)]
    unlabeled = moved(task=sm.predictions, columns=["y_score"]).findings()
    assert [finding.code for finding in unlabeled] == ["SM711"]
    assert ". The mean is 0." not in str(unlabeled[0])


def test_groups_rates_and_metrics_are_named():
    found = {finding.code: finding for finding in moved(in_group=1.5, rate=0.5).findings()}
    assert found["SM712"].where == {"g": "1"}
    assert str(found["SM712"]).startswith("y_score drifted in groups of g: 1 (PSI 1.")
    assert str(found["SM713"]).startswith("The rate of positives is 4")
    assert "ROC AUC" in str(found["SM701"])
    assert " of current is " in str(found["SM701"])


def test_windows_of_a_rolling_reference():
    rows = scored().with_columns(p=pl.when(pl.col("day") == date(2026, 1, 9)).then(1 - pl.col("p")).otherwise("p"))
    acc = sm.binary(y_true="y", y_score="p", by="day").update(rows)
    first = sm.drift_over(acc, "day", reference="5d").findings()[0]
    assert (first.code, first.where) == ("SM712", {"day": date(2026, 1, 9)})
    assert str(first).startswith("y_score drifted in groups of day: 2026-01-09 (PSI ")


def test_weights_and_units_have_no_findings_of_distributions():
    sides = [scored().with_columns(w=pl.lit(2.0)), scored(1, shift=1).with_columns(w=pl.lit(2.0))]
    found = sm.drift(*(sm.predictions(y_score="p", sample_weight="w").update(side) for side in sides)).findings()
    assert found == []


@pytest.mark.thorough
@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.long) for start in (20, 40))])
def test_few_drifts_by_chance_have_findings(start):
    false = 0
    for seed in range(start, start + 20):
        sides = (scored(100 + 2 * seed + i, 3_000, groups=10) for i in range(2))
        found = sm.drift(*(sm.binary(y_true="y", y_score="p", by="g").update(side) for side in sides)).findings()
        false += any(f.code == "SM712" or (f.code == "SM711" and f.severity != "info") for f in found)
    assert false <= 3


def test_the_command_begins_with_findings(tmp_path):
    for name, rows in (("old", scored()), ("new", scored(1, shift=1))):
        sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / f"{name}.state")
    printed = run("drift", tmp_path / "old.state", tmp_path / "new.state", "--total")
    assert printed.splitlines()[2].startswith("bad       SM711  y_score shifted: PSI is 0.")
    assert re.search(r"y_score +shifted +0\.", printed)

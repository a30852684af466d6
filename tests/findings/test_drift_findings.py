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


@pytest.mark.parametrize(
    ("shift", "severity", "told"),
    [(0.15, "warn", "moved"), (0.3, "bad", "shifted"), (0.07, "info", "moved"), (0, "info", "is stable")],
)
def test_the_verdict_follows_from_the_intervals_of_mean_quantiles_and_rates(shift, severity, told):
    sides = (sm.binary(y_true="y", y_score="p").update(scored(s, 40_000, shift=x)) for s, x in ((0, 0), (1, shift)))
    first = sm.drift(*sides).findings()[0]
    assert (first.severity, str(first).partition(":")[0]) == (severity, f"y_score {told}")


def risen(rows=20_000, seed=0, rise=0.0, task=sm.binary, **options):
    """Scores of which a tenth rise; the rate of positives stays."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 19, rows)
    frame = {
        "y": rng.random(rows) < p,
        "p": np.clip(p + rise * (rng.random(rows) < 0.1), 0, 1),
        "user": rng.integers(0, rows // 10, rows),
        "w": rng.random(rows) + 0.5,
    }
    labels = {"y_true": "y"} if task is sm.binary else {}
    return task(**labels, y_score="p", **options).update(frame)


def test_a_mean_that_rose_by_two_fifths_at_a_small_psi_is_not_stable(tmp_path):
    moved = sm.drift(risen(), risen(seed=1, rise=0.2))
    psi = moved.frame.filter(of="y_score", measure="psi")["value"].item()
    assert psi < 0.1
    first = moved.findings()[0]
    assert (first.code, first.severity) == ("SM711", "bad")
    change = r"\(\+\d\d%, \+\d\d% to \+\d\d%\)"
    assert re.match(rf"y_score shifted: the mean is 0\.0\d+, and was 0\.0\d+ {change}; ", str(first))
    assert f"; PSI is {psi:.3f} (0.0" in str(first)
    moved.save_html(tmp_path / "drift.html")
    assert "stable" not in f"{moved} {(tmp_path / 'drift.html').read_text()} {moved.findings()}"


@pytest.mark.parametrize("options", [{"unit": "user"}, {"unit": "user", "sample_weight": "w"}])
def test_rows_of_units_have_verdicts(options):
    options = options | {"task": sm.predictions}
    now = {
        rise: sm.drift(risen(100_000, **options), risen(100_000, 1, rise, **options)).findings()[0] for rise in (0, 0.2)
    }
    assert [(f.code, f.severity, str(f).partition(":")[0]) for f in now.values()] == [
        ("SM711", "info", "y_score is stable"),
        ("SM711", "bad", "y_score shifted"),
    ]
    assert str(now[0]).count(" to ") == 1  # of the mean, since PSI has none


def test_correlated_rows_have_wider_intervals():
    """All rows of a unit are alike, so that as many rows decide less."""
    rng = np.random.default_rng(0)
    sides = []
    for seed in range(2):
        p = np.random.default_rng(seed).beta(2, 5, 200).repeat(100)
        sides.append({"p": p + rng.random(len(p)) * 1e-3, "user": np.arange(200).repeat(100) + 1_000 * seed})
    of_rows = sm.drift(*(sm.predictions(y_score="p").update(side) for side in sides))
    of_units = sm.drift(*(sm.predictions(y_score="p", unit="user").update(side) for side in sides))
    assert " moved" in str(of_rows.findings()[0]) or " shifted" in str(of_rows.findings()[0])
    assert str(of_units.findings()[0]).startswith("y_score may have moved: ")


def test_weighted_rows_without_units_have_no_intervals_and_no_verdict():
    first = sm.drift(risen(sample_weight="w"), risen(seed=1, rise=0.2, sample_weight="w")).findings()[0]
    assert (first.code, first.severity) == ("SM711", "info")
    change = r"\(\+\d\d%, no interval\)"
    assert re.match(rf"y_score may have moved: the mean is 0\.0\d+, and was 0\.0\d+ {change}", str(first))


def test_another_shape_with_the_same_mean_and_quantiles_moved():
    """Ten values move apart in pairs, between the quantiles that are compared."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 10, 20_000)
    before = 0.05 + level / 10
    after = np.where((level > 1) & (level < 4) | (level > 5) & (level < 8), before // 0.2 * 0.2 + 0.1, before)
    moved = sm.drift(*(sm.predictions(y_score="p", thresholds=()).update({"p": p}) for p in (before, after)))
    assert moved.findings()[0].severity == "warn"
    assert str(moved.findings()[0]).startswith("y_score moved: the mean is ")


def test_errors_are_judged_in_units_of_their_spread():
    rng = np.random.default_rng(0)
    sides = [{"y": rng.normal(0, 100, 20_000), "p": rng.normal(m, 100, 20_000)} for m in (0, 60)]
    first = sm.drift(*(sm.regression(y_true="y", y_pred="p").update(side) for side in sides)).findings()[0]
    assert (first.severity, str(first).partition(":")[0]) == ("bad", "error shifted")


def test_predicted_labels_have_a_rate():
    sides = [scored(0).with_columns(z=pl.col("p") > 0.5), scored(1).with_columns(z=pl.col("p") > 0.3)]
    found = sm.drift(*(sm.binary(y_true="y", y_pred="z").update(side) for side in sides)).findings()
    [rate] = [str(finding) for finding in found if finding.code == "SM713"]
    assert rate.startswith("The rate of predicted positives is ")


def test_sides_without_drift_are_stable():
    sides = [scored(seed, 40_000, groups=8) for seed in range(2)]
    [first, *others] = sm.drift(*(sm.binary(y_true="y", y_score="p", by="g").update(side) for side in sides)).findings()
    assert (first.code, first.severity, first.metric) == ("SM711", "info", "mean")
    assert str(first).startswith("y_score is stable: the mean is 0.3")
    assert not {finding.code for finding in others} & {"SM712", "SM713"}


def test_few_rows_decide_nothing():
    sides = (sm.predictions(y_score="p").update(scored(seed, 40)) for seed in range(2))
    assert str(sm.drift(*sides).findings()[0]).startswith("y_score may have moved: ")


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_a_few_equal_rows_decide_nothing(rows):
    sides = (sm.predictions(y_score="p", by="g").update({"p": [p] * rows, "g": ["x"] * rows}) for p in (0.2, 0.1))
    found = sm.drift(*sides)
    assert [finding.code for finding in found.findings() if finding.severity != "info"] == []
    assert "open" in str(found)


def test_infinite_means_have_no_interval():
    rng = np.random.default_rng(0)
    sides = ({"p": [np.inf, *rng.normal(size=500)]} for _ in range(2))
    found = sm.drift(*(sm.predictions(y_score="p", domain="real").update(side) for side in sides)).findings()
    assert str(found[0]).startswith("y_score may have moved: the mean is inf, and was inf (no interval); PSI is ")


def test_groups_with_any_names():
    names = ["size", "low", "spread", "mean", "whole", "side", "psi", "quantity", "count"]
    rows = [scored(seed).with_columns(pl.lit("x").alias(name) for name in names) for seed in range(2)]
    for options in ({}, {"unit": "g"}):
        sides = (sm.binary(y_true="y", y_score="p", by=names, **options).update(side) for side in rows)
        assert "y_score" in str(sm.drift(*sides))


def test_groups_rates_and_metrics_are_named():
    found = {finding.code: finding for finding in moved(in_group=1.5, rate=0.5).findings()[::-1]}
    assert found["SM712"].where == {"g": "1"}
    assert re.match(r"y_score drifted in groups of g: 1 \(.+ 0\.\d+, was 0\.\d+\)", str(found["SM712"]))
    assert str(found["SM713"]).startswith("The rate of positives is 4")
    assert "ROC AUC" in str(found["SM701"])
    assert " of current is " in str(found["SM701"])


def test_windows_of_a_rolling_reference():
    rows = scored().with_columns(p=pl.when(pl.col("day") == date(2026, 1, 9)).then(1 - pl.col("p")).otherwise("p"))
    acc = sm.binary(y_true="y", y_score="p", by="day").update(rows)
    first = sm.drift_over(acc, "day", reference="5d").findings()[0]
    assert (first.code, first.where) == ("SM712", {"day": date(2026, 1, 9)})
    assert str(first).startswith("y_score drifted in groups of day: 2026-01-09 (")


@pytest.mark.thorough
@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.long) for start in (20, 40))])
def test_few_drifts_by_chance_have_findings(start):
    false = 0
    for seed in range(start, start + 20):
        sides = (scored(100 + 2 * seed + i, 3_000, groups=10) for i in range(2))
        found = sm.drift(*(sm.binary(y_true="y", y_score="p", by="g").update(side) for side in sides)).findings()
        false += any(f.code == "SM712" or str(f).startswith(("y_score moved", "y_score shifted")) for f in found)
    assert false <= 3


def test_the_command_begins_with_findings(tmp_path):
    for name, rows in (("old", scored()), ("new", scored(1, shift=1))):
        sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / f"{name}.state")
    printed = run("drift", tmp_path / "old.state", tmp_path / "new.state", "--total")
    assert printed.splitlines()[2].startswith("bad       SM711  y_score shifted: the mean is 0.")
    assert re.search(r"y_score +shifted +0\.", printed)

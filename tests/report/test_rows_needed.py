"""How many rows a decision needs, planned from a pilot."""

import math

import numpy as np
import polars as pl
import pytest
from commands import run
from scipy import stats
from scipy.special import expit

import streammetrics as sm
from streammetrics.intervals.planning import standard_error

METRICS = ("accuracy", "recall", "f1", "roc_auc", "average_precision", "log_loss")


def scored(rows, seed=0, share=0.3, groups=1, units=None):
    """Rows of normal classes, by group; with units, whose rows have a difficulty in common."""
    rng = np.random.default_rng(seed)
    y = rng.random((groups, rows)) < share
    x = 1.2 * y + rng.normal(size=(groups, rows))
    found = {
        "y": y,
        "p": expit(1.2 * x - 0.72 + math.log(share / (1 - share))),
        "g": np.arange(groups)[:, None] + 0 * y,
    }
    if units:
        u = rng.integers(0, rows // units, (groups, rows))
        x = x + 0.5 * np.take_along_axis(rng.normal(size=(groups, rows)), u, axis=1)
        found |= {"p": expit(1.2 * x - 0.72 + math.log(share / (1 - share))), "u": u + rows * found["g"]}
    return {name: values.ravel() for name, values in found.items()}


def binary(rows, **options):
    return sm.binary(y_true="y", y_score="p", **options).update(rows)


def test_rows_of_a_proportion_are_those_of_the_formula():
    rows = scored(5_000)
    found = sm.rows_needed(binary(rows).finalize(), "accuracy", difference=0.01, power=0.9, confidence=0.99)
    share = float(((rows["p"] >= 0.5) == rows["y"]).mean())
    steps = stats.norm.ppf(0.995) + stats.norm.ppf(0.9)
    assert found.rows == pytest.approx(steps**2 * share * (1 - share) / 0.01**2, rel=0.01)
    assert found.positives + found.negatives == pytest.approx(found.rows, abs=1)
    assert found.positives == pytest.approx(found.rows * rows["y"].mean(), rel=0.01)


def test_rows_of_an_auc_are_those_of_binormal_scores():
    """The variance of placements; the formula of Obuchowski (1994) in pROC's power.roc.test asks for more rows."""
    found = sm.rows_needed(binary(scored(100_000, share=0.2)).finalize(), "roc_auc", difference=0.01)
    auc, ratio = stats.norm.cdf(1.2 / math.sqrt(2)), 0.8 / 0.2
    placed = stats.norm.expect(lambda x: stats.norm.cdf(x) ** 2, loc=1.2) - auc**2
    steps = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert found.positives == pytest.approx(steps**2 * placed * (1 + 1 / ratio) / 0.01**2, rel=0.03)
    a = stats.norm.ppf(auc) * 1.414
    of_obuchowski = 0.0099 * math.exp(-(a**2) / 2) * ((5 * a**2 + 8) + (a**2 + 8) / ratio)
    assert found.positives == pytest.approx(steps**2 * of_obuchowski / 0.01**2 / 1.44, rel=0.03)


def test_a_comparison_needs_fewer_rows_than_a_fixed_value():
    rows = scored(4_000)
    rows["q"] = np.clip(rows["p"] + np.random.default_rng(1).normal(0, 0.02, 4_000), 0, 1)
    acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}).update(rows)
    pilot = sm.compare(acc, models=("old", "new"))
    paired = sm.rows_needed(pilot, "roc_auc", difference=0.002)
    assert paired.rows < 0.1 * sm.rows_needed(binary(rows).finalize(), "roc_auc", difference=0.002).rows
    assert sm.rows_needed(pilot, "roc_auc", difference=pilot.detectable).rows == pytest.approx(4_000, rel=0.01)
    assert f"These rows find a difference of {pilot.detectable:.2g} in roc_auc with 80% power." in str(pilot)


@pytest.mark.parametrize("seed", range(3))
def test_an_open_verdict_says_how_many_rows_would_decide_it(seed):
    report = binary(scored(1_000, seed)).finalize()
    for metric in ("roc_auc", "accuracy", "log_loss", "f1"):
        limit = report[metric].value * 0.99
        (row,) = report.check(f"{metric} >= {limit}").frame.iter_rows(named=True)
        assert row["verdict"] == "open"
        needed = row["rows_needed"]
        assert f"about {needed:,} rows would decide" in str(report.check(f"{metric} >= {limit}"))
        for factor, verdict in ((0.8, "open"), (1.3, "holds")):  # the same rows, so often
            often = max(1, round(factor * needed / 1_000))
            more = binary(pl.concat([pl.DataFrame(scored(1_000, seed))] * often)).finalize()
            if abs(often * 1_000 / needed - 1) > 0.1:
                found = more.check(f"{metric} >= {limit}").frame["verdict"].item()
                assert found == ("holds" if often * 1_000 > needed else "open"), (metric, needed, often, verdict)


def test_no_number_of_rows_decides_at_the_limit_or_within_the_bounds():
    rows = scored(1_000)
    exact, binned = binary(rows).finalize(), binary(rows, capacity=64).finalize()
    value = exact["roc_auc"].value
    at = exact.check(f"roc_auc >= {value!r}")
    assert at.frame["rows_needed"].item() is None
    assert "open: no number of rows decides a value at the limit" in str(at)
    within = binned.check(f"roc_auc >= {(binned['roc_auc'].lower + binned['roc_auc'].value) / 2!r}")
    assert "open: no number of rows decides it, with these bounds" in str(within)
    with pytest.raises(sm.errors.ReportError, match="The certified bounds of roc_auc are wider than a difference"):
        sm.rows_needed(binned, "roc_auc", difference=1e-4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"difference": 0}, "difference= must be a positive number, got 0."),
        ({"difference": "1%"}, "difference= must be a positive number"),
        ({"difference": 0.1, "power": 80}, "power= must be between 0 and 1, got 80. For 80%, pass 0.8."),
        ({"difference": 0.1, "confidence": 2}, "confidence= must be between 0 and 1"),
        ({"difference": 0.1, "metric": "ece"}, "ece has no confidence interval in the pilot: it is biased upwards"),
    ],
)
def test_invalid_plans(options, said):
    with pytest.raises(sm.errors.StreamMetricsError) as error:
        sm.rows_needed(binary(scored(200)).finalize(), options.pop("metric", "roc_auc"), **options)
    assert said in str(error.value)


def test_a_pilot_by_group_needs_a_key():
    report = binary(scored(400, groups=2), by="g").finalize()
    with pytest.raises(sm.errors.ReportError, match="roc_auc has 2 values in the pilot"):
        sm.rows_needed(report, "roc_auc", difference=0.01)
    one = sm.rows_needed(report, "roc_auc", difference=0.01, g=1)
    assert sm.rows_needed(report.rollup(), "roc_auc", difference=0.01).rows == pytest.approx(one.rows, rel=0.2)


def test_the_command_plans_for_metrics_and_models(tmp_path):
    rows = scored(2_000)
    binary(rows, by="g").save(tmp_path / "pilot.state")
    plan = [
        "rows-needed",
        tmp_path / "pilot.state",
        "--metric",
        "roc_auc",
        "--metric",
        "accuracy",
        "--difference",
        "0.01",
    ]
    lines = run(*plan).splitlines()
    assert lines[0].split() == ["metric", "rows", "positives", "negatives"]
    rows_of_auc = sm.rows_needed(binary(rows).finalize(), "roc_auc", difference=0.01).rows
    assert lines[2].split()[:2] == ["roc_auc", f"{rows_of_auc:,}"]
    assert "--power must be between 0 and 1" in run(*plan, "--power", "80", code=2)


def near_the_truth(rows, pilots, units=None, share=0.3):
    """The share of pilots whose plan is within 20% of the variance of the metric over all pilots, by metric."""
    options, found = {"unit": "u"} if units else {}, {}
    data = scored(rows, groups=pilots, units=units, share=share)
    report = binary(data, by="g", **options).finalize(METRICS, confidence=0.95)
    for metric in METRICS:
        frame = report.rows(metric).drop_nulls(["ci_lower", "ci_upper"])
        ends = frame.select("value", "ci_lower", "ci_upper").rows()
        errors = [standard_error(*own, report.find(metric).range, 0.95, units=bool(units)) for own in ends]
        ratios = (np.array(errors) / frame["value"].std()) ** 2
        found[metric] = float(np.mean(abs(ratios - 1) < 0.2))
    return found


@pytest.mark.thorough
def test_plans_are_within_20_percent_in_most_pilots():
    assert min(near_the_truth(4_000, 300).values()) >= 0.85
    assert min(near_the_truth(4_000, 300, units=10).values()) >= 0.3  # 20 folds show the variance less precisely

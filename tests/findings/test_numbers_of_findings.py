"""The numbers of findings are those of the rows, and what a comparison decides by is its first metric."""

import re

import numpy as np
import polars as pl
import pytest
from faulty import IN_B, P, binary, classes, models, scored, several, two_models

import streammetrics as sm


def the(report, code):
    [found] = [finding for finding in report.findings() if finding.code == code]
    return found


@pytest.mark.whole
@pytest.mark.parametrize("options", [{"calibration_bins": 3}, {"calibration_bins": 10}, {"sample_weight": "w"}])
def test_confidence_is_that_of_labels_above_a_half(options):
    """Their bins are those above a half, since no other label can be predicted there."""
    bins = options.get("calibration_bins", 10)
    frame = classes(temperature=0.4).with_columns(w=0.1)
    p = frame["p"].to_numpy()
    least = -(-bins // 2) / bins
    sure = p.max(axis=1) > least
    stated, right = p.max(axis=1)[sure].mean(), (p.argmax(axis=1) == frame["y"].to_numpy())[sure].mean()
    found = the(several(frame, **options), "SM100")
    assert re.findall(r"[\d.]+%", str(found)) == [f"{least:.0%}", f"{stated:.2%}", f"{right:.2%}"]
    assert found.value == pytest.approx((1 - stated) / (1 - right))
    assert found.ci_lower < found.value < found.ci_upper < 1


@pytest.mark.thorough
def test_the_estimate_of_a_finding_is_that_of_its_group():
    report = binary(scored().with_columns(pl.when(IN_B).then(P * 0.4).otherwise(P)))
    found = the(report, "SM102")
    assert found is the(report, "SM102")  # a report searches once
    assert (found.metric, found.keys) == ("calibration_ratio", {"g": "1"})
    assert found.value == report.get(sm.metrics.calibration_ratio, **found.keys).value
    assert found.ci_upper < 0.95
    wide = binary(scored(), by=(), capacity=8)
    half, auc = float(re.search(r"± ([\d.]+)", str(the(wide, "SM505")))[1]), wide["roc_auc"]
    assert auc.value - half <= auc.lower <= auc.upper <= auc.value + half
    best = binary(scored(), thresholds=[0.99]).rollup().operating_point(maximize="f1")["threshold"][0]
    assert str(the(binary(scored(), thresholds=[0.99]), "SM301")).endswith(f"{best:.3g}.")


@pytest.mark.thorough
def test_the_verdict_of_a_comparison_is_that_of_its_first_metric_that_can_be_better():
    found = models(two_models(noise=(1.5, 0.3), worse=0.3))
    first, row = found.findings()[0], found.total.frame.filter(metric="roc_auc").row(0, named=True)
    assert (first.metric, first.value, first.ci_lower) == ("roc_auc", row["difference"], row["ci_lower"])
    for metrics, primary in (
        (["prevalence", "log_loss", "roc_auc"], "log_loss"),
        (["rows", "f1"], "f1"),
        (["rows"], None),
    ):
        found = sm.compare(found.a, found.b, metrics=metrics)
        assert (found.primary and found.primary.name) == primary


@pytest.mark.thorough
def test_correlated_rows_decide_less():
    """All rows of a unit are alike."""
    sides = []
    for seed in range(2):
        p = np.random.default_rng(seed).beta(2, 5, 200).repeat(50)
        sides.append({"p": p, "user": np.arange(200).repeat(50) + 1_000 * seed})
    severities = [
        sm.drift(*(sm.predictions(y_score="p", unit=unit).update(side) for side in sides)).findings()[0].severity
        for unit in (None, "user")
    ]
    assert severities[0] in ("warn", "bad")
    assert severities[1] == "info"

"""Rows without faults have few findings: simulations of calibrated scores, errors around 0, and equal sides."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from faulty import binary, classes, models, scored, several, two_models

import streammetrics as sm

ABOUT_ROWS = ("SM401", "SM501", "SM502", "SM503", "SM504", "SM505")  # see "No findings from noise" in docs/findings.md
FEWER = 0.05  # share of reports with a finding about a metric, other than by too few rows


def of_scores(seed, rows, rate, spread):
    return binary(scored(rows, rate, spread, seed=seed), by=())


def of_groups(seed, rows, groups=4):
    """Calibrated scores, which vary less in groups of a higher number."""
    parts = [scored(rows // groups, 0.2, 1.3 / (1 + i), seed=seed + 1_000 * i) for i in range(groups)]
    return binary(pl.concat(part.with_columns(g=pl.lit(str(i))) for i, part in enumerate(parts)))


def of_few_high_scores(seed, rows):
    """The ratio of expected and observed positives depends on about five rows."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(rows) < 4 / rows, 0.5, 0.0002)
    return binary(pl.DataFrame({"y": rng.random(rows) < p, "p": p}), by=())


def of_classes(seed, rows, labels):
    return several(classes(rows, labels=labels, seed=seed))


def of_errors(seed, rows, skewed=False):
    rng = np.random.default_rng(seed)
    errors = rng.exponential(1, rows) ** 2 - 2 if skewed else rng.standard_t(4, rows)
    z = rng.normal(0, 5, rows)
    frame = pl.DataFrame({"z": z, "y": z + errors, "g": rng.integers(0, 30 if skewed else 4, rows)})
    return sm.regression(y_true="y", y_pred="z", by="g").update(frame).finalize()


KINDS = {  # of a number of rows
    "rare events, weak scores": partial(of_scores, rate=0.02, spread=0.3),
    "rare events": partial(of_scores, rate=0.02, spread=1.3),
    "balanced": partial(of_scores, rate=0.5, spread=1.3),
    "frequent events": partial(of_scores, rate=0.95, spread=0.5),
    "four groups": of_groups,
    "few high scores": of_few_high_scores,
    "three classes": partial(of_classes, labels=3),
    "ten classes": partial(of_classes, labels=10),
    "errors": of_errors,
    "skewed errors of small groups": partial(of_errors, skewed=True),
}


def faults(report):
    """Findings that blame the model."""
    return [finding for finding in report.findings() if finding.severity != "info" and finding.code not in ABOUT_ROWS]


def test_no_model_of_rare_events_without_faults_is_bad():
    for rows in (50, 2_000):
        found = of_scores(0, rows, 0.02, 0.3).findings()
        assert all(finding.severity != "bad" or finding.code == "SM502" for finding in found)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_few_reports_of_models_without_faults_blame_the_model(kind):
    """Two of each size, so that a size that is always blamed is noticed."""
    blamed = [(rows, faults(KINDS[kind](seed, rows))) for rows in (20, 200, 2_000) for seed in range(2)]
    assert sum(bool(findings) for _, findings in blamed) <= 1, blamed


@pytest.mark.long
@pytest.mark.parametrize("rows", [20, 200, 2_000, 20_000])
@pytest.mark.parametrize("kind", KINDS)
def test_at_most_one_report_in_20_of_models_without_faults_blames_the_model(kind, rows):
    reports = 400 if rows < 20_000 else 200
    false = sum(bool(faults(KINDS[kind](seed, rows))) for seed in range(100, 100 + reports))
    assert false <= FEWER * reports + 2 * (FEWER * reports) ** 0.5


def differences(seed):
    """Findings besides the verdict on two models that are alike."""
    found = models(two_models(2_000, groups=8, seed=seed)).findings()
    return [finding for finding in found if finding.code in ("SM702", "SM703")]


def drifts(seed):
    """Findings of a drift between two samples of the same rows."""
    sides = (scored(3_000, groups=10, seed=1_000 + 2 * seed + i) for i in range(2))
    found = sm.drift(*(sm.binary(y_true="y", y_score="p", by="g").update(side) for side in sides)).findings()
    return [finding for finding in found if finding.code in ("SM711", "SM712") and finding.severity != "info"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [differences, drifts])
@pytest.mark.parametrize(("pairs", "most"), [(4, 1), pytest.param(80, 16, marks=pytest.mark.long)])
def test_few_pairs_without_differences_have_findings(kind, pairs, most):
    assert sum(bool(kind(seed)) for seed in range(pairs)) <= most

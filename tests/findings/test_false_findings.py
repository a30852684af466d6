"""A model without faults has few findings: simulations of calibrated scores and of errors around 0."""

from functools import partial

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.findings import calibration, ranking
from streammetrics.findings.finding import Searched
from streammetrics.findings.findings import BY_INTERVALS, ERROR

SHARE = ERROR / len(BY_INTERVALS)  # probability of a false finding of one check
FEWER = 0.05  # share of reports with a finding about a metric, other than by too few rows
ABOUT_ROWS = ("SM401", "SM501", "SM502", "SM503", "SM504", "SM505")  # see "No findings from noise" in docs/findings.md


def scored(generator, rows, rate, spread):
    p = 1 / (1 + np.exp(-generator.normal(np.log(rate / (1 - rate)), spread, rows)))
    return pl.DataFrame({"y": generator.random(rows) < p, "p": p})


def binary(generator, rows, rate, spread, groups=0):
    """Calibrated scores, which vary less in groups of a higher number."""
    if not groups:
        return sm.binary(y_true="y", y_score="p").update(scored(generator, rows, rate, spread)).finalize()
    parts = [
        scored(generator, rows // groups, rate, spread / (1 + i)).with_columns(g=pl.lit(str(i))) for i in range(groups)
    ]
    return sm.binary(y_true="y", y_score="p", by="g").update(pl.concat(parts)).finalize()


def classes(generator, rows, labels, spread):
    p = np.exp(generator.normal(0, spread, (rows, labels)) - np.arange(labels) / 2)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < generator.random((rows, 1))).sum(axis=1).clip(0, labels - 1)
    return pl.DataFrame({"y": y, "p": p})


def multiclass(generator, rows, labels, spread):
    acc = sm.multiclass(y_true="y", y_score="p", labels=range(labels))
    return acc.update(classes(generator, rows, labels, spread)).finalize()


def regression(generator, rows, freedom):
    z = generator.normal(0, 5, rows)
    frame = pl.DataFrame({"z": z, "y": z + generator.standard_t(freedom, rows), "g": np.arange(rows) % 4})
    return sm.regression(y_true="y", y_pred="z", by="g").update(frame).finalize()


SETTINGS = {
    f"{name}, {rows:,} rows": partial(make, rows=rows, **others)
    for rows in (200, 2_000, 20_000)
    for name, make, others in (
        ("balanced", binary, {"rate": 0.5, "spread": 1.3}),
        ("rare events", binary, {"rate": 0.02, "spread": 1.3}),
        ("rare events, weak scores", binary, {"rate": 0.02, "spread": 0.3}),
        ("frequent events", binary, {"rate": 0.95, "spread": 0.5}),
        ("four groups", binary, {"rate": 0.2, "spread": 1.3, "groups": 4}),
        ("three classes", multiclass, {"labels": 3, "spread": 1.3}),
        ("ten classes", multiclass, {"labels": 10, "spread": 2.0}),
        ("regression", regression, {"freedom": 4}),
    )
}


def faults(report):
    """Findings that blame the model."""
    return [finding for finding in report.findings() if finding.severity != "info" and finding.code not in ABOUT_ROWS]


@pytest.mark.thorough
@pytest.mark.parametrize("setting", SETTINGS)
def test_few_reports_of_models_without_faults_blame_the_model(setting):
    found = [faults(SETTINGS[setting](np.random.default_rng(seed))) for seed in range(10)]
    assert sum(map(bool, found)) <= 2, found


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS)
def test_at_most_one_report_in_20_of_models_without_faults_blames_the_model(setting):
    reports = 400 if "20,000" not in setting else 200
    false = sum(bool(faults(SETTINGS[setting](np.random.default_rng(seed)))) for seed in range(100, 100 + reports))
    assert false <= FEWER * reports + 2 * (FEWER * reports) ** 0.5


def test_no_model_of_rare_events_without_faults_is_bad():
    for setting in ("rare events, 2,000 rows", "rare events, weak scores, 2,000 rows"):
        assert all(finding.severity != "bad" for finding in SETTINGS[setting](np.random.default_rng(0)).findings())


REPORTS = 1_000


@pytest.mark.parametrize(("rows", "rate", "spread"), [
    (200, 0.02, 0.3),
    *((rows, rate, spread) for rows in (10, 30, 100, 500) for rate, spread in ((0.02, 1.3), (0.2, 0.5), (0.9, 0.3))),
])  # fmt: skip
def test_few_checks_of_calibrated_scores_find_a_fault(rows, rate, spread):
    """Each group stands for a report, so each is judged at the level of a report."""
    frame = scored(np.random.default_rng(rows), rows * REPORTS, rate, spread)
    frame = frame.with_columns(g=pl.int_range(pl.len()) // rows)
    report = sm.binary(y_true="y", y_score="p", by="g").update(frame).finalize(["rows"])
    share = SHARE * report.state.groups.height  # undone by Bonferroni
    each = OneByOne(report)
    for check in (calibration.shares, calibration.scores, ranking.direction, ranking.skill):
        false = [finding for finding in check(each, share) if finding.severity != "info"]
        assert len(false) <= 2 * SHARE * REPORTS + 3, check


@pytest.mark.parametrize(
    ("rows", "share", "high", "low"), [(1_000, 0.004, 0.5, 0.0002), (500, 0.01, 0.6, 0.001), (300, 0.02, 0.4, 0.0001)]
)
def test_few_rows_with_most_of_the_expected_positives_blame_no_model(rows, share, high, low):
    """The ratio of expected and observed positives depends on about five rows."""
    random = np.random.default_rng(rows)
    p = np.where(random.random(rows * REPORTS) < share, high, low)
    frame = pl.DataFrame({"y": random.random(len(p)) < p, "p": p, "g": np.arange(len(p)) // rows})
    report = sm.binary(y_true="y", y_score="p", by="g").update(frame).finalize(["rows"])
    found = [*calibration.shares(OneByOne(report), SHARE * REPORTS)]
    assert len(found) <= 2 * SHARE * REPORTS + 3


@pytest.mark.parametrize("rows", [200, 20, 50, 1_000])
def test_few_checks_of_predicted_labels_find_a_fault(rows):
    frame = classes(np.random.default_rng(rows), rows * REPORTS, 3, 2.0).with_columns(g=pl.int_range(pl.len()) // rows)
    task = sm.Accumulator(sm.CalibrationBins(), sm.RankCounts(), y_true="y", y_score="p", labels=range(3), by="g")
    report = task.update(frame).finalize(["rows"])
    found = [*calibration.predicted_labels(OneByOne(report), SHARE * REPORTS)]
    assert len(found) <= 2 * SHARE * REPORTS + 3


class OneByOne(Searched):
    """A report whose groups are judged as if each was all rows of a report."""

    @property
    def total(self):
        return self.report

"""Intervals hold the truth about as often as they say: simulations of many samples."""

import polars as pl
import pytest
import simulation
from simulation import LEAST, MOST, SETTINGS, Setting, binary, coverage, values

import streammetrics as sm

OUTCOMES = ["accuracy", "balanced_accuracy", "recall", "f1", "mcc"]
SCORES = ["roc_auc", "average_precision", "log_loss", "log_loss_skill", "brier_score", "calibration_ratio"]
ERRORS = ["mae", "rmse", "bias", "median_error", "mad", "error_iqr", "within(x=1)"]
QUICK = [
    Setting(
        "400 rows",
        400,
        binary(0.3),
        lambda **o: sm.binary(y_true="y", y_score="p", metrics=[*OUTCOMES, *SCORES], **o),
        [],
    ),
    Setting("400 errors", 400, values, lambda **o: sm.regression(y_true="y", y_pred="p", metrics=ERRORS, **o), []),
]
OF_RATES = {"accuracy", "npv"}  # of nearly all rows
AT_THRESHOLD = {*simulation.BINARY[: simulation.BINARY.index("roc_auc")]} - OF_RATES
AREAS = {"average_precision", "pr_auc"}
GIVEN = 0.5  # of the samples; limits that fewer have are those of samples that are not like the others

# Least and largest coverage, where it is not between LEAST and MOST.
KNOWN: dict[str, list[tuple[set[str], float, float]]] = {
    "200 rows": [(AREAS | {"brier_skill_score"}, 0.90, MOST)],  # 60 positives: the metric is skewed on any scale
    "2.0% positive": [(AREAS, 0.90, MOST)],  # the sum lies on a few of 40 positives
    "0.5% positive": [
        ({"calibration_in_the_large"}, 0.91, MOST),  # ten positives
        ({"diagnostic_odds_ratio"}, LEAST, 1.0),
    ],
    "0.2% positive": [  # four positives: shares take few values, and intervals of ratios are wide
        (AT_THRESHOLD | {"roc_auc", "gini"}, 0.91, 1.0),
        ({"brier_score", "calibration_in_the_large"}, 0.87, MOST),
    ],
    "no skill": [({"mcc", "diagnostic_odds_ratio"}, 0.91, 1.0)],  # a few rows reach the threshold
    "40 units": [({"log_loss", "log_loss_skill"}, 0.91, MOST)],  # few units of very different size of loss
    "40 units, weighted": [({*simulation.BINARY}, 0.90, MOST)],
    "weighted": [({"recall_at_fpr(fpr=0.1)", "best_f1"} | AREAS, 0.90, MOST)],
    "weighted, 2% positive": [({*simulation.BINARY}, 0.91, MOST)],  # worth 25 positives of equal weight
    "200 errors": [({"mse", "rmse", "r2", "pearson_r"}, 0.90, MOST)],  # heavy tails
}


def expected(setting: str, metric: str) -> tuple[float, float]:
    """The last that is known of a metric, or what holds for all."""
    return next(
        ((least, most) for own, least, most in reversed(KNOWN.get(setting, [])) if metric in own), (LEAST, MOST)
    )


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_intervals_hold_the_truth_as_often_as_they_say(setting):
    found = coverage(setting, 2_000).filter(pl.col("given") >= GIVEN)
    assert found.height > 5
    missed = []
    for metric, _, _, covered, _ in found.iter_rows():
        least, most = expected(setting.name, metric)
        if not least <= covered <= most:
            missed.append((metric, covered))
    assert missed == []


@pytest.mark.thorough
@pytest.mark.parametrize("setting", QUICK, ids=lambda s: s.name)
def test_intervals_hold_the_truth_about_as_often_as_they_say(setting, monkeypatch):
    monkeypatch.setattr(simulation, "BIG", 400_000)
    found = coverage(setting, 300)
    assert found["given"].to_list() == [1] * found.height
    assert found.filter(~pl.col("covered").is_between(0.91, 0.99)).rows() == []  # three standard errors of the share

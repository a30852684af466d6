"""Intervals hold the truth about as often as they say: simulations of many samples."""

from dataclasses import replace

import interval_coverage as simulated
import polars as pl
import pytest
from interval_coverage import LEAST, MOST, NONE, SAMPLES, SELDOM, SETTINGS, coverage, documented

OF_RATES = {"accuracy", "npv"}  # of nearly all rows
AT_THRESHOLD = {*simulated.BINARY[: simulated.BINARY.index("roc_auc")]} - OF_RATES
TAILS = {*("mse", "rmse", "error_sd", "r2", "adjusted_r2", "pearson_r", "rmspe", "msle", "rmsle", "poisson_deviance")}
AREAS = {"average_precision", "pr_auc"}
QUICK = {
    "200 rows": ["accuracy", "recall", "f1", "mcc", "roc_auc", "log_loss", "log_loss_skill", "calibration_ratio"],
    "200 errors": ["mae", "smape", "wape", "bias", "median_error", "within(x=1)"],
    "2,000 errors, weighted": ["mae", "wape", "r2", "poisson_deviance", "median_error"],
    "200 rows, 30% positive, 0.8": ["accuracy", "precision", "f1", "roc_auc", "log_loss"],
    "200 errors, paired": ["mae", "rmse", "bias"],
}

# Least and largest coverage, where it is not between LEAST and MOST.
KNOWN: dict[str, list[tuple[set[str], float, float]]] = {
    "200 rows": [(AREAS | {"brier_skill_score"}, 0.90, MOST)],  # 60 positives: the metric is skewed on any scale
    "2,000 rows": [({"ks"}, 0.92, MOST)],  # what is left of its bias
    "calibrated": [({"ks"}, 0.92, MOST)],
    "2.0% positive": [(AREAS, 0.90, MOST)],  # the sum lies on a few of 40 positives
    "0.5% positive": [
        ({"calibration_in_the_large"}, 0.91, MOST),  # ten positives
        ({"diagnostic_odds_ratio", "roc_auc", "gini"}, LEAST, 1.0),
    ],
    "0.2% positive": [  # four positives: shares take few values, and intervals of ratios are wide
        (AT_THRESHOLD | {"roc_auc", "gini"}, 0.91, 1.0),
        ({"brier_score", "calibration_in_the_large"}, 0.87, MOST),
    ],
    "no skill": [({"mcc", "kappa", "diagnostic_odds_ratio"}, 0.91, 1.0)],  # a few rows reach the threshold
    "40 units": [({"log_loss", "log_loss_skill"}, 0.91, MOST)],  # few units of very different size of loss
    "40 units, weighted": [({*simulated.BINARY}, 0.90, MOST)],
    "weighted": [({"recall_at_fpr(fpr=0.1)", "best_f1", "best_mcc"} | AREAS, 0.90, MOST)],
    "weighted, 2% positive": [({*simulated.BINARY}, 0.91, MOST)],  # worth 25 positives of equal weight
    "60 rows, 5% positive": [({*simulated.FEW}, 0.90, 1.0)],  # three positives
    "1,000 rows, 3 predicted positive": [
        ({"precision", "ks", "best_mcc"}, 0.90, MOST),
        ({"positive_likelihood_ratio", "diagnostic_odds_ratio"}, 0.86, MOST),
        ({"mcc"}, LEAST, 1.0),
    ],
    "3,000 undersampled rows": [(AREAS, 0.90, MOST)],
    "300 rows, six labels": [
        ({"precision(average=macro)", "balanced_accuracy"}, 0.90, MOST),
        ({"f1(average=macro)"}, 0.83, MOST),
    ],
    "300 rows, ten labels, 99% accuracy": [({"chance_agreement"}, 0.88, MOST)],  # labels are equally frequent
    "1,000 rows, ten labels, 99% accuracy": [({"chance_agreement", "accuracy"}, 0.90, MOST)],  # ten errors
    "200 whole errors": [({*simulated.WHOLE}, LEAST, 1.0)],  # many rows share a value
    "1,000 whole errors": [({*simulated.WHOLE}, LEAST, 1.0)],
    "100 t errors": [({*simulated.TAILS}, 0.89, MOST)],  # 100 rows often lack the largest errors
    "1,000 t errors": [
        ({*simulated.TAILS}, 0.91, MOST),
        ({"rmspe"}, 0.87, MOST),
    ],  # squares of infinite variance
    "100 log-normal errors": [({*simulated.TAILS}, 0.85, MOST), ({"rmspe"}, 0.77, MOST)],
    "1,000 log-normal errors": [({"rmspe"}, 0.90, MOST)],
    "100 t errors, weighted": [({*simulated.TAILS}, 0.89, MOST), ({"rmspe"}, 0.82, MOST)],
    "1,000 t errors, weighted": [({*simulated.TAILS}, 0.91, MOST), ({"rmspe"}, 0.84, MOST)],
    "100 values near 0": [({"log_cosh"}, 0.89, MOST)],
    "2,000 errors, weighted": [(TAILS | {"gamma_deviance", "mean_predicted", "pinball_loss(q=0.9)"}, 0.90, MOST)],
}


def expected(setting: str, metric: str) -> tuple[float, float]:
    """The last that is known of a metric, or what holds for all."""
    return next(
        ((least, most) for own, least, most in reversed(KNOWN.get(setting, [])) if metric in own), (LEAST, MOST)
    )


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_intervals_hold_the_truth_as_often_as_they_say(setting):
    samples, room = (400, 0.02) if setting.paired else (2_000, 0.0)  # two standard errors of the share
    found = coverage(setting, samples).filter(pl.col("given") >= SELDOM)
    assert found.height >= 3
    missed = []
    for metric, _, _, covered, _ in found.iter_rows():
        least, most = expected(setting.name, metric)
        if not least - room <= covered <= most + room:
            missed.append((metric, covered))
    assert missed == []


def test_what_the_documentation_shows_is_expected_or_explained():
    """Shares that are far from what they should be are in bold, and no further than is known of them."""
    for setting in SETTINGS:
        cells = documented(setting.table)[setting.title]
        samples = int(cells.pop(SAMPLES).replace(",", ""))
        room = 2 * (0.05 * 0.95 / samples) ** 0.5 if samples < 2_000 else 0.0
        assert len(cells) >= 3
        for metric, cell in cells.items():
            if cell != NONE:
                least, most = expected(setting.name, metric.strip("`"))
                share = float(cell.split()[0].strip("*"))
                assert least - room <= share <= most + room, (setting, metric, cell)
                assert cell.startswith("**") == (not LEAST <= share <= MOST), (setting, metric, cell)


@pytest.mark.thorough
@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.name in QUICK], ids=lambda s: s.name)
def test_intervals_hold_the_truth_about_as_often_as_they_say(setting, monkeypatch):
    monkeypatch.setattr(simulated, "BIG", 400_000)
    found = coverage(replace(setting, only=QUICK[setting.name]), 300)
    assert found.filter(pl.col("given") < 0.95).rows() == []  # seldom a class has too few rows
    assert found.filter(~pl.col("covered").is_between(0.90, 0.99)).rows() == []  # three standard errors of the share

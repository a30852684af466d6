"""Intervals hold the truth about as often as they say: simulations of many samples."""

from dataclasses import replace

import interval_coverage as simulated
import polars as pl
import pytest
from interval_coverage import LEAST, MOST, NONE, SAMPLES, SELDOM, SETTINGS, coverage, documented

QUICK = {
    "200 rows": ["accuracy", "recall", "f1", "mcc", "roc_auc", "log_loss", "log_loss_skill", "calibration_ratio"],
    "200 errors": ["mae", "smape", "wape", "bias", "median_error", "within(x=1)"],
    "2,000 errors, weighted": ["mae", "wape", "r2", "poisson_deviance", "median_error"],
    "200 rows, 30% positive, 0.8": ["accuracy", "precision", "f1", "roc_auc", "log_loss"],
    "200 errors, paired": ["mae", "rmse", "bias"],
}

# Least and largest coverage, where it is not between LEAST and MOST.
WIDE = {"negative_likelihood_ratio", "positive_likelihood_ratio", "roc_auc", "gini", "log_loss", "brier_score"}
WIDE |= {"f1", "fowlkes_mallows", "mcc", "kappa", "diagnostic_odds_ratio", "f1(average=macro)", "f1(average=weighted)"}
KNOWN: dict[str, list[tuple[set[str], float, float]]] = {
    "200 rows": [({"lift"}, LEAST, 0.99)],
    "0.5% positive": [(WIDE, LEAST, 1.0)],  # ten positives and fewer: intervals are wide
    "0.2% positive": [(WIDE, LEAST, 1.0)],
    "no skill": [(WIDE, LEAST, 1.0)],  # a few rows reach the threshold
    "weighted": [({"average_precision", "recall_at_fpr(fpr=0.1)"}, 0.92, MOST)],
    "60 rows, 5% positive": [(WIDE, LEAST, 1.0)],  # three positives
    "1,000 rows, 3 predicted positive": [(WIDE, LEAST, 1.0)],
    "1,000 undersampled rows": [({"brier_score"}, LEAST, 1.0)],
    "3,000 undersampled rows": [({"brier_score"}, LEAST, 1.0)],
    "300 rows, six labels": [
        ({"precision(average=macro)", "balanced_accuracy"}, 0.90, MOST),
        ({"f1(average=macro)"}, 0.88, MOST),
    ],
    "300 rows, ten labels, 99% accuracy": [(WIDE, LEAST, 1.0)],  # three errors
    "1,000 rows, ten labels, 99% accuracy": [({"accuracy"}, 0.92, MOST)],  # ten errors
    "200 whole errors": [({*simulated.WHOLE}, LEAST, 1.0)],  # many rows share a value
    "1,000 whole errors": [({*simulated.WHOLE}, LEAST, 1.0)],
    "100 t errors": [({*simulated.TAILS}, 0.90, MOST)],  # samples lack the largest errors
    "1,000 t errors": [({*simulated.TAILS}, 0.85, MOST)],  # squares of infinite variance
    "100 log-normal errors": [({*simulated.TAILS}, 0.83, MOST)],
    "1,000 log-normal errors": [({*simulated.TAILS}, 0.91, MOST)],
    "100 t errors, weighted": [({*simulated.TAILS}, 0.84, MOST), ({"mae"}, LEAST, 0.995)],
    "1,000 t errors, weighted": [({*simulated.TAILS}, 0.83, MOST)],
    "100 values near 0": [({"gamma_deviance"}, LEAST, 0.99)],
    "200 rows, 30% positive, 0.8": [({"lift"}, LEAST, 0.99)],
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

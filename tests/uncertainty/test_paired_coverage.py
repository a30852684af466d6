"""Paired intervals hold the true difference about as often as they say: simulations of many samples."""

import paired_simulation
import polars as pl
import pytest
from paired_simulation import SETTINGS, coverage

LEAST, MOST = 0.92, 0.985
GIVEN = 0.5  # of the samples; limits that fewer have are those of samples that are not like the others

# Least and largest coverage, where it is not between LEAST and MOST.
KNOWN: dict[str, list[tuple[set[str], float, float]]] = {}


def expected(setting, metric):
    """What is known of a metric, or what holds for all."""
    return next(((least, most) for own, least, most in KNOWN.get(setting, []) if metric in own), (LEAST, MOST))


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_paired_intervals_hold_the_truth_as_often_as_they_say(setting):
    found = coverage(setting, 400).filter(pl.col("given") >= GIVEN)
    assert found.height >= 5
    missed = []
    for metric, _, _, covered, _ in found.iter_rows():
        least, most = expected(setting.name, metric)
        if not least - 0.02 <= covered <= most + 0.02:  # two standard errors of the share
            missed.append((metric, covered))
    assert missed == []


@pytest.mark.thorough
@pytest.mark.parametrize("setting", [SETTINGS[0], SETTINGS[-1]], ids=lambda s: s.name)
def test_paired_intervals_hold_the_truth_about_as_often_as_they_say(setting, monkeypatch):
    monkeypatch.setattr(paired_simulation, "BIG", 400_000)
    quick = {"accuracy", "precision", "f1", "roc_auc", "log_loss", "mae", "rmse", "bias"}
    found = coverage(setting, 250).filter(pl.col("metric").is_in(quick))
    assert found["given"].to_list() == [1] * found.height
    assert found.filter(~pl.col("covered").is_between(0.90, 0.995)).rows() == []

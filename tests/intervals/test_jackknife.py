import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit

import streammetrics as sm
from streammetrics.intervals.jackknife import jackknife_interval


def interval(left_out, value, **options):
    table = pl.DataFrame({"left_out": left_out, "value": value}, schema={"left_out": pl.Float64, "value": pl.Float64})
    return table.select(jackknife_interval(pl.col("left_out"), pl.col("value").first(), **options)).row(0)


def degrees_of(values):
    """Degrees of freedom by Johnson & Rust (1992), rounded down."""
    squares, k = (values - values.mean()) ** 2, len(values)
    return int(min(k - 1, (3.16 - 2.77 / np.sqrt(k)) * squares.sum() ** 2 / (squares**2).sum()))


@pytest.mark.parametrize("k", [5, 6, 19, 20, 40, 256])
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_of_a_mean_it_is_student_s_interval_of_the_means_of_the_folds(k, confidence):
    means = np.random.default_rng(k).normal(3, 1, k)
    left_out = (means.sum() - means) / (k - 1)
    expected = stats.t.interval(confidence, degrees_of(means), means.mean(), stats.sem(means))
    precise = 1e-10 if k < 30 else 1e-7
    assert interval(left_out, means.mean(), confidence=confidence) == pytest.approx(expected, rel=precise)


def test_few_folds_with_most_of_the_variance_give_few_degrees_of_freedom():
    values = np.full(20, 0.8)
    values[:2] = 0.75, 0.86
    left_out = (values.sum() - values) / 19
    assert degrees_of(values) == 4
    lower, upper = interval(left_out, values.mean())
    assert upper - lower == pytest.approx(2 * stats.t.ppf(0.975, 4) * stats.sem(values))


def test_limits_stay_in_range():
    values, value = np.array([0.97, 0.99, 0.95, 0.999, 0.98]), 0.98
    error = np.sqrt(4 / 5 * np.sum((values - values.mean()) ** 2))
    step = stats.t.ppf(0.975, 4) * error / (value * (1 - value))
    expected = [expit(logit(value) + s) for s in (-step, step)]
    assert interval(values, value, range=(0, 1)) == pytest.approx(expected, rel=1e-10)
    assert interval(values, value)[1] > 1


@pytest.mark.parametrize(
    "left_out",
    [
        [],
        [0.5],
        [0.5, 0.6, 0.4, 0.55],  # four folds
        [0.5, None, 0.6, 0.4, 0.55],
        [0.5, np.inf, 0.6, 0.4, 0.55],
        [0.5, np.nan, 0.6, 0.4, 0.55],
        [0.5] * 6,
        np.arange(257.0),  # more folds than there can be
    ],
    ids=str,
)
def test_where_there_is_no_interval(left_out):
    assert interval(left_out, 0.5) == (None, None)


def test_values_that_are_not_defined_have_no_interval():
    left_out = [0.1, 0.2, 0.4, 0.3, 0.2]
    assert interval(left_out, None) == (None, None)
    assert None not in interval(left_out, 0.2)


@pytest.mark.parametrize(("skill", "given"), [(0.0, 0), (1.5, 3)])
def test_maxima_of_random_scores_have_none(skill, given):
    """The maximum over thresholds is above 0 in every sample, so no interval around it contains 0."""
    random = np.random.default_rng(0)
    label = random.random(1_000) < 0.3
    rows = {"y": label, "p": expit(random.normal(skill * label)), "u": np.arange(1_000)}
    acc = sm.binary(y_true="y", y_score="p", unit="u").update(rows)
    found = acc.finalize(["ks", "best_youden_j", "best_mcc"], confidence=0.95).frame
    assert found["ci_lower"].count() == given
    assert given or found["note"].str.contains("the maximum could come from noise").all()

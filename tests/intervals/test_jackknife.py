import numpy as np
import polars as pl
import pytest
from influences import limits_of_rows
from scipy import stats

from streammetrics.intervals.jackknife import HIGH, LOW, TOTAL, jackknife_intervals


def interval(left_out, value, confidence=0.95, range=(-np.inf, np.inf)):
    ends = dict(zip((LOW, HIGH), range, strict=True))
    columns = {"value": left_out, TOTAL: value} | ends
    table = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))
    return jackknife_intervals(table, [], confidence).select("ci_lower", "ci_upper").row(0)


def of_folds(values, value, confidence=0.95, low=-np.inf, high=np.inf):
    """From the influence of each fold."""
    influences = (values - values.mean()) / np.sqrt(len(values) * (len(values) - 1))
    return limits_of_rows(value, influences, degrees_of(values), confidence, low, high)


def degrees_of(values):
    """Degrees of freedom by Johnson & Rust (1992), rounded down."""
    squares, k = (values - values.mean()) ** 2, len(values)
    return int(min(k - 1, (3.16 - 2.77 / np.sqrt(k)) * squares.sum() ** 2 / (squares**2).sum()))


@pytest.mark.parametrize("k", [5, 6, 19, 20, 40, 256])
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_of_a_mean_it_is_that_of_the_means_of_the_folds(k, confidence):
    means = np.random.default_rng(k).normal(3, 1, k)
    left_out = (means.sum() - means) / (k - 1)
    expected = of_folds(means, means.mean(), confidence)
    step = expected[1] - means.mean()
    assert interval(left_out, means.mean(), confidence=confidence) == pytest.approx(
        expected, abs=(0.02 if k > 10 else 0.15) * step
    )


def test_few_folds_with_most_of_the_variance_give_few_degrees_of_freedom():
    values = np.full(20, 0.8)
    values[:2] = 0.75, 0.86
    left_out = (values.sum() - values) / 19
    assert degrees_of(values) == 4
    assert interval(left_out, values.mean()) == pytest.approx(of_folds(values, values.mean()), rel=0.01)
    lower, upper = interval(left_out, values.mean())
    assert upper - lower > 2 * stats.t.ppf(0.975, 4) * stats.sem(values)


def test_limits_stay_in_range():
    values, value = np.array([0.97, 0.99, 0.95, 0.999, 0.98]), 0.98
    assert interval(values, value, range=(0, 1)) == (interval(values, value)[0], 1)
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
    ],
    ids=str,
)
def test_where_there_is_no_interval(left_out):
    assert interval(left_out, 0.5) == (None, None)


def test_values_that_are_not_defined_have_no_interval():
    left_out = [0.1, 0.2, 0.4, 0.3, 0.2]
    assert interval(left_out, None) == (None, None)
    assert None not in interval(left_out, 0.2)

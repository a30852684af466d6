import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit

from streammetrics.errors import SpecificationError
from streammetrics.intervals.distributions import normal_quantile, t_quantile, t_quantiles
from streammetrics.intervals.jackknife import HIGH, LOW, TOTAL, jackknife_intervals
from streammetrics.intervals.limits import limits
from streammetrics.intervals.means import mean_interval
from streammetrics.intervals.proportions import wilson_interval
from streammetrics.intervals.quantiles import quantile_interval

PROBABILITIES = [1e-6, 0.005, 0.025, 0.3, 0.5, 0.7, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9995]


@pytest.mark.parametrize("p", PROBABILITIES)
def test_normal_quantile(p):
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 8, 19, 20, 49, 98, 255])
@pytest.mark.parametrize("p", PROBABILITIES[1:])
def test_t_quantile(p, degrees):
    assert t_quantile(p, degrees) == pytest.approx(stats.t.ppf(p, degrees), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("p", [0.7, 0.9, 0.975, 0.995])
def test_t_quantiles_of_any_degrees(p):
    few, many = np.arange(1.0, 30), np.geomspace(30, 1e9, 40)
    assert t_quantiles(p, few) == pytest.approx(stats.t.ppf(p, few), rel=1e-12)
    assert t_quantiles(p, few + 0.9) == pytest.approx(t_quantiles(p, few))  # rounded down: never narrower
    assert t_quantiles(p, few[1:] * (1 - 1e-12)) == pytest.approx(t_quantiles(p, few[1:]))  # but not by rounding errors
    assert t_quantiles(p, many) == pytest.approx(stats.t.ppf(p, many), rel=1e-6)
    assert t_quantiles(p, np.array([np.inf])).item() == normal_quantile(p)
    assert np.isnan(t_quantiles(p, np.array([0.0, 0.99, np.nan]))).all()


def test_t_quantiles_of_published_tables():
    table = {(0.95, 1): 6.314, (0.975, 2): 4.303, (0.975, 9): 2.262, (0.995, 19): 2.861, (0.975, 120): 1.980}
    assert {key: round(t_quantile(*key), 3) for key in table} == table


def both(value, error, quantile, range):
    table = pl.DataFrame({"value": [value], "error": [error]}, schema={"value": pl.Float64, "error": pl.Float64})
    return table.select(limits(pl.col("value"), pl.col("error"), quantile, range)).row(0)


SCALES = {  # range, scale, its inverse and its slope
    "plain": ((-math.inf, math.inf), lambda x: x, lambda x: x, lambda x: 1),
    "logit": ((0, 1), logit, expit, lambda x: 1 / (x * (1 - x))),
    "fisher": ((-1, 1), np.arctanh, np.tanh, lambda x: 1 / (1 - x**2)),
    "shifted logit": (
        (-0.25, 0.75),
        lambda x: logit(x + 0.25),
        lambda x: expit(x) - 0.25,
        lambda x: 1 / ((x + 0.25) * (0.75 - x)),
    ),
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("value", [0.01, 0.3, 0.7])
@pytest.mark.parametrize("error", [1e-9, 0.02, 0.5])
def test_limits_are_taken_on_the_scale_of_the_range(scale, value, error):
    range, to, back, slope = SCALES[scale]
    step = 1.7 * error * slope(value)
    expected = [back(to(value) - step), back(to(value) + step)]
    assert both(value, error, 1.7, range) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_limits_stay_in_range_however_large_the_error_is():
    assert both(0.5, 1e300, 2, (0, 1)) == (0, 1)
    assert both(1e-300, 1, 2, (0, 1)) == (0, 1)
    assert both(0.9, 1e5, 2, (-1, 1)) == (-1, 1)
    lower, upper = both(1e-12, 1e-13, 2, (0, 1))
    assert (lower, upper) == pytest.approx((1e-12 * math.exp(-0.2), 1e-12 * math.exp(0.2)), rel=1e-9)


@pytest.mark.parametrize(
    ("value", "error", "range"),
    [
        (0, 0.1, (0, 1)),
        (1, 0.1, (0, 1)),
        (-1, 0.1, (-1, 1)),
        (0.5, 0, (0, 1)),
        (0.5, None, (0, 1)),
        (None, 0.1, (0, 1)),
        (0.5, math.nan, (0, 1)),
        (math.nan, 0.1, (0, 1)),
        (0.5, math.inf, (-math.inf, math.inf)),
        (math.inf, 1, (-math.inf, math.inf)),
        (math.nan, 1, (-math.inf, math.inf)),
    ],
)
def test_where_there_are_no_limits(value, error, range):
    assert both(value, error, 1.96, range) == (None, None)


@pytest.mark.parametrize("confidence", [-0.5, 0, 1, 95, math.nan])
def test_confidences_that_cannot_be(confidence):
    x = pl.col("x")
    with pytest.raises(SpecificationError, match="between 0 and 1"):
        wilson_interval(x, x, confidence=confidence)
    folds = pl.DataFrame({"value": [0.5], TOTAL: [0.5], LOW: [0.0], HIGH: [1.0]})
    with pytest.raises(SpecificationError, match="between 0 and 1"):
        jackknife_intervals(folds, [], confidence)
    for interval in (mean_interval, quantile_interval):
        with pytest.raises(SpecificationError, match="between 0 and 1"):
            interval(x, x, x, confidence=confidence)

"""Metrics of regression: scikit-learn, scipy, brute force, and what is undefined."""

import math
import re

import numpy as np
import polars as pl
import pytest
import scipy.stats
import sklearn.metrics as sk
from error_references import REFERENCES
from strategies import ErrorRows, observed

import streammetrics as sm
from streammetrics import metrics as m
from streammetrics.core.moments import FAMILIES
from streammetrics.metrics.metric import find_metric
from streammetrics.statistics.error_moments import ErrorMoments

STATISTIC = ErrorMoments(families=tuple(FAMILIES), power=1.5)
METRICS = [x for x in sm.all_metrics() if x.formula.__module__.rpartition(".")[2] in ("errors", "deviances")]
RNG = np.random.default_rng(0)
Y = RNG.gamma(2, 50, 500)
P = Y * RNG.gamma(20, 0.06, 500)
W = RNG.random(500) + 0.1


def read(metric, actual, predicted, weight=None, group=None, parts=1, statistic=STATISTIC):
    """Values of a metric by group, off the merged tables of some parts."""
    groups = 1 if group is None else int(group.max()) + 1
    columns = [None if c is None else np.asarray(c) for c in (actual, predicted, group, weight)]
    tables = []
    for n in range(parts):
        y, p, g, w = (None if c is None else c[n::parts] for c in columns)
        tables.append(observed(statistic, ErrorRows(y.astype(float), p.astype(float), g, groups, w)))
    table = statistic.merge(pl.concat(tables)).select(pl.exclude("group").cast(pl.Float64))
    values = table.select(metric.expression()).to_series().to_list()
    return values if group is not None else values[0]


def test_every_metric_has_a_reference():
    assert {x.__name__ for x in REFERENCES} == {x.name for x in METRICS}


@pytest.mark.parametrize("metric", REFERENCES, ids=str)
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("parts", [1, 7])
def test_equals_its_reference(metric, weight, parts):
    expected = REFERENCES[metric](Y, P, weight)
    assert read(metric, Y, P, weight, parts=parts) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("metric", REFERENCES, ids=str)
def test_by_group(metric):
    group = np.arange(500) % 4
    expected = [REFERENCES[metric](Y[group == g], P[group == g], W[group == g]) for g in range(4)]
    assert read(metric, Y, P, W, group, parts=3) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_perfect_predictions(metric):
    value = read(metric, Y, Y)
    if metric.better == "low":
        assert value == 0
    elif metric.better == "high":
        assert value == pytest.approx(1, abs=1e-15)
    else:
        assert value == pytest.approx(REFERENCES[metric](Y, Y, None), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_one_row(metric):
    constant = {m.pearson_r, m.concordance} | {x for x in METRICS if x.range == (-math.inf, 1)}
    value = read(metric, [2.0], [3.0])
    assert (value is None) == (metric in constant - {m.concordance, m.explained_variance})
    if metric == m.explained_variance:
        assert value == 1


@pytest.mark.parametrize(
    ("actual", "predicted", "value"),
    [
        ([1, 2, 3], [1, 2, 3], 1),
        ([1, 2, 3], [1, 2, 4], 0.5),
        ([1, 2, 3], [2, 2, 2], 0),
        ([1, 2, 3], [3, 2, 1], -3),
        ([2, 2, 2], [2, 2, 2], 1),
        ([2, 2, 2], [2, 2, 3], None),
        ([2], [2], 1),
        ([2], [3], None),
        ([0.1] * 10_000, [0.1] * 10_000, 1),
        ([0.1] * 10_000, [0.3] * 10_000, None),
    ],
)
def test_r2(actual, predicted, value):
    for parts in (1, 3):
        assert read(m.r2, actual, predicted, parts=parts) == value
    assert find_metric("mse_skill", STATISTIC.columns) == m.r2
    if len(actual) > 1 and value is not None:
        assert sk.r2_score(actual, predicted) == value


def test_shares_explained_of_a_constant():
    for metric in (m.d2_poisson, m.d2_gamma, m.d2_tweedie):
        assert read(metric, [2, 2], [2, 2], parts=2) == 1
        assert read(metric, [2, 2], [2, 3], parts=2) is None
    assert read(m.explained_variance, [2, 2], [3, 3]) == 1
    assert read(m.explained_variance, [2, 2], [3, 4]) is None
    assert read(m.d2_poisson, [0, 0, 0], [1, 2, 3]) is None


@pytest.mark.parametrize("parts", [1, 9])
def test_r2_where_the_mean_is_large(parts):
    """A sum of squares would have no correct digit left."""
    rng = np.random.default_rng(parts)
    y = 1.7e9 + rng.normal(0, 1, 3_000)
    p = y + rng.normal(0, 0.5, 3_000)
    assert read(m.r2, y, p, parts=parts) == pytest.approx(sk.r2_score(y, p), rel=1e-6)
    assert read(m.pearson_r, y, p, parts=parts) == pytest.approx(scipy.stats.pearsonr(y, p).statistic, rel=1e-6)
    assert read(m.explained_variance, y, p, parts=parts) == pytest.approx(sk.explained_variance_score(y, p), rel=1e-6)


@pytest.mark.parametrize(
    ("offset", "noise", "tolerance"), [(0.1, 1, 1e-12), (0, 1e-9, 1e-12), (1e6, 1, 1e-10), (1e6, 1e-3, 1e-5)]
)
def test_spread_of_errors_beside_large_values_or_a_large_bias(offset, noise, tolerance):
    rng = np.random.default_rng(2)
    y = rng.normal(0, 1, 2_000)
    p = y + offset + rng.normal(0, noise, 2_000)
    assert read(m.error_sd, y, p, parts=4) == pytest.approx(np.std(p - y), rel=tolerance)


def test_pearson_equals_scipy_and_is_exact_on_a_line():
    assert read(m.pearson_r, Y, P) == pytest.approx(scipy.stats.pearsonr(Y, P).statistic, rel=1e-12)
    for slope in (3.0, -1e-200, 1e150):
        assert read(m.pearson_r, Y, slope * Y) == pytest.approx(math.copysign(1, slope), abs=1e-15)
    assert read(m.pearson_r, Y, np.full(500, 0.1), parts=3) is None


def test_concordance_falls_with_location_and_scale():
    """Lin (1989): with equal moments it is Pearson's correlation."""
    assert read(m.concordance, Y, Y + 10) < 1
    assert read(m.concordance, Y, 2 * Y) < 1
    flipped = Y.mean() - (Y - Y.mean())
    assert read(m.concordance, Y, flipped) == pytest.approx(-1, rel=1e-12)


def test_percentages_of_zeros():
    assert read(m.mape, [0, 1], [1, 1]) == math.inf
    assert read(m.mape, [0, 1], [0, 2]) is None
    assert read(m.rmspe, [0, 1], [1, 1]) == math.inf
    assert read(m.smape, [0, 1], [0, 1]) == 0
    assert read(m.smape, [0, 1], [5, 1]) == 1
    assert read(m.wape, [0, 0], [0, 1]) == math.inf
    assert read(m.wape, [0, 0], [0, 0]) is None


def test_infinite_values():
    assert read(m.mae, [1, 2], [math.inf, 2]) == math.inf
    assert read(m.bias, [1, 2], [-math.inf, 2]) == -math.inf
    assert read(m.mae, [math.inf, 2], [math.inf, 2]) is None
    assert read(m.max_error, [math.inf, 2, 3], [math.inf, 2, 3], parts=3) is None
    assert read(m.mean_actual, [math.inf, 2, 3], [1, 2, 3], parts=3) == math.inf
    assert read(m.mean_actual, [math.inf, -math.inf], [1, 2], parts=2) is None
    for metric in (m.r2, m.pearson_r, m.explained_variance, m.concordance, m.error_sd):
        assert read(metric, [math.inf, 2, 3], [1, 2, 3], parts=2) is None


@pytest.mark.parametrize(
    ("actual", "predicted", "undefined"),
    [
        ([1, -1], [1, 1], {m.msle, m.rmsle, *(x for x in METRICS if "poisson" in x.name)}),
        ([1, 0], [1, 1], {m.gamma_deviance, m.d2_gamma}),
        ([1, 2], [1, 0], {m.poisson_deviance, m.d2_poisson, m.tweedie_deviance, m.gamma_deviance}),
        ([1, 2], [1, -1.5], {m.msle, m.rmsle}),
    ],
)
def test_out_of_domain_values_are_undefined_and_noted(actual, predicted, undefined):
    for metric in undefined:
        assert read(metric, actual, predicted, parts=2) is None
        assert re.fullmatch("undefined: needs finite .*, unlike mae and wape", note(metric, actual, predicted))
    assert read(m.mse, actual, predicted) is not None


def note(metric, actual, predicted):
    table = observed(STATISTIC, ErrorRows(np.array(actual, dtype=float), np.array(predicted, dtype=float)))
    return table.select(metric.note_expression()).item()


def test_notes():
    for metric in (m.r2, m.adjusted_r2, m.explained_variance, m.pearson_r, m.d2_poisson, m.d2_gamma, m.d2_tweedie):
        assert note(metric, [2, 2], [1, 3]) == "true values do not vary"
        assert note(metric, [2, 3], [1, 3]) is None
        assert note(metric, [], []) is None
    for metric in (m.poisson_deviance, m.gamma_deviance, m.tweedie_deviance, m.msle, m.rmsle):
        assert note(metric, [2, 3], [1, 3]) is None


def test_adjusted_r2():
    assert read(m.adjusted_r2(features=0), Y, P) == pytest.approx(read(m.r2, Y, P), rel=1e-15)
    assert read(m.adjusted_r2(features=2), [1, 2, 3], [1, 2, 4]) is None
    assert read(m.adjusted_r2(features=1), [1, 2, 3], [1, 2, 4]) == 0


@pytest.mark.parametrize("metric", [m.pinball_loss(q=1.5), m.pinball_loss(q=-0.1), m.adjusted_r2(features=-1)], ids=str)
def test_options_out_of_range(metric):
    with pytest.raises(sm.MetricError, match="must"):
        read(metric, Y, P)

"""Intervals of R² and correlations, from moments up to order 4."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import streammetrics as sm

Z = 1.959963984540054
METRICS = ["r2", "explained_variance", "pearson_r", "concordance", "error_sd"]


def rows(seed, n=1_500, noise=0.5, offset=0.0):
    """A skewed target, and errors with a bias that grow with it."""
    r = np.random.default_rng(seed)
    y = r.gamma(2, 1, n)
    return pl.DataFrame({"y": y + offset, "p": y + offset + noise * (0.3 + r.standard_t(8, n) * (1 + 0.3 * y))})


def report(frame, **options):
    return sm.regression(y_true="y", y_pred="p", **options).update(frame).finalize(METRICS, confidence=0.95)


def errors(found):
    """Half the width of each interval, in normal quantiles: a little more than the standard error."""
    ends = {name: (found[name].ci_lower, found[name].ci_upper) for name in METRICS}
    return {name: (upper - lower) / (2 * Z) for name, (lower, upper) in ends.items()}


@pytest.mark.parametrize("noise", [1.0, 0.01])
@pytest.mark.thorough
def test_they_are_as_wide_as_metrics_of_rows_drawn_again_spread(noise):
    """With little noise correlations are 0.9999, where the influence of a row nearly cancels."""
    frame = rows(1, noise=noise)
    found = errors(report(frame))
    chosen = np.random.default_rng(2).integers(0, frame.height, (2_000, frame.height))
    again = frame[chosen.ravel()].with_columns(copy=np.repeat(np.arange(2_000), frame.height))
    copies = sm.Accumulator(sm.ErrorMoments(), y_true="y", y_pred="p", by="copy").update(again).finalize(METRICS).frame
    for name in METRICS:
        spread = copies.filter(metric=name)["value"].to_numpy().std()
        assert found[name] == pytest.approx(spread, rel=0.3), name


@pytest.mark.parametrize("offset", [1e6, 1.7e9])
def test_large_values_that_vary_little(offset):
    near, far = (errors(report(rows(4, offset=x))) for x in (0.0, offset))
    assert far == pytest.approx(near, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_values_makes_no_difference(unit):
    one, other = (errors(report(rows(5).select(pl.all() * x))) for x in (1.0, unit))
    other["error_sd"] /= unit
    assert other == pytest.approx(one, rel=1e-5)


def test_groups_merged_in_parts_are_as_one():
    frame = rows(6).with_columns(day=pl.int_range(pl.len()) % 7)
    parts = sm.regression(y_true="y", y_pred="p", by="day").update(frame.sort("y")).rollup()
    assert errors(parts.finalize(METRICS, confidence=0.95)) == pytest.approx(errors(report(frame)), rel=1e-7)


def test_where_there_is_none():
    nothing = {"y": [1.0, 1.0, 1.0], "p": [1.0, 2.0, 3.0]}
    perfect = {"y": [1.0, 2.0, 3.0], "p": [1.0, 2.0, 3.0]}
    for data in (nothing, perfect, {"y": [1.0], "p": [2.0]}):
        found = report(pl.DataFrame(data))
        assert [found[m].ci_lower for m in METRICS if m != "error_sd" or data is perfect].count(None) >= 4


def test_means_of_losses_have_about_the_intervals_of_a_t_test():
    frame = rows(8).with_columns(pl.col("y", "p").abs() + 0.1)
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    e, log = p - y, np.log1p(p) - np.log1p(y)
    losses = {
        "pinball_loss(q=0.9)": np.where(e > 0, 0.1 * e, -0.9 * e),
        "smape": 2 * abs(e) / (y + p),
        "msle": log**2,
        "log_cosh": np.log(np.cosh(e)),
        "poisson_deviance": 2 * (y * np.log(y / p) - y + p),
        "gamma_deviance": 2 * (np.log(p / y) + y / p - 1),
        "mean_actual": y,
        "mean_predicted": p,
    }
    found = sm.regression(y_true="y", y_pred="p", families=["log", "log_cosh", "poisson", "gamma"]).update(frame)
    found = found.finalize([*losses, "rmspe", "rmsle", "wape"], confidence=0.95)
    for metric, values in losses.items():
        width = found[metric].ci_upper - found[metric].ci_lower
        usual = stats.sem(values) * 2 * stats.t.ppf(0.975, len(values) - 1)
        assert 0.99 * usual < width < 1.1 * usual, metric
    roots = {"rmspe": (e / y) ** 2, "rmsle": log**2}
    for metric, values in roots.items():
        width = found[metric].ci_upper - found[metric].ci_lower
        usual = stats.sem(values) / np.sqrt(values.mean()) * stats.t.ppf(0.975, len(y) - 1)
        assert 0.99 * usual < width < 1.15 * usual, metric
    ratio = abs(e).sum() / y.sum()
    usual = np.sqrt(np.sum((abs(e) - ratio * y) ** 2)) / y.sum() * 2 * stats.t.ppf(0.975, len(y) - 1)
    assert 0.99 * usual < found["wape"].ci_upper - found["wape"].ci_lower < 1.1 * usual


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_equal_weights_change_nothing(weight):
    frame = rows(9)
    plain, equal = (report(f, **o) for f, o in ((frame, {}), (frame.with_columns(w=weight), {"sample_weight": "w"})))
    assert errors(equal) == pytest.approx(errors(plain), rel=2e-3)


def test_weighted_rows_merge_as_one():
    frame = rows(10).with_columns(day=pl.int_range(pl.len()) % 7, w=1 + pl.col("y") + (pl.col("p") - pl.col("y")).abs())
    parts = sm.regression(y_true="y", y_pred="p", by="day", sample_weight="w").update(frame.sort("y")).rollup()
    whole = report(frame, sample_weight="w")
    assert errors(parts.finalize(METRICS, confidence=0.95)) == pytest.approx(errors(whole), rel=1e-7)
    y, p, w = (frame[c].to_numpy() for c in ("y", "p", "w"))
    mean = np.average(y, weights=w)
    rest, total = np.average((p - y) ** 2, weights=w), np.average((y - mean) ** 2, weights=w)
    influence = ((p - y) ** 2 / rest - (y - mean) ** 2 / total) * rest / total
    expected = np.sqrt(np.sum((w * influence) ** 2)) / w.sum()
    assert errors(whole)["r2"] == pytest.approx(expected, rel=0.1)


def test_limits_of_skewed_losses_are_farther_above():
    """If the largest error is known, they depend on it, and otherwise on the mean and the mean square."""
    frame = rows(8, n=100).with_columns(pl.col("p").clip(0))
    task = sm.regression(y_true="y", y_pred="p", families=["log"])
    found = task.update(frame).finalize(["mse", "rmsle", "mae"], confidence=0.95)
    for metric in ("mse", "rmsle", "mae"):
        value, lower, upper = found[metric].value, found[metric].ci_lower, found[metric].ci_upper
        assert 1.1 * (value - lower) < upper - value
    outlier = pl.concat([frame, pl.DataFrame({"y": [0.0], "p": [40.0]})])
    most = sm.regression(y_true="y", y_pred="p").update(outlier).finalize(["mse"], confidence=0.95)["mse"]
    assert "about 1 effective rows" in most.note


def test_tails_of_many_rows_without_outliers_do_not_matter():
    r = np.random.default_rng(0)
    y = r.normal(size=1_000_000)
    wide = errors(report(pl.DataFrame({"y": y, "p": y + r.normal(size=len(y))})))
    assert wide["error_sd"] == pytest.approx((0.5 / len(y)) ** 0.5, rel=0.02)
    assert wide["r2"] == pytest.approx((2 / len(y)) ** 0.5 * 2**0.5, rel=0.02)


def test_errors_that_are_equal_in_size_have_no_tail():
    frame = pl.DataFrame({"y": [0.0, 1.0, 2.0, 3.0] * 50, "p": [1.0, 0.0, 3.0, 2.0] * 50})
    found = sm.regression(y_true="y", y_pred="p").update(frame).finalize(["mse", "r2", "error_sd"], confidence=0.95)
    assert found["mse"].ci_lower is None
    assert found["r2"].ci_lower < 0.2 < found["r2"].ci_upper

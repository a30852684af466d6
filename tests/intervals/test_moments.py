"""Intervals of R² and correlations, from moments up to order 4."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import streammetrics as sm
from streammetrics.intervals import influence
from streammetrics.intervals.tails import largest_of_lognormal

Z = 1.959963984540054
METRICS = ["r2", "explained_variance", "pearson_r", "concordance", "error_sd"]
SCALES = {  # on which limits are as far from the value to both sides
    "r2": lambda x: -np.log(1 - x),
    "explained_variance": lambda x: -np.log(1 - x),
    "pearson_r": np.arctanh,
    "concordance": np.arctanh,
    "error_sd": np.log,
}


@pytest.fixture
def no_tails(monkeypatch):
    """Limits without rows beyond the largest one."""
    nothing = lambda rows, table, slopes, *_: (np.zeros((table.height, slopes.shape[2])),) * 2  # noqa: E731
    monkeypatch.setattr(influence, "influence_of", nothing)


def rows(seed, n=1_500, noise=0.5, offset=0.0):
    """A skewed target, and errors with a bias that grow with it."""
    r = np.random.default_rng(seed)
    y = r.gamma(2, 1, n)
    return pl.DataFrame({"y": y + offset, "p": y + offset + noise * (0.3 + r.standard_t(8, n) * (1 + 0.3 * y))})


def report(frame, **options):
    return sm.regression(y_true="y", y_pred="p", **options).update(frame).finalize(METRICS, confidence=0.95)


def errors(found):
    """Standard errors on the scale of each metric."""
    ends = {name: (found[name].ci_lower, found[name].ci_upper) for name in METRICS}
    return {name: float(SCALES[name](upper) - SCALES[name](lower)) / (2 * Z) for name, (lower, upper) in ends.items()}


@pytest.mark.parametrize("noise", [1.0, 0.01])
@pytest.mark.thorough
def test_they_are_as_wide_as_metrics_of_rows_drawn_again_spread(noise, no_tails):
    """With little noise correlations are 0.9999, where the influence of a row nearly cancels."""
    frame = rows(1, noise=noise)
    found = errors(report(frame))
    chosen = np.random.default_rng(2).integers(0, frame.height, (2_000, frame.height))
    again = frame[chosen.ravel()].with_columns(copy=np.repeat(np.arange(2_000), frame.height))
    copies = sm.Accumulator(sm.ErrorMoments(), y_true="y", y_pred="p", by="copy").update(again).finalize(METRICS).frame
    for name in METRICS:
        spread = SCALES[name](copies.filter(metric=name)["value"].to_numpy()).std()
        assert found[name] == pytest.approx(spread, rel=0.08), name


@pytest.mark.parametrize("offset", [1e6, 1.7e9])
def test_large_values_that_vary_little(offset):
    near, far = (errors(report(rows(4, offset=x))) for x in (0.0, offset))
    assert far == pytest.approx(near, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_values_makes_no_difference(unit):
    one, other = (errors(report(rows(5).select(pl.all() * x))) for x in (1.0, unit))
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


def test_means_of_losses_have_the_intervals_of_a_t_test(no_tails):
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
        lower, upper = found[metric].ci_lower, found[metric].ci_upper
        scale = 1 if metric.startswith("mean") else values.mean()
        width = upper - lower if metric.startswith("mean") else np.log(upper / lower)
        if metric == "smape":
            width, scale = np.diff([np.log(x / (2 - x)) for x in (lower, upper)])[0], scale * (2 - scale) / 2
        expected = stats.sem(values) / scale * 2 * stats.t.ppf(0.975, len(values) - 1)
        assert width == pytest.approx(expected, rel=1e-3), metric
    roots = {"rmspe": (e / y) ** 2, "rmsle": log**2}
    for metric, values in roots.items():
        width = np.log(found[metric].ci_upper / found[metric].ci_lower)
        assert width == pytest.approx(stats.sem(values) / values.mean() * stats.t.ppf(0.975, len(y) - 1), rel=1e-3)
    ratio = abs(e).sum() / y.sum()
    error = np.sqrt(np.sum((abs(e) - ratio * y) ** 2)) / y.sum()
    width = np.log(found["wape"].ci_upper / found["wape"].ci_lower)
    assert width == pytest.approx(error / ratio * 2 * stats.t.ppf(0.975, len(y) - 1), rel=1e-3)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_equal_weights_change_nothing(weight):
    frame = rows(9)
    plain, equal = (report(f, **o) for f, o in ((frame, {}), (frame.with_columns(w=weight), {"sample_weight": "w"})))
    assert errors(equal) == pytest.approx(errors(plain), rel=2e-3)


def test_weighted_rows_merge_as_one(no_tails):
    frame = rows(10).with_columns(day=pl.int_range(pl.len()) % 7, w=1 + pl.col("y") + (pl.col("p") - pl.col("y")).abs())
    parts = sm.regression(y_true="y", y_pred="p", by="day", sample_weight="w").update(frame.sort("y")).rollup()
    whole = report(frame, sample_weight="w")
    assert errors(parts.finalize(METRICS, confidence=0.95)) == pytest.approx(errors(whole), rel=1e-7)
    y, p, w = (frame[c].to_numpy() for c in ("y", "p", "w"))
    mean = np.average(y, weights=w)
    rest, total = np.average((p - y) ** 2, weights=w), np.average((y - mean) ** 2, weights=w)
    influence = ((p - y) ** 2 / rest - (y - mean) ** 2 / total) * rest / total
    expected = np.sqrt(np.sum((w * influence) ** 2)) / w.sum() * total / rest
    assert errors(whole)["r2"] == pytest.approx(expected, rel=5e-3)


def test_the_upper_limits_of_losses_allow_for_larger_ones():
    """Three more rows of the largest influence in the variance, and one in the mean."""
    frame = rows(8, n=100).with_columns(pl.col("p").clip(0))
    error = (frame["p"] - frame["y"]).to_numpy()
    found = (
        sm.regression(y_true="y", y_pred="p", families=["log"])
        .update(frame)
        .finalize(["mse", "rmsle"], confidence=0.95)
    )
    log = (np.log1p(frame["p"]) - np.log1p(frame["y"])).to_numpy() ** 2
    usual = largest_of_lognormal(*(np.array([x]) for x in (log.sum(), (log**2).sum(), 100.0)))[0]
    for metric, losses, largest, root in (("mse", error**2, max(error**2), False), ("rmsle", log, usual, True)):
        value = losses.mean() ** (0.5 if root else 1)
        slope = 1 / (2 * value) if root else 1
        sem, more, t = stats.sem(losses) * slope, (largest - losses.mean()) / 100 * slope, stats.t.ppf(0.975, 99)
        upper = (value + more) * np.exp(t * np.hypot(sem, 3**0.5 * more) / (value + more))
        assert found[metric].ci_lower == pytest.approx(value * np.exp(-t * sem / value), rel=1e-3)
        assert found[metric].ci_upper == pytest.approx(upper, rel=1e-3)


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

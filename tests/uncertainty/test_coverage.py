"""How often intervals hold the truth: many samples of 2,000 rows, each a group of one table."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import iqr, median_abs_deviation, norm

from streammetrics.metrics.ranking import average_precision
from streammetrics.metrics.ratios import accuracy, f1
from streammetrics.rows.folds import fold
from streammetrics.uncertainty import (
    as_proportion,
    bootstrap_intervals,
    delong_interval,
    delta_intervals,
    iqr_interval,
    jackknife_interval,
    leave_one_out,
    mad_interval,
    mean_interval,
    quantile_interval,
    wilson_interval,
)

ROWS = 2_000
CELLS = {"tp": 0.25, "fp": 0.08, "fn": 0.12, "tn": 0.55}
BINS = 60


def by_sample(values, **columns):
    """A table with a group for each row of ``values``, as column ``value``."""
    samples, size = values.shape
    return pl.DataFrame({"sample": np.repeat(np.arange(samples), size), "value": values.ravel(), **columns})


def two_by_two(random, samples):
    return pl.DataFrame(random.multinomial(ROWS, [*CELLS.values()], samples), schema=[*CELLS])


def of_accuracy(random, samples):
    limits = wilson_interval(*as_proportion(accuracy))
    return two_by_two(random, samples).select(limits), CELLS["tp"] + CELLS["tn"]


def of_f1(random, samples):
    truth = 2 * CELLS["tp"] / (2 * CELLS["tp"] + CELLS["fp"] + CELLS["fn"])
    return delta_intervals(two_by_two(random, samples), [f1]), truth


def score_histograms(random, samples):
    """Rounded scores of two normal classes: tables, and the shares of their cells."""
    edges = norm.ppf(np.linspace(0, 1, BINS + 1))
    shares = np.stack([0.8 * np.diff(norm.cdf(edges)), 0.2 * np.diff(norm.cdf(edges - 1))], axis=1)
    counts = random.multinomial(ROWS, shares.ravel(), samples).reshape(samples, BINS, 2)
    return by_sample(counts[..., 0], pos=counts[..., 1].ravel()).rename({"value": "neg"}), shares


def of_auc(random, samples):
    table, shares = score_histograms(random, samples)
    neg, pos = shares.T / shares.sum(axis=0)[:, None]
    truth = neg @ (pos.sum() - pos.cumsum() + pos / 2)
    return table.group_by("sample").agg(delong_interval(pl.col("neg"), pl.col("pos"))), truth


def of_log_loss(random, samples):
    """Calibrated scores, uniform on [0, 1]: the mean of -2 p log p is one half."""
    score = random.random((samples, ROWS))
    loss = -np.log(np.where(random.random(score.shape) < score, score, 1 - score))
    return pl.DataFrame(sums_of(loss)).select(mean_interval(*map(pl.col, ("total", "square", "rows")))), 0.5


def of_mae(random, samples):
    errors = np.abs(random.laplace(0, 1, (samples, ROWS)))
    return pl.DataFrame(sums_of(errors)).select(mean_interval(*map(pl.col, ("total", "square", "rows")))), 1.0


def sums_of(losses):
    return {"total": losses.sum(axis=1), "square": (losses**2).sum(axis=1), "rows": np.full(len(losses), ROWS)}


def of_median(random, samples):
    table = by_sample(np.sort(random.lognormal(0, 1, (samples, ROWS)), axis=1))
    limits = quantile_interval(pl.col("value"), pl.col("value"), pl.ones(pl.len()))
    return table.group_by("sample").agg(limits), 1.0


def of_spread(interval, own, truth):
    def simulate(random, samples):
        values = np.sort(random.exponential(1, (samples, ROWS)), axis=1)
        table = by_sample(values, own=np.repeat(own(values), ROWS))
        limits = interval(pl.col("own").first(), pl.col("value"), pl.col("value"), pl.ones(pl.len()))
        return table.group_by("sample").agg(limits), truth

    simulate.__name__ = interval.__name__
    return simulate


def of_units(random, samples):
    """Mean loss where 200 users differ, each with ten rows or so."""
    users, rows = 200, random.poisson(10, (samples, 200)) + 1
    own = random.exponential(1, rows.shape)
    total = rows * own + random.normal(0, 1, rows.shape) * np.sqrt(rows)
    unit = pl.Series("fold", np.tile(np.arange(users), samples) + 1_000_003 * np.repeat(np.arange(samples), users))
    table = by_sample(total, fold=fold(unit), rows=rows.ravel()).group_by("sample", "fold").sum()
    left_out = leave_one_out(table, by=["sample"]).group_by("sample", "left_out").sum()
    whole = table.group_by("sample").agg(whole=pl.sum("value") / pl.sum("rows"))
    mean = pl.col("value") / pl.col("rows")
    limits = jackknife_interval(mean, pl.col("whole").first())
    return left_out.join(whole, on="sample").group_by("sample").agg(limits), 1.0


def of_average_precision(random, samples):
    table, shares = score_histograms(random, samples)
    truth = average_precision(*(shares.T * 1e12))
    metric = {"ap": average_precision.expression()}
    return bootstrap_intervals(table, metric, ["neg", "pos"], by=["sample"], replicates=300), truth


def coverage(simulate, samples, seed):
    """Share of samples whose interval holds the truth."""
    limits, truth = simulate(np.random.default_rng(seed), samples)
    assert limits.height == samples
    return limits.select(pl.lit(truth).is_between("ci_lower", "ci_upper").fill_null(False).mean()).item()


SPREAD = [
    of_spread(mad_interval, lambda x: median_abs_deviation(x, axis=1), np.arcsinh(0.5)),  # of the exponential
    of_spread(iqr_interval, lambda x: iqr(x, axis=1), np.log(3)),
]
QUICK = [of_accuracy, of_f1, of_auc, of_log_loss, of_mae, of_median, *SPREAD, of_units]


@pytest.mark.parametrize("simulate", QUICK, ids=lambda f: f.__name__)
def test_intervals_hold_the_truth_about_as_often_as_they_say(simulate):
    assert 0.92 <= coverage(simulate, 500, seed=0) <= 0.98  # three standard errors of the share


@pytest.mark.long
@pytest.mark.parametrize("simulate", QUICK, ids=lambda f: f.__name__)
def test_intervals_hold_the_truth_as_often_as_they_say(simulate):
    assert 0.93 <= np.mean([coverage(simulate, 500, seed) for seed in range(1, 9)]) <= 0.97


@pytest.mark.long
def test_bootstrap_intervals_hold_the_truth_about_as_often_as_they_say():
    assert 0.92 <= coverage(of_average_precision, 500, seed=1) <= 0.98

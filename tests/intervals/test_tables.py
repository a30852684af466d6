"""Intervals that are read off one table: means and quantiles."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit

from streammetrics.intervals.means import mean_interval
from streammetrics.intervals.quantiles import quantile_interval

Z = 1.959963984540054
LOSS = pl.col("loss")


def mean_of(losses, interval=mean_interval, **options):
    table = pl.DataFrame({"loss": losses}, schema={"loss": pl.Float64})
    return table.select(interval(LOSS.sum(), (LOSS**2).sum(), pl.len(), **options)).row(0)


@pytest.mark.parametrize("rows", [2, 3, 50, 10_000])
def test_means(rows):
    losses = np.random.default_rng(rows).exponential(0.3, rows)
    expected = stats.norm.interval(0.9, losses.mean(), stats.sem(losses))
    assert mean_of(losses, confidence=0.9) == pytest.approx(expected, rel=1e-9)


def test_means_stay_in_range():
    losses = [0.0] * 9 + [1.0]
    assert mean_of(losses)[0] < 0
    error = stats.sem(losses)
    on_the_logit = [expit(logit(0.1) + side * Z * error / (0.1 * 0.9)) for side in (-1, 1)]
    assert mean_of(losses, range=(0, 1)) == pytest.approx(on_the_logit, rel=1e-9)


@pytest.mark.parametrize("losses", [[], [0.5], [0.0] * 5, [0.1] * 7, [np.log(2)] * 1_000, [1e6, 1e6 + 1e-9]])
def test_where_means_have_no_interval(losses):
    assert mean_of(losses) == (None, None)


def ranks(sizes, q=0.5, confidence=0.95):
    """Ranks of the order statistics that are the limits, for each number of rows."""
    table = pl.DataFrame({"rows": np.repeat(sizes, sizes)}).with_columns(
        value=pl.int_range(1, pl.len() + 1).over("rows")
    )
    limits = quantile_interval(pl.col("value"), pl.col("value"), pl.ones(pl.len()), q, confidence)
    return table.group_by("rows", maintain_order=True).agg(limits).drop("rows").rows()


def test_ranks_of_the_median_as_in_published_tables():
    """Conover 1999, table A3, of the binomial distribution."""
    published = [(None, None), (1, 6), (2, 9), (6, 15), (18, 33), (40, 61)]
    assert ranks([5, 6, 10, 20, 50, 100]) == published


@pytest.mark.parametrize("q", [0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.995])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_no_tail_has_more_than_its_share(q, confidence):
    tail = (1 - confidence) / 2
    sizes = [*range(1, 80), 137, 500, 1_001, 4_000, 20_000]
    found = ranks(sizes, q, confidence)
    for rows, (lower, upper) in zip(sizes, found, strict=True):
        if lower is not None:
            assert stats.binom.cdf(lower - 1, rows, q) <= tail
            assert lower + 1 >= stats.binom.ppf(tail, rows, q)  # exact ranks are hardly closer
        if upper is not None:
            assert stats.binom.sf(upper - 1, rows, q) <= tail
            assert upper - 2 <= stats.binom.isf(tail, rows, q)
    assert None not in found[-1]


def test_quantiles_at_the_ends():
    assert ranks([1_000], q=0) == [(None, 1)]
    assert ranks([1_000], q=1) == [(1_000, None)]


def test_limits_of_quantiles_are_edges_of_bins():
    table = pl.DataFrame({"low": [-1.0, 0.0, 1.0, 4.0], "high": [-0.5, 0.0, 3.0, 9.0], "count": [30, 0, 40, 30]})
    low, high, count = (pl.col(c) for c in table.columns)
    assert table.select(quantile_interval(low, high, count)).row(0) == (1.0, 3.0)
    assert table.select(quantile_interval(low, high, count, q=0.3)).row(0) == (-1.0, 3.0)
    assert table.select(quantile_interval(low, high, count, q=0.7)).row(0) == (1.0, 9.0)
    infinite = pl.DataFrame({"low": [-np.inf, 0.0, np.inf], "high": [-np.inf, 0.0, np.inf], "count": [40, 20, 40]})
    assert infinite.select(quantile_interval(low, high, count)).row(0) == (-np.inf, np.inf)
    assert table.clear().select(quantile_interval(low, high, count)).row(0) == (None, None)


def test_quantiles_of_bins_in_any_order():
    table = pl.DataFrame({"low": [0.0, 2.0, 1.0], "high": [3.0, 2.0, 1.5], "count": [40, 30, 30]})
    columns = pl.col("low"), pl.col("high"), pl.col("count")
    found = table.select(quantile_interval(*columns, q=0.3)).row(0)
    assert found == (0.0, 2.0)  # of all lows and of all highs, each in order
    assert table.reverse().select(quantile_interval(*columns, q=0.3)).row(0) == found

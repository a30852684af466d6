"""Intervals that are read off one table: means, quantiles, spread."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit

from streammetrics.intervals.means import mean_interval
from streammetrics.intervals.quantiles import quantile_interval
from streammetrics.intervals.spread import iqr_interval, mad_interval

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
    on_the_logarithm = [0.1 * np.exp(side * Z * error / 0.1) for side in (-1, 1)]
    assert mean_of(losses, range=(0, np.inf)) == pytest.approx(on_the_logarithm, rel=1e-9)


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


def spread(interval, value, values, count=None, width=0.0):
    table = pl.DataFrame({"value": values, "count": np.ones(len(values)) if count is None else count})
    bins = pl.col("value") - width / 2, pl.col("value") + width / 2, pl.col("count")
    options = {}
    if interval is mad_interval:  # which would compute the interval of the median many times
        options["median"] = [pl.lit(end) for end in table.select(quantile_interval(*bins)).row(0)]
    return table.select(interval(pl.lit(float(value)), *bins, **options)).row(0)


NORMAL_ROWS = stats.norm.ppf((np.arange(40_000) + 0.5) / 40_000)
NORMAL_MAD, NORMAL_IQR = 0.6744897501960817, 1.3489795003921634


def log_error(limits):
    return np.log(limits[1] / limits[0]) / (2 * Z)


def test_spread_of_normal_rows_is_as_precise_as_published():
    """Rousseeuw and Croux (1993): MAD and half of the interquartile range have 37 % of the precision of the SD."""
    expected = np.sqrt(1 / (2 * 0.3675) / len(NORMAL_ROWS))
    for interval, value in ((mad_interval, NORMAL_MAD), (iqr_interval, NORMAL_IQR)):
        assert log_error(spread(interval, value, NORMAL_ROWS)) == pytest.approx(expected, rel=0.01)


@pytest.mark.thorough
def test_spread_of_skewed_rows_agrees_with_drawing_them_again():
    random = np.random.default_rng(3)
    rows = np.sort(random.lognormal(0, 1, 2_000))
    drawn = random.choice(rows, (4_000, len(rows)))
    for interval, statistic in ((mad_interval, stats.median_abs_deviation), (iqr_interval, stats.iqr)):
        found = log_error(spread(interval, statistic(rows), rows))
        assert found == pytest.approx(np.log(statistic(drawn, axis=1)).std(), rel=0.1)


def test_wide_bins_leave_the_spread_as_it_is():
    """Bins a hundred times as wide as the interval."""
    edges = np.linspace(-5, 5, 51)
    count = 10_000_000 * np.diff(stats.norm.cdf(edges))
    middle = (edges[1:] + edges[:-1]) / 2
    expected = np.sqrt(1 / (2 * 0.3675) / count.sum())
    for interval, value in ((mad_interval, NORMAL_MAD), (iqr_interval, NORMAL_IQR)):
        assert log_error(spread(interval, value, middle, count, width=0.2)) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("interval", [mad_interval, iqr_interval])
def test_where_spread_has_no_interval(interval):
    nothing = (None, None)
    assert spread(interval, 0, np.zeros(100)) == nothing
    assert spread(interval, 1, [1.0]) == nothing
    assert spread(interval, np.inf, [-np.inf] * 40 + [0.0] * 20 + [np.inf] * 40) == nothing
    table = pl.DataFrame({"value": [0.0]}).clear().select(pl.col("value"), count=pl.col("value"))
    columns = pl.col("value").first(), pl.col("value"), pl.col("value"), pl.col("count")
    assert table.select(interval(*columns)).row(0) == nothing


def test_spread_of_values_that_many_rows_share():
    """There were no limits, or, of a few shared values, limits that missed the value in every third sample."""
    for interval, value in ((iqr_interval, 2), (mad_interval, 1)):
        assert spread(interval, value, [0.0, 1.0, 2.0], [1_000] * 3) == (value, value)
    random = np.random.default_rng(0)
    for interval, statistic, truth in ((iqr_interval, stats.iqr, 14), (mad_interval, stats.median_abs_deviation, 7)):
        held = 0
        for _ in range(60):
            values = np.sort(random.normal(0.2, 10, 1_000).round())
            lower, upper = spread(interval, statistic(values), *np.unique(values, return_counts=True))
            held += lower <= truth <= upper
            assert upper - lower <= 5
        assert held >= 57

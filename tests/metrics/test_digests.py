import numpy as np
import polars as pl
import pytest
from strategies import estimates_by_group, stacked

from streammetrics.metrics import digest_cdf, digest_quantile

HUGE, TINY, INF = 1.7e308, 5e-324, float("inf")


def digest(mean, weight, low, high):
    columns = {"mean": mean, "min": low, "max": high}
    table = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))
    return table.select(pl.lit(0, pl.UInt32).alias("group"), "mean", pl.Series("weight", weight), "min", "max")


def single_values(values, weight=1):
    values = np.sort(np.array(values, dtype=float))
    return digest(values, np.full(len(values), weight), values, values)


def test_medians_of_huge_values_and_next_to_infinity():
    medians = {
        (-INF, INF): None,
        (INF, INF): INF,
        (-INF, -INF, 1): -INF,
        (-INF, 1): -INF,
        (1, INF): INF,
        (-INF, 1, INF): 1,
        (HUGE, HUGE): HUGE,
        (HUGE, 1.5e308): 1.6e308,
        (-HUGE, HUGE): 0,
        (TINY, TINY): TINY,
    }
    table = stacked(map(single_values, medians))
    (between, *_), *others = estimates_by_group(digest_quantile, table)
    assert [(between,) * 3, *others] == [(median,) * 3 for median in medians.values()]


def test_the_end_of_a_row_of_fractional_weight_is_averaged_with_the_next():
    table = single_values(range(100), 0.1)
    assert estimates_by_group(digest_quantile(q=0.29), table) == [(28.5, 28, 29)]
    assert estimates_by_group(digest_quantile(q=0.295), table) == [(29, 29, 29)]
    assert estimates_by_group(digest_quantile, table) == [(49.5, 49, 50)]


def test_what_is_hidden_is_read_off_straight_lines():
    """Ten rows of one value, and ten that are spread."""
    above = digest([0, 5], [10, 10], [0, 1], [0, 9])
    below = digest([5, 20], [10, 10], [1, 20], [9, 20])
    infinite = digest([-INF, 5], [10, 10], [-INF, 1], [-INF, 9])
    huge = digest([-1e308, 1e308], [2, 2], [-1.5e308, -1], [1, 1.5e308])
    lines = [
        (above, digest_quantile(q=12 / 19), (2.5, 1, 9)),
        (above, digest_quantile(q=17 / 19), (7, 1, 9)),
        (above, digest_quantile(q=5 / 19), (0, 0, 0)),
        (above, digest_quantile, (0.5, 0.5, 4.5)),
        (below, digest_quantile(q=2 / 19), (3, 1, 9)),
        (below, digest_quantile(q=7 / 19), (9, 1, 9)),
        (infinite, digest_quantile(q=12 / 19), (1, 1, 9)),
        (above, digest_cdf(x=2.5), (0.625, 0.5, 1)),
        (above, digest_cdf(x=7), (0.875, 0.5, 1)),
        (above, digest_cdf(x=0), (0.5, 0.5, 0.5)),
        (below, digest_cdf(x=3), (0.125, 0, 0.5)),
        (below, digest_cdf(x=12.5), (0.5, 0.5, 0.5)),
        (infinite, digest_cdf(x=2.5), (0.5, 0.5, 1)),
        (huge, digest_cdf(x=0), (0.5, 0, 1)),
    ]
    for table, metric, expected in lines:
        assert estimates_by_group(metric, table) == [pytest.approx(expected, rel=1e-15)], metric


def test_weights_lie_on_lines_between_the_middles_of_centroids():
    centroids = [1, 2, 3], [0.5, 1, 0.5], [0, 1, 2], [2, 3, 4]
    for q, value in ((0.25, 4 / 3), (0.5, 2), (0.75, 8 / 3)):
        assert digest_quantile(*centroids, True, q=q) == pytest.approx(value, rel=1e-15)

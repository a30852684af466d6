"""Quantiles, spread and shares over bins: exact where bins are values, certain bounds where they are not."""

import itertools
import math
from fractions import Fraction
from math import inf

import numpy as np
import polars as pl
import pytest
from value_bins import HUGE, TINY, bins, histogram, read, read_one, samples

from streammetrics.metrics import (
    absolute_error_quantile,
    cdf,
    error_cdf,
    error_iqr,
    error_quantile,
    iqr,
    mad,
    maximum,
    mean,
    median,
    median_absolute_error,
    median_error,
    minimum,
    quantile,
    rec_auc,
    within,
)

LEVELS = (0, 1 / 3, 0.5, 0.999, 1)


def mean_of(a, b):
    return a / 2 + b / 2 if math.isinf(a + b) else (a + b) / 2


def middle_of(values):
    """The median in plain Python, where numpy overflows."""
    ordered = sorted(values)
    return mean_of(ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2])


def linear(values, q):
    """The linear quantile in plain Python, where numpy overflows or meets an infinity."""
    ordered, index = sorted(values), (len(values) - 1) * q
    a, b, part = ordered[math.floor(index)], ordered[math.ceil(index)], index - math.floor(index)
    if a == b:
        return a
    if math.isinf(b - a):
        return a * (1 - part) + b * part
    return a + (b - a) * part if part < 0.5 else b - (b - a) * (1 - part)


def spread(values):
    center = middle_of(values)
    return math.nan if not math.isfinite(center) else middle_of([abs(v - center) for v in values])


def size(values):
    return [abs(v) for v in values]


def share(values, x):
    return sum(v <= x for v in values) / len(values)


def area(values, limit):
    return sum(max(0.0, 1 - v / limit) for v in size(values)) / len(values)


MEDIANS = {median_error: middle_of, median: middle_of, median_absolute_error: lambda v: middle_of(size(v))}
QUANTILES = {
    error_quantile(q=0.9): lambda v: linear(v, 0.9),
    **{quantile(q=q): lambda v, q=q: linear(v, q) for q in LEVELS},
    **{absolute_error_quantile(q=q): lambda v, q=q: linear(size(v), q) for q in (0.5, 0.9)},
}
SHARES = {
    **{error_cdf(x=x): lambda v, x=x: share(v, x) for x in (-inf, -1, 0, 2.5, inf)},
    **{cdf(x=x): lambda v, x=x: share(v, x) for x in (-HUGE, -1, 0, 2.5)},
    **{within(x=x): lambda v, x=x: share(size(v), x) for x in (-1, 0, 1, 2.5, HUGE)},
}
EXTREMES = {minimum: min, maximum: max}
SPREADS = {
    mad: spread,
    error_iqr: lambda v: linear(v, 0.75) - linear(v, 0.25),
    iqr: lambda v: linear(v, 0.75) - linear(v, 0.25),
}
AREAS = {rec_auc(limit=x): lambda v, x=x: area(v, x) for x in (1e-300, 1, 3.7, 1e300)}  # whose sums are rounded
ATTAINED = MEDIANS | QUANTILES | SHARES | EXTREMES | AREAS
METRICS = ATTAINED | SPREADS
ONE_OF_EACH = list({metric.__name__: metric for metric in METRICS}.values())


def truths(metric, data):
    """Undefined results are null, as they are in the table."""
    return [None if math.isnan(x) else x for x in map(METRICS[metric], data)]


def test_bins_of_one_value_give_the_value_to_the_last_bit():
    data = samples(seed=0, number=24)
    table = histogram(data)
    for metric in METRICS:
        found, expected = read(metric, table), truths(metric, data)
        assert found["value"].to_list() == (pytest.approx(expected, rel=1e-14) if metric in AREAS else expected), metric
        defined = found.drop_nulls("value")
        assert defined["value"].equals(defined["lower"])
        assert defined["value"].equals(defined["upper"])


def test_coarse_bins_bound_the_truth():
    data = samples(seed=2, number=32)
    table = histogram(data, coarsen=np.random.default_rng(3))
    assert (table["low"] < table["high"]).mean() > 0.3
    for metric in METRICS:
        found = read(metric, table).with_columns(truth=pl.Series(truths(metric, data), dtype=pl.Float64))
        assert found["value"].is_null().equals(found["truth"].is_null())
        found, allowed = found.drop_nulls("truth"), 1e-14 if metric in AREAS else 0
        assert found.select(pl.col("lower", "upper").is_between(*metric.range).all()).row(0) == (True, True)
        for column in ("value", "truth"):
            assert (found["lower"] - allowed <= found[column]).all(), metric
            assert (found[column] <= found["upper"] + allowed).all(), metric


def test_ranks_are_never_one_off():
    sizes, levels = range(1, 41), {f"{percent} %": percent for percent in (0, 7, 20, 28, 29, 50, 55, 57, 58, 60, 100)}
    table = histogram([np.arange(n) for n in sizes]).select(
        "group", "count", "weighted", value_low="low", value_high="high"
    )
    found = table.group_by("group", maintain_order=True).agg(
        quantile(q=percent / 100).expression().alias(name) for name, percent in levels.items()
    )
    for name, percent in levels.items():
        truth = [(n - 1) * percent / 100 for n in sizes]
        assert found[name].to_list() == pytest.approx(truth, rel=1e-15)
        whole = [(n - 1) * percent % 100 == 0 for n in sizes]
        assert found.filter(pl.Series(whole))[name].to_list() == [t for t, w in zip(truth, whole, strict=True) if w]
    assert read_one(quantile(q=0.9995), [0, 1], [0, 1], [1, 1]) == (0.9995, 0.9995, 0.9995)
    rows = [*range(8), *[inf] * 93]
    assert read_one(quantile(q=0.07), rows, rows, [1] * 101) == (7, 7, 7)
    assert read_one(quantile(q=0.29), [-inf] * 29 + [0] * 72, [-inf] * 29 + [0] * 72, [1] * 101) == (0, 0, 0)


def test_no_rows_give_nothing_and_empty_bins_change_nothing():
    some = [-3, 1, 2, 4], [-3, 1, 3, 4], [2, 1, 5, 1]
    more = [-9, -3, 0, 1, 2, 4, 7], [-8, -3, 0, 1, 3, 4, 8], [0, 2, 0, 1, 5, 1, 0]
    halves = [(low, high, [c / 2 for c in count]) for low, high, count in (some, more)]
    both = pl.concat(bins(*of, group) for group, of in enumerate((some, more)))
    weighted = pl.concat(bins(*of, group, weighted=True) for group, of in enumerate(halves))
    for metric in [*ONE_OF_EACH, quantile(q=0)]:
        assert metric([], [], []) is metric([1, 2], [1, 3], [0, 0]) is None
        for table in (both, weighted):
            one, other = read(metric, table).drop("group").rows()
            assert one == other


PLACES = {(-4, -2): (-4, -3, -2), (-1, -1): (-1,), (1, 3): (1, 2, 3), (4, 8): (4, 6, 8)}
ROWS = [(1, 0, 0, 0), (1, 1, 0, 0), (0, 1, 2, 1), (3, 0, 3, 0), (1, 1, 1, 2), (2, 1, 0, 3)]


def placements(counts):
    """Every data set that so many rows in each of the bins may be."""
    choices = (
        itertools.combinations_with_replacement(places, count)
        for places, count in zip(PLACES.values(), counts, strict=True)
    )
    return [sum(parts, ()) for parts in itertools.product(*choices)]


def test_every_placement_of_the_rows_lies_within_the_bounds():
    table = pl.concat([bins(*zip(*PLACES, strict=True), rows, group) for group, rows in enumerate(ROWS)])
    possible = [placements(rows) for rows in ROWS]
    for metric in METRICS:
        found = read(metric, table)
        for data, lower, upper in zip(possible, found["lower"], found["upper"], strict=True):
            truth = [METRICS[metric](values) for values in data]
            assert lower - 1e-14 <= min(truth), metric
            assert max(truth) <= upper + 1e-14, metric
            if metric in ATTAINED:
                assert (min(truth), max(truth)) == pytest.approx((lower, upper), abs=1e-14), metric


def test_a_tie_of_two_infinities_is_undefined_and_overflow_is_not():
    ends = [-inf, inf]
    assert read_one(median, ends, ends, [3, 3]) == (None, None, None)
    assert quantile(ends, ends, [3, 3]) is None
    assert quantile(ends, ends, [3, 3], q=0.25) == -inf
    assert iqr([-inf, inf], [-inf, inf], [1, 9]) is None
    assert mad([1, inf], [1, inf], [2, 3]) is None
    assert mad([1, inf], [1, inf], [0.5, 0.5], weighted=True) is None
    assert mad(ends, ends, [1, 1]) is None
    assert read_one(quantile, [1, inf], [2, inf], [1, 1]) == (inf, inf, inf)
    assert read_one(quantile, [-inf, 1], [-inf, 2], [1, 1]) == (-inf, -inf, -inf)
    assert read_one(mad, [1, inf], [1, inf], [3, 2]) == (0, 0, 0)
    assert read_one(mad, [1, 2, inf], [1, 2, inf], [2, 1, 2]) == (1, 1, 1)
    assert median_absolute_error(ends, ends, [1, 1]) == inf
    assert read_one(median, [HUGE, 1.79e308], [HUGE, 1.79e308], [1, 1]) == (HUGE / 2 + 1.79e308 / 2,) * 3
    assert median([-HUGE, HUGE], [-HUGE, HUGE], [1, 1]) == 0
    assert quantile([-HUGE, HUGE], [-HUGE, HUGE], [1, 1], q=0.75) == pytest.approx(HUGE / 2)
    assert median([TINY], [TINY], [2]) == TINY


def test_many_neighbours_of_an_interpolation_stay_within_its_bounds():
    random = np.random.default_rng(8)
    low = random.uniform(-1, 1, 500) * 2.0 ** random.integers(-60, 1, 500)
    high, above = np.nextafter(low, inf), random.uniform(1, 2, 500)
    group = np.repeat(np.arange(500), 2)
    edges = [np.stack([edge, above], axis=1) for edge in (low, high)]
    table = pl.DataFrame({"group": group, "low": edges[0].ravel(), "high": edges[1].ravel(), "count": 1.0})
    table = table.with_columns(weighted=0.0)
    for q in (0.1, 0.4):
        found = read(quantile(q=q), table)
        points = np.stack([np.quantile(edge, q, axis=1) for edge in edges])
        assert (found["lower"].to_numpy() <= points.min(axis=0)).all()
        assert (found["upper"].to_numpy() >= points.max(axis=0)).all()


def test_scale_of_whole_counts_and_ties_of_many_rows():
    half = 2.0**52
    assert read_one(median, [1, 2], [1, 2], [half, half]) == (1.5, 1.5, 1.5)
    assert read_one(median, [1, 2], [1, 2], [half, half - 1]) == (1, 1, 1)
    assert read_one(median, [1, 2], [1, 2], [half - 1, half]) == (2, 2, 2)
    assert read_one(median, [1, 2], [1, 2], [1e17, 1e17 + 16], weighted=True) == (1.5, 1, 2)


@pytest.mark.parametrize("coarsen", [None, np.random.default_rng(1)])
def test_means_of_values_that_cancel_are_within_their_bounds(coarsen):
    random = np.random.default_rng(0)
    parts = [0.1, -0.1, 0.3, -0.3, 1 / 3, -1 / 3, 0.7, -0.7, HUGE, -HUGE, TINY, -TINY]
    drawn = [random.choice(parts, random.integers(2, 8)).tolist() for _ in range(300)]
    for sample, (_, value, lower, upper) in zip(
        drawn, read(mean, histogram(drawn, coarsen=coarsen)).rows(), strict=True
    ):
        truth = sum(map(Fraction, sample)) / len(sample)
        room = abs(truth) * Fraction(1e-12)
        assert Fraction(lower) - room <= truth <= Fraction(upper) + room
        assert lower <= value <= upper
    assert read_one(mean, [0.0, 1.0], [0.0, 1.0], [1, 1]) == (0.5, 0.5, 0.5)
    assert read_one(mean, [0.0], [0.0], [3]) == (0, 0, 0)


def test_the_value_takes_rows_at_the_middle_of_their_bins():
    low, high = [-3, 1, 4], [-1, 3, 8]
    for metric in (median, median_error, quantile):
        assert read_one(metric, low, high, [1, 1, 1]) == (2, 1, 3)
    assert read_one(median_absolute_error, low, high, [1, 1, 1]) == (2, 1, 3)
    assert read_one(mad, low, high, [1, 1, 1]) == (4, 1, 6)
    assert read_one(iqr, [1], [3], [2]) == (0, 0, 2)
    assert read_one(minimum, low, high, [1, 1, 1]) == (-2, -3, -1)
    assert read_one(maximum, low, high, [1, 1, 1]) == (6, 4, 8)
    assert read_one(mean, low, high, [1, 2, 1]) == (2, 0.75, 3.25)
    assert read_one(rec_auc(limit=4), low, high, [1, 1, 0]) == (0.5, 0.25, 0.75)

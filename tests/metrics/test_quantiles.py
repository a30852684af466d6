"""Quantiles, spread and shares over bins: certain bounds whatever bins hide, and numbers at the ends of floats.

References of metrics hold them where bins are values.
"""

import itertools
from fractions import Fraction
from math import inf

import numpy as np
import polars as pl
import pytest
from references import ERROR_VALUES, VALUES

import streammetrics as sm
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

HUGE, TINY = 1.7e308, 5e-324
ATTAINED = [  # metrics whose bounds some rows have
    *(median_error, median, median_absolute_error, error_quantile(q=0.9), absolute_error_quantile(q=0.9)),
    *(quantile(q=q) for q in (0, 0.1, 1 / 3, 0.5, 0.999, 1)),
    *(error_cdf(x=2.5), cdf(), cdf(x=1.5), within(x=0.5), within(x=5), minimum, maximum, rec_auc(limit=5)),
]
SPREADS = [mad, error_iqr, iqr]


def bins(low, high, count, group=0, weighted=False):
    columns = {"low": low, "high": high, "count": count, "weighted": [float(weighted)] * len(low)}
    return pl.DataFrame({"group": [group] * len(low)} | columns, schema_overrides=dict.fromkeys(columns, pl.Float64))


def read(metric, table):
    """Columns value, lower and upper, a row for each group."""
    names = {c: pl.col(c.removeprefix("error_").removeprefix("value_")) for c in metric.columns}
    lower, upper = metric.bounds_expressions()
    table = table.select("group", **names)
    return table.group_by("group", maintain_order=True).agg(value=metric.expression(), lower=lower, upper=upper)


def read_one(metric, low, high, count, weighted=False):
    return read(metric, bins(low, high, count, weighted=weighted)).drop("group").row(0)


def test_ranks_are_never_one_off():
    sizes, levels = range(1, 41), {f"{percent} %": percent for percent in (0, 7, 20, 28, 29, 50, 55, 57, 58, 60, 100)}
    table = pl.concat(bins(range(n), range(n), [1] * n, n) for n in sizes)
    table = table.rename({"low": "value_low", "high": "value_high"})
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


def test_quantiles_of_values_are_those_of_numpy_to_the_last_bit():
    random = np.random.default_rng(0)
    data = [np.sort(random.normal(size=n)) * 10.0 ** random.integers(-300, 300) for n in range(1, 60)]
    table = pl.concat(bins(values, values, [1] * len(values), group) for group, values in enumerate(data))
    for q in (0.1, 1 / 3, 0.6, 0.999):
        found = read(quantile(q=q), table)
        for column in ("value", "lower", "upper"):
            assert found[column].to_list() == [np.quantile(values, q) for values in data]


def test_no_rows_give_nothing_and_empty_bins_change_nothing():
    some = [-3, 1, 2, 4], [-3, 1, 3, 4], [2, 1, 5, 1]
    more = [-9, -3, 0, 1, 2, 4, 7], [-8, -3, 0, 1, 3, 4, 8], [0, 2, 0, 1, 5, 1, 0]
    halves = [(low, high, [c / 2 for c in count]) for low, high, count in (some, more)]
    both = pl.concat(bins(*of, group) for group, of in enumerate((some, more)))
    weighted = pl.concat(bins(*of, group, weighted=True) for group, of in enumerate(halves))
    for metric in [*ATTAINED, *SPREADS, mean]:
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
    possible = [np.array(placements(rows), dtype=float) for rows in ROWS]
    for metric in (*ATTAINED, *SPREADS):
        reference = (VALUES | ERROR_VALUES)[str(metric)]
        found = read(metric, table)
        for data, lower, upper in zip(possible, found["lower"], found["upper"], strict=True):
            truth = [reference(values, None) for values in data]
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


@pytest.mark.whole
@pytest.mark.parametrize("width", [0.0, 0.01])
def test_means_of_values_that_cancel_are_within_their_bounds(width):
    random = np.random.default_rng(0)
    parts = [0.1, -0.1, 0.3, -0.3, 1 / 3, -1 / 3, 0.7, -0.7, HUGE, -HUGE, TINY, -TINY]
    drawn = [np.sort(random.choice(parts, random.integers(2, 8))) for _ in range(300)]
    ends = [(sample - width * abs(sample), sample + width * abs(sample)) for sample in drawn]
    table = pl.concat(bins(*edges, [1] * len(edges[0]), group) for group, edges in enumerate(ends))
    for sample, (_, value, lower, upper) in zip(drawn, read(mean, table).rows(), strict=True):
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


def test_rounded_sums_of_weights_do_not_decide_the_median():
    values = list(range(10))
    for weight in (0.1, 0.7, 1e6 / 3, 1e-20):
        assert read_one(median, values, values, [weight] * 10, weighted=True) == (4.5, 4, 5)
    assert read_one(median, values, values, [0.1] * 9 + [0.1001], weighted=True) == (5, 5, 5)
    assert read_one(quantile(q=1), values, values, [0.1] * 9 + [1e-30], weighted=True) == (8.5, 8, 9)


TWINS = np.repeat(2.0 ** np.arange(16), 2) * np.tile([1, 1 + 1e-13], 16)
KEPT = {
    "error_quantile(q=0.9)": lambda capacity: sm.statistics.ErrorHistogram(capacity=capacity),
    "digest_quantile(q=0.9)": lambda capacity: sm.statistics.TDigest(compression=capacity),
}


@pytest.mark.parametrize("metric", KEPT)
@pytest.mark.parametrize("weight", [0.5, 1.0, 0.1])
@pytest.mark.parametrize("parts", [1, 3])
def test_weights_are_weights_however_they_add_up(metric, weight, parts):
    """Twins that fall in one bin have a weight that is a whole number, and that of each is none."""
    truth = np.quantile(TWINS, 0.9, method="averaged_inverted_cdf")
    rows = pl.DataFrame({"y": 0.0, "p": TWINS, "w": weight})
    for capacity in (16, 24, 40):
        acc = sm.Accumulator(KEPT[metric](capacity), y_true="y", y_pred="p", sample_weight="w")
        total = sm.merge(acc.empty().update(rows[i::parts]) for i in range(parts))
        found = total.finalize()[metric]
        assert found.lower <= truth <= found.upper
        assert capacity < 40 or found.value == truth
        assert sm.Accumulator.from_bytes(total.to_bytes()).finalize()[metric] == found

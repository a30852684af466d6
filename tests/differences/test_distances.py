"""Distances of two distributions: exact where bins are values, certain bounds where they are not.

Cases are groups of one drift. Values are of any size, which those of the shared data sets are not.
"""

import itertools
import math
from math import inf

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp, wasserstein_distance
from shares import SMALLEST_SHARE, psi_by_hand, shares_by_hand

import streammetrics as sm

HUGE = 1.7e308
MEASURES = ["psi", "js", "ks", "wasserstein"]
STEP = 2**50  # bits of a float: four bins between a power of 2 and the next one


class Coarse(sm.statistics.Histogram):
    """A statistic of one's own: four bins between powers of 2, and one of 0."""

    name = "coarse"

    def distributions(self, table):
        kept = pl.col("bin") == 0
        shift = pl.when(kept).then(pl.col("shift")).otherwise(pl.lit(50, table.schema["shift"]))
        return {
            "x": (
                self.lattice,
                table.with_columns(pl.when(kept).then("bin").otherwise(pl.col("bin") // STEP), shift=shift),
            )
        }


def measured(cases, bins=10, statistic=None, weighted=False):
    """Value, lower and upper of each measure of each case: the values of the reference, and the current ones."""
    statistic = statistic or sm.statistics.Histogram(100_000, "real")
    acc = sm.Accumulator(statistic, y_score="x", by="case", sample_weight="w" if weighted else None)
    sides = []
    for side in zip(*cases, strict=True):
        columns = [x if weighted else (x, np.ones(len(x))) for x in side]
        rows = [pl.DataFrame({"x": np.array(x, float), "w": w, "case": i}) for i, (x, w) in enumerate(columns)]
        sides.append(acc.empty().update(pl.concat(rows)))
    frame = sm.drift(*sides, bins=bins).frame
    assert frame["measure"].to_list() == MEASURES * len(cases)
    found = frame.select("case", "measure", "value", "lower", "upper").rows()
    return [{m: (v, low, high) for case, m, v, low, high in found if case == i} for i in range(len(cases))]


def counted(values, *sides):
    """The rows of each side, of which there are so many of each value."""
    return tuple(np.repeat(np.array(values, float), side) for side in sides)


def some_values(rng):
    """Rows over few values, over many, over many with one that most of them share, and over hardly any."""
    size = rng.integers(1, 80)
    rows = rng.integers(0, rng.choice([2, 5, 15, 60]), size)
    return np.where(rng.random(size) < rng.choice([0, 0.3, 0.9]), rng.integers(0, 20), rows) * 1.0


@given(seed=st.integers(0, 2**32), bins=st.sampled_from([2, 3, 10]))
@settings(max_examples=3, deadline=None)
def test_measures_are_those_of_the_rows(seed, bins):
    rng = np.random.default_rng(seed)
    cases = [(some_values(rng), some_values(rng)) for _ in range(10)]
    cases += [tuple(rng.normal(m, s, rng.integers(1, 200)).round(9) for m, s in ((0, 1), (0.2, 1.5))) for _ in range(3)]
    for (one, other), found in zip(cases, measured(cases, bins), strict=True):
        shares = shares_by_hand(one.tolist(), other.tolist(), bins)
        assert found["psi"] == pytest.approx((psi_by_hand(*shares),) * 3, abs=1e-12)
        assert found["js"] == pytest.approx((jensenshannon(*shares, base=2) ** 2,) * 3, abs=1e-12)
        assert found["ks"] == pytest.approx((ks_2samp(one, other).statistic,) * 3, abs=1e-12)
        assert found["wasserstein"] == pytest.approx((wasserstein_distance(one, other),) * 3, rel=1e-9, abs=1e-12)
        assert all(value == lower == upper for value, lower, upper in found.values())


def test_weights_against_scipy():
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(size=(5, 50)))
    weights = rng.random((5, 2, 50)) * rng.integers(0, 2, (5, 2, 50))
    cases = [((x, one), (x, other)) for x, (one, other) in zip(values, weights, strict=True)]
    for x, (one, other), found in zip(values, weights, measured(cases, weighted=True), strict=True):
        assert found["wasserstein"] == pytest.approx((wasserstein_distance(x, x, one, other),) * 3)
        cdfs = [np.cumsum(side) / side.sum() for side in (one, other)]
        assert found["ks"] == pytest.approx((np.abs(cdfs[0] - cdfs[1]).max(),) * 3)


def test_quantile_bins_are_those_of_numpy():
    """Shares between the quantiles of the reference, for values that are all different."""
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=2_000), rng.normal(0.3, 1.2, 1_500)
    for bins in (2, 5, 10, 37):
        edges = np.quantile(one, np.arange(1, bins) / bins, method="inverted_cdf")
        ranges = [-inf, *np.nextafter(edges, inf), inf]
        shares = [np.histogram(side, ranges)[0] / len(side) for side in (one, other)]
        [found] = measured([(one, other)], bins)
        assert found["psi"][0] == pytest.approx(psi_by_hand(*shares))
        assert found["js"][0] == pytest.approx(jensenshannon(*shares, base=2) ** 2)


PLACES = [  # rows of the reference by value, bins, and the quantile bin of each value
    ([1, 1, 1, 1], 2, [0, 0, 1, 1]),
    ([1, 0, 1, 0, 0], 2, [0, 1, 2, 3, 3]),  # what the reference never had is apart from what it had,
    ([0, 0, 1, 1], 5, [0, 0, 1, 2]),  # wherever it lies
    ([0, 1, 1, 0, 1, 1, 0], 2, [0, 0, 0, 1, 1, 1, 1]),  # between quantiles of many values there is no gap
    ([95, 1, 1, 1, 1, 1], 5, [0, 1, 1, 1, 1, 1]),  # most share one value
    ([0, 1, 1, 0, 95, 0, 1, 1, 1, 0], 5, [0, 0, 0, 0, 1, 2, 2, 2, 2, 2]),
    ([1, 0, 40, 0, 40, 0, 1, 1, 0], 3, [0, 0, 1, 2, 3, 4, 4, 4, 4]),  # new between two that most share
    ([5, 95], 10, [0, 1]),  # a rare value is still one
    ([1, 1, 1], 2, [0, 0, 1]),
]


def test_rows_are_counted_in_bins_by_hand():
    for reference, bins, places in PLACES:
        current = np.arange(1, len(reference) + 1)
        sides = [np.bincount(places, side) / sum(side) for side in (reference, current)]
        [found] = measured([counted(range(len(reference)), reference, current)], bins)
        assert found["psi"] == pytest.approx((psi_by_hand(*sides),) * 3)
        assert found["js"] == pytest.approx((jensenshannon(*sides, base=2) ** 2,) * 3)
    half, none = measured([counted([0, 1], [50, 50], [25, 75]), counted([0, 1], [1, 1], [1, 0])])
    assert half["psi"][0] == pytest.approx(0.25 * math.log(3))  # a bin without rows counts as a small share
    empty = (SMALLEST_SHARE - 0.5) * math.log(SMALLEST_SHARE / 0.5)
    assert none["psi"][0] == pytest.approx(0.5 * math.log(2) + empty)


def test_what_the_reference_never_had_counts():
    """Half of the rows at 1 move to where the reference has none."""
    cases = []
    for moved, common in itertools.product([0.5, -1.0, 3.0], [[0, 1], [1], [1, *np.linspace(0, 0.3, 40)]]):
        reference = np.repeat(common, [100 if v == 1 else 2 for v in common])
        cases.append((reference, np.where((reference == 1) & (np.arange(len(reference)) % 2 == 0), moved, reference)))
    for found in measured(cases):
        assert found["psi"][0] > 0.25
        assert found["js"][0] > 0.05


def test_sums_of_weights_that_round_fill_bins_evenly():
    """Ten weights of 0.1 do not add up to 1."""
    for count, bins, weight in ((30, 3, 0.1), (90, 9, 0.3), (60, 20, 0.7)):
        current = np.arange(1.0, count + 1)
        [found] = measured([((np.arange(count), [weight] * count), (np.arange(count), current))], bins, weighted=True)
        shares = current.reshape(bins, -1).sum(axis=1) / current.sum()
        assert found["psi"][0] == pytest.approx(psi_by_hand([1 / bins] * bins, shares))


def test_sides_that_are_equal_or_apart():
    same, thirds, apart, ends = (
        *measured([counted([1, 2, 3], [1, 2, 3], [2, 4, 6]), counted([-inf, 0, inf], [1, 1, 1], [2, 2, 2])]),
        *measured([counted([1, 2, 3], [1, 1, 0], [0, 0, 5]), ([1], [3])], bins=2),
    )
    assert {*same.values(), *thirds.values()} == {(0.0, 0.0, 0.0)}
    assert apart["ks"] == ends["js"] == (1.0, 1.0, 1.0)
    assert apart["wasserstein"] == (1.5, 1.5, 1.5)


def test_infinite_and_huge_values_have_distances():
    expected = [
        (counted([0, inf], [1, 1], [2, 0]), inf),
        (counted([-inf, 0, 1], [1, 1, 0], [1, 0, 1]), 0.5),
        (counted([-HUGE, HUGE], [3, 1], [1, 3]), HUGE),
        (([-HUGE], [HUGE]), inf),
        (([0], [5e-324]), 5e-324),
    ]
    for (_, distance), found in zip(expected, measured([case for case, _ in expected]), strict=True):
        assert found["wasserstein"] == pytest.approx((distance,) * 3)
    x = [-inf, 0, inf]
    [rounded] = measured([((x, [0.1, 0.2, 0.3]), (x, [0.2, 0.4, 0.6]))], weighted=True)
    assert rounded["wasserstein"] == (0.0, 0.0, 0.0)


def places_of(low, high, count):
    """Where some rows of a bin can lie: at a few points of it."""
    points = (low,) if low == high else (low, (low + high) / 2, high)
    return list(itertools.combinations_with_replacement(points, count))


def least_transport(ends, sides):
    """The least that it costs to move the shares of one side to those of the other, from bin to bin."""
    low, high = ends.T
    cost = np.maximum(0, np.maximum(low - high[:, np.newaxis], low[:, np.newaxis] - high))
    size = len(ends)
    leaves, arrives = np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))
    shares = np.concatenate([side / side.sum() for side in sides])
    return linprog(cost.ravel(), A_eq=np.vstack([leaves, arrives]), b_eq=shares).fun


def few_rows(rng):
    """Bins of 0 and between quarters of powers of 2, and up to two rows of each side in each."""
    while True:
        lows = np.sort(
            rng.choice([0, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7], rng.integers(1, 4), replace=False)
        )
        widths = np.where(lows < 2, 0.25, np.where(lows < 4, 0.5, 1.0)) * (lows > 0)
        ends, sides = np.stack([lows, np.nextafter(lows + widths, lows)], axis=1), rng.integers(0, 3, (2, len(lows)))
        if sides.sum(axis=1).all():
            return ends, sides


def test_bounds_hold_every_place_of_every_row():
    """Brute force over few rows, which attain all bounds but the lower of Wasserstein, which parts of rows do."""
    rng = np.random.default_rng(0)
    tables = [few_rows(rng) for _ in range(15)]
    cases = [tuple(np.repeat(ends[:, 0], side) for side in sides) for ends, sides in tables]
    there, back = (measured(pairs, statistic=Coarse(100_000, "real")) for pairs in (cases, [c[::-1] for c in cases]))
    for (ends, sides), found, swapped in zip(tables, there, back, strict=True):
        ks, area = [], []
        choices = [
            list(itertools.product(*(places_of(*e, n) for e, n in zip(ends, side, strict=True))))
            for side in sides.tolist()
        ]
        for one, other in itertools.product(*choices):
            rows = [np.array(list(itertools.chain(*side))) for side in (one, other)]
            points = np.unique(np.concatenate(rows))
            cdfs = [np.searchsorted(np.sort(side), points, side="right") / len(side) for side in rows]
            ks.append(np.abs(cdfs[0] - cdfs[1]).max())
            area.append(wasserstein_distance(*rows))
        value, lower, upper = found["ks"]
        assert (lower, upper) == pytest.approx((min(ks), max(ks)))
        assert lower <= value <= upper
        value, lower, upper = found["wasserstein"]
        assert lower == pytest.approx(least_transport(ends, sides), abs=1e-9)
        assert lower <= min(area) + 1e-12
        assert upper == pytest.approx(max(area))
        assert swapped["ks"] == pytest.approx(found["ks"])
        assert swapped["wasserstein"] == pytest.approx(found["wasserstein"])
        middle = [np.repeat(ends.mean(axis=1), side) for side in sides]
        assert value == pytest.approx(wasserstein_distance(*middle))
        assert lower <= value <= upper

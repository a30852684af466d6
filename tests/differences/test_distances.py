"""Distances of two distributions: exact where bins are values, certain bounds where they are not."""

import itertools
import math
from math import inf

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp, wasserstein_distance
from shares import psi_by_hand, shares_by_hand

from streammetrics.differences.distances import MEASURES, SMALLEST_SHARE, distances, quantile_bins

HUGE = 1.7e308


def table(low, reference, current, high=None, group=0):
    columns = {"low": low, "high": low if high is None else high, "reference": reference, "current": current}
    return pl.DataFrame({"group": group, **columns}, schema_overrides={"low": pl.Float64, "high": pl.Float64})


def measured(rows, bins=10):
    """Value, lower and upper of each measure."""
    found = distances(rows, bins)
    assert found["measure"].to_list() == list(MEASURES)
    return {m: (v, low, high) for _, m, v, low, high in found.rows()}


def of_rows(reference, current, bins=10):
    """The measures of rows, each value a bin."""
    values = np.unique(np.concatenate([reference, current]))
    sides = ([(side == v).sum() for v in values] for side in (reference, current))
    return measured(table(values, *sides), bins)


@pytest.mark.parametrize("seed", range(30))
def test_exact_bins_against_scipy(seed):
    rng = np.random.default_rng(seed)
    digits = int(rng.choice([0, 1, 9]))
    one, other = (rng.normal(m, s, rng.integers(1, 200)).round(digits) for m, s in ((0, 1), rng.uniform(0.1, 3, 2)))
    found = of_rows(one, other)
    for measure in MEASURES:
        assert found[measure][0] == found[measure][1] == found[measure][2]
    assert found["ks"][0] == pytest.approx(ks_2samp(one, other).statistic, abs=1e-12)
    assert found["wasserstein"][0] == pytest.approx(wasserstein_distance(one, other), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_weights_against_scipy(seed):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=50))
    one, other = rng.random((2, 50)) * rng.integers(0, 2, (2, 50))
    found = measured(table(values, one, other))
    expected = wasserstein_distance(values, values, one, other)
    assert found["wasserstein"] == pytest.approx((expected,) * 3)
    cdfs = [np.cumsum(side) / side.sum() for side in (one, other)]
    assert found["ks"] == pytest.approx((np.abs(cdfs[0] - cdfs[1]).max(),) * 3)


def shares_in(values, edges):
    return np.histogram(values, [-inf, *np.nextafter(edges, inf), inf])[0] / len(values)


@pytest.mark.parametrize(("seed", "bins"), [*itertools.product(range(5), (2, 5, 10, 37))])
def test_quantile_bins_against_numpy(seed, bins):
    """Shares between the quantiles of the reference, by numpy, for values that are all different."""
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=2_000), rng.normal(0.3, 1.2, 1_500)
    edges = np.quantile(one, np.arange(1, bins) / bins, method="inverted_cdf")
    shares = [shares_in(side, edges) for side in (one, other)]
    found = of_rows(one, other, bins)
    assert found["psi"][0] == pytest.approx(psi_by_hand(*shares))
    assert found["js"][0] == pytest.approx(jensenshannon(*shares, base=2) ** 2)


def test_psi_by_hand():
    """A textbook table: 10 % in each bin of the reference."""
    current = [8, 12, 9, 11, 10, 7, 13, 10, 6, 14]
    rows = table(range(10), [10] * 10, current)
    expected = sum((c / 100 - 0.1) * math.log(c / 10) for c in current)
    assert measured(rows)["psi"] == pytest.approx((expected,) * 3)
    assert measured(table([0, 1], [50, 50], [25, 75]))["psi"][0] == pytest.approx(0.25 * math.log(3))
    joined = measured(rows, bins=5)["psi"][0]
    pairs = [sum(current[i : i + 2]) for i in range(0, 10, 2)]
    assert joined == pytest.approx(sum((c / 100 - 0.2) * math.log(c / 20) for c in pairs))


def test_an_empty_bin_counts_as_a_small_share():
    found = measured(table([0, 1], [1, 1], [1, 0]))
    expected = 0.5 * math.log(2) + (SMALLEST_SHARE - 0.5) * math.log(SMALLEST_SHARE / 0.5)
    assert found["psi"][0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reference", "bins", "places"),
    [
        ([1, 1, 1, 1], 2, [0, 0, 1, 1]),
        ([1, 0, 1, 0, 0], 2, [0, 1, 2, 3, 3]),  # what the reference never had is apart from what it had,
        ([0, 0, 1, 1], 5, [0, 0, 1, 2]),  # wherever it lies
        ([0, 1, 1, 0, 1, 1, 0], 2, [0, 0, 0, 1, 1, 1, 1]),  # between quantiles of many values there is no gap
        ([95, 1, 1, 1, 1, 1], 5, [0, 1, 1, 1, 1, 1]),  # most share one value
        ([0, 1, 1, 0, 95, 0, 1, 1, 1, 0], 5, [0, 0, 0, 0, 1, 2, 2, 2, 2, 2]),
        ([1, 0, 40, 0, 40, 0, 1, 1, 0], 3, [0, 0, 1, 2, 3, 4, 4, 4, 4]),  # new between two that most share
        ([5, 95], 10, [0, 1]),  # a rare value is still one
        ([1, 1, 1], 2, [0, 0, 1]),
        ([0, 0], 3, [0, 0]),
    ],
)
def test_places(reference, bins, places):
    found = quantile_bins(table(range(len(reference)), reference, 1), bins)["place"]
    if sum(reference):
        assert found.to_list() == places


def some_values(rng, size):
    """Rows over few values, over many, and over many with one that most of them share."""
    rows = rng.integers(0, rng.choice([2, 5, 15, 60]), size)
    return np.where(rng.random(size) < rng.choice([0, 0.3, 0.9]), rng.integers(0, 20), rows) * 1.0


@pytest.mark.parametrize("seed", range(60))
def test_psi_and_js_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    one, other = (some_values(rng, rng.integers(1, 80)) for _ in range(2))
    bins = int(rng.choice([2, 3, 10]))
    shares = shares_by_hand(one.tolist(), other.tolist(), bins)
    found = of_rows(one, other, bins)
    assert found["psi"] == pytest.approx((psi_by_hand(*shares),) * 3, abs=1e-12)
    assert found["js"] == pytest.approx((jensenshannon(*shares, base=2) ** 2,) * 3, abs=1e-12)


@pytest.mark.parametrize("moved", [0.5, -1.0, 3.0])
@pytest.mark.parametrize("common", [[0.0, 1.0], [1.0], [1.0, *np.linspace(0, 0.3, 40)]])
def test_what_the_reference_never_had_counts(common, moved):
    """Half of the rows at 1 move to where the reference has none."""
    reference = np.repeat(common, [100 if v == 1 else 2 for v in common])
    current = np.where((reference == 1) & (np.arange(len(reference)) % 2 == 0), moved, reference)
    found = of_rows(reference, current)
    assert found["psi"][0] > 0.25
    assert found["js"][0] > 0.05


def test_sums_of_weights_that_round():
    """Ten weights of 0.1 do not add up to 1."""
    for count, bins, weight in ((30, 3, 0.1), (90, 9, 0.3), (60, 20, 0.7)):
        rows = table(range(count), [weight] * count, [1.0] * count)
        sizes = quantile_bins(rows, bins).group_by("place").len()["len"]
        assert sizes.to_list() == [count // bins] * bins


def test_one_side_without_rows():
    for sides in (([0, 0], [1, 2]), ([1, 2], [0, 0]), ([0, 0], [0, 0])):
        assert set(measured(table([1, 2], *sides)).values()) == {(None, None, None)}


def test_equal_and_apart():
    same = measured(table([1, 2, 3], [1, 2, 3], [2, 4, 6]))
    assert set(same.values()) == {(0.0, 0.0, 0.0)}
    apart = measured(table([1, 2, 3], [1, 1, 0], [0, 0, 5]), bins=2)
    assert apart["ks"] == (1.0, 1.0, 1.0)
    assert apart["wasserstein"] == (1.5, 1.5, 1.5)
    assert measured(table([1, 3], [1, 0], [0, 1]))["js"] == (1.0, 1.0, 1.0)
    thirds = measured(table([-inf, 0, inf], [1, 1, 1], [2, 2, 2]))
    assert set(thirds.values()) == {(0.0, 0.0, 0.0)}


def test_infinite_and_huge_values():
    assert measured(table([0, inf], [1, 1], [2, 0]))["wasserstein"] == (inf, inf, inf)
    assert measured(table([-inf, 0, 1], [1, 1, 0], [1, 0, 1]))["wasserstein"] == (0.5, 0.5, 0.5)
    rounded = measured(table([-inf, 0, inf], [0.1, 0.2, 0.3], [0.2, 0.4, 0.6]))
    assert rounded["wasserstein"] == (0.0, 0.0, 0.0)
    far = measured(table([-HUGE, HUGE], [3, 1], [1, 3]))
    assert far["wasserstein"] == pytest.approx((HUGE,) * 3)
    assert measured(table([-HUGE, HUGE], [1, 0], [0, 1]))["wasserstein"] == (inf, inf, inf)
    assert measured(table([0, 5e-324], [1, 0], [0, 1]))["wasserstein"] == (5e-324,) * 3


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


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_every_place_of_every_row(seed):
    """Brute force over small tables; rows attain all bounds but the lower of Wasserstein, which parts of rows do."""
    rng = np.random.default_rng(seed)
    while True:
        size = rng.integers(1, 4)
        ends = np.sort(rng.choice(20, 2 * size, replace=False)).reshape(-1, 2).astype(float)
        ends[:, 1] = np.where(rng.random(size) < 0.3, ends[:, 0], ends[:, 1])
        sides = rng.integers(0, 3, (2, size))
        if sides.sum(axis=1).all():
            break
    found = measured(table(ends[:, 0], *sides, high=ends[:, 1]))
    ks, area = [], []
    choices = [
        itertools.product(*(places_of(*e, n) for e, n in zip(ends, side, strict=True))) for side in sides.tolist()
    ]
    for one, other in itertools.product(*map(list, choices)):
        rows = [np.array(list(itertools.chain(*side))) for side in (one, other)]
        points = np.unique(np.concatenate(rows))
        cdfs = [np.searchsorted(np.sort(side), points, side="right") / len(side) for side in rows]
        ks.append(np.abs(cdfs[0] - cdfs[1]).max())
        area.append(wasserstein_distance(*rows))
    value, lower, upper = found["ks"]
    assert (lower, upper) == pytest.approx((min(ks), max(ks)))
    assert lower <= value <= upper
    value, lower, upper = found["wasserstein"]
    assert lower == pytest.approx(least_transport(ends, sides), abs=1e-12)
    assert lower <= min(area) + 1e-12
    assert upper == pytest.approx(max(area))
    back = measured(table(ends[:, 0], *sides[::-1], high=ends[:, 1]))
    assert back["ks"] == pytest.approx(found["ks"])
    assert back["wasserstein"] == pytest.approx(found["wasserstein"])
    middle = [np.repeat(ends.mean(axis=1), side) for side in sides]
    assert value == pytest.approx(wasserstein_distance(*middle))
    assert lower <= value <= upper


def test_groups_stay_apart():
    rng = np.random.default_rng(0)
    tables = [
        table(np.sort(rng.normal(size=n)), rng.integers(0, 4, n), rng.integers(0, 4, n), group=i)
        for i, n in enumerate(rng.integers(1, 40, 20))
    ]
    together = distances(pl.concat(tables), bins=5)
    apart = pl.concat(distances(t, bins=5) for t in tables)
    assert together.equals(apart)

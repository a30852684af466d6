"""t-digests: bounds that hold for any rows and any order of merging, and accuracy on usual ones."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import median_absolute_error
from strategies import estimates_by_group, stacked

import streammetrics as sm
from streammetrics.errors import SpecificationError
from streammetrics.metrics import digest_cdf, digest_median, digest_quantile
from streammetrics.statistics.tdigest import cluster
from streammetrics.testing.rows import merged_as_a_tree

COMPRESSION = 16
HUGE, TINY = 1.7e308, 5e-324
SHARES = (0, 1e-3, 0.01, 0.1, 0.25, 0.29, 0.5, 0.7, 0.9, 0.99, 0.999, 1)


def adversarial(rng, n=400):
    """Rows of all kinds that break sketches and sums."""
    half, normal, uniform = n // 2, rng.normal(size=n), rng.random(n)
    return {
        "normal": normal,
        "two scales": np.append(rng.normal(1, 1e-6, half), rng.normal(1000, 1, half)),
        "huge outliers": np.append(1e6 + normal[5:], [1e300, -1e300, 1e18, HUGE, -HUGE]),
        "closing in": 0.3 + 0.7 ** rng.integers(0, 90, n) * uniform,
        "mostly zero": np.where(uniform < 0.95, 0.0, normal),
        "signed zeros": rng.choice([0.0, -0.0, 1.0, -1.0], n) * rng.choice([0, 1, TINY], n),
        "denormal": rng.integers(-300, 300, n) * TINY,
        "powers of two": np.nextafter(2.0 ** rng.integers(-40, 40, n), rng.choice([-np.inf, np.inf], n)),
        "infinite": np.where(uniform < 0.6, rng.choice([-np.inf, np.inf], n), normal),
        "hardly infinite": np.append(normal[2:], [-np.inf, np.inf]),
        "only infinite": rng.choice([-np.inf, np.inf], n),
        "infinite above": np.where(uniform < 0.3, np.inf, normal),
        "equal": np.full(n, 0.1),
        "largest": rng.choice([HUGE, -HUGE], n) * rng.choice([1, 1, 0.999, 1e-3], n),
        "few values": rng.integers(0, COMPRESSION, n) / 7,
        "one value too many": np.arange(n) % (COMPRESSION + 1) / 7,
        "none": np.empty(0),
        "one": np.array([3.0]),
        "two": np.array([3.0, -np.inf]),
    }


SCHEMA = {"group": pl.UInt32(), **dict.fromkeys(("mean", "weight", "min", "max"), pl.Float64())} | {
    "weight": pl.Int64()
}


def digest(values, weight=None, compression=COMPRESSION, group=None):
    value = np.asarray(values, dtype=np.float64) + 0.0
    weight = np.ones(len(value), dtype=np.int64) if weight is None else weight
    group = np.zeros(len(value)) if group is None else group
    table = pl.DataFrame(
        {"group": group.astype(np.uint32), "mean": value, "weight": weight, "min": value, "max": value}
    )
    return cluster(table, compression)


def centroids(**numbers):
    """A digest of one group."""
    return pl.DataFrame({"group": 0} | numbers, schema=SCHEMA)


def found_by_group(metric, table):
    return dict(zip(table["group"].unique(maintain_order=True), estimates_by_group(metric, table), strict=True))


class Digest:
    """Adds up as states do."""

    def __init__(self, table):
        self.table = table

    def __add__(self, other):
        return Digest(cluster(pl.concat([self.table, other.table]), COMPRESSION))


def sharded(values, rng, weight=None):
    """The digest of rows in shards that may be empty, merged as a random tree."""
    places = np.sort(rng.integers(0, len(values) + 1, 12))
    weights = [None] * 13 if weight is None else np.split(weight, places)
    shards = [Digest(digest(v, w)) for v, w in zip(np.split(values, places), weights, strict=True)]
    return merged_as_a_tree(shards, rng).table


@pytest.fixture(scope="module")
def cases():
    """Rows, and the digest of them after any sharding; all of the digests as the groups of one table."""
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        for rows in adversarial(rng).values():
            ascending = np.sort(rows)
            found += [(rows, sharded(order, rng)) for order in (rows, ascending, ascending[::-1])]
    return [rows for rows, _ in found], [table for _, table in found], stacked(table for _, table in found)


def columns(table):
    return (table[c].to_numpy() for c in ("mean", "weight", "min", "max"))


def test_ranks_are_certified_at_every_value_and_next_to_it(cases):
    for rows, table in zip(*cases[:2], strict=True):
        _, weight, low, high = columns(table)
        x = np.unique(np.concatenate([[-np.inf, 0, np.inf], rows, *(np.nextafter(rows, e) for e in (-np.inf, np.inf))]))
        ascending = np.sort(rows)
        below, up_to = (np.searchsorted(ascending, x, side) for side in ("left", "right"))
        assert ((high < x[:, None]) @ weight <= below).all()
        assert (up_to <= (low <= x[:, None]) @ weight).all()


def test_a_digest_keeps_its_promises(cases):
    for rows, table in zip(*cases[:2], strict=True):
        assert table.schema == SCHEMA
        mean, weight, low, high = columns(table)
        assert weight.sum() == len(rows)
        assert (weight > 0).all()
        assert np.isfinite(mean).sum() <= COMPRESSION
        assert ((low <= mean) & (mean <= high)).all()
        assert (np.diff(mean) >= 0).all()
        several = low < high
        assert (weight[several] < math.pi / COMPRESSION * len(rows)).all()
        assert not np.isinf([low[several], high[several]]).any()
        for infinity in (-np.inf, np.inf):
            assert weight[mean == infinity].tolist() == [n for n in [(rows == infinity).sum()] if n]
        assert_frame_equal(cluster(table, COMPRESSION), table)
        if len(rows):
            assert (low.min(), high.max()) == (rows.min(), rows.max())
        values, counts = np.unique(rows + 0.0, return_counts=True)
        if len(values) <= COMPRESSION:
            assert (mean.tolist(), weight.tolist()) == (values.tolist(), counts.tolist())
            assert not several.any()


def truth(rows, q):
    """The quantile of rows; None between -infinity and infinity."""
    ascending = np.sort(rows)
    rank = (len(rows) - 1) * q
    a, b, part = ascending[math.floor(rank)], ascending[math.ceil(rank)], rank % 1
    if a == b or not part:
        return a
    if np.isinf([a, b]).any():
        return None if np.isinf([a, b]).all() else min(a, b, key=np.isfinite)
    return float(Fraction(a) + (Fraction(b) - Fraction(a)) * Fraction(part))


@pytest.mark.parametrize("q", SHARES)
def test_quantiles_lie_within_their_bounds(cases, q):
    found = found_by_group(digest_quantile(q=q), cases[2])
    for i, rows in enumerate(cases[0]):
        if not len(rows):
            assert i not in found
            continue
        value, lower, upper = found[i]
        expected = truth(rows, q)
        if expected is None:
            assert value is None or lower < upper
            continue
        assert lower <= value <= upper
        assert lower <= expected <= upper or (lower, upper) == pytest.approx((expected, expected), rel=1e-15)
        if q in (0, 1):
            assert lower == expected == upper


@pytest.mark.parametrize("x", [-np.inf, -HUGE, -1, -TINY, 0, TINY, 0.1, 0.3, 1, 1000, 1e6, HUGE, np.inf])
def test_shares_lie_within_their_bounds(cases, x):
    found = found_by_group(digest_cdf(x=x), cases[2])
    for i, rows in enumerate(cases[0]):
        if len(rows):
            value, lower, upper = found[i]
            assert lower <= value <= upper
            assert lower <= (rows <= x).mean() <= upper
            assert x < np.inf or lower == 1


def test_few_values_are_read_as_numpy_does_to_the_last_bit():
    names = ["normal", "two scales", "mostly zero", "denormal", "few values", "huge outliers"]
    samples = [adversarial(np.random.default_rng(n))[name][:n] for name in names for n in (1, 2, 3, 4, 11, 400)]
    table = stacked(digest(rows, compression=400) for rows in samples)
    assert (table["min"] == table["max"]).all()
    for q in SHARES:
        exact = [np.quantile(rows, q) + 0.0 for rows in samples]
        assert estimates_by_group(digest_quantile(q=q), table) == [(value, value, value) for value in exact]
    exact = [np.median(rows) + 0.0 for rows in samples]
    assert estimates_by_group(digest_median, table) == [(value, value, value) for value in exact]


@pytest.mark.parametrize("seed", range(2))
def test_weighted_quantiles_are_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    rows, weight = np.abs(rng.normal(size=100).round(1)), rng.choice([0.25, 0.5, 0.1, 3.7], 100)
    table = stacked([digest(rows, weight, compression=100), sharded(rows, rng, weight)])
    ascending = np.argsort(rows)
    total = np.cumsum(weight[ascending])
    shares = (0, 0.0123, 0.77, 0.999, 1)
    answers = {digest_quantile(q=q): rows[ascending][min(np.searchsorted(total, q * total[-1]), 99)] for q in shares}
    answers[digest_median] = median_absolute_error(rows, np.zeros(100), sample_weight=weight)
    for metric, expected in answers.items():
        exact, (value, lower, upper) = estimates_by_group(metric, table)
        assert exact == (expected,) * 3
        assert lower <= expected <= upper
        assert lower <= value <= upper
    for x in (0.1, 0.5, 2):
        exact, (value, lower, upper) = estimates_by_group(digest_cdf(x=x), table)
        expected = weight[rows <= x].sum() / total[-1]
        assert exact == pytest.approx((expected,) * 3, rel=1e-12)
        assert lower - 1e-12 <= expected <= upper + 1e-12
        assert lower <= value <= upper


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_conserved(seed):
    rng = np.random.default_rng(seed)
    rows, weight = rng.normal(size=2000), rng.random(2000) * 10.0 ** rng.integers(-9, 9, 2000)
    table = sharded(rows, rng, weight)
    mean, found, low, high = columns(table)
    assert found.sum() == pytest.approx(weight.sum(), rel=1e-12)
    assert (mean * found).sum() == pytest.approx((rows * weight).sum(), rel=1e-9)
    assert len(mean) <= COMPRESSION
    assert (found[low < high] < math.pi / COMPRESSION * weight.sum()).all()


def test_cells_are_those_of_the_scale_function():
    n, compression = 10_000, 50
    rows = np.random.default_rng(0).normal(size=n)
    place = (np.arange(n) + 0.5) / n
    cell = np.floor(compression * (np.arcsin(2 * place - 1) / np.pi + 0.5))
    expected = pl.DataFrame({"cell": cell, "row": np.sort(rows)}).group_by("cell", maintain_order=True)
    row = pl.col("row")
    expected = expected.agg(mean=row.mean(), weight=row.len().cast(pl.Int64), min=row.min(), max=row.max())
    assert expected.height == compression
    assert_frame_equal(digest(rows, compression=compression).drop("group"), expected.drop("cell"), abs_tol=1e-14)


def test_what_is_merged_weighs_less_than_two_cells():
    rng = np.random.default_rng(0)
    for rows in adversarial(rng, 4000).values():
        parts = [digest(part) for part in np.split(rows, np.sort(rng.integers(0, len(rows) + 1, 5)))]
        table = cluster(pl.concat(parts), COMPRESSION)
        known = pl.concat(parts).rows()
        ends = np.append(0, table["weight"].cum_sum()) / max(len(rows), 1)
        cells = np.floor(COMPRESSION * (np.arcsin(2 * ends - 1) / np.pi + 0.5)).astype(int)
        borders = np.sin(np.pi / 2 * np.arange(COMPRESSION + 2) / COMPRESSION) ** 2
        for i, row in enumerate(table.rows()):
            _, _, weight, low, high = row
            widest = np.diff(borders[cells[i] : cells[i + 1] + 2]).max()
            assert low == high or row in known or weight / len(rows) < 2 * widest + 1e-9


def test_centroids_of_equal_means_are_no_equal_values():
    table = centroids(mean=[0, 0, 0], weight=[2, 5, 2], min=[-1, 0, -2], max=[1, 0, 2])
    assert cluster(table, COMPRESSION).sort("max").drop("group").rows() == [(0, 5, 0, 0), (0, 2, -1, 1), (0, 2, -2, 2)]
    twice = cluster(pl.concat([table, table]), COMPRESSION)
    assert twice["weight"].sum() == 18
    assert (twice["min"] < twice["max"]).sum() == 4


def test_a_value_that_fills_a_cell_stays_alone():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=1000) * ([0, 1] * 500)
    table = sharded(rows, rng)
    assert table.filter(mean=0.0).rows() == [(0, 0.0, 500.0, 0.0, 0.0)]
    assert estimates_by_group(digest_cdf, table) == [((rows <= 0).mean(),) * 3]


def test_means_are_right_where_sums_overflow_or_vanish():
    for unit in (1, 1e-320, 1e308):
        rows = np.arange(1, 101) / 100 * unit
        for weight in (None, np.ones(100), np.full(100, 1e305), np.full(100, 1e-300)):
            table = digest(rows, weight, compression=1)
            assert table["mean"].item() == pytest.approx(0.505 * unit, rel=0.02 if unit < 1e-300 else 1e-12)
            assert table["weight"].item() == pytest.approx(100 * (1 if weight is None else weight[0]))


def test_a_group_is_what_it_is_alone():
    rng = np.random.default_rng(0)
    found = [v for v in adversarial(rng).values() if len(v)]
    rows, group = np.concatenate(found), np.repeat(np.arange(len(found)), [len(v) for v in found])
    shuffle = rng.permutation(len(rows))
    rows, group = rows[shuffle], group[shuffle]
    for weight in (None, rng.random(len(rows)) * (10.0 ** rng.integers(-200, 200, len(found)))[group]):
        whole = digest(rows, weight, group=group)
        assert whole["group"].is_sorted()
        for i in range(len(found)):
            mine = group == i
            alone = digest(rows[mine], None if weight is None else weight[mine])
            assert_frame_equal(whole.filter(group=i).drop("group"), alone.drop("group"), rel_tol=1e-12, abs_tol=0)


@pytest.mark.parametrize("shape", ["random", "sorted"])
def test_tails_are_accurate(shape):
    rng = np.random.default_rng(0)
    rows = np.exp(2 * rng.normal(size=200_000))
    rows = np.sort(rows) if shape == "sorted" else rows
    table = digest(rows[:0], compression=1000)
    for part in np.split(rows, 50):
        table = cluster(pl.concat([table, digest(part, compression=1000)]), 1000)
    rows = np.sort(rows)
    limits = {1e-4: (1e-5, 1e-4), 1e-3: (3e-5, 5e-4), 0.01: (1e-4, 2e-3), 0.5: (5e-4, 1e-2)}
    for q, (error, width) in limits.items():
        for share in (q, 1 - q):
            [(value, lower, upper)] = estimates_by_group(digest_quantile(q=share), table)
            assert abs(np.searchsorted(rows, value) / len(rows) - share) < error
            assert np.searchsorted(rows, upper) - np.searchsorted(rows, lower) < width * len(rows)
            [(value, lower, upper)] = estimates_by_group(digest_cdf(x=np.quantile(rows, share)), table)
            assert abs(value - share) < error
            assert upper - lower < width


@pytest.mark.parametrize("compression", [0, -3, 2.5, None, True])
def test_compression_is_checked(compression):
    with pytest.raises(SpecificationError, match="compression= must be an integer of at least 1"):
        sm.TDigest(compression=compression)

"""t-digests: bounds that hold for any rows and any order of merging, and accuracy on usual ones."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from strategies import merged_as_a_tree, shards, shuffled

import streammetrics as sm
from streammetrics.metrics import digest_cdf, digest_quantile

COMPRESSION = 16
HUGE, TINY = 1.7e308, 5e-324
SHARES = (0, 0.01, 0.25, 0.29, 0.5, 0.9, 0.999, 1)
VALUES = (-np.inf, -HUGE, -TINY, 0.0, 0.3, 1000.0, HUGE, np.inf)


def adversarial(rng, n=200):
    """Rows of all kinds that break sketches and sums."""
    half, normal, uniform = n // 2, rng.normal(size=n), rng.random(n)
    return {
        "normal": normal,
        "two scales": np.append(rng.normal(1, 1e-6, half), rng.normal(1000, 1, half)),
        "huge outliers": np.append(1e6 + normal[5:], [1e300, -1e300, 1e18, HUGE, -HUGE]),
        "closing in": 0.3 + 0.7 ** rng.integers(0, 90, n) * uniform,
        "mostly zero": np.where(uniform < 0.95, 0.0, normal),
        "half zero": normal * ([0, 1] * half),
        "signed zeros": rng.choice([0.0, -0.0, 1.0, -1.0], n) * rng.choice([0, 1, TINY], n),
        "denormal": rng.integers(-300, 300, n) * TINY,
        "infinite": np.where(uniform < 0.6, rng.choice([-np.inf, np.inf], n), normal),
        "hardly infinite": np.append(normal[2:], [-np.inf, np.inf]),
        "only infinite": rng.choice([-np.inf, np.inf], n),
        "infinite above": np.where(uniform < 0.3, np.inf, normal),
        "equal": np.full(n, 0.1),
        "largest": rng.choice([HUGE, -HUGE], n) * rng.choice([1, 1, 0.999, 1e-3], n),
        "few values": rng.integers(0, COMPRESSION, n) / 7,
        "one value too many": np.arange(n) % (COMPRESSION + 1) / 7,
        "one": np.array([3.0]),
        "two": np.array([3.0, -np.inf]),
    }


def digest(rows, compression=COMPRESSION, **columns):
    """A digest of the column x by group."""
    return sm.Accumulator(sm.statistics.TDigest(compression, of="y_score"), y_score="x", by="g", **columns).update(rows)


def centroids(acc):
    """The table by the names of groups."""
    return acc.state.tables["tdigest"].join(acc.state.groups, on="group").drop("group")


def estimates(acc, metrics):
    """Value and bounds of each metric by group."""
    frame = acc.finalize(metrics).frame
    return {
        metric: {
            row[0]: row[1:] for row in frame.filter(metric=metric.name).select("g", "value", "lower", "upper").rows()
        }
        for metric in metrics
    }


@pytest.fixture(scope="module")
def cases():
    """Rows of each kind, and the digest of them in several orders, of shards that are merged as a random tree."""
    rng = np.random.default_rng(0)
    kinds = adversarial(rng)
    rows = pl.concat(pl.DataFrame({"x": values, "g": name}) for name, values in kinds.items())
    orders = (shuffled(rows, rng), rows.sort("x"))
    digests = [merged_as_a_tree([digest(part) for part in shards(order, rng, 9)], rng) for order in orders]
    return kinds, digests


def test_a_digest_has_few_centroids_whose_ends_certify_ranks(cases):
    kinds, digests = cases
    for acc in digests:
        again = sm.statistics.TDigest(COMPRESSION, of="y_score").merge(acc.state.tables["tdigest"])
        assert_frame_equal(again, acc.state.tables["tdigest"])
        for (kind,), table in centroids(acc).group_by("g", maintain_order=True):
            rows = kinds[kind]
            mean, weight, low, high = (table[c].to_numpy() for c in ("mean", "weight", "min", "max"))
            assert table.schema["weight"] == pl.Int64
            assert (weight.sum(), low.min(), high.max()) == (len(rows), rows.min(), rows.max())
            assert (weight > 0).all()
            assert np.isfinite(mean).sum() <= COMPRESSION
            assert ((low <= mean) & (mean <= high)).all()
            assert (np.diff(mean) >= 0).all()
            several = low < high
            assert (weight[several] < math.pi / COMPRESSION * len(rows)).all()
            assert not np.isinf([low[several], high[several]]).any()
            for infinity in (-np.inf, np.inf):
                assert weight[mean == infinity].tolist() == [n for n in [(rows == infinity).sum()] if n]
            values, counts = np.unique(rows + 0.0, return_counts=True)
            if len(values) <= COMPRESSION:
                assert (mean.tolist(), weight.tolist()) == (values.tolist(), counts.tolist())
            if kind == "half zero":  # as a value that fills a cell stays alone
                assert weight[(mean == 0) & ~several].tolist() == [len(rows) / 2]
            near = [rows, *(np.nextafter(rows, end) for end in (-np.inf, np.inf))]
            x = np.unique(np.concatenate([[-np.inf, 0, np.inf], *near]))
            below, up_to = (np.searchsorted(np.sort(rows), x, side) for side in ("left", "right"))
            assert ((high < x[:, None]) @ weight <= below).all()
            assert (up_to <= (low <= x[:, None]) @ weight).all()


def quantile(rows, q):
    """The quantile of rows; None between -infinity and infinity."""
    ascending = np.sort(rows)
    rank = (len(rows) - 1) * q
    a, b, part = ascending[math.floor(rank)], ascending[math.ceil(rank)], rank % 1
    if a == b or not part:
        return a
    if np.isinf([a, b]).any():
        return None if np.isinf([a, b]).all() else min(a, b, key=np.isfinite)
    return float(Fraction(a) + (Fraction(b) - Fraction(a)) * Fraction(part))


def test_quantiles_and_shares_lie_within_their_bounds(cases):
    kinds, digests = cases
    quantiles, shares = {digest_quantile(q=q): q for q in SHARES}, {digest_cdf(x=x): x for x in VALUES}
    for acc in digests:
        found = estimates(acc, [*quantiles, *shares])
        for metric, q in quantiles.items():
            for kind, (value, lower, upper) in found[metric].items():
                expected = quantile(kinds[kind], q)
                if expected is None:
                    assert value is None or lower < upper
                else:
                    near = (lower, upper) == pytest.approx((expected, expected), rel=1e-15)
                    assert near or lower <= min(value, expected) <= max(value, expected) <= upper
                    assert q not in (0, 1) or lower == expected == upper
        for metric, x in shares.items():
            for kind, (value, lower, upper) in found[metric].items():
                assert lower <= value <= upper
                assert lower <= (kinds[kind] <= x).mean() <= upper
                assert x < np.inf or lower == 1


def test_few_values_are_read_as_numpy_does_to_the_last_bit():
    names = ["normal", "two scales", "mostly zero", "denormal", "few values", "huge outliers"]
    samples = [adversarial(np.random.default_rng(n))[name][:n] for name in names for n in (1, 2, 3, 4, 11, 200)]
    acc = digest(pl.concat(pl.DataFrame({"x": rows, "g": i}) for i, rows in enumerate(samples)), compression=400)
    exact = {digest_quantile(q=q): lambda rows, q=q: np.quantile(rows, q) for q in SHARES}
    for metric, found in estimates(acc, [*exact]).items():
        assert found == {i: (exact[metric](rows) + 0.0,) * 3 for i, rows in enumerate(samples)}, metric


def test_weights_and_sums_are_conserved():
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"x": rng.normal(size=2000), "w": rng.random(2000) * 10.0 ** rng.integers(-9, 9, 2000), "g": 0})
    table = centroids(merged_as_a_tree([digest(part, sample_weight="w") for part in shards(rows, rng, 9)], rng))
    mean, weight = table["mean"], table["weight"]
    assert weight.sum() == pytest.approx(rows["w"].sum(), rel=1e-12)
    assert (mean * weight).sum() == pytest.approx((rows["x"] * rows["w"]).sum(), rel=1e-9)
    assert table.height <= COMPRESSION
    assert table.filter(pl.col("min") < pl.col("max"))["weight"].max() < math.pi / COMPRESSION * rows["w"].sum()


def test_cells_are_those_of_the_scale_function():
    n, compression = 10_000, 50
    rows = np.random.default_rng(0).normal(size=n)
    place = (np.arange(n) + 0.5) / n
    cell = np.floor(compression * (np.arcsin(2 * place - 1) / np.pi + 0.5))
    expected = pl.DataFrame({"cell": cell, "row": np.sort(rows)}).group_by("cell", maintain_order=True)
    row = pl.col("row")
    expected = expected.agg(mean=row.mean(), weight=row.len().cast(pl.Int64), min=row.min(), max=row.max())
    assert expected.height == compression
    found = centroids(digest(pl.DataFrame({"x": rows, "g": 0}), compression))
    assert_frame_equal(found.drop("g"), expected.drop("cell"), abs_tol=1e-14)


def test_what_is_merged_weighs_less_than_two_cells():
    rng = np.random.default_rng(0)
    borders = np.sin(np.pi / 2 * np.arange(COMPRESSION + 2) / COMPRESSION) ** 2
    for rows in adversarial(rng, 1000).values():
        parts = [digest(part) for part in shards(pl.DataFrame({"x": rows, "g": 0}), rng, 6)]
        known = [row for part in parts for row in centroids(part).rows()]
        table = centroids(sm.merge(parts))
        ends = np.append(0, table["weight"].cum_sum()) / len(rows)
        cells = np.floor(COMPRESSION * (np.arcsin(2 * ends - 1) / np.pi + 0.5)).astype(int)
        for i, row in enumerate(table.rows()):
            _, weight, low, high, _ = row
            widest = np.diff(borders[cells[i] : cells[i + 1] + 2]).max()
            assert low == high or row in known or weight / len(rows) < 2 * widest + 1e-9


def test_centroids_of_equal_means_are_not_equal_values():
    table = pl.DataFrame({"group": 0, "mean": [0.0] * 3, "weight": [2, 5, 2], "min": [-1.0, 0, -2], "max": [1.0, 0, 2]})
    merge = sm.statistics.TDigest(COMPRESSION).merge
    assert merge(table).sort("max").drop("group").rows() == [(0, 5, 0, 0), (0, 2, -1, 1), (0, 2, -2, 2)]
    twice = merge(pl.concat([table, table]))
    assert twice["weight"].sum() == 18
    assert (twice["min"] < twice["max"]).sum() == 4


@pytest.mark.parametrize("weight", [None, 1.0, 1e280, 1e-300])
def test_means_are_right_where_sums_overflow_or_vanish(weight):
    units = {"one": 1, "tiny": 1e-320, "huge": 1e308}
    rows = pl.concat(pl.DataFrame({"x": np.arange(1, 101) / 100 * unit, "g": name}) for name, unit in units.items())
    options = {} if weight is None else {"sample_weight": "w"}
    for name, mean, total in (
        centroids(digest(rows.with_columns(w=pl.lit(weight)), 1, **options)).select("g", "mean", "weight").rows()
    ):
        assert mean == pytest.approx(0.505 * units[name], rel=0.02 if name == "tiny" else 1e-12)
        assert total == pytest.approx(100 * (weight or 1))


@pytest.mark.parametrize("shape", ["random", "sorted"])
def test_tails_are_accurate(shape):
    rows = np.exp(2 * np.random.default_rng(0).normal(size=100_000))
    ascending = np.sort(rows)
    parts = np.split(ascending if shape == "sorted" else rows, 10)
    acc = sm.merge(digest(pl.DataFrame({"x": part, "g": 0}), 1000) for part in parts)
    limits = {1e-4: (2e-5, 1e-4), 1e-3: (3e-5, 5e-4), 0.01: (1e-4, 2e-3), 0.5: (5e-4, 1e-2)}
    for share, (error, width) in (limits | {1 - q: limit for q, limit in limits.items()}).items():
        metrics = digest_quantile(q=share), digest_cdf(x=float(np.quantile(rows, share)))
        (of_quantile, lower, upper), (of_share, least, most) = (found[0] for found in estimates(acc, metrics).values())
        assert abs(np.searchsorted(ascending, of_quantile) / len(rows) - share) < error
        assert np.searchsorted(ascending, upper) - np.searchsorted(ascending, lower) < width * len(rows)
        assert abs(of_share - share) < error
        assert most - least < width

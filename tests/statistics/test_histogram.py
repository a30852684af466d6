"""The score histogram on adversarial inputs: one table however rows are split, bounds that hold, a small size."""

import math

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score
from strategies import bins_of, histogram, merged_as_a_tree, shards, shuffled, use_small_chunks

import streammetrics as sm

METRICS = ("roc_auc", "average_precision", "ks")
ROUNDING = 1e-12
N = 600
HUGE = np.finfo(float).max


def spread(rng):
    """Values that share few of their bits."""
    return rng.choice([-1.0, 1.0], N) * np.exp(rng.uniform(-700, 700, N))


REAL = {
    "two bulks": lambda rng: np.where(rng.random(N) < 0.5, rng.normal(1, 1e-6, N), rng.normal(1000, 1, N)),
    "outliers": lambda rng: np.where(rng.random(N) < 0.01, spread(rng), rng.normal(1e6, 1, N)),
    "any size": spread,
    "huge": lambda rng: rng.choice([-1.7e308, 1.7e308, HUGE, -HUGE, 1.0], N),
    "infinite": lambda rng: rng.choice([-np.inf, np.inf, 0.0, 1.0], N) + rng.normal(size=N),
    "median infinite": lambda rng: np.where(rng.random(N) < 0.7, np.inf, rng.normal(size=N)),
}
PROBABILITIES = {
    "uniform": lambda rng: rng.random(N),
    "closing in": lambda rng: 0.3 + 0.7 ** rng.integers(0, 80, N) * rng.random(N) * 0.7,
    "zeros": lambda rng: rng.random(N) * (rng.random(N) < 0.05),
    "ones": lambda rng: 1 - rng.random(N) * (rng.random(N) < 0.05),
    "denormals": lambda rng: rng.integers(0, 1 << 40, N).view(np.float64),
    "few denormals": lambda rng: rng.integers(0, 40, N).view(np.float64),
    "all equal": lambda rng: np.full(N, 0.3),
    "last floats": lambda rng: 1 - rng.integers(0, 3000, N) * 2.0**-53,
    "very last floats": lambda rng: 1 - rng.integers(0, 2, N) * 2.0**-53,
    "powers of two": lambda rng: np.nextafter(2.0 ** -rng.integers(0, 1074, N), rng.choice([0.0, 0.5, 1.0], N)),
    "saturated": lambda rng: 1 / (1 + np.exp(-rng.normal(0, 30, N))),
}
INPUTS = {
    name: (make, domain) for domain, of in (("real", REAL), ("probability", PROBABILITIES)) for name, make in of.items()
}
adversarial = pytest.mark.parametrize(("make", "domain"), INPUTS.values(), ids=INPUTS)


def rows_of(make):
    """Scores, labels that lean on their order, whole weights, and a group."""
    rng = np.random.default_rng(0)
    score = make(rng)
    rank = score.argsort().argsort() / N
    label, weight, group = rng.random(N) < 0.1 + 0.6 * rank, rng.integers(1, 4, N), rng.integers(0, 3, N)
    return pl.DataFrame({"p": score, "y": label, "w": weight, "g": group})


def task(capacity, domain="probability", **options):
    return sm.Accumulator(sm.ScoreHistogram(capacity, domain), y_true="y", y_score="p", **options)


def assert_bounds_hold(acc, label, score):
    """The bounds contain the metrics of all rows, computed from ranks, as scikit-learn takes no infinite scores."""
    rank = np.unique(score, return_inverse=True)[1]
    below = [np.cumsum(np.bincount(rank[label == c], minlength=rank.max() + 1)) / (label == c).sum() for c in (0, 1)]
    truths = roc_auc_score(label, rank), average_precision_score(label, rank), np.abs(below[0] - below[1]).max()
    report = acc.finalize(METRICS)
    for metric, truth in zip(METRICS, truths, strict=True):
        found = report[metric]
        assert found.lower - ROUNDING <= truth <= found.upper + ROUNDING, metric
        assert found.lower <= found.value <= found.upper


@adversarial
def test_the_table_is_the_same_however_rows_are_split(make, domain, monkeypatch):
    rng = np.random.default_rng(8)
    frame = rows_of(make)
    whole, grouped = task(8, domain).update(frame), task(16, domain, by="g").update(frame)
    use_small_chunks(monkeypatch)
    assert bins_of(whole).select(pl.sum("neg", "pos")).row(0) == (N - frame["y"].sum(), frame["y"].sum())
    for order in (shuffled(frame, rng), frame.sort("p", descending=True)):
        parts = shards(order, rng, 5)
        for acc in (whole, grouped):
            merged = merged_as_a_tree((acc.empty().update(part) for part in parts), rng)
            batches = acc.empty()
            for part in parts:
                batches.update(part)
            assert merged.to_bytes() == batches.to_bytes() == acc.to_bytes()
    for group in range(3):
        alone = task(16, domain).update(frame.filter(g=group))
        assert bins_of(grouped.filter(pl.col("g") == group)).equals(bins_of(alone))


@adversarial
def test_bounds_hold_with_as_many_bins_as_the_capacity(make, domain):
    frame = rows_of(make)
    label, score, weight = (frame[c].to_numpy() for c in "ypw")
    for capacity in (8, 64, 2048):
        acc = task(capacity, domain).update(frame)
        assert_bounds_hold(acc, label, score)
        ends = 1 + (3 if domain == "real" else 2)  # zero and what is infinite, or 0 and 1
        assert bins_of(acc).height <= max(capacity, 63 * 2 * ends)
        if capacity >= frame["p"].n_unique():
            assert bins_of(acc).height == frame["p"].n_unique()
            assert bins_of(acc)["shift"].max() == 0
            assert all(acc.finalize([m])[m].exact for m in METRICS)
    weighted = task(16, domain, sample_weight="w").update(frame)
    assert_bounds_hold(weighted, np.repeat(label, weight), np.repeat(score, weight))


@pytest.mark.parametrize("distinct", [17, 16, 15])
def test_capacity_is_exactly_what_is_kept(distinct):
    score = np.linspace(0.1, 0.2, distinct)
    table = bins_of(histogram(np.tile(score, 3), np.arange(3 * distinct) % 2, 16))
    assert (table.height == distinct) is (table["shift"].max() == 0) is (distinct <= 16)
    assert table.height <= 16


def test_the_shift_is_the_smallest_that_fits():
    """By trying each shift in turn."""
    lattice = sm.ScoreHistogram(8).lattice
    for step in range(1, 40, 4):
        keys = np.unique(lattice.keys(np.random.default_rng(step).random(50) * 0.7**step + 0.25))
        table = bins_of(histogram(lattice.values(keys), np.arange(len(keys)) % 2, 8))
        smallest = next(shift for shift in range(63) if len(np.unique(keys >> shift)) <= 8)
        assert table["shift"].unique().to_list() == [smallest]
        assert table["bin"].to_list() == np.unique(keys >> smallest).tolist()


@pytest.mark.parametrize("rows", [2, 1, 0])
def test_hardly_any_rows(rows):
    acc = histogram([0.2, 0.7][:rows], [0, 1][:rows])
    assert bins_of(acc).height == rows
    assert acc.finalize()["roc_auc"].value == (1.0 if rows == 2 else None)


@pytest.mark.parametrize("capacity", [136, 72, 400])
def test_atoms_keep_their_bins(capacity, monkeypatch):
    """Near an atom a bin can be needed for each power of two of distance; capacities leave room for them."""
    rng = np.random.default_rng(capacity)
    atoms = (0.05,) if capacity < 136 else (0.05, 1 - 1e-9)
    score = rng.choice([*atoms, 0.0, 1.0], N)
    near = 2.0 ** -rng.integers(1, 60, N) * rng.choice([-1, 1], N)
    score = np.where(rng.random(N) < 0.3, score, np.where(rng.random(N) < 0.5, rng.random(N), score + near)).clip(0, 1)
    frame = pl.DataFrame({"p": score, "y": rng.random(N) < score})
    whole = histogram(score, frame["y"], capacity, atoms=atoms)
    table = bins_of(whole)
    assert table.height <= capacity + 126
    for key, atom in zip(whole.statistics[1].lattice.keys(np.array(atoms)).tolist(), atoms, strict=True):
        row = table.row(by_predicate=(pl.col("shift") == 0) & (pl.col("bin") == key), named=True)
        assert row["pos"] + row["neg"] == (score == atom).sum()
    assert_bounds_hold(whole, frame["y"].to_numpy(), score)
    use_small_chunks(monkeypatch)
    parts = [whole.empty().update(part) for part in shards(shuffled(frame, rng), rng, 7)]
    assert merged_as_a_tree(parts, rng).to_bytes() == whole.to_bytes()


def test_fine_groups_over_all_floats():
    """Windows of several groups at a low shift have more cells than integers count."""
    close = 0.3 + np.arange(12) * 2.0**-54
    for domain, ends in (("real", [-HUGE, HUGE]), ("probability", [0.0, 1.0])):
        acc = task(8, domain, by="g")
        batches = [
            {"g": np.repeat(np.arange(8), len(p)), "p": np.tile(p, 8), "y": np.tile(p, 8) > 0.3} for p in (close, ends)
        ]
        whole = acc.empty().update({c: np.concatenate([b[c] for b in batches]) for c in ("g", "p", "y")})
        for batch in batches:
            acc.update(batch).finalize()
        assert acc.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("weight", [None, "w"])
def test_groups_and_ranges_that_grow_from_batch_to_batch(weight, monkeypatch):
    """Arrays of cells take in new groups, and scores beyond those seen."""
    use_small_chunks(monkeypatch, rows=200)
    rng = np.random.default_rng(3)
    batches = [
        pl.DataFrame(
            {
                "g": rng.integers(0, 1 + i, 300),
                "p": 0.5 + (rng.random(300) - 0.5) * 2.0 ** (i - 12),
                "y": rng.random(300) < 0.3,
                "w": rng.integers(1, 4, 300) / 4,  # sums of quarters are exact
            }
        )
        for i in range(12)
    ]
    acc = task(16, by="g", sample_weight=weight)
    whole = acc.empty().update(pl.concat(batches).sort("p"))
    for batch in batches:
        acc.update(batch)
    assert acc.to_bytes() == whole.to_bytes()
    assert acc.seen == 3600


def test_one_group_is_coarsened_while_later_ones_have_a_single_bin():
    rows = {"g": ["a"] * 100 + ["b", "c"], "y": [0, 1] * 51, "p": np.linspace(0.01, 0.99, 102)}
    sizes = bins_of(task(16, by="g").update(rows)).group_by("group", maintain_order=True).agg(pl.len(), pl.max("shift"))
    assert sizes["len"].to_list()[1:] == [1, 1]
    assert sizes["shift"].to_list()[1:] == [0, 0]
    assert 8 <= sizes["len"][0] <= 16


BIG = 1_000_000
DISTRIBUTIONS = {
    "click rates": lambda rng: 1 / (1 + np.exp(-rng.normal(-5, 1.5, BIG))),
    "rare": lambda rng: 1 / (1 + np.exp(-rng.normal(-9, 3, BIG))),
    "saturated": lambda rng: 1 / (1 + np.exp(-rng.normal(8, 4, BIG))),
    "near one": lambda rng: 1 - rng.random(BIG) * 1e-6,
    "rounded": lambda rng: rng.beta(2, 5, BIG).round(3),
    "float32": lambda rng: rng.beta(2, 5, BIG).astype(np.float32).astype(np.float64),
}


@pytest.mark.thorough
@pytest.mark.parametrize("atoms", [(), (0.05,)], ids=str)
@pytest.mark.parametrize("make", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_bounds_of_a_million_rows_are_narrow(make, atoms):
    rng = np.random.default_rng(7)
    score = make(rng)
    label = rng.random(BIG) < 0.02 + 0.5 * (score.argsort().argsort() / BIG) ** 2
    score = np.where(rng.random(BIG) < 0.3, atoms[0], score) if atoms else score
    acc = histogram(score, label, 16_384, atoms=atoms)
    found, truth = acc.finalize(["roc_auc"])["roc_auc"], roc_auc_score(label, score)
    assert found.lower - ROUNDING <= truth <= found.upper + ROUNDING
    assert found.upper - found.lower <= 2 * 1.5e-4
    assert found.value == pytest.approx(truth, abs=1e-6)
    assert found.note is None
    assert bins_of(acc).height <= 16_384


def test_what_widens_the_bounds_is_named():
    rng = np.random.default_rng(0)
    score = np.where(rng.random(20_000) < 0.3, 0.05, rng.beta(2, 8, 20_000))
    found = histogram(score, rng.random(20_000) < score, 1024).finalize()["roc_auc"]
    assert found.upper - found.lower > 0.01
    assert "atoms=(0.05,)" in found.note
    # Half of the rows are in one octave, and half spread over a thousand: bins are wide for those in one octave.
    score = np.where(rng.random(N) < 0.5, rng.uniform(0.3, 0.4, N), np.exp(-rng.uniform(0, 700, N)))
    found = histogram(score, rng.random(N) < score**0.1, 8).finalize()["roc_auc"]
    assert found.upper - found.lower > 0.01
    assert "atoms=" in found.note
    assert math.isfinite(found.value)

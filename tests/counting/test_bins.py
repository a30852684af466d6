"""Bins of groups in hash tables, against counts of whole keys in a dict."""

from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest

from streammetrics.core import Runs, choice
from streammetrics.core import bins as tables
from streammetrics.core.lattice import Lattice
from streammetrics.counting import bins
from streammetrics.counting.bins import Bins
from streammetrics.counting.fitting import Cells, add_up, fit, sort_order
from streammetrics.counting.listed import Listed
from streammetrics.counting.tabled import Tabled
from streammetrics.rows.arrays import Rows

GROUPS = 5


@pytest.fixture(autouse=True, params=[100, 1 << 20], ids=["in tables", "listed"])
def few_rows_are_listed(request, monkeypatch):
    monkeypatch.setattr(bins, "FEWEST", request.param)
    monkeypatch.setattr(bins, "ROWS_OF_A_BIN", 0)


def values_of(kind, size, rng):
    """Hostile scores, as a function of their kind."""
    return {
        "uniform": lambda: rng.random(size),
        "rounded": lambda: rng.random(size).round(2),
        "single precision": lambda: rng.random(size).astype(np.float32).astype(np.float64),
        "tiny": lambda: 10.0 ** -rng.uniform(0, 300, size),
        "saturated": lambda: 1 - 10.0 ** -rng.uniform(0, 17, size),
        "mostly zero": lambda: rng.random(size) * (rng.random(size) < 0.05),
        "two clusters": lambda: np.where(rng.random(size) < 0.5, 0.3 + 1e-12 * rng.random(size), rng.random(size)),
        "closing in": lambda: 0.3 + 0.7 ** rng.uniform(1, 100, size) * 0.1,
        "ends": lambda: rng.integers(0, 2, size).astype(float),
    }[kind]()


KINDS = [
    *(
        "uniform",
        "rounded",
        "single precision",
        "tiny",
        "saturated",
        "mostly zero",
        "two clusters",
        "closing in",
        "ends",
    )
]


def rows_of(values, label, group, weight=None):
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=GROUPS)
    starts = np.append(0, np.cumsum(counts[counts > 0]))
    return Rows(
        pl.DataFrame(),
        np.arange(GROUPS),
        np.zeros(GROUPS, dtype=np.int64),
        starts,
        np.flatnonzero(counts),
        truth=(label[order],),
        score=(values[order],),
        weight=None if weight is None else weight[order],
    )


def made(capacity=16, domain="probability", atoms=(), weighted=False):
    return Bins(lambda rows: (rows.score[0], rows.truth[0]), Lattice(domain, atoms), capacity, 2, weighted)


def fitted(counter):
    table = counter.table()
    return fit(table, counter.lattice, counter.capacity)


def expected(values, label, group, lattice, capacity):
    """The table from counts of every value."""
    counts = Counter(zip(group.tolist(), lattice.keys(values).tolist(), label.tolist(), strict=True))
    table = pl.DataFrame(
        {
            "group": pl.Series([g for g, _, _ in counts], dtype=pl.UInt32),
            "shift": pl.Series([0] * len(counts), dtype=pl.UInt8),
            "bin": pl.Series([k for _, k, _ in counts], dtype=pl.Int64),
            "neg": pl.Series([n * (1 - y) for (_, _, y), n in counts.items()], dtype=pl.Int64),
            "pos": pl.Series([n * y for (_, _, y), n in counts.items()], dtype=pl.Int64),
        }
    )
    return fit(table, lattice, capacity)


@pytest.fixture(params=["numpy", pytest.param("compiled", marks=pytest.mark.thorough)])
def either_kernel(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(choice, "LARGE", 0 if request.param == "compiled" else 1 << 40)


@pytest.mark.usefixtures("either_kernel")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("capacity", "atoms"), [(8, ()), (100, (0.3,)), (1024, ())])
def test_the_table_is_that_of_all_values_however_rows_come(kind, capacity, atoms):
    rng = np.random.default_rng(len(kind))
    values, label, group = values_of(kind, 3_000, rng), rng.integers(0, 2, 3_000), rng.integers(0, GROUPS, 3_000)
    label = label.astype(np.uint8)
    whole, parts = made(capacity, atoms=atoms), [made(capacity, atoms=atoms) for _ in range(2)]
    whole.add(rows_of(values, label, group), GROUPS)
    for i, start in enumerate(range(0, 3_000, 250)):
        part = slice(start, start + 250)
        parts[i % 2].add(rows_of(values[part], label[part], group[part]), GROUPS)
    parts[0].absorb(parts[1], np.arange(GROUPS), GROUPS)
    found = expected(values, label, group, whole.lattice, capacity)
    assert fitted(whole).equals(found)
    assert fitted(parts[0]).equals(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_of_one_group_at_once_make_the_same_table(kind, weighted):
    rng = np.random.default_rng(5)
    values, label, group = values_of(kind, 2_000, rng), rng.integers(0, 2, 2_000).astype(np.uint8), np.full(2_000, 3)
    counter = made(64, weighted=weighted)
    counter.add(rows_of(values, label, group, np.ones(2_000) if weighted else None), GROUPS)
    whole = pl.col("neg", "pos").cast(pl.Int64)
    assert fitted(counter).with_columns(whole).equals(expected(values, label, group, counter.lattice, 64))


@pytest.mark.parametrize("kind", KINDS)
def test_both_kernels_find_each_others_bins(kind, monkeypatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(12)
    values, label, group = values_of(kind, 3000, rng), rng.integers(0, 2, 3000).astype(np.uint8), np.zeros(3000, int)
    counter = made(256)
    for i, start in enumerate(range(0, 3000, 100)):
        monkeypatch.setattr(choice, "LARGE", i % 2 << 40)
        part = slice(start, start + 100)
        counter.add(rows_of(values[part], label[part], group[part]), 1)
    assert fitted(counter).equals(expected(values, label, group, counter.lattice, 256))
    assert not counter.table().select("shift", "bin").is_duplicated().any()


@pytest.mark.parametrize("bits", [1, 2, 6, 11])
def test_a_bin_is_looked_for_in_every_slot(bits):
    last, id = np.uint64((1 << bits) - 1), np.random.default_rng(bits).integers(-(1 << 62), 1 << 62, 1)
    place = tables.home(id, np.array([bits]))
    tried = set()
    for _ in range(1 << bits):
        tried.add(int(place[0]))
        place = tables.following(place, id) & last
    assert tried == set(range(1 << bits))


def test_bins_beside_many_others_are_found_soon():
    """Steps of a fixed length would go through a row of neighbours one by one."""
    bits, ids = 12, np.arange(1 << 11) << 17 | 1 << 40
    homes = tables.home(ids, np.full(len(ids), bits))
    taken = np.zeros(1 << bits, dtype=bool)
    taken[: 1 << 11] = True
    tries = 0
    while len(ids):
        left = taken[homes]
        homes, ids = homes[left], ids[left]
        homes, tries = tables.following(homes, ids) & np.uint64((1 << bits) - 1), tries + 1
    assert tries < 40


def test_a_group_without_a_table_finds_no_bins_of_other_groups():
    """It looks for bins in the empty slots before all tables, and nowhere else."""
    tabled, low = Tabled(Lattice("real"), 1, weighted=False), np.arange(8) << 40
    tabled.know(1)
    tabled.give_tables(np.array([0]), np.array([8]), np.array([0]))
    tabled.fill(Cells(np.zeros(8, dtype=np.intp), low, np.zeros(8, dtype=np.int64), [np.ones(8, dtype=np.int64)]))
    tabled.know(2)
    assert tabled.bins(np.array([0])).low.size == 8
    assert tabled.bins(np.array([1])).low.size == 0


@pytest.mark.usefixtures("either_kernel")
def test_margins_of_both_signs_and_infinities():
    rng = np.random.default_rng(0)
    values = rng.choice([-1.0, 1.0], 4_000) * 10.0 ** rng.uniform(-310, 308, 4_000)
    values[:40] = np.repeat([np.inf, -np.inf, 0.0, -0.0], 10)
    label, group = rng.integers(0, 2, 4_000).astype(np.uint8), rng.integers(0, GROUPS, 4_000)
    counter = made(64, "real")
    counter.add(rows_of(values, label, group), GROUPS)
    assert fitted(counter).equals(expected(values, label, group, counter.lattice, 64))


@pytest.mark.usefixtures("either_kernel")
def test_weights_add_up():
    rng = np.random.default_rng(0)
    values, weight = rng.random(2_000), rng.random(2_000)
    label, group = rng.integers(0, 2, 2_000).astype(np.uint8), rng.integers(0, GROUPS, 2_000)
    counter = made(32, weighted=True)
    for start in range(0, 2_000, 500):
        part = slice(start, start + 500)
        counter.add(rows_of(values[part], label[part], group[part], weight[part]), GROUPS)
    table = fitted(counter)
    assert table["pos"].sum() == pytest.approx(weight[label == 1].sum(), rel=1e-12)
    plain = expected(values, label, group, counter.lattice, 32)
    assert table.select("group", "shift", "bin").equals(plain.select("group", "shift", "bin"))


def test_groups_absorb_groups_of_other_numbers_and_resolutions():
    rng = np.random.default_rng(0)
    few, many = rng.random(20), rng.random(5_000)
    for first, second in product((few, many), repeat=2):
        one, other = made(), made()
        for counter, values in ((one, first), (other, second)):
            label = np.ones(len(values), dtype=np.uint8)
            counter.add(rows_of(values, label, np.zeros(len(values), dtype=np.intp)), GROUPS)
        before = fitted(other)
        one.absorb(other, np.array([3, 1, 2, 0, 4]), GROUPS)
        assert fitted(other).equals(before)
        group = np.repeat([0, 3], [len(first), len(second)])
        both = np.concatenate([first, second])
        assert fitted(one).equals(expected(both, np.ones(len(both), dtype=int), group, one.lattice, 16))


@pytest.mark.usefixtures("either_kernel")
def test_a_group_without_a_table_does_not_read_that_of_another():
    """Few distinct values, so that the table of the first group begins where the slots of the others end."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, label = np.repeat(rng.random(4), 100), np.ones(400, dtype=np.uint8)
        counter = made()
        counter.add(rows_of(values, label, np.zeros(400, dtype=np.intp)), GROUPS)
        group = np.arange(400) % 2
        counter.add(rows_of(values, label, group), GROUPS)
        both = np.concatenate([values, values]), np.ones(800, dtype=int), np.append(np.zeros(400, dtype=int), group)
        assert fitted(counter).equals(expected(*both, counter.lattice, 16))


@pytest.mark.parametrize("lattice", [Lattice("probability", (0.3,)), Lattice("real")], ids=["p", "real"])
def test_ids_stand_for_bins(lattice):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.random(500), 10.0 ** -rng.uniform(0, 300, 500), [0.0, 1.0, 0.3, 0.5]])
    if lattice.domain == "real":
        values = np.concatenate([values, -values, [np.inf, -np.inf]])
    keys = lattice.keys(values)
    for shift in (0, 1, 40, 52, 62, 63):
        shifts = np.full(len(keys), shift)
        limited = lattice.limit_shifts(keys, shifts)
        low, own = tables.lowest_keys(tables.identify(keys, shifts, lattice), shifts, lattice)
        np.testing.assert_array_equal(own, limited)
        np.testing.assert_array_equal(low, (keys >> limited) << limited)


def test_runs_of_one_group_may_be_several():
    rng = np.random.default_rng(0)
    values, label = rng.random(400), np.ones(400, dtype=np.uint8)
    counter, other = made(), made()
    counter.add(rows_of(values, label, np.zeros(400, dtype=np.intp)), GROUPS)
    rows = rows_of(values, label, np.zeros(400, dtype=np.intp))
    object.__setattr__(rows, "starts", np.arange(401))
    object.__setattr__(rows, "local", np.zeros(400, dtype=np.intp))
    assert rows.runs == Runs(*rows.runs)
    other.add(rows, GROUPS)
    assert fitted(other).equals(fitted(counter))


def test_listed_rows_have_one_run_per_group():
    one = Listed(Runs(np.array([0, 2, 3, 4]), np.array([1, 4, 6])), np.array([5, 3, 9, 2]), None, None)
    other = Listed(Runs(np.array([0, 1]), np.array([4])), np.array([7]), None, None)
    joint = Listed.of([one, other])
    assert [column.tolist() for column in (*joint.runs, joint.keys)] == [[0, 2, 4, 5], [1, 4, 6], [5, 3, 9, 7, 2]]
    middle = joint.of_groups(2, 6)
    assert [column.tolist() for column in (*middle.runs, middle.keys)] == [[0, 2], [4], [9, 7]]


@pytest.mark.usefixtures("either_kernel")
def test_bins_near_atoms_may_be_more_than_the_capacity():
    """Values at every power of two of distance from zero and the infinities share no bin at any shift."""
    rng = np.random.default_rng(0)
    values = np.concatenate([2.0 ** np.arange(-1074, 1024), -(2.0 ** np.arange(-1074, 1024)), [0.0, np.inf, -np.inf]])
    values = rng.permutation(np.tile(values, 3))
    label, group = (values > 0).astype(np.uint8), np.zeros(len(values), dtype=np.intp)
    counter = made(capacity=8, domain="real")
    counter.add(rows_of(values, label, group), GROUPS)
    assert fitted(counter).equals(expected(values, label, group, counter.lattice, 8))


def is_summed(group, low, weight):
    """Whether equal cells add up, in the order of their rows to the last bit."""
    cells = sorted(set(zip(group.tolist(), low.tolist(), strict=True)))
    expected = [(g, k, np.add.reduceat(weight[(group == g) & (low == k)], [0]).item()) for g, k in cells]
    group, low, _, [sums] = add_up(Cells(group, low, np.zeros(len(low), dtype=np.int64), [weight]))
    return list(zip(group.tolist(), low.tolist(), sums.tolist(), strict=True)) == expected


def test_equal_cells_add_up_in_any_order():
    for group, low in product(product((0, 1), repeat=3), product((0, 1, 2), repeat=3)):
        assert is_summed(np.array(group), np.array(low), np.array([0.1, 0.2, 0.4])), (group, low)
    rng = np.random.default_rng(0)
    assert is_summed(rng.integers(0, 4, 2_000), rng.integers(-2, 3, 2_000), rng.random(2_000))


def test_groups_are_sorted_by_all_of_their_bits():
    assert sort_order(np.array([1 << 16, 1, 0, 1])).tolist() == [2, 1, 3, 0]

"""Bins of groups: each form against the definition, and the definition against counts of whole keys."""

import os
from collections import Counter

import numpy as np
import pytest
from forms import each_form

from streammetrics.core import Runs, compiled
from streammetrics.core.definition import bins as definition
from streammetrics.core.lattice import Lattice, limit_shifts

GROUPS = 5
KINDS = {
    "uniform": lambda rng, size: rng.random(size),
    "rounded": lambda rng, size: rng.random(size).round(2),
    "single precision": lambda rng, size: rng.random(size).astype(np.float32).astype(np.float64),
    "tiny": lambda rng, size: 10.0 ** -rng.uniform(0, 300, size),
    "saturated": lambda rng, size: 1 - 10.0 ** -rng.uniform(0, 17, size),
    "mostly zero": lambda rng, size: rng.random(size) * (rng.random(size) < 0.05),
    "two clusters": lambda rng, size: np.where(
        rng.random(size) < 0.5, 0.3 + 1e-12 * rng.random(size), rng.random(size)
    ),
    "closing in": lambda rng, size: 0.3 + 0.7 ** rng.uniform(1, 100, size) * 0.1,
    "ends": lambda rng, size: rng.integers(0, 2, size).astype(float),
    "all equal": lambda rng, size: np.full(size, 0.3),
    "both signs": lambda rng, size: rng.normal(size) * 10.0 ** rng.uniform(-300, 300, size),
    "far clusters": lambda rng, size: rng.normal(np.where(rng.random(size) < 0.5, 1.0, 1000.0), 1e-6),
    "infinite": lambda rng, size: rng.choice([-np.inf, np.inf, 0.0, -0.0, 5e-324, -5e-324, 1.7e308], size),
}
REAL = ("both signs", "far clusters", "infinite")


def in_runs(groups, *columns):
    """Columns sorted by group, and their runs."""
    order = np.argsort(groups, kind="stable")
    return Runs.of(groups[order]), *(None if c is None else c[order] for c in columns)


def lattice_of(kind, atoms=()):
    return Lattice("real" if kind in REAL else "probability", atoms)


def new(form, lattice, capacity, sides=2, weighted=False):
    return form.Bins(capacity, lattice.domain == "probability", lattice.atom_keys, sides, weighted)


def add(bins, values, side, groups, weight=None):
    runs, values, side, weight = in_runs(groups, values, side, weight)
    if side is not None and side.dtype == np.int64:
        bins.add_classes(values, side, weight, runs, GROUPS)
    else:
        bins.add(values, side, weight, runs, GROUPS)


def listed(cells):
    """Cells as plain numbers, to compare bit for bit."""
    group, shift, bin, sides = cells
    assert (group.dtype, shift.dtype, bin.dtype) == (np.uint32, np.uint8, np.int64)
    return list(zip(group.tolist(), shift.tolist(), bin.tolist(), *(side.tolist() for side in sides), strict=True))


def as_table(cells):
    """Starts of runs, numbers, and shifts of cells."""
    group, shift, bin, _ = cells
    return np.append(np.flatnonzero(np.diff(group.astype(np.int64), prepend=-1)), len(group)), bin, shift


def by_hand(values, side, groups, weight, lattice, capacity, sides):
    """The cells from counts of every value, with the first shift that fits found by trying all."""
    found = []
    keys = lattice.keys(values)
    for group in np.unique(groups).tolist():
        own = groups == group
        for shift in range(64):
            limited = limit_shifts(keys[own], np.array(shift), lattice.atom_keys)
            bins = list(zip(limited.tolist(), (keys[own] >> limited).tolist(), strict=True))
            if len(set(bins)) <= capacity or shift == 63:
                break
        amounts = Counter()
        for bin, of, amount in zip(bins, side[own].tolist(), weight[own].tolist(), strict=True):
            amounts[bin, of] += amount
        for own_shift, bin in sorted(set(bins), key=lambda cell: cell[1] << cell[0]):
            found.append((group, own_shift, bin, *(amounts[(own_shift, bin), of] for of in range(sides))))
    return found


def rows_of(kind, size, seed, sides=2):
    rng = np.random.default_rng(seed)
    side = rng.integers(0, sides, size)
    weight = rng.integers(1, 1 << 20, size) / 1024  # whose sums are exact
    return KINDS[kind](rng, size), side.astype(np.uint8) if sides == 2 else side, rng.integers(0, GROUPS, size), weight


@each_form(definition)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("capacity", "atoms"), [(8, ()), (100, (0.3,)), (600, (0.25, 0.3, 0.7))])
def test_cells_are_those_of_all_values_however_rows_come(form, kind, capacity, atoms):
    lattice, size = lattice_of(kind, atoms), 3_000
    values, side, groups, _ = rows_of(kind, size, len(kind))
    expected = by_hand(values, side, groups, np.ones(size, int), lattice, capacity, 2)
    whole, parts = new(form, lattice, capacity), [new(form, lattice, capacity) for _ in range(3)]
    add(whole, values, side, groups)
    for i, part in enumerate(np.array_split(np.random.default_rng(1).permutation(size), 17)):
        add(parts[i % 3], values[part], side[part], groups[part])
    for more in parts[1:]:
        parts[0].absorb(more, np.arange(GROUPS), GROUPS)
    assert listed(whole.cells()) == expected
    assert listed(parts[0].cells()) == expected


@each_form(definition)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sides", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_have_any_number_of_sides_and_weights(form, kind, sides, weighted):
    lattice, size = lattice_of(kind), 2_000
    values, side, groups, weight = rows_of(kind, size, 5, sides)
    bins = new(form, lattice, 40, sides, weighted)
    for part in np.array_split(np.arange(size), 9):
        add(bins, values[part], None if sides == 1 else side[part], groups[part], weight[part] if weighted else None)
    amounts = weight if weighted else np.ones(size, int)
    assert listed(bins.cells()) == by_hand(values, side, groups, amounts, lattice, 40, sides)


def forms_of_bins(form, lattice, capacity, sides, weighted):
    """Counters whose groups are empty, listed, in an array, in a table, and mixed, with what they count."""
    rng = np.random.default_rng(8)
    few, many = rng.random(capacity), rng.random(40 * capacity)
    discrete, spread = rng.random(60 * capacity).round(3), 10.0 ** -rng.uniform(0, 300, 20 * capacity)
    for values in (np.empty(0), few, many, discrete, spread, np.append(many, np.zeros(9))):
        side = rng.integers(0, sides, len(values)).astype(np.uint8 if sides <= 2 else np.int64)
        rows = values, None if sides == 1 else side, np.zeros(len(values), np.int64), np.ones(len(values))
        bins = new(form, lattice, capacity, sides, weighted)
        add(bins, *rows[:3], rows[3] if weighted else None)
        yield bins, rows


@each_form(definition)
@pytest.mark.parametrize(("sides", "weighted"), [(1, False), (2, False), (2, True), (3, False)])
def test_every_form_absorbs_every_form(form, sides, weighted):
    lattice, capacity = Lattice("probability"), 64
    kinds = len(list(forms_of_bins(form, lattice, capacity, sides, weighted)))
    for i in range(kinds):
        for j in range(kinds):
            own, rows = list(forms_of_bins(form, lattice, capacity, sides, weighted))[i]
            more, others = list(forms_of_bins(form, lattice, capacity, sides, weighted))[j]
            before = listed(more.cells())
            own.absorb(more, np.arange(GROUPS), GROUPS)
            both = new(definition, lattice, capacity, sides, weighted)
            for values, side, groups, weight in (rows, others):
                add(both, values, side, groups, weight if weighted else None)
            assert listed(own.cells()) == listed(both.cells()), (i, j)
            assert listed(more.cells()) == before


@each_form(definition)
def test_groups_get_other_numbers(form):
    lattice = Lattice("probability")
    values, side, groups, _ = rows_of("uniform", 2_000, 3)
    one, other = new(form, lattice, 16), new(form, lattice, 16)
    add(one, values, side, groups)
    add(other, values, side, groups)
    numbers = np.array([4, 2, 0, 1, 3])
    one.absorb(other, numbers, GROUPS)
    expected = new(form, lattice, 16)
    add(expected, np.append(values, values), np.append(side, side), np.append(groups, numbers[groups]))
    assert listed(one.cells()) == listed(expected.cells())


@each_form(definition)
def test_counts_go_past_32_bits(form):
    lattice = Lattice("probability")
    for values in (np.array([0.1, 0.1, 0.7]), np.random.default_rng(2).random(5_000)):
        side = (np.arange(len(values)) % 2).astype(np.uint8)
        bins = new(form, lattice, 32)
        add(bins, values, side, np.zeros(len(values), np.int64))
        once = listed(bins.cells())
        for _ in range(40):
            bins.absorb(bins, np.arange(GROUPS), GROUPS)
        assert listed(bins.cells()) == [(*cell[:3], *(count << 40 for count in cell[3:])) for cell in once]


@each_form(definition)
def test_squares_of_weights_may_underflow(form):
    lattice = Lattice("probability")
    values = np.random.default_rng(4).random(3_000)
    bins = new(form, lattice, 64, 1, True)
    add(bins, values, None, np.zeros(3_000, np.int64), np.full(3_000, 1e-320) ** 2)
    counted = new(form, lattice, 64, 1)
    add(counted, values, None, np.zeros(3_000, np.int64))
    assert [cell[:3] for cell in listed(bins.cells())] == [cell[:3] for cell in listed(counted.cells())]


@each_form(definition)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("capacity", [8, 70, 10_000])
def test_cells_of_tables_merge_at_the_finest_shift_that_fits(form, kind, capacity):
    lattice = lattice_of(kind, (0.3,))
    values, side, groups, _ = rows_of(kind, 2_000, 6)
    parts = []
    for part in np.array_split(np.arange(2_000), 3):
        bins = new(definition, lattice, capacity)
        add(bins, values[part], side[part], groups[part])
        parts.append(bins.cells())
    group, shift, bin = (np.concatenate([part[i] for part in parts]) for i in range(3))
    neg, pos = (np.concatenate([part[3][i] for part in parts]) for i in range(2))
    order = np.argsort(group, kind="stable")
    group, shift, bin, neg, pos = (column[order] for column in (group, shift, bin, neg, pos))
    starts = np.append(np.flatnonzero(np.diff(group, prepend=-1)), len(group))
    least = np.maximum.reduceat(shift, starts[:-1])
    *found, shifts = form.fit(starts, bin << shift.astype(np.int64), least, [neg, pos], lattice.atom_keys, capacity)
    whole = new(definition, lattice, capacity)
    add(whole, values, side, groups)
    assert listed(found) == listed(whole.cells())
    assert form.is_fitted(*as_table(found), lattice.atom_keys, capacity + 64)
    assert not form.is_fitted(starts, bin, shift, lattice.atom_keys, capacity)
    for run, shift in enumerate(shifts.tolist()):
        assert shift >= max(own for of_run, own, *_ in listed(found) if of_run == run)


@each_form(definition)
@pytest.mark.parametrize("kind", KINDS)
def test_only_cells_that_merge_to_themselves_are_fitted(form, kind):
    lattice = lattice_of(kind, (0.3,))
    bins = new(definition, lattice, 100)
    add(bins, *rows_of(kind, 3_000, 9)[:3])
    starts, bin, shift = as_table(bins.cells())
    assert form.is_fitted(starts, bin, shift, lattice.atom_keys, 100)
    assert not form.is_fitted(starts, bin, shift, lattice.atom_keys, int(np.diff(starts).max()) - 1)
    for wrong in ({"bin": bin[::-1].copy()}, {"shift": shift + np.uint8(1)}, {"bin": np.repeat(bin[:1], len(bin))}):
        given = {"bin": bin, "shift": shift} | wrong
        amounts = [np.ones(len(bin), np.int64)]
        least = np.maximum.reduceat(given["shift"], starts[:-1])
        low = given["bin"] << given["shift"].astype(np.int64)
        *found, _ = definition.fit(starts, low, least, amounts, lattice.atom_keys, 100)
        same = found[2].tolist() == given["bin"].tolist() and found[1].tolist() == given["shift"].tolist()
        assert form.is_fitted(starts, given["bin"], given["shift"], lattice.atom_keys, 100) == same


@each_form(definition)
def test_no_rows_have_no_cells(form):
    bins = new(form, Lattice("real"), 8)
    bins.add(np.empty(0), np.empty(0, np.uint8), None, Runs(np.zeros(1, np.int64), np.empty(0, np.int64)), GROUPS)
    bins.add(np.empty(0), np.empty(0, np.uint8), None, Runs(np.zeros(2, np.int64), np.array([2])), GROUPS)
    assert listed(bins.cells()) == []
    none = np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8), [np.empty(0, np.int64)]
    *found, shifts = form.fit(*none, Lattice("real").atom_keys, 8)
    assert listed(found) == []
    assert len(shifts) == 0


@pytest.mark.skipif(compiled is None, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"values": np.zeros(3, np.float32)}, TypeError),
        ({"values": np.zeros(2)}, ValueError),
        ({"values": np.zeros((3, 1))}, TypeError),
        ({"values": np.zeros(6)[::2]}, TypeError),
        ({"label": np.array([0, 1, 2], np.uint8)}, ValueError),
        ({"label": None}, ValueError),
        ({"weight": np.ones(3)}, ValueError),
        ({"runs": Runs(np.array([0, 3]), np.array([5]))}, ValueError),
        ({"runs": Runs(np.array([0, 3]), np.array([-1]))}, ValueError),
        ({"runs": Runs(np.array([0, 4, 3]), np.array([0, 1]))}, ValueError),
        ({"runs": Runs(np.array([1, 3]), np.array([0]))}, ValueError),
        ({"runs": Runs(np.array([0, 3]), np.array([0, 1]))}, ValueError),
    ],
)
def test_wrong_columns_are_refused_before_anything_is_counted(changed, error):
    bins = new(compiled, Lattice("probability"), 8)
    given = {"values": np.array([0.1, 0.2, 0.3]), "label": np.array([0, 1, 1], np.uint8), "weight": None}
    given |= {"runs": Runs(np.array([0, 3]), np.array([0]))}
    with pytest.raises(error):
        bins.add(**given | changed, groups=GROUPS)
    assert listed(bins.cells()) == []
    bins.add(**given, groups=GROUPS)
    assert len(listed(bins.cells())) == 3


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer ends the process")
@pytest.mark.skipif(compiled is None, reason="nothing is compiled")
def test_memory_that_runs_out_is_a_memory_error():
    bins = new(compiled, Lattice("probability"), 8)
    values, side, runs = np.array([0.1]), np.zeros(1, np.uint8), Runs(np.array([0, 1]), np.array([0]))
    bins.add(values, side, None, runs, GROUPS)
    with pytest.raises(MemoryError):
        bins.add(values, side, None, runs, 1 << 50)
    bins.add(values, side, None, runs, GROUPS)
    assert [cell[3:] for cell in listed(bins.cells())] == [(2, 0)]


@pytest.mark.skipif(compiled is None, reason="nothing is compiled")
def test_histograms_of_another_kind_are_not_absorbed():
    own, lattice = new(compiled, Lattice("probability"), 8), Lattice("probability", (0.5,))
    others = [new(compiled, lattice, 8), new(compiled, Lattice("real"), 8), new(compiled, Lattice("probability"), 9)]
    others += [new(compiled, Lattice("probability"), 8, sides) for sides in (1, 3)]
    for other in others:
        with pytest.raises(ValueError, match="histograms must"):
            own.absorb(other, np.arange(GROUPS), GROUPS)
    filled = new(compiled, Lattice("probability"), 8)
    add(filled, *rows_of("uniform", 100, 1)[:3])
    for numbers in (np.arange(3), np.arange(GROUPS) + 1, np.arange(GROUPS) - 1):
        with pytest.raises(ValueError, match="group"):
            own.absorb(filled, numbers, GROUPS)

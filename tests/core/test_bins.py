"""Bins of groups: the definition against counts of whole keys, and what the compiled form must refuse or bear."""

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import forms

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
LATTICE = Lattice("probability")
ONE_RUN = Runs(np.array([0, 3]), np.array([0]))
needs_core = pytest.mark.skipif(compiled is None, reason="there are no compiled loops")


def new(form, lattice=LATTICE, capacity=8, sides=2, weighted=False):
    return form.Bins(capacity, lattice.domain == "probability", lattice.atom_keys, sides, weighted)


def add(bins, values, side, groups, weight=None):
    order = np.argsort(groups, kind="stable")
    values, side, weight = (None if column is None else column[order] for column in (values, side, weight))
    add = bins.add if side is None or side.dtype == np.uint8 else bins.add_classes
    add(values, side, weight, Runs.of(groups[order]), GROUPS)


def listed(cells):
    """Cells as plain numbers, to compare bit for bit."""
    group, shift, bin, sides = cells
    assert (group.dtype, shift.dtype, bin.dtype) == (np.uint32, np.uint8, np.int64)
    return list(zip(group.tolist(), shift.tolist(), bin.tolist(), *(side.tolist() for side in sides), strict=True))


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


class Case:
    """Rows of one kind, how they are counted, and the cells that they must give."""

    def __init__(self, kind, seed, size, capacity, atoms, sides, weighted):
        self.rng, self.size = np.random.default_rng(seed), size
        self.options = Lattice("real" if kind in REAL else "probability", atoms), capacity, sides, weighted
        self.values, self.groups = KINDS[kind](self.rng, size), self.rng.integers(0, GROUPS, size)
        self.side, self.weight = self.rng.integers(0, sides, size), np.ones(size, dtype=int)
        if weighted:
            self.weight = self.rng.integers(1, 1 << 20, size) / 1024  # whose sums are exact
        self.cells = by_hand(self.values, self.side, self.groups, self.weight, *self.options[:3])

    def counted(self, form, rows, bins=None, groups=None):
        """Count some of the rows, in other groups if so wanted."""
        *_, sides, weighted = self.options
        bins = new(form, *self.options) if bins is None else bins
        side = {1: None, 2: self.side[rows].astype(np.uint8)}.get(sides, self.side[rows])
        groups = self.groups if groups is None else groups
        add(bins, self.values[rows], side, groups[rows], self.weight[rows] if weighted else None)
        return bins


cases = st.builds(
    Case,
    kind=st.sampled_from([*KINDS]),
    seed=st.integers(0, 10**6),
    size=st.sampled_from([0, 1, 60, 1_500]),
    capacity=st.sampled_from([8, 40, 600]),
    atoms=st.sampled_from([(), (0.3,), (0.25, 0.3, 0.7)]),
    sides=st.sampled_from([1, 2, 5]),
    weighted=st.booleans(),
)


@settings(max_examples=40)
@given(cases)
def test_cells_are_those_of_all_values_however_rows_come(case):
    """In batches, and in counters that absorb one another under other numbers of groups."""
    numbers = case.rng.permutation(GROUPS)
    for form in (definition, *forms()):
        counters = [new(form, *case.options) for _ in range(3)]
        for i, rows in enumerate(np.array_split(case.rng.permutation(case.size), 7)):
            case.counted(form, rows, counters[i % 3], None if i % 3 else np.argsort(numbers)[case.groups])
        before = listed(counters[0].cells())
        counters[2].absorb(counters[1], np.arange(GROUPS), GROUPS)
        counters[2].absorb(counters[0], numbers, GROUPS)
        assert listed(counters[2].cells()) == case.cells
        assert listed(counters[0].cells()) == before


@settings(max_examples=40)
@given(cases)
def test_cells_of_tables_merge_to_those_of_all_rows(case):
    atoms, capacity = case.options[0].atom_keys, case.options[1]
    parts = [case.counted(definition, rows).cells() for rows in np.array_split(np.arange(case.size), 3)]
    group, shift, bin = (np.concatenate([part[i] for part in parts]) for i in range(3))
    order = np.argsort(group, kind="stable")
    group, shift, bin = group[order], shift[order], bin[order]
    amounts = [np.concatenate(sides)[order] for sides in zip(*(part[3] for part in parts), strict=True)]
    starts = np.append(np.flatnonzero(np.diff(group.astype(int), prepend=-1)), len(group))
    least = np.maximum.reduceat(shift, starts[:-1]) if len(group) else shift
    for form in (definition, *forms()):
        run, *cells, shifts = form.fit(starts, bin << shift.astype(int), least, amounts, atoms, capacity)
        assert listed((np.unique(group)[run], *cells)) == case.cells
        assert all(shifts[run] >= cells[0])
        assert len(group) == len(run) or not form.is_fitted(starts, bin, shift, atoms, capacity)


@pytest.mark.parametrize("side", [[2**62, 2**62], [2**63 - 1, 1], [-(2**63), -1], [2**63 - 1] * 3])
def test_counts_without_a_sum_are_an_error(side):
    """Also where their sum wraps around to a positive number."""
    counts = np.array(side)
    cells = np.array([0, len(side)]), np.zeros_like(counts), np.zeros(1, np.uint8)
    none = np.zeros(0, np.int64)
    for form in (definition, *forms()):
        with pytest.raises(ValueError, match="sum below 2"):
            form.fit(*cells, [np.ones_like(counts), counts], none, 8)
        *_, sums, _ = form.fit(*cells, [counts // 4], none, 8)
        assert sums[0].tolist() == [sum((counts // 4).tolist())]


@settings(max_examples=40)
@given(cases)
def test_only_cells_that_merge_to_themselves_are_fitted(case):
    atoms = case.options[0].atom_keys
    group, shift, bin, _ = case.counted(definition, np.arange(case.size)).cells()
    starts = np.append(np.flatnonzero(np.diff(group.astype(int), prepend=-1)), len(group))
    most = int(np.diff(starts).max(initial=1))
    coarser = np.minimum(shift + np.uint8(1), np.uint8(63))
    for form in (definition, *forms()):
        assert form.is_fitted(starts, bin, shift, atoms, most)
        assert most == 1 or not form.is_fitted(starts, bin, shift, atoms, most - 1)
        for wrong, own in ((bin[::-1].copy(), shift), (bin >> 1, coarser), (np.resize(bin[:1], len(bin)), shift)):
            least = np.maximum.reduceat(own, starts[:-1]) if len(own) else own
            _, same_shift, same_bin, *_ = definition.fit(starts, wrong << own.astype(int), least, [], atoms, most)
            same = np.array_equal(same_shift, own) and np.array_equal(same_bin, wrong)
            assert form.is_fitted(starts, wrong, own, atoms, most) == same


@pytest.mark.parametrize("rows", [5_000, 3])
def test_counts_go_past_32_bits(rows):
    values, side = np.random.default_rng(2).random(rows), (np.arange(rows) % 2).astype(np.uint8)
    for form in (definition, *forms()):
        bins = new(form, capacity=32)
        add(bins, values, side, np.zeros(rows, np.int64))
        once = listed(bins.cells())
        for _ in range(40):
            bins.absorb(bins, np.arange(GROUPS), GROUPS)
        assert listed(bins.cells()) == [(*cell[:3], *(count << 40 for count in cell[3:])) for cell in once]


def test_cells_of_weights_whose_squares_underflow_are_cells():
    values, group = np.random.default_rng(4).random(3_000), np.zeros(3_000, np.int64)
    for form in (definition, *forms()):
        bins, counted = new(form, LATTICE, 64, 1, True), new(form, LATTICE, 64, 1)
        add(bins, values, None, group, np.full(3_000, 1e-320) ** 2)
        add(counted, values, None, group)
        assert [cell[:3] for cell in listed(bins.cells())] == [cell[:3] for cell in listed(counted.cells())]


WRONG = {
    "single precision": {"values": np.zeros(3, np.float32)},
    "a row less": {"values": np.zeros(2)},
    "two dimensions": {"values": np.zeros((3, 1))},
    "every other value": {"values": np.zeros(6)[::2]},
    "a label of 2": {"label": np.array([0, 1, 2], np.uint8)},
    "no label": {"label": None},
    "a weight": {"weight": np.ones(3)},
    "no such group": {"runs": ONE_RUN._replace(groups=np.array([GROUPS]))},
    "a negative group": {"runs": ONE_RUN._replace(groups=np.array([-1]))},
    "runs backward": {"runs": Runs(np.array([0, 4, 3]), np.array([0, 1]))},
    "runs from the second row": {"runs": Runs(np.array([1, 3]), np.array([0]))},
    "more groups than runs": {"runs": ONE_RUN._replace(groups=np.array([0, 1]))},
}


def test_wrong_columns_are_refused_before_anything_is_counted():
    right = {"values": np.array([0.1, 0.2, 0.3]), "label": np.array([0, 1, 1], np.uint8), "weight": None}
    right |= {"runs": ONE_RUN, "groups": GROUPS}
    for form in forms():
        bins = new(form)
        for what, wrong in WRONG.items():
            with pytest.raises((TypeError, ValueError)):
                print(what, bins.add(**right | wrong))
        assert listed(bins.cells()) == []
        bins.add(**right)
        assert len(listed(bins.cells())) == 3


@needs_core
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer ends the process")
def test_memory_that_runs_out_is_a_memory_error():
    bins, rows = new(compiled), (np.full(3, 0.1), np.zeros(3, np.uint8), None, ONE_RUN)
    bins.add(*rows, GROUPS)
    with pytest.raises(MemoryError):
        bins.add(*rows, 1 << 50)
    bins.add(*rows, GROUPS)
    assert [cell[3:] for cell in listed(bins.cells())] == [(6, 0)]


@needs_core
def test_histograms_of_another_kind_and_unknown_groups_are_not_absorbed():
    own, filled = new(compiled), new(compiled)
    others = [new(compiled, Lattice("probability", (0.5,))), new(compiled, Lattice("real")), new(compiled, capacity=9)]
    others += [new(compiled, sides=1), new(compiled, sides=3)]
    for other in others:
        with pytest.raises(ValueError, match="histograms must"):
            own.absorb(other, np.arange(GROUPS), GROUPS)
    add(filled, np.linspace(0, 1, GROUPS), np.zeros(GROUPS, np.uint8), np.arange(GROUPS))
    for numbers in (np.arange(3), np.arange(GROUPS) + 1, np.arange(GROUPS) - 1):
        with pytest.raises(ValueError, match="group"):
            own.absorb(filled, numbers, GROUPS)

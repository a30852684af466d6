"""Bins, compiled: the functions of ``bins.py``."""

from __future__ import annotations

import numpy as np

from streammetrics.kernels.bins import EMPTY, FACTOR, LEVELS, MIX, NEAR, NEW, STEP_BITS, WIDE, HashTables, Integers
from streammetrics.kernels.compiled import _key, exact, fold_of
from streammetrics.kernels.lattice import MAX_SHIFT, Keys, Lattice
from streammetrics.kernels.numpy import Codes, Counts, Floats, Labels, Runs

AT_ONCE = 512  # rows whose bins are computed before they are looked up


def find_bins(low: Keys, runs: Runs, least: Integers, lattice: Lattice, capacity: int) -> tuple[Codes, Integers]:
    """4 ns."""
    first, shifts = np.empty(len(low), dtype=np.intp), least.copy()
    return first[: _find_bins(low, runs.starts, lattice.atom_keys, capacity, first, shifts)], shifts


@exact
def _find_bins(low, starts, atoms, capacity, first, shifts):
    levels, merging, found = np.empty(len(low), np.uint8), np.empty(NEW + 1, np.int64), 0
    for run in range(len(shifts)):
        start, end = starts[run], starts[run + 1]
        _find_levels(low[start:end], atoms, levels[start:end])
        merging[:] = 0
        for cell in range(start, end):
            merging[levels[cell]] += 1
        left, shift = end - start - merging[: shifts[run] + 1].sum(), shifts[run]
        while left > capacity and shift < MAX_SHIFT:
            shift += 1
            left -= merging[shift]
        for cell in range(start, end):
            first[found] = cell
            found += levels[cell] > shift
        shifts[run] = shift
    return found


@exact
def _find_levels(low, atoms, levels):
    levels[0] = NEW
    for cell in range(1, len(low)):
        bits = low[cell] ^ low[cell - 1]
        top = np.float64(bits & ~(bits >> 1)).view(np.int64)  # keeps the float from rounding up
        level = min((top >> 52) - 1022 if bits > 0 else 0, MAX_SHIFT)
        near = False
        for i in range(len(atoms)):
            near |= (low[cell] ^ atoms[i]) >> level == 0
        levels[cell] = MAX_SHIFT + 1 if bits < 0 or (near and level > 0) else level


def count_bins(
    values: Floats, label: Labels | None, weight: Floats | None, runs: Runs, lattice: Lattice, tables: HashTables
) -> Codes:
    """3 ns."""
    missed = np.empty(len(values), dtype=np.intp)
    return missed[: _count_bins(values, label, weight, runs, fold_of(lattice), lattice.atom_keys, tables, missed)]


@exact
def _bit_length(key):
    """Number of bits up to the highest set bit of a key, read as unsigned."""
    if key < 0:
        return 64
    length = 0
    for bits in (32, 16, 8, 4, 2, 1):
        if key >> bits:
            key >>= bits
            length += bits
    return length + (key > 0)


@exact
def _identify(key, shift, atoms):
    id = key >> shift
    near = False
    for atom in atoms:
        near |= id == atom >> shift
    if shift == 0 or not near:
        return id
    closest, level = 0, 65
    for i in range(len(atoms)):
        bits = _bit_length(key ^ atoms[i])
        if bits < level:
            closest, level = i, bits
    return NEAR + LEVELS * closest + level


@exact
def _home(id, bits):
    far = np.uint64(id >> bits >> WIDE) * MIX >> np.uint64(64 - bits)
    return (np.uint64(id) + far) & np.uint64((1 << bits) - 1)


@exact
def _next(place, id):
    return place * FACTOR + ((np.uint64(id) * MIX >> STEP_BITS) | np.uint64(1))


@exact
def _find(id, ids, first, bits):
    """The slot of a bin, or the free slot for it."""
    last, place = np.uint64((1 << bits) - 1), _home(id, bits)
    while ids[first + place] != id and ids[first + place] != EMPTY:
        place = _next(place, id) & last
    return first + place


@exact
def place_bins(ids: Integers, groups: Codes, counts: Counts, tables: HashTables) -> None:
    """20 ns."""
    for i in range(len(ids)):
        group = groups[i]
        slot = _find(ids[i], tables.ids, np.uint64(tables.offsets[group]), tables.bits[group])
        tables.ids[slot] = ids[i]
        for side in range(counts.shape[1]):
            tables.counts[slot, side] = counts[i, side]


@exact
def _count_bins(values, label, weight, runs, fold, atoms, tables, missed):
    left, held, counts, ids = 0, tables.ids, tables.counts, np.empty(AT_ONCE, np.int64)
    for run in range(len(runs.groups)):
        group, end = runs.groups[run], runs.starts[run + 1]
        shift, bits, first = tables.shifts[group], tables.bits[group], np.uint64(tables.offsets[group])
        for start in range(runs.starts[run], end, AT_ONCE):
            stop = min(start + AT_ONCE, end)
            if not first:
                for row in range(start, stop):
                    missed[left] = row
                    left += 1
                continue
            for i in range(stop - start):
                ids[np.uint64(i)] = _key(values[np.uint64(start + i)], fold) >> shift
            for row in range(start, stop):
                id = ids[np.uint64(row - start)]
                slot = first + _home(id, bits)
                if held[slot] != id:
                    slot = _find(id, held, first, bits)
                    if held[slot] != id and shift:
                        id = _identify(_key(values[np.uint64(row)], fold), shift, atoms)
                        slot = _find(id, held, first, bits)
                    if held[slot] != id:
                        missed[left] = row
                        left += 1
                        continue
                side = np.uint64(0) if label is None else np.uint64(label[np.uint64(row)])
                counts[slot, side] += 1 if weight is None else weight[np.uint64(row)]
    return left

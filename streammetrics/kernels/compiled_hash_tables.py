"""Hash tables of bins, compiled: the functions of ``hash_tables.py``.

Docstrings of public functions only state the CPU time per row or bin. For a description, see the numpy function of the
same name.
"""

from __future__ import annotations

import numpy as np

from streammetrics.kernels.compiled import _key, exact, fold_of
from streammetrics.kernels.hash_tables import EMPTY, FACTOR, LEVELS, MIX, NEAR, STEP_BITS, WIDE, HashTables
from streammetrics.kernels.lattice import Lattice
from streammetrics.kernels.numpy import Codes, Floats, Labels, Runs

AT_ONCE = 512  # rows whose bins are computed before they are looked up


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
def place_bins(ids, groups, counts, tables):
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

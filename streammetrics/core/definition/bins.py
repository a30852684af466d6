"""Bins: the finest resolution at which those of a group fit its capacity, and hash tables that count them.

There is one hash table per group, stored one after the other in the same arrays.

The hash function maps neighboring bins to neighboring slots, both for distant bins (single values) and for dense bins
(a coarse histogram). If a slot is occupied, the next slot to try depends on the bin.

Each bin has an *id*, its number at the shift of the group. Bins near an atom are finer than this shift. Their id is
`NEAR` plus the number of the atom and the bit length of the difference between bin and atom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import Codes, Counts, Floats, Labels, Runs
from streammetrics.core.lattice import MAX_SHIFT, Keys, Lattice, bit_length

Integers = NDArray[np.int64]
Slots = NDArray[np.intp]

NEW = MAX_SHIFT + 2  # above all levels, for the first cell of a run
NO_TABLE = 2  # empty slots at the beginning, the table of all groups without a table
EMPTY = np.int64(np.iinfo(np.int64).min)
NEAR = np.int64(1 << 62)
LEVELS = 64  # number of possible bit lengths
MIX = np.uint64(0x9E3779B97F4A7C15)
STEP_BITS = np.uint64(40)
WIDE = 4  # ids that agree in all bits above bits + WIDE keep their distance as slots
FACTOR = np.uint64(5)  # a multiple of four plus one, so that the sequence visits all slots before it repeats
PROBED = 16_384  # rows per lookup


def find_bins(low: Keys, runs: Runs, least: Integers, lattice: Lattice, capacity: int) -> tuple[Codes, Integers]:
    """The first cell of each bin, and the smallest shift of each run at which its bins fit the capacity; 30 ns.

    A run contains the lowest keys of the cells of a group in ascending order. Its shift is at least ``least``, the
    largest shift of its cells. At shift s, it has one bin plus one for each pair of neighbors that merge only above s.
    """
    sizes = np.diff(runs.starts)
    levels = np.append(NEW, lattice.merge_levels(low))
    levels[runs.starts[:-1]] = NEW
    shifts, full = least.copy(), np.flatnonzero(sizes > capacity)
    if len(full):
        place = np.full(len(sizes), len(full))
        place[full] = np.arange(len(full))
        cells = np.repeat(place * (NEW + 1), sizes)
        cells += levels
        merging = np.bincount(cells, minlength=(len(full) + 1) * (NEW + 1)).reshape(-1, NEW + 1)[: len(full)]
        left = sizes[full, np.newaxis] - np.cumsum(merging, axis=1)  # number of bins at each shift
        shifts[full] = np.minimum(np.maximum(shifts[full], np.argmax(left <= capacity, axis=1)), MAX_SHIFT)
    return np.flatnonzero(levels > np.repeat(shifts, sizes)), shifts


def sum_bins(values: NDArray[np.integer], first: Codes) -> Integers:
    """Sums of integers from each index in ``first`` to the next, exclusive; 3 ns."""
    before = np.append(0, np.cumsum(values, dtype=np.int64))  # exact for integers, and faster than many short sums
    return np.diff(before[first], append=before[-1])


class HashTables(NamedTuple):
    """Hash tables of bins.

    The table of group g has ``2 ** bits[g]`` slots, starting at ``offsets[g]``, for bins at shift ``shifts[g]``. Each
    slot has the id of a bin and its counts. Counts have the shape (slots, sides), and are floats if rows have weights.
    """

    ids: Integers
    counts: Counts
    shifts: Integers
    offsets: Integers
    bits: Integers


def identify(keys: Keys, shifts: Integers, lattice: Lattice) -> Integers:
    """Ids of the bins of keys."""
    ids = keys >> shifts
    near = np.flatnonzero(lattice.span_atoms(ids, shifts))
    if len(near):
        levels = bit_length(keys[near, np.newaxis] ^ lattice.atom_keys)
        atom = np.argmin(levels, axis=1)
        ids[near] = NEAR + LEVELS * atom + np.take_along_axis(levels, atom[:, np.newaxis], axis=1)[:, 0]
    return ids


def lowest_keys(ids: Integers, shifts: Integers, lattice: Lattice) -> tuple[Keys, Integers]:
    """The lowest keys of bins and their shifts, which are smaller than the shift of their group near an atom."""
    low, own = ids << shifts, shifts.copy()
    near = np.flatnonzero((shifts > 0) & (ids >= NEAR))
    if len(near):
        place = ids[near] - NEAR
        atom, level = lattice.atom_keys[place // LEVELS], place % LEVELS
        own[near] = np.maximum(level - 1, 0)
        low[near] = ((atom >> own[near]) ^ (level > 0)) << own[near]
    return low, own


def place_bins(ids: Integers, groups: Codes, counts: Counts, tables: HashTables) -> None:
    """Insert new bins into their tables, which must have free slots; 0.5 µs per bin. First bins are found fastest."""
    left = np.arange(len(ids))[::-1]
    while len(left):
        slots = find(groups[left], ids[left], tables)
        tables.ids[slots] = ids[left]  # if several bins get the same slot, the last one wins and the others try again
        won = tables.ids[slots] == ids[left]
        tables.counts[slots[won]] = counts[left[won]]
        left = left[~won]


def find(groups: Codes, ids: Integers, tables: HashTables) -> Slots:
    """The slot of each bin, or the free slot for it."""
    bits, offsets = tables.bits[groups], tables.offsets[groups]
    place = home(ids, bits)
    slots: Slots = offsets + place.view(np.int64)
    held = tables.ids[slots]
    left = np.flatnonzero((held != ids) & (held != EMPTY))
    last = last_slot(bits)
    while len(left):
        place[left] = following(place[left], ids[left]) & last[left]
        slots[left] = offsets[left] + place[left].view(np.int64)
        held = tables.ids[slots[left]]
        left = left[(held != ids[left]) & (held != EMPTY)]
    return slots


def home(ids: Integers, bits: Integers) -> NDArray[np.uint64]:
    """The first slot to try for a bin. Adjacent bins have adjacent first slots."""
    far = (ids >> bits >> WIDE).view(np.uint64)
    far *= MIX
    far >>= np.uint64(64) - bits.view(np.uint64)
    far += ids.view(np.uint64)
    far &= last_slot(bits)
    return far


def last_slot(bits: Integers) -> NDArray[np.uint64]:
    """The last slot of a table, which is also the bit mask of its slots."""
    last: NDArray[np.uint64] = (np.uint64(1) << bits.view(np.uint64)) - np.uint64(1)
    return last


def following(places: NDArray[np.uint64], ids: Integers) -> NDArray[np.uint64]:
    """The next slots to try. The sequence visits all slots and avoids adjacent slots, which are often occupied too."""
    return places * FACTOR + (ids.view(np.uint64) * MIX >> STEP_BITS | np.uint64(1))


def count_bins(
    values: Floats, label: Labels | None, weight: Floats | None, runs: Runs, lattice: Lattice, tables: HashTables
) -> Codes:
    """Count rows whose bins have a slot, and return the rows whose bins have none; 20 ns."""
    if not tables.offsets[runs.groups].any():
        return np.arange(len(values))
    sides = tables.counts.shape[1]
    counts, missed = tables.counts.reshape(-1), [np.empty(0, dtype=np.intp)]
    for block, groups in runs.blocks(PROBED):
        bits, shifts, offsets = (of[groups] for of in (tables.bits, tables.shifts, tables.offsets))
        ids = lattice.keys(values[block])
        ids >>= shifts
        slots: Slots = home(ids, bits).view(np.int64)
        slots += offsets
        elsewhere = np.flatnonzero(tables.ids[slots] != ids)
        slots[elsewhere] = 0  # counts of this slot are never read
        slots *= sides
        if label is not None:
            slots += label[block]
        np.add.at(counts, slots, 1 if weight is None else weight[block])
        missed.append(block.start + elsewhere)
    rows: Codes = np.concatenate(missed)
    group = runs.codes_of(rows)
    ids = identify(lattice.keys(values[rows]), tables.shifts[group], lattice)
    slots = find(group, ids, tables)
    known = tables.ids[slots] == ids
    slots = slots[known] * sides
    if label is not None:
        slots += label[rows[known]]
    np.add.at(counts, slots, 1 if weight is None else weight[rows[known]])
    new: Codes = rows[~known]
    return new

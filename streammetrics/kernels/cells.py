"""Bins of many groups in hash tables, one for each group, side by side in one array.

The slot of a bin follows from its number so that neighbours lie side by side, whether bins are far apart (values) or
dense (a coarse histogram). A slot that is taken sends each bin on to another one.

A bin has an *id*: its number at the shift of the group. Near an atom, where bins are finer than that, it is `NEAR` plus
which atom, and how many bits tell the bin from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streammetrics.kernels.lattice import Keys, Lattice, bit_length
from streammetrics.kernels.numpy import Codes, Floats, Labels, Runs

Integers = NDArray[np.int64]
Slots = NDArray[np.intp]

FULL = 0.6  # share of the slots of a table that are taken at most
NO_TABLE = 2  # slots at the beginning that stay empty: the table of a group that has none
EMPTY = np.int64(np.iinfo(np.int64).min)
NEAR = np.int64(1 << 62)
LEVELS = 64  # of bits between a bin and an atom
MIX = np.uint64(0x9E3779B97F4A7C15)
STEP_BITS = np.uint64(40)
WIDE = 4  # bits more than a table has, of bins that lie as far apart as their slots, if not beyond the end
FACTOR = np.uint64(5)  # one more than a multiple of four, so that slots come again only when all have been tried
PROBED = 16_384  # rows that are looked up at once
MISSED = 4  # times the capacity of all groups, the rows of new bins after which these are added first
LONG = 64  # rows of a group, from which on groups are sorted one by one


class Cells(NamedTuple):
    """Tables of bins.

    ``content`` has a row for each slot: the id of a bin, and its counts, which are floats if ``weighted``. The table of
    group g has ``2 ** bits[g]`` slots from ``offsets[g]`` on; ``used[g]`` of them hold bins at shift ``shifts[g]``.
    Slots from ``end[0]`` on are free, and so are tables that groups have grown out of: ``free`` has for each number of
    bits the offset of one of them, or 0, and its first slot that of the next, in place of a count.
    """

    content: Integers
    shifts: Integers
    offsets: Integers
    bits: Integers
    used: Integers
    free: Integers
    end: Integers
    weighted: bool

    @property
    def ids(self) -> Integers:
        """The ids of all slots."""
        ids: Integers = self.content[:, 0]
        return ids

    @property
    def values(self) -> NDArray[np.int64 | np.float64]:
        """The counts of all slots: shape (slots, sides)."""
        return self.content[:, 1:].view(np.float64) if self.weighted else self.content[:, 1:]


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
    """The lowest keys of bins, and the shifts that they have near an atom or else in their group.

    >>> lattice, keys, shifts = Lattice("probability"), np.array([0, 5, 2**60]), np.array([40, 40, 40])
    >>> lowest_keys(identify(keys, shifts, lattice), shifts, lattice)[0].tolist() == [0, 4, 2**60]
    True
    """
    low, own = ids << shifts, shifts.copy()
    near = np.flatnonzero((shifts > 0) & (ids >= NEAR))
    if len(near):
        place = ids[near] - NEAR
        atom, level = lattice.atom_keys[place // LEVELS], place % LEVELS
        own[near] = np.maximum(level - 1, 0)
        low[near] = ((atom >> own[near]) ^ (level > 0)) << own[near]
    return low, own


def find(groups: Codes, ids: Integers, cells: Cells) -> Slots:
    """Where each bin is, or the free slot where it would go."""
    bits, offsets = cells.bits[groups], cells.offsets[groups]
    place = home(ids, bits)
    slots: Slots = offsets + place.view(np.int64)
    held = cells.ids[slots]
    left = np.flatnonzero((held != ids) & (held != EMPTY))
    last = last_slot(bits)
    while len(left):
        place[left] = following(place[left], ids[left]) & last[left]
        slots[left] = offsets[left] + place[left].view(np.int64)
        held = cells.ids[slots[left]]
        left = left[(held != ids[left]) & (held != EMPTY)]
    return slots


def home(ids: Integers, bits: Integers) -> NDArray[np.uint64]:
    """The slot where a bin is looked for first: neighbours go side by side, those far away elsewhere."""
    far = (ids >> bits >> WIDE).view(np.uint64)
    far *= MIX
    far >>= np.uint64(64) - bits.view(np.uint64)
    far += ids.view(np.uint64)
    far &= last_slot(bits)
    return far


def last_slot(bits: Integers) -> NDArray[np.uint64]:
    """The last slot of a table, which is also the mask of its slots."""
    last: NDArray[np.uint64] = (np.uint64(1) << bits.view(np.uint64)) - np.uint64(1)
    return last


def following(places: NDArray[np.uint64], ids: Integers) -> NDArray[np.uint64]:
    """The slots to try after others: all of a table in turns, and seldom neighbours, which tend to be taken too."""
    return places * FACTOR + (ids.view(np.uint64) * MIX >> STEP_BITS | np.uint64(1))


class Found(NamedTuple):
    """Bins of some rows, each once: the group and the id, and what is to be added to the count of a side."""

    side: int
    groups: Codes
    ids: Integers
    amounts: NDArray[np.int64 | np.float64]


def count_bins(
    values: Floats,
    label: Labels | None,
    weight: Floats | None,
    runs: Runs,
    lattice: Lattice,
    capacity: int,
    cells: Cells,
    begin: int,
) -> tuple[int, Iterator[Found]]:
    """Count rows in their bins, from row ``begin`` on; 25 ns.

    Returns:
        The row to go on with, once there is more memory and new bins are added, and these, each side to be added before
        the next is taken. The compiled twin adds them itself.
    """
    content, width = cells.content.reshape(-1), cells.content.shape[1]
    counts = content.view(np.float64) if cells.weighted else content
    missed, end, most = [np.empty(0, dtype=np.intp)], begin, max(PROBED, MISSED * capacity * len(runs.groups))
    for block, groups in runs.blocks(PROBED, begin):
        bits, shifts, offsets = (of[groups] for of in (cells.bits, cells.shifts, cells.offsets))
        ids = lattice.keys(values[block])
        ids >>= shifts
        slots: Slots = home(ids, bits).view(np.int64)
        slots += offsets
        slots *= width
        elsewhere = np.flatnonzero(content[slots] != ids)
        slots[elsewhere] = 0  # where nobody reads
        slots += 1 if label is None else label[block] + np.intp(1)
        np.add.at(counts, slots, 1 if weight is None else weight[block])
        missed.append(block.start + elsewhere)
        end = block.stop
        if sum(map(len, missed)) > most:
            break
    rows = np.concatenate(missed)
    group = np.broadcast_to(runs.groups if len(runs.groups) == 1 else runs.codes()[rows], rows.shape)
    ids = identify(lattice.keys(values[rows]), cells.shifts[group], lattice)
    slots = find(group, ids, cells)
    known = cells.ids[slots] == ids
    slots, new = slots[known] * width, ~known
    slots += 1 if label is None else label[rows[known]] + np.intp(1)
    np.add.at(counts, slots, 1 if weight is None else weight[rows[known]])
    return end, _found(values, label, weight, lattice, cells, rows[new], group[new])


def _found(
    values: Floats,
    label: Labels | None,
    weight: Floats | None,
    lattice: Lattice,
    cells: Cells,
    rows: Codes,
    group: Codes,
) -> Iterator[Found]:
    """The bins of some rows: sorted, and counted where one follows another."""
    for side in range(1 if label is None else 2):
        of_side = slice(None) if label is None else label[rows] == side
        own, groups = rows[of_side], group[of_side]
        ids = identify(lattice.keys(values[own]), cells.shifts[groups], lattice)
        changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
        if weight is None and len(changes) < len(ids) // LONG and (groups[1:] >= groups[:-1]).all():
            for start, end in pairwise([0, *changes.tolist(), len(ids)]):
                ids[start:end].sort()  # much faster than to find the order
        else:
            order = np.argsort(ids)
            order = order[np.argsort(groups[order], kind="stable")]
            ids, groups = ids[order], groups[order]
        first = np.flatnonzero((np.diff(ids, prepend=EMPTY) != 0) | (np.diff(groups, prepend=-1) != 0))
        if weight is None:
            amounts = np.diff(first, append=len(ids))
        else:
            amounts = np.add.reduceat(weight[own][order], first) if len(first) else np.zeros(0)
        yield Found(side, groups[first], ids[first], amounts)

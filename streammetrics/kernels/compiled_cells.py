"""Counting rows in hash tables of bins, compiled: what cells.py defines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streammetrics.kernels.cells import EMPTY, FACTOR, FULL, LEVELS, MIX, NEAR, STEP_BITS, WIDE, Cells, Found
from streammetrics.kernels.compiled import _key, exact, fold_of
from streammetrics.kernels.lattice import MAX_SHIFT, Lattice
from streammetrics.kernels.numpy import Floats, Labels, Runs

AT_ONCE = 512  # rows whose bins are computed before they are looked up
AHEAD = 4  # times the capacity, the rows that are looked at ahead
DIGIT = 8  # bits that keys are sorted by at a time
LAST_DIGIT = (1 << DIGIT) - 1
FEWEST_BITS = 4  # of the number of slots of a first table


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
    """4 ns, and 50 ns for a bin that is new; all bins are added."""
    counts = cells.content.view(np.float64 if cells.weighted else np.int64)
    row = _count_bins(values, label, weight, runs, fold_of(lattice), lattice.atom_keys, capacity, cells, counts, begin)
    return row, iter(())


@exact
def _bit_length(key):
    """Bits of a key that is not negative, or of any key as if it were unsigned."""
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
def _find(id, content, offset, bits):
    """The slot of a bin, or the free one where it would go."""
    first, last, place = np.uint64(offset), np.uint64((1 << bits) - 1), _home(id, bits)
    while content[first + place, 0] != id and content[first + place, 0] != EMPTY:
        place = _next(place, id) & last
    return first + place


@exact
def _lowest(id, shift, atoms):
    """The lowest key of a bin."""
    if shift == 0 or id < NEAR:
        return id << shift
    atom, level = atoms[(id - NEAR) // LEVELS], (id - NEAR) % LEVELS
    own = max(level - 1, 0)
    return ((atom >> own) ^ (1 if level else 0)) << own


@exact
def _merge_level(one, other, atoms):
    """The lowest shift at which two keys in order share a bin, 64 if none does."""
    level = _bit_length(one ^ other)
    shared = min(level, MAX_SHIFT)
    for atom in atoms:
        if shared and other >> shared == atom >> shared:
            return 64
    return level


@exact
def _sorted(keys):
    """Keys in the order of their bits, negative ones last: a radix sort, several times as fast as to compare them."""
    other = np.empty_like(keys)
    for shift in range(0, 64, DIGIT):
        places = np.zeros((1 << DIGIT) + 1, np.int64)
        for key in keys:
            places[((key >> shift) & LAST_DIGIT) + 1] += 1
        if places.max() == len(keys):  # all have the same digit
            continue
        for digit in range(LAST_DIGIT):
            places[digit + 1] += places[digit]
        for key in keys:
            digit = (key >> shift) & LAST_DIGIT
            other[places[digit]] = key
            places[digit] += 1
        keys, other = other, keys
    return keys


@exact
def _fitting_shift(lows, shift, capacity, atoms):
    """The smallest shift at which no more bins than ``capacity`` are left."""
    lows = _sorted(lows)
    merging = np.zeros(66, np.int64)
    for i in range(1, len(lows)):
        merging[_merge_level(lows[i - 1], lows[i], atoms)] += 1
    left = len(lows)
    for level in range(MAX_SHIFT + 1):
        left -= merging[level]
        if left <= capacity:
            return max(level, shift)
    return MAX_SHIFT


@exact
def _new_table(bits, cells):
    """The offset of an empty table, 0 if there is no room."""
    size, offset = 1 << bits, cells.free[bits]
    if offset:
        cells.free[bits] = cells.content[offset, 1]
    elif cells.end[0] + size <= len(cells.content):
        offset = cells.end[0]
        cells.end[0] += size
    else:
        return 0
    cells.content[offset : offset + size, 0] = EMPTY
    return offset


@exact
def _rebuild(group, shift, bits, atoms, cells, counts):
    """Move the bins of a group to a table of another size or shift. Whether there is room for it."""
    offset = _new_table(bits, cells)
    if not offset:
        return False
    old_shift, old, slots = cells.shifts[group], cells.offsets[group], 1 << cells.bits[group]
    used = 0
    if old:
        for slot in range(old, old + slots):
            id = cells.content[slot, 0]
            if id != EMPTY:
                if shift != old_shift:
                    id = _identify(_lowest(id, old_shift, atoms), shift, atoms)
                place = _find(id, cells.content, offset, bits)
                if cells.content[place, 0] == EMPTY:
                    cells.content[place, 0] = id
                    used += 1
                    for side in range(1, counts.shape[1]):
                        counts[place, side] = 0
                for side in range(1, counts.shape[1]):
                    counts[place, side] += counts[slot, side]
        cells.content[old, 1] = cells.free[cells.bits[group]]
        cells.free[cells.bits[group]] = old
    cells.offsets[group], cells.bits[group], cells.shifts[group], cells.used[group] = offset, bits, shift, used
    return True


@exact
def _make_room(group, most_bits, capacity, atoms, cells, counts, values, fold, row, end):
    """A table of a group with room for one more bin: larger, or at a higher shift. Whether there is memory for it.

    The shift is that which fits the rows from ``row`` up to ``end`` as well, or many of them, so that it rises seldom.
    """
    bits, shift = cells.bits[group], cells.shifts[group]
    if not cells.offsets[group]:
        fewest = min(max(_bit_length(end - row), FEWEST_BITS), most_bits)
        return _rebuild(group, shift, fewest, atoms, cells, counts)
    if bits < most_bits:
        return _rebuild(group, shift, bits + 1, atoms, cells, counts)
    more = min(end - row, AHEAD * capacity)
    lows, found = np.empty(cells.used[group] + more, np.int64), 0
    for slot in range(cells.offsets[group], cells.offsets[group] + (1 << bits)):
        if cells.content[slot, 0] != EMPTY:
            lows[found] = _lowest(cells.content[slot, 0], shift, atoms)
            found += 1
    for i in range(row, row + more):
        lows[found] = _key(values[i], fold)
        found += 1
    fitting = _fitting_shift(lows, shift, capacity, atoms)
    if fitting == shift:  # bins near atoms, which are fewer at no shift
        bits += 1
    return _rebuild(group, fitting, bits, atoms, cells, counts)


@exact
def _count_bins(values, label, weight, runs, fold, atoms, capacity, cells, counts, begin):
    row, content, one = begin, cells.content, np.uint64(1)
    most_bits, ids = _bit_length(2 * capacity - 1), np.empty(AT_ONCE, np.int64)
    for run in range(np.searchsorted(runs.starts, begin, side="right") - 1, len(runs.groups)):
        group, end = runs.groups[run], runs.starts[run + 1]
        while row < end:
            shift, bits, offset = cells.shifts[group], cells.bits[group], cells.offsets[group]
            first, last = np.uint64(offset), np.uint64((1 << bits) - 1)
            start, stop = row, min(row + AT_ONCE, end)
            for i in range(stop - start):
                ids[np.uint64(i)] = _key(values[np.uint64(start + i)], fold) >> shift
            while row < stop:
                known = True
                while row < stop:
                    id = ids[np.uint64(row - start)]
                    place = _home(id, bits)
                    while content[first + place, 0] != id:
                        if content[first + place, 0] == EMPTY:
                            known = False
                            break
                        place = _next(place, id) & last
                    if not known:
                        break
                    of_label = one if label is None else one + np.uint64(label[np.uint64(row)])
                    counts[first + place, of_label] += 1 if weight is None else weight[np.uint64(row)]
                    row += 1
                if known:
                    break
                id = _identify(_key(values[row], fold), shift, atoms)
                slot = _find(id, content, offset, bits)
                if content[slot, 0] == EMPTY:
                    if not offset or cells.used[group] + 1 > FULL * (1 << bits):
                        if not _make_room(group, most_bits, capacity, atoms, cells, counts, values, fold, row, end):
                            return row
                        break
                    content[slot, 0] = id
                    for side in range(1, counts.shape[1]):
                        counts[slot, side] = 0
                    cells.used[group] += 1
                counts[slot, 1 if label is None else 1 + label[row]] += 1 if weight is None else weight[row]
                row += 1
    return row

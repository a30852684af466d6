"""Bins of a histogram, counted group by group at a resolution that fits the capacity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.counting.counter import Counter
from streammetrics.counting.fitting import add_up, fitting_shifts
from streammetrics.kernels import Codes
from streammetrics.kernels.cells import EMPTY, FULL, NO_TABLE, Cells, Found, find, identify, lowest_keys
from streammetrics.kernels.lattice import Keys, Lattice
from streammetrics.rows.arrays import Rows

ROOMY = 0.45  # share of the slots of a new table that are taken at most

Integers = NDArray[np.int64]
Values = NDArray[Any]
Read = Callable[[Rows], tuple[NDArray[np.float64], NDArray[np.uint8] | None]]


@dataclass
class Bins(Counter):
    """Rows, or their weight, by group and bin, and by label if ``read`` gives one.

    Each group has a hash table of its bins (see `streammetrics.kernels.cells`) at its shift, which rises when the table
    is full: to the smallest at which the bins fit the capacity, never higher. So what is left when the table is merged
    does not depend on the order of the rows.
    """

    read: Read
    lattice: Lattice
    capacity: int
    sides: int
    weighted: bool
    cells: Cells = field(init=False)

    def __post_init__(self) -> None:
        none, free = np.zeros(0, dtype=np.int64), np.zeros(64, dtype=np.int64)
        content = np.full((NO_TABLE, 1 + self.sides), EMPTY)
        self.cells = Cells(content, none, none, none, none, free, np.array([NO_TABLE]), self.weighted)

    @property
    def most_bits(self) -> int:
        """Of the number of slots of a table, unless bins near atoms are very many."""
        return (2 * self.capacity - 1).bit_length()

    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows."""
        self._know(groups)
        values, label = self.read(rows)
        row = 0
        while row < rows.size:
            row, bins = kernels.count_bins(
                values, label, rows.weight, rows.runs, self.lattice, self.capacity, self.cells, row
            )
            for found in bins:
                self._add(found)
            if row < rows.size:
                self._extend(2 << max(self.most_bits, int(self.cells.bits.max())))

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Count the rows of another."""
        self._know(groups)
        group, low, _, values = other._content(np.arange(len(other.cells.used)))
        least = np.zeros(groups, dtype=np.int64)
        least[numbers] = other.cells.shifts
        self._rebuild(numbers, numbers[group], low, values, least)

    def table(self) -> pl.DataFrame:
        """Columns group, shift, bin, and neg and pos, or count."""
        group, low, shift, values = self._content(np.arange(len(self.cells.used)))
        sides = ("count",) if self.sides == 1 else ("neg", "pos")
        return pl.DataFrame(
            {"group": group, "shift": shift, "bin": low >> shift, **dict(zip(sides, values.T, strict=True))},
            schema_overrides={"group": pl.UInt32, "shift": pl.UInt8, "bin": pl.Int64},
        )

    def _know(self, groups: int) -> None:
        """Make room for more groups, which have no table yet."""
        more = groups - len(self.cells.used)
        if more > 0:
            zeros = np.zeros(more, dtype=np.int64)
            bits = zeros + NO_TABLE.bit_length() - 1
            self.cells = self.cells._replace(
                shifts=np.append(self.cells.shifts, zeros),
                offsets=np.append(self.cells.offsets, zeros),
                bits=np.append(self.cells.bits, bits),
                used=np.append(self.cells.used, zeros),
            )

    def _add(self, found: Found) -> None:
        """Add to the counts of bins."""
        slots = find(found.groups, found.ids, self.cells)
        new = self.cells.ids[slots] != found.ids
        known = slots[~new]
        self.cells.values[known, found.side] += found.amounts[~new]
        if new.any():
            more = np.zeros((np.count_nonzero(new), self.sides), dtype=self.cells.values.dtype)
            more[:, found.side] = found.amounts[new]
            self._insert(found.groups[new], found.ids[new], more)

    def _insert(self, group: Codes, ids: Integers, values: Values) -> None:
        """Add bins that there were not."""
        new = np.bincount(group, minlength=len(self.cells.used))
        full = (self.cells.used + new > FULL * (1 << self.cells.bits)) | (self.cells.offsets == 0)
        there = full[group]
        if there.any():
            low, _ = lowest_keys(ids[there], self.cells.shifts[group[there]], self.lattice)
            self._rebuild(np.flatnonzero(full & (new > 0)), group[there], low, values[there])
        if not there.all():
            self._place(group[~there], ids[~there], values[~there])

    def _rebuild(self, groups: Codes, group: Codes, low: Keys, values: Values, least: Integers | None = None) -> None:
        """Give groups new tables, with more bins than before, at a higher shift if they would be too many.

        Args:
            groups: which ones.
            group: of each bin that comes.
            low: its lowest key.
            values: its counts.
            least: shifts of all groups, which theirs must reach.
        """
        place = np.zeros(len(self.cells.used), dtype=np.int64)
        place[groups] = np.arange(len(groups))
        had, lows, _, counts = self._content(groups)
        shifts = self.cells.shifts[groups]
        if least is not None:
            shifts = np.maximum(shifts, least[groups])
        of = np.concatenate([place[had], place[group]])
        key, amounts = np.concatenate([lows, low]), np.concatenate([counts, values])
        number = np.bincount(of, minlength=len(groups))
        if least is not None or (number > FULL * (1 << self.most_bits)).any():
            of, key, amounts = self._at(shifts, of, key, amounts)
            number = np.bincount(of, minlength=len(groups))
        over = number > FULL * (1 << self.most_bits)
        if over.any():
            of_over = over[of]
            fitting = fitting_shifts(of[of_over], key[of_over], len(groups), self.lattice, self.capacity)
            shifts = np.maximum(shifts, fitting)
            of, key, amounts = self._at(shifts, of, key, amounts)
            number = np.bincount(of, minlength=len(groups))
        self._give_tables(groups, number, shifts)
        rows = amounts.sum(axis=1)
        heavy = rows > rows.sum() / max(len(rows), 1)
        order = np.argsort(heavy, kind="stable")  # of bins that meet in a slot, the last one gets it
        self._place(groups[of[order]], identify(key[order], shifts[of[order]], self.lattice), amounts[order])

    def _at(self, shifts: Integers, group: Codes, low: Keys, values: Values) -> tuple[Codes, Keys, Values]:
        """Bins at the shifts of their groups, each once."""
        shift = self.lattice.limit_shifts(low, shifts[group])
        group, low, _, summed = add_up(group, (low >> shift) << shift, shift, list(values.T))
        return group, low, np.stack(summed, axis=1)

    def _place(self, groups: Codes, ids: Integers, values: Values) -> None:
        """Add counts to bins, new ones or known, each of which comes once."""
        content, counts = self.cells.ids, self.cells.values
        left = np.arange(len(ids))
        while len(left):
            slots = find(groups[left], ids[left], self.cells)
            known = content[slots] == ids[left]
            counts[slots[known]] += values[left[known]]
            left, slots = left[~known], slots[~known]
            content[slots] = ids[left]  # of those that meet in a slot one gets it, and the others look again
            won = content[slots] == ids[left]
            counts[slots[won]] = values[left[won]]
            self.cells.used[:] += np.bincount(groups[left[won]], minlength=len(self.cells.used))
            left = left[~won]

    def _content(self, groups: Codes) -> tuple[Codes, Keys, Integers, Values]:
        """All bins of some groups: group, lowest key, shift, counts."""
        has = groups[self.cells.offsets[groups] > 0]
        slots = _slots(self.cells.offsets[has], self.cells.bits[has])
        slots = slots[self.cells.ids[slots] != EMPTY]
        group = np.repeat(has, self.cells.used[has])
        low, shift = lowest_keys(self.cells.ids[slots], self.cells.shifts[group], self.lattice)
        return group, low, shift, self.cells.values[slots]

    def _give_tables(self, groups: Codes, number: Integers, shifts: Integers) -> None:
        """Empty tables for so many bins, in place of those that groups have."""
        bits = np.ceil(np.log2(np.maximum(number, 4) / ROOMY)).astype(np.int64)
        # Near atoms bins may be more than the capacity at any shift.
        bits = np.where(number > FULL * (1 << self.most_bits), bits, np.minimum(bits, self.most_bits))
        content, free, end = self.cells.content, self.cells.free, self.cells.end
        for group in groups[self.cells.offsets[groups] > 0].tolist():
            own, offset = self.cells.bits[group], self.cells.offsets[group]
            content[offset, 1], free[own] = free[own], offset
        offsets = np.empty(len(groups), dtype=np.int64)
        for i, own in enumerate(bits.tolist()):
            if free[own]:
                offsets[i], free[own] = free[own], content[free[own], 1]
            else:
                offsets[i] = end[0]
                end[0] += 1 << own
        self._extend(0)
        self.cells.content[_slots(offsets, bits), 0] = EMPTY
        self.cells.offsets[groups], self.cells.bits[groups], self.cells.shifts[groups] = offsets, bits, shifts
        self.cells.used[groups] = 0

    def _extend(self, slots: int) -> None:
        """Room for so many slots more."""
        content, needed = self.cells.content, int(self.cells.end[0]) + slots
        if needed > len(content):
            room = np.empty((max(needed, 5 * len(content) // 4), 1 + self.sides), dtype=np.int64)
            room[: len(content)] = content
            self.cells = self.cells._replace(content=room)


def _slots(offsets: Integers, bits: Integers) -> Integers:
    """All slots of some tables, one table after the other."""
    sizes = 1 << bits
    slots: Integers = np.arange(sizes.sum()) + np.repeat(offsets - (np.cumsum(sizes) - sizes), sizes)
    return slots

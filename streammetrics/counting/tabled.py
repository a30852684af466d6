"""Hash tables of bins, one per group."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Codes, Counts
from streammetrics.core.definition.bins import EMPTY, NO_TABLE, HashTables, Integers, identify, lowest_keys
from streammetrics.core.lattice import Lattice
from streammetrics.counting.fitting import Cells

FEWEST = 4  # minimum number of bins that a table has room for
FREQUENT = 8  # a bin is frequent if it has more than this multiple of the average rows per bin
ROOMY = 0.5  # maximum share of occupied slots of a table


@dataclass
class Tabled:
    """The bins of some groups, each in its own hash table (see `streammetrics.core.definition.bins`)."""

    lattice: Lattice
    sides: int
    weighted: bool
    tables: HashTables = field(init=False)

    def __post_init__(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self.tables = HashTables(*self._empty(NO_TABLE), none, none, none)

    @property
    def groups(self) -> int:
        """Number of groups, with or without a table."""
        return len(self.tables.bits)

    @property
    def has(self) -> NDArray[np.bool_]:
        """Which groups have a table."""
        return self.tables.offsets > 0

    def know(self, groups: int) -> None:
        """Add groups up to this number, without tables."""
        ids, counts, *by_group = self.tables
        more = groups - self.groups
        if more > 0:
            beginning = (np.full(more, first) for first in (0, 0, NO_TABLE.bit_length() - 1))
            self.tables = HashTables(ids, counts, *map(np.append, by_group, beginning))

    def sizes(self) -> Integers:
        """The maximum number of bins in the table of each group."""
        return np.where(self.has, ROOMY * (1 << self.tables.bits), 0).astype(np.int64)

    def bins(self, groups: Codes) -> Cells:
        """The bins of groups that have a table."""
        ids, counts, shifts, offsets, bits = self.tables
        slots = _slots(offsets[groups], bits[groups])
        taken = ids[slots] != EMPTY
        slots, group = slots[taken], np.repeat(groups, 1 << bits[groups])[taken]
        low, shift = lowest_keys(ids[slots], shifts[group], self.lattice)
        return Cells(group, low, shift, list(counts[slots].T))

    def give_tables(self, groups: Codes, number: Integers, shifts: Integers) -> None:
        """Create empty tables for this many bins, replacing the tables of the groups."""
        old, has = self.tables, self.has
        kept = has.copy()
        kept[groups], has[groups] = False, True
        bits, of_group = old.bits.copy(), old.shifts.copy()
        bits[groups], of_group[groups] = np.ceil(np.log2(np.maximum(number, FEWEST) / ROOMY)), shifts
        sizes = np.where(has, 1 << bits, 0)
        offsets = np.where(has, NO_TABLE + np.cumsum(sizes) - sizes, 0)
        ids, counts = self._empty(NO_TABLE + int(sizes.sum()))
        before, after = (_slots(of[kept], bits[kept]) for of in (old.offsets, offsets))
        ids[after], counts[after] = old.ids[before], old.counts[before]
        self.tables = HashTables(ids, counts, of_group, offsets, bits)

    def fill(self, cells: Cells) -> None:
        """Put bins into empty tables."""
        counts = np.stack(cells.values, axis=1)
        ids = identify(cells.low, self.tables.shifts[cells.group], self.lattice)
        frequent = np.unique(np.nonzero(counts > FREQUENT * counts.sum() / max(len(counts), 1))[0])
        for bins in (frequent, slice(None)):  # bins that are placed first are found fastest
            core.place_bins(ids[bins], cells.group[bins], counts[bins], self.tables)

    def _empty(self, slots: int) -> tuple[Integers, Counts]:
        return np.full(slots, EMPTY), np.zeros((slots, self.sides), dtype=np.float64 if self.weighted else np.int64)


def _slots(offsets: Integers, bits: Integers) -> Codes:
    """All slots of some tables, concatenated."""
    return core.ranges(offsets, 1 << bits)

"""Count rows by group, bin and label."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.bins import add_up, fit
from streammetrics.counters import Counter
from streammetrics.kernels import Codes, Counts, Extent
from streammetrics.lattice import Keys, Lattice
from streammetrics.rows import Rows

SAMPLE = 1024
CACHED_CELLS = 1 << 16

Shifts = NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """Cells for the bins that scores from ``low`` to ``high`` take in each coarse group, two of them for a bin."""

    low: float
    high: float
    lattice: Lattice
    shifts: Shifts

    def holds(self, extent: Extent) -> bool:
        """Whether all such scores have a cell in coarse groups."""
        return self.low <= extent[0] and extent[1] <= self.high

    @cached_property
    def ends(self) -> Keys:
        """First and last key."""
        return self.lattice.keys(np.array([self.low, self.high]))

    @cached_property
    def lowest(self) -> Shifts:
        """First bin of each group."""
        lowest: Shifts = self.ends[0] >> self.shifts
        return lowest

    @cached_property
    def widths(self) -> Shifts:
        """Number of bins of each group; none for a group at shift 0, whose bins are single values."""
        return np.where(self.shifts > 0, (self.ends[1] >> self.shifts) - self.lowest + 1, 0)

    @cached_property
    def offsets(self) -> Shifts:
        """What makes a bin of each group the half of its cell."""
        return np.cumsum(self.widths) - self.widths - self.lowest

    @cached_property
    def size(self) -> int:
        """Number of cells; widths of many fine groups would overflow an integer."""
        return 2 * int(self.widths.sum(dtype=np.float64))

    @cached_property
    def spanning(self) -> Codes:
        """The halves of the cells whose bins would span an atom."""
        group = np.repeat(np.arange(len(self.widths)), self.widths)
        bins = np.arange(len(group)) - self.offsets[group]
        return np.flatnonzero(self.lattice.span_atoms(bins, self.shifts[group]))

    def table(self, counts: Counts) -> pl.DataFrame:
        """The bins that hold rows; ``counts`` has negatives and positives of a bin in turns."""
        neg, pos = counts[0::2], counts[1::2]
        occupied = np.flatnonzero(neg + pos)
        group = np.searchsorted(np.cumsum(self.widths), occupied, side="right")
        return _table(group, self.shifts[group], occupied - self.offsets[group], neg[occupied], pos[occupied])


@dataclass(frozen=True)
class Chunk:
    """Scored rows. ``numbers`` and ``shifts`` give the number of each group and the shift that it has come to."""

    lattice: Lattice
    scores: NDArray[np.float64]
    label: NDArray[np.uint8]
    group: Codes | None
    numbers: Codes
    shifts: Shifts
    weight: NDArray[np.float64] | None
    extent: Extent

    @property
    def row_shifts(self) -> Shifts:
        """The shift of each row's group."""
        return self.shifts if self.group is None else self.shifts[self.group]

    def where(self, mask: NDArray[np.bool_]) -> Chunk:
        """Some of the rows."""
        return replace(
            self,
            scores=self.scores[mask],
            label=self.label[mask],
            group=None if self.group is None else self.group[mask],
            weight=None if self.weight is None else self.weight[mask],
        )

    def bulk(self) -> Extent:
        """Where nearly all scores but atoms lie, going by a sample."""
        sample = np.sort(self.scores[:: len(self.scores) // SAMPLE + 1])
        sample = sample[~self.lattice.is_atom(sample)]
        if not len(sample):
            return self.scores[0], self.scores[0]
        margin = len(sample) // 64
        return sample[margin], sample[-1 - margin]

    def near_atoms(self) -> Chunk:
        """The rows in bins that would span an atom, at the shift of their group."""
        low, high = self.lattice.around_atoms(self.shifts.max())
        near = np.zeros(len(self.scores), dtype=bool)
        for a, b in zip(low, high, strict=True):
            near |= (self.scores >= a) & (self.scores <= b)
        chunk = self.where(near)
        shifts = np.broadcast_to(chunk.row_shifts, len(chunk.scores))
        return chunk.where(self.lattice.span_atoms(kernels.lattice_keys(chunk.scores, self.lattice) >> shifts, shifts))

    def counted(self, window: Window) -> Counts:
        """Rows, or their weight, in each cell of a window that holds all of them."""
        offsets = window.offsets[self.numbers]
        return kernels.count_bins(
            self.scores, self.label, self.group, self.weight, self.lattice, self.shifts, offsets, window.size
        )

    def sorted(self) -> pl.DataFrame:
        """The table of equal bins, wherever they lie."""
        keys, rows = kernels.lattice_keys(self.scores, self.lattice), len(self.scores)
        shift = np.broadcast_to(self.row_shifts, rows)
        if self.shifts.any():
            shift = self.lattice.limit_shifts(keys, shift)
        low = (keys >> shift) << shift
        amount = np.ones(rows, dtype=np.int64) if self.weight is None else self.weight
        group = np.zeros(rows, dtype=np.intp) if self.group is None else self.group
        first, (neg, pos) = add_up(group, low, [amount * (1 - self.label), amount * self.label])
        return _table(self.numbers[group[first]], shift[first], (low >> shift)[first], neg, pos)


@dataclass(frozen=True)
class BinCounter(Counter):
    """Rows, or their weight, by group, shift, bin and label.

    Rows are sorted until their group has become coarse. Then they are counted in an array over a window of bins, where
    most of them lie. ``shifts`` gives the shift that each group has come to, 0 for a new one.
    """

    lattice: Lattice
    capacity: int
    shifts: Shifts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    window: Window | None = None
    counts: Counts | None = None
    loose_tables: tuple[pl.DataFrame, ...] = ()
    fitted_tables: tuple[pl.DataFrame, ...] = ()

    def add(self, rows: Rows, numbers: Codes, groups: int) -> BinCounter:
        """The counts of more rows."""
        counter = self._with_groups(groups)
        shifts = counter.shifts[numbers]
        score, label, extent = rows.score[0], rows.truth[0], rows.extent[0]
        chunk = Chunk(self.lattice, score, label, rows.group, numbers, shifts, rows.weight, extent)
        window = counter._window_for(chunk)
        if window is None:
            return counter._with_sorted(chunk)
        if window is not counter.window:
            counter = counter._with_window(window)
        if not (shifts.all() and window.holds(chunk.extent)):
            inside = (chunk.scores >= window.low) & (chunk.scores <= window.high) & (chunk.row_shifts > 0)
            counter = counter._with_sorted(chunk.where(~inside))
            chunk = chunk.where(inside)
        counts = chunk.counted(window)
        bins = counts.reshape(-1, 2)
        if bins[window.spanning].any():
            counter = counter._with_sorted(chunk.near_atoms())
            bins[window.spanning] = 0
        if counter.counts is not None:
            counts = np.add(counts, counter.counts, out=counts)
        return replace(counter, counts=counts)

    def table(self) -> pl.DataFrame:
        """Columns group, shift, bin, neg, pos. A bin may come in several rows."""
        tables = [*self.fitted_tables, *self.loose_tables]
        if self.window is not None and self.counts is not None:
            tables.append(self.window.table(self.counts))
        return pl.concat(tables)

    @property
    def loose(self) -> int:
        """Rows of the tables that came since the last compaction."""
        return sum(table.height for table in self.loose_tables)

    @property
    def fitted(self) -> int:
        """Rows of the table that the last compaction left."""
        return sum(table.height for table in self.fitted_tables)

    @property
    def settled(self) -> bool:
        """Whether all groups are coarse."""
        return bool(self.shifts.all())

    def compact(self) -> BinCounter:
        """Every bin once, at the shift that its group has come to."""
        table = fit(self.table(), self.lattice, self.capacity)
        shifts = np.zeros_like(self.shifts)
        np.maximum.at(shifts, table["group"].to_numpy(), table["shift"].to_numpy())
        return BinCounter(self.lattice, self.capacity, shifts, fitted_tables=(table,))

    def _with_groups(self, groups: int) -> BinCounter:
        """Room for more groups; being fine, they take no cells of the window."""
        more = groups - len(self.shifts)
        if not more:
            return self
        shifts = np.append(self.shifts, np.zeros(more, dtype=np.int64))
        return replace(self, shifts=shifts, window=self.window and replace(self.window, shifts=shifts))

    def _with_window(self, window: Window) -> BinCounter:
        """An empty window in place of the one so far."""
        counter = self
        if self.window is not None and self.counts is not None:
            counter = self._with_loose(self.window.table(self.counts))
        return replace(counter, window=window, counts=None)

    def _with_sorted(self, chunk: Chunk) -> BinCounter:
        return self._with_loose(chunk.sorted())

    def _with_loose(self, table: pl.DataFrame) -> BinCounter:
        return replace(self, loose_tables=(*self.loose_tables, table))

    def _window_for(self, chunk: Chunk) -> Window | None:
        """The window so far where it serves, or else a wider one; None where any would be too large."""
        known = self.window
        if not len(chunk.scores) or not chunk.shifts.any() or (known is not None and known.holds(chunk.extent)):
            return known
        low, high = chunk.extent
        if known is not None:
            low, high = min(low, known.low), max(high, known.high)
        ends = [self.lattice.widened(low, high), (low, high)]
        if known is None:
            ends.append(chunk.bulk())
        limit = max(CACHED_CELLS, 2 * len(chunk.scores))
        windows = (Window(*extent, self.lattice, self.shifts) for extent in ends)
        return next((window for window in windows if window.size <= limit), known)


def _table(group: NDArray[np.intp], shift: NDArray[np.int64], bin: Keys, neg: object, pos: object) -> pl.DataFrame:
    return pl.DataFrame(
        {"group": group, "shift": shift, "bin": bin, "neg": neg, "pos": pos},
        schema_overrides={"group": pl.UInt32, "shift": pl.UInt8, "bin": pl.Int64},
    )

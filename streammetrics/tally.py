"""Count rows by group and bin, and by label where they have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.bins import add_up, equal_runs, fit
from streammetrics.counters import Piled
from streammetrics.kernels import Codes, Counts, Extent
from streammetrics.lattice import Keys, Lattice
from streammetrics.rows import Rows

SAMPLE = 1024
CACHED_CELLS = 1 << 16

Shifts = NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """Cells for the bins that values from ``low`` to ``high`` take in each coarse group, one for each side of a bin.

    Where values of both signs occur, those nearer to zero than ``gap`` have none: half of all floats lie there.
    """

    low: float
    high: float
    gap: float
    lattice: Lattice
    shifts: Shifts
    sides: int

    def holds(self, chunk: Chunk) -> bool:
        """Whether all values of a chunk have a cell in coarse groups."""
        low, high = chunk.extent
        return self.low <= low and high <= self.high and (not self.gap or self.gap <= chunk.nearest)

    @cached_property
    def ends(self) -> Keys:
        """First and last key of each part: shape (parts, 2)."""
        parts = [[self.low, -self.gap], [self.gap, self.high]] if self.gap else [[self.low, self.high]]
        return self.lattice.keys(np.array(parts))

    @cached_property
    def lowest(self) -> Shifts:
        """First bin of each part: shape (groups, parts)."""
        lowest: Shifts = self.ends[:, 0] >> self.shifts[:, np.newaxis]
        return lowest

    @cached_property
    def widths(self) -> Shifts:
        """Number of bins of each part; none for a group at shift 0, whose bins are single values."""
        shifts = self.shifts[:, np.newaxis]
        return np.where(shifts > 0, (self.ends[:, 1] >> shifts) - self.lowest + 1, 0)

    @cached_property
    def offsets(self) -> Shifts:
        """What makes a bin the number of its cells: shape (groups, parts)."""
        first = np.cumsum(self.widths) - self.widths.ravel()
        return first.reshape(self.widths.shape) - self.lowest

    @cached_property
    def size(self) -> int:
        """Number of cells; widths of many fine groups would overflow an integer."""
        return self.sides * int(self.widths.sum(dtype=np.float64))

    @cached_property
    def spanning(self) -> Codes:
        """The cells whose bins would span an atom."""
        part = np.repeat(np.arange(self.widths.size), self.widths.ravel())
        bins = np.arange(len(part)) - self.offsets.ravel()[part]
        return np.flatnonzero(self.lattice.span_atoms(bins, self.shifts[part // len(self.ends)]))

    def table(self, counts: Counts) -> pl.DataFrame:
        """The bins that hold rows; ``counts`` has the sides of a bin in turns."""
        values = counts.reshape(-1, self.sides)
        occupied = np.flatnonzero(values.sum(axis=1) if self.sides > 1 else values)
        part = np.searchsorted(np.cumsum(self.widths), occupied, side="right")
        group, bins = part // len(self.ends), occupied - self.offsets.ravel()[part]
        return _table(group, self.shifts[group], bins, list(values[occupied].T))


@dataclass(frozen=True)
class Chunk:
    """Rows with a value, such as a score or an error, and perhaps a label.

    ``numbers`` and ``shifts`` give the number of each group and the shift that it has come to.
    """

    lattice: Lattice
    scores: NDArray[np.float64]
    label: NDArray[np.uint8] | None
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
            label=None if self.label is None else self.label[mask],
            group=None if self.group is None else self.group[mask],
            weight=None if self.weight is None else self.weight[mask],
        )

    @cached_property
    def nearest(self) -> float:
        """Smallest distance to zero."""
        return kernels.nearest(self.scores)

    def bulk(self) -> tuple[float, float, float]:
        """Between which values nearly all but atoms lie, and how near to zero, going by a sample."""
        sample = np.sort(self.scores[:: len(self.scores) // SAMPLE + 1])
        sample = sample[~self.lattice.is_atom(sample)]
        if not len(sample):
            return self.scores[0], self.scores[0], 0.0
        margin = len(sample) // 64
        if sample[0] < 0 < sample[-1]:
            distance = np.sort(np.abs(sample))
            near, far = distance[margin], distance[-1 - margin]
            return -far, far, near
        return sample[margin], sample[-1 - margin], 0.0

    def inside(self, window: Window) -> NDArray[np.bool_]:
        """The rows that have a cell in a window."""
        inside = (self.scores >= window.low) & (self.scores <= window.high) & (self.row_shifts > 0)
        return inside & (np.abs(self.scores) >= window.gap) if window.gap else inside

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
        offsets = window.offsets[self.numbers][:, [0, -1]]
        return kernels.count_bins(
            self.scores, self.label, self.group, self.weight, self.lattice, self.shifts, offsets, window.size
        )

    def sorted(self) -> pl.DataFrame:
        """The table of equal bins, wherever they lie."""
        keys, rows = kernels.lattice_keys(self.scores, self.lattice), len(self.scores)
        if self.group is None and self.weight is None and not self.shifts.any():
            return self._counted_apart(keys)
        shift = np.broadcast_to(self.row_shifts, rows)
        if self.shifts.any():
            shift = self.lattice.limit_shifts(keys, shift)
        low = (keys >> shift) << shift
        amount = np.ones(rows, dtype=np.int64) if self.weight is None else self.weight
        group = np.zeros(rows, dtype=np.intp) if self.group is None else self.group
        sides = [amount] if self.label is None else [amount * (1 - self.label), amount * self.label]
        group, low, shift, values = add_up(group, low, shift, sides)
        return _table(self.numbers[group], shift, low >> shift, values)

    def _counted_apart(self, keys: Keys) -> pl.DataFrame:
        """Counts of single values, of each side for itself: plain sorting is many times faster than that of indices."""
        sides = [keys] if self.label is None else [keys[self.label == 0], keys[self.label == 1]]
        tables = []
        for i, side in enumerate(sides):
            values, count = equal_runs(np.sort(side))
            counts = [count if i == j else np.zeros_like(count) for j in range(len(sides))]
            tables.append(_table(np.full(len(values), self.numbers[0]), np.zeros_like(values), values, counts))
        return pl.concat(tables)


@dataclass(frozen=True)
class BinCounter(Piled):
    """Rows, or their weight, by group, shift, bin, and label if ``read`` gives one.

    Rows are sorted until their group has become coarse. Then they are counted in an array over a window of bins, where
    most of them lie. ``shifts`` gives the shift that each group has come to, 0 for a new one.
    """

    read: Callable[[Rows], tuple[NDArray[np.float64], NDArray[np.uint8] | None, Extent]]
    lattice: Lattice
    capacity: int
    shifts: Shifts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    window: Window | None = None
    counts: Counts | None = None

    def add(self, rows: Rows, numbers: Codes, groups: int) -> BinCounter:
        """The counts of more rows."""
        counter = self._with_groups(groups)
        shifts = counter.shifts[numbers]
        values, label, extent = self.read(rows)
        chunk = Chunk(self.lattice, values, label, rows.group, numbers, shifts, rows.weight, extent)
        window = counter._window_for(chunk)
        if window is None:
            return counter.with_table(chunk.sorted())
        if window is not counter.window:
            counter = counter._with_window(window)
        if not (shifts.all() and window.holds(chunk)):
            inside = chunk.inside(window)
            counter = counter.with_table(chunk.where(~inside).sorted())
            chunk = chunk.where(inside)
        counts = chunk.counted(window)
        bins = counts.reshape(-1, window.sides)
        if bins[window.spanning].any():
            counter = counter.with_table(chunk.near_atoms().sorted())
            bins[window.spanning] = 0
        if counter.counts is not None:
            counts = np.add(counts, counter.counts, out=counts)
        return replace(counter, counts=counts)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> Self:
        """The bins of another beside those of this one."""
        return super().absorb(other, numbers, groups)._with_groups(groups)

    def tables(self) -> tuple[pl.DataFrame, ...]:
        """Columns group, shift, bin, and neg and pos, or count. A bin may come in several rows."""
        if self.window is None or self.counts is None:
            return super().tables()
        return (*super().tables(), self.window.table(self.counts))

    @property
    def settled(self) -> bool:
        """Whether all groups are coarse."""
        return bool(self.shifts.all())

    def compact(self) -> BinCounter:
        """Every bin once, at the shift that its group has come to."""
        if self.fitted_tables and not self.loose_tables and self.counts is None:
            return self
        table = fit(self.table(), self.lattice, self.capacity)
        shifts = np.zeros_like(self.shifts)
        np.maximum.at(shifts, table["group"].to_numpy(), table["shift"].to_numpy())
        return BinCounter(self.read, self.lattice, self.capacity, shifts, fitted_tables=(table,))

    def _with_groups(self, groups: int) -> Self:
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
            counter = self.with_table(self.window.table(self.counts))
        return replace(counter, window=window, counts=None)

    def _window_for(self, chunk: Chunk) -> Window | None:
        """The window so far where it serves, or else a wider one; None where any would be too large."""
        known = self.window
        if not len(chunk.scores) or not chunk.shifts.any() or (known is not None and known.holds(chunk)):
            return known
        low, high = chunk.extent
        if known is not None:
            low, high = min(low, known.low), max(high, known.high)
        ends = [(*self.lattice.widened(low, high), 0.0), (low, high, 0.0)]
        if low < 0 < high:
            gap = min(chunk.nearest, -low, high, known.gap if known is not None and known.gap else high)
            near, far = self.lattice.widened(gap, max(-low, high))
            ends = [(-far, far, near), (low, high, gap)] if gap else []
        if known is None:
            ends.append(chunk.bulk())
        limit = max(CACHED_CELLS, 2 * len(chunk.scores))
        sides = 1 if chunk.label is None else 2
        windows = (Window(*bounds, self.lattice, self.shifts, sides) for bounds in ends)
        return next((window for window in windows if window.size <= limit), known)


def _table(group: Codes, shift: Shifts, bin: Keys, values: Sequence[NDArray[Any]]) -> pl.DataFrame:
    sides = ("count",) if len(values) == 1 else ("neg", "pos")
    return pl.DataFrame(
        {"group": group, "shift": shift, "bin": bin, **dict(zip(sides, values, strict=True))},
        schema_overrides={"group": pl.UInt32, "shift": pl.UInt8, "bin": pl.Int64},
    )

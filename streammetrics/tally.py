"""Count the rows of a chunk by group, bin and label."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.lattice import Keys, Lattice

SAMPLE = 1024
CACHED_CELLS = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Scored rows on the lattice. ``shifts`` gives the shift that each group has come to, 0 for a new one."""

    lattice: Lattice
    keys: Keys
    label: NDArray[np.uint8]
    group: NDArray[np.intp] | None
    shifts: NDArray[np.int64]
    weight: NDArray[np.float64] | None

    @property
    def row_shifts(self) -> NDArray[np.int64]:
        """The shift of each row's group."""
        return self.shifts if self.group is None else self.shifts[self.group]

    def where(self, mask: NDArray[np.bool_]) -> Chunk:
        """Some of the rows."""
        return replace(
            self,
            keys=self.keys[mask],
            label=self.label[mask],
            group=None if self.group is None else self.group[mask],
            weight=None if self.weight is None else self.weight[mask],
        )


@dataclass(frozen=True)
class Window:
    """Cells for the bins that the keys from ``first`` to ``last`` take in each coarse group, two of them for a bin."""

    first: np.int64
    last: np.int64
    shifts: NDArray[np.int64]

    @property
    def lowest(self) -> NDArray[np.int64]:
        """First bin of each group."""
        return self.first >> self.shifts

    @property
    def widths(self) -> NDArray[np.int64]:
        """Number of bins of each group; none for a group at shift 0, whose bins are single values."""
        return np.where(self.shifts > 0, (self.last >> self.shifts) - self.lowest + 1, 0)

    @property
    def starts(self) -> NDArray[np.int64]:
        """First cell of each group, over two."""
        return np.cumsum(self.widths) - self.widths

    @property
    def size(self) -> int:
        """Number of cells; widths of many fine groups would overflow an integer."""
        return 2 * int(self.widths.sum(dtype=np.float64))


def tally(chunk: Chunk) -> pl.DataFrame:
    """Rows, or their weight, by group, shift, bin and label.

    Rows of coarse groups are counted in an array over the window of bins where most of them lie; the others are hashed.

    Returns:
        Columns group, shift, bin, neg, pos. A bin may come in several rows.
    """
    if not len(chunk.keys) or not chunk.shifts.any():
        return _hashed(chunk)
    limit = max(CACHED_CELLS, 2 * len(chunk.keys))
    window = Window(chunk.keys.min(), chunk.keys.max(), chunk.shifts)
    if window.size <= limit and chunk.shifts.all():
        return _counted(chunk, window)
    if window.size > limit:
        window = _bulk(chunk)
    if window.size > limit:
        return _hashed(chunk)
    inside = (chunk.keys >= window.first) & (chunk.keys <= window.last) & (chunk.row_shifts > 0)
    return pl.concat([_counted(chunk.where(inside), window), _hashed(chunk.where(~inside))])


def _bulk(chunk: Chunk) -> Window:
    """The window of nearly all keys but atoms, going by a sample."""
    sample = np.sort(chunk.lattice.without_atoms(chunk.keys[:: len(chunk.keys) // SAMPLE + 1]))
    if not len(sample):
        return Window(chunk.keys[0], chunk.keys[0], chunk.shifts)
    margin = len(sample) // 64
    return Window(sample[margin], sample[-1 - margin], chunk.shifts)


def _counted(chunk: Chunk, window: Window) -> pl.DataFrame:
    """Counts of an array of cells; rows in a bin that would span an atom are hashed."""
    offsets = window.starts - window.lowest
    cells = kernels.pack_cells(chunk.keys, chunk.label, chunk.group, chunk.shifts, offsets)
    counts = kernels.count_cells(cells, window.size, chunk.weight).reshape(-1, 2)
    occupied = np.flatnonzero(counts.any(axis=1))
    group = np.searchsorted(window.starts + window.widths, occupied, side="right")
    shift = window.shifts[group]
    bin = occupied - offsets[group]
    spans_atom = chunk.lattice.limit_shifts(bin << shift, shift) < shift
    table = _table(group, shift, bin, counts[occupied, 0], counts[occupied, 1])
    if not spans_atom.any():
        return table
    near_atom = np.zeros(len(counts), dtype=bool)
    near_atom[occupied[spans_atom]] = True
    return pl.concat([table.filter(~spans_atom), _hashed(chunk.where(near_atom[cells >> 1]))])


def _hashed(chunk: Chunk) -> pl.DataFrame:
    """Counts of equal bins, wherever they lie."""
    shift = chunk.lattice.limit_shifts(chunk.keys, chunk.row_shifts) if chunk.shifts.any() else np.int64(0)
    rows = len(chunk.keys)
    amount = chunk.weight if chunk.weight is not None else np.ones(rows, dtype=np.int64)
    group = chunk.group if chunk.group is not None else np.zeros(rows, dtype=np.intp)
    cells = _table(
        group, np.broadcast_to(shift, rows), chunk.keys >> shift, amount * (1 - chunk.label), amount * chunk.label
    )
    return cells.group_by("group", "shift", "bin").agg(pl.sum("neg"), pl.sum("pos"))


def _table(group: NDArray[np.intp], shift: NDArray[np.int64], bin: Keys, neg: object, pos: object) -> pl.DataFrame:
    return pl.DataFrame(
        {"group": group, "shift": shift, "bin": bin, "neg": neg, "pos": pos},
        schema_overrides={"group": pl.UInt32, "shift": pl.UInt8, "bin": pl.Int64},
    )

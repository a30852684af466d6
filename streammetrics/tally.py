"""Count the rows of a chunk by group, bin and label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.lattice import Keys, Lattice

SAMPLE = 1024
CACHED_CELLS = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Scored rows. ``shifts`` gives the shift that each group has come to, 0 for a new one."""

    lattice: Lattice
    scores: NDArray[np.float64]
    label: NDArray[np.uint8]
    group: NDArray[np.intp] | None
    shifts: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    extent: kernels.Extent

    @property
    def row_shifts(self) -> NDArray[np.int64]:
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


@dataclass(frozen=True)
class Window:
    """Cells for the bins that scores from ``low`` to ``high`` take in each coarse group, two of them for a bin."""

    low: float
    high: float
    lattice: Lattice
    shifts: NDArray[np.int64]

    @cached_property
    def ends(self) -> Keys:
        """First and last key."""
        return self.lattice.keys(np.array([self.low, self.high]))

    @cached_property
    def lowest(self) -> NDArray[np.int64]:
        """First bin of each group."""
        lowest: NDArray[np.int64] = self.ends[0] >> self.shifts
        return lowest

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Number of bins of each group; none for a group at shift 0, whose bins are single values."""
        return np.where(self.shifts > 0, (self.ends[1] >> self.shifts) - self.lowest + 1, 0)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """What makes a bin of each group the half of its cell."""
        return np.cumsum(self.widths) - self.widths - self.lowest

    @cached_property
    def size(self) -> int:
        """Number of cells; widths of many fine groups would overflow an integer."""
        return 2 * int(self.widths.sum(dtype=np.float64))


def tally(chunk: Chunk) -> pl.DataFrame:
    """Rows, or their weight, by group, shift, bin and label.

    Rows of coarse groups are counted in an array over the window of bins where most of them lie; the others are sorted.

    Returns:
        Columns group, shift, bin, neg, pos. A bin may come in several rows.
    """
    scores = chunk.scores
    if not len(scores) or not chunk.shifts.any():
        return _sorted(chunk)
    limit = max(CACHED_CELLS, 2 * len(scores))
    window = Window(*chunk.extent, chunk.lattice, chunk.shifts)
    if window.size <= limit and chunk.shifts.all():
        return _counted(chunk, window)
    if window.size > limit:
        window = _bulk(chunk)
    if window.size > limit:
        return _sorted(chunk)
    inside = (scores >= window.low) & (scores <= window.high) & (chunk.row_shifts > 0)
    return pl.concat([_counted(chunk.where(inside), window), _sorted(chunk.where(~inside))])


def _bulk(chunk: Chunk) -> Window:
    """The window of nearly all scores but atoms, going by a sample."""
    sample = np.sort(chunk.scores[:: len(chunk.scores) // SAMPLE + 1])
    sample = sample[~chunk.lattice.is_atom(sample)]
    if not len(sample):
        return Window(chunk.scores[0], chunk.scores[0], chunk.lattice, chunk.shifts)
    margin = len(sample) // 64
    return Window(sample[margin], sample[-1 - margin], chunk.lattice, chunk.shifts)


def _counted(chunk: Chunk, window: Window) -> pl.DataFrame:
    """Counts of an array of cells; rows in a bin that would span an atom are sorted."""
    counts = kernels.count_bins(
        chunk.scores, chunk.label, chunk.group, chunk.weight, chunk.lattice, chunk.shifts, window.offsets, window.size
    )
    neg, pos = counts[0::2], counts[1::2]
    occupied = np.flatnonzero(neg + pos)
    group = np.searchsorted(np.cumsum(window.widths), occupied, side="right")
    shift = chunk.shifts[group]
    bin = occupied - window.offsets[group]
    kept = ~chunk.lattice.span_atoms(bin, shift)
    if kept.all():
        return _table(group, shift, bin, neg[occupied], pos[occupied])
    table = _table(group[kept], shift[kept], bin[kept], neg[occupied[kept]], pos[occupied[kept]])
    return pl.concat([table, _sorted(_near_atoms(chunk))])


def _near_atoms(chunk: Chunk) -> Chunk:
    """The rows in bins that would span an atom, at the shift of their group."""
    low, high = chunk.lattice.around_atoms(chunk.shifts.max())
    near = np.zeros(len(chunk.scores), dtype=bool)
    for a, b in zip(low, high, strict=True):
        near |= (chunk.scores >= a) & (chunk.scores <= b)
    chunk = chunk.where(near)
    shifts = np.broadcast_to(chunk.row_shifts, len(chunk.scores))
    return chunk.where(chunk.lattice.span_atoms(kernels.lattice_keys(chunk.scores, chunk.lattice) >> shifts, shifts))


def _sorted(chunk: Chunk) -> pl.DataFrame:
    """Counts of equal bins, wherever they lie."""
    keys, rows = kernels.lattice_keys(chunk.scores, chunk.lattice), len(chunk.scores)
    shift = np.broadcast_to(chunk.row_shifts, rows)
    if chunk.shifts.any():
        shift = chunk.lattice.limit_shifts(keys, shift)
    low = (keys >> shift) << shift
    amount = np.ones(rows, dtype=np.int64) if chunk.weight is None else chunk.weight
    group = np.zeros(rows, dtype=np.intp) if chunk.group is None else chunk.group
    first, (neg, pos) = add_up(group, low, [amount * (1 - chunk.label), amount * chunk.label])
    return _table(group[first], shift[first], (low >> shift)[first], neg, pos)


def add_up(
    group: NDArray[np.integer], low: Keys, values: Sequence[NDArray[np.generic]]
) -> tuple[NDArray[np.intp], list[NDArray[np.generic]]]:
    """Sums of values over equal cells, which a group and the lowest key of a bin tell apart.

    Returns:
        For each cell, by group and then by key, the index of one of its rows, and its sum of each of the values.

    >>> group, low = np.array([1, 0, 1, 1]), np.array([5, 9, 3, 5])
    >>> add_up(group, low, [np.array([10, 20, 30, 40])])
    (array([1, 2, 0]), [array([20, 30, 50])])
    """
    order = np.argsort(low)
    if len(group) and group.min() < group.max():
        codes = group.astype(np.uint16) if group.max() < 1 << 16 else group  # small integers sort in linear time
        order = order[np.argsort(codes[order], kind="stable")]
    group, low = group[order], low[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (low[1:] != low[:-1]) | (group[1:] != group[:-1])
    first = np.flatnonzero(new)
    return order[first], [np.add.reduceat(value[order], first) for value in values]


def _table(group: NDArray[np.intp], shift: NDArray[np.int64], bin: Keys, neg: object, pos: object) -> pl.DataFrame:
    return pl.DataFrame(
        {"group": group, "shift": shift, "bin": bin, "neg": neg, "pos": pos},
        schema_overrides={"group": pl.UInt32, "shift": pl.UInt8, "bin": pl.Int64},
    )

"""Tables of bins: equal ones added up, at a resolution that fits the capacity of a histogram.

In numpy only: a query engine would wait for the threads that read the next rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.kernels.lattice import MAX_SHIFT, Keys, Lattice

ROWS = 1 << 20  # of a table; a longer one is taken in parts of whole groups, which need little memory beside it

Groups = NDArray[np.int64]
Shifts = NDArray[np.int64]


class Cells(NamedTuple):
    """Bins of groups, each with its lowest key, its shift, and values to sum."""

    group: Groups
    low: Keys
    shift: Shifts
    values: Sequence[NDArray[np.generic]]

    @classmethod
    def of(cls, parts: Sequence[Cells]) -> Cells:
        """The cells of all parts."""
        group, low, shift, values = zip(*parts, strict=True)
        sides = [np.concatenate(side) for side in zip(*values, strict=True)]
        return cls(np.concatenate(group), np.concatenate(low), np.concatenate(shift), sides)

    def take(self, places: Any) -> Cells:
        """Some of the cells."""
        group, low, shift, values = self
        return Cells(group[places], low[places], shift[places], [value[places] for value in values])


def fit(table: pl.DataFrame, lattice: Lattice, capacity: int, sharing: int = 1) -> pl.DataFrame:
    """Merge bins, in each group at the smallest shift at which no more than ``capacity`` are left.

    That shift follows from the rows, not from how they were split: a part never holds more bins than the whole. So a
    group keeps the shift it has come to, and a shift is never raised further than it must be.

    Args:
        table: Columns group, shift, bin and values to add up; shifts may differ within a group.
        lattice: Lattice of the bins.
        capacity: Maximum number of bins of a group.
        sharing: So many groups in a row share their bins: one shift, and one capacity.

    Returns:
        The same columns, every bin once, sorted by group and value.
    """
    if table.is_empty():
        return table
    whole = table["group"].to_numpy() // sharing
    groups = int(whole.max()) + 1
    parts = min(table.height // ROWS + 1, groups)
    if parts == 1:
        return _fit(table, lattice, capacity, sharing)
    part = (whole * np.int64(parts) // groups).astype(np.uint16)
    order, ends = np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=parts))
    tables = (table[order[a:b]] for a, b in pairwise([0, *ends.tolist()]))
    return pl.concat(_fit(t, lattice, capacity, sharing) for t in tables if t.height)


def _fit(table: pl.DataFrame, lattice: Lattice, capacity: int, sharing: int) -> pl.DataFrame:
    group, shift, bin, *values = (c.to_numpy() for c in table.iter_columns())
    shift = shift.astype(np.int64)
    cells = Cells(group.astype(np.int64), bin << shift, shift, values)
    cells = fit_cells(cells, lattice, capacity, sharing)
    columns = (cells.group, cells.shift, cells.low >> cells.shift, *cells.values)
    return pl.DataFrame([pl.Series(n, c, t) for (n, t), c in zip(table.schema.items(), columns, strict=True)])


def fit_cells(cells: Cells, lattice: Lattice, capacity: int, sharing: int = 1) -> Cells:
    """The same as `fit`, for cells."""
    shifts = np.zeros(cells.group.max() // sharing + 1, dtype=np.int64)
    coarse = np.flatnonzero(cells.shift)
    np.maximum.at(shifts, cells.group[coarse] // sharing, cells.shift[coarse])
    cells = _at(shifts[cells.group // sharing], cells, lattice)
    whole, of_whole = cells.group, cells.low
    if sharing > 1:
        whole, of_whole, *_ = add_up(Cells(cells.group // sharing, cells.low, cells.shift, []))
    if np.bincount(whole).max() > capacity:
        shifts = np.maximum(shifts, fitting_shifts(whole, of_whole, len(shifts), lattice, capacity))
        cells = _at(shifts[cells.group // sharing], cells, lattice)
    return cells


def _at(wanted: Shifts, cells: Cells, lattice: Lattice) -> Cells:
    """Cells at the shifts that are wanted, or less if a bin would span an atom: sorted, each once."""
    low, shift = cells.low, cells.shift
    finer = np.flatnonzero(shift < wanted)
    if len(finer):
        shift = shift.copy()
        shift[finer] = lattice.limit_shifts(low[finer], wanted[finer])
        low = (low >> shift) << shift
    return add_up(cells._replace(low=low, shift=shift))


def fitting_shifts(group: Groups, low: Keys, groups: int, lattice: Lattice, capacity: int) -> Shifts:
    """The smallest shift that fits each group, 0 if its bins already fit.

    At shift s a group holds one bin more than it has neighbours that only merge above s.
    """
    shifts = np.zeros(groups, dtype=np.int64)
    full = np.flatnonzero(np.bincount(group) > capacity)
    place = np.full(groups, -1)
    place[full] = np.arange(len(full))
    levels = np.minimum(lattice.merge_levels(low), MAX_SHIFT + 1)
    pairs = np.flatnonzero((group[1:] == group[:-1]) & (place[group[1:]] >= 0))
    cells = place[group[pairs]] * (MAX_SHIFT + 2) + levels[pairs]
    merging = np.bincount(cells, minlength=len(full) * (MAX_SHIFT + 2)).reshape(len(full), -1)
    left = merging.sum(axis=1, keepdims=True) - np.cumsum(merging, axis=1) + 1  # bins at each shift
    shifts[full] = np.minimum(np.argmax(left <= capacity, axis=1), MAX_SHIFT)
    return shifts


def add_up(cells: Cells) -> Cells:
    """Sum equal cells, in order of group and key.

    >>> cells = Cells(np.array([1, 0, 1, 1]), np.array([5, 9, 3, 5]), np.zeros(4, dtype=np.int64), [np.arange(4)])
    >>> group, low, _, (count,) = add_up(cells)
    >>> group.tolist(), low.tolist(), count.tolist()
    ([0, 1, 1], [9, 3, 5], [1, 2, 3])
    """
    group, low, shift, values = cells
    if not _in_order(group, low):
        floats = any(value.dtype.kind == "f" for value in values)
        order = np.argsort(low, kind="stable" if floats else None)  # equal bins are summed in the same order
        order = order[sort_order(group[order])]
        group, low, shift, values = group[order], low[order], shift[order], [value[order] for value in values]
    new = np.ones(len(low), dtype=bool)
    new[1:] = (low[1:] != low[:-1]) | (group[1:] != group[:-1])
    if new.all():
        return Cells(group, low, shift, list(values))
    first = np.flatnonzero(new)
    return Cells(group[first], low[first], shift[first], [sums(value, first) for value in values])


def sums(values: NDArray[Any], first: NDArray[np.intp]) -> NDArray[Any]:
    """Sums from each start up to the next."""
    if values.dtype.kind == "f":
        return np.add.reduceat(values, first)
    before = np.append(0, np.cumsum(values))  # exact, and faster than short sums one by one
    return np.diff(before[first], append=before[-1])


def sort_order(groups: Groups) -> NDArray[np.intp]:
    """The stable sort order of groups, in linear time for small numbers."""
    return np.argsort(groups.astype(np.uint16) if groups.max(initial=0) < 1 << 16 else groups, kind="stable")


def _in_order(group: Groups, low: Keys) -> bool:
    same = group[1:] == group[:-1]
    return bool(np.all((group[1:] > group[:-1]) | (same & (low[1:] >= low[:-1]))))

"""Tables of bins: equal ones added up, at a resolution that fits the capacity of a histogram.

In numpy throughout: a query engine would wait here for the threads that are reading the next rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.kernels.lattice import MAX_SHIFT, Keys, Lattice

ROWS = 1 << 20  # of a table; a longer one is taken in parts of whole groups, which need little memory beside it

Groups = NDArray[np.int64]
Shifts = NDArray[np.int64]


def fit(table: pl.DataFrame, lattice: Lattice, capacity: int, sharing: int = 1) -> pl.DataFrame:
    """Merge bins, in each group at the smallest shift at which no more than ``capacity`` are left.

    That shift follows from the rows seen, not from how they were split: a part never holds more bins than the whole. So
    a group keeps the shift it has come to, and a shift is never raised further than it must be.

    Args:
        table: columns group, shift, bin and values to add up; shifts may differ within a group.
        lattice: what the bins mean.
        capacity: the number of bins that a group may keep.
        sharing: so many groups in a row share their bins: one shift, and one capacity.

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
    group, shift = group.astype(np.int64), shift.astype(np.int64)
    shifts = np.zeros(group.max() // sharing + 1, dtype=np.int64)
    np.maximum.at(shifts, group // sharing, shift)
    group, shift, low, values = _at(shifts[group // sharing], group, shift, bin << shift, values, lattice)
    whole, of_whole = (group, low) if sharing == 1 else add_up(group // sharing, low, shift, [])[:2]
    if np.bincount(whole).max() > capacity:
        shifts = np.maximum(shifts, fitting_shifts(whole, of_whole, len(shifts), lattice, capacity))
        group, shift, low, values = _at(shifts[group // sharing], group, shift, low, values, lattice)
    columns = (group, shift, low >> shift, *values)
    return pl.DataFrame([pl.Series(n, c, t) for (n, t), c in zip(table.schema.items(), columns, strict=True)])


def _at(
    wanted: Shifts, group: Groups, shift: Shifts, low: Keys, values: list[NDArray[np.generic]], lattice: Lattice
) -> tuple[Groups, Shifts, Keys, list[NDArray[np.generic]]]:
    """Cells at the shifts that are wanted, or less where a bin would span an atom: sorted, each once."""
    finer = np.flatnonzero(shift < wanted)
    shift[finer] = lattice.limit_shifts(low[finer], wanted[finer])
    group, low, shift, values = add_up(group, (low >> shift) << shift, shift, values)
    return group, shift, low, values


def fitting_shifts(group: Groups, low: Keys, groups: int, lattice: Lattice, capacity: int) -> Shifts:
    """The smallest shift that fits each group, 0 where its bins fit as they are.

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


def add_up(
    group: Groups, low: Keys, shift: Shifts, values: Sequence[NDArray[np.generic]]
) -> tuple[Groups, Keys, Shifts, list[NDArray[np.generic]]]:
    """Sums of values over equal cells, which a group and the lowest key of a bin tell apart.

    Returns:
        The cells by group and then by key: group, key, shift, and the sum of each of the values.

    >>> group, low, shift = np.array([1, 0, 1, 1]), np.array([5, 9, 3, 5]), np.zeros(4, dtype=np.int64)
    >>> add_up(group, low, shift, [np.array([10, 20, 30, 40])])
    (array([0, 1, 1]), array([9, 3, 5]), array([0, 0, 0]), [array([20, 30, 50])])
    """
    if not _in_order(group, low):
        floats = any(value.dtype.kind == "f" for value in values)
        order = np.argsort(low, kind="stable" if floats else None)  # equal bins add up in one order, to the last bit
        if group.min() < group.max():
            codes = group.astype(np.uint16) if group.max() < 1 << 16 else group  # small integers sort in linear time
            order = order[np.argsort(codes[order], kind="stable")]
        group, low, shift, values = group[order], low[order], shift[order], [value[order] for value in values]
    new = np.ones(len(low), dtype=bool)
    new[1:] = (low[1:] != low[:-1]) | (group[1:] != group[:-1])
    if new.all():
        return group, low, shift, list(values)
    first = np.flatnonzero(new)
    return group[first], low[first], shift[first], [np.add.reduceat(value, first) for value in values]


def _in_order(group: Groups, low: Keys) -> bool:
    same = group[1:] == group[:-1]
    return bool(np.all((group[1:] > group[:-1]) | (same & (low[1:] >= low[:-1]))))

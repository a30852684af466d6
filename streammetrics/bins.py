"""Tables of bins: equal ones added up, at a resolution that fits the capacity of a histogram.

In numpy throughout: a query engine would wait here for the threads that are reading the next rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.lattice import MAX_SHIFT, Keys, Lattice

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
    group, shift, bin, *values = (c.to_numpy() for c in table.iter_columns())
    group, shift = group.astype(np.int64), shift.astype(np.int64)
    shifts = np.zeros(group.max() // sharing + 1, dtype=np.int64)
    np.maximum.at(shifts, group // sharing, shift)
    group, shift, low, values = _at(shifts[group // sharing], group, shift, bin << shift, values, lattice)
    whole, of_whole = (group, low) if sharing == 1 else _shared(group // sharing, low)
    if np.bincount(whole).max() > capacity:
        shifts = np.maximum(shifts, _fitting_shifts(whole, of_whole, len(shifts), lattice, capacity))
        group, shift, low, values = _at(shifts[group // sharing], group, shift, low, values, lattice)
    columns = (group, shift, low >> shift, *values)
    return pl.DataFrame([pl.Series(n, c, t) for (n, t), c in zip(table.schema.items(), columns, strict=True)])


def _shared(whole: Groups, low: Keys) -> tuple[Groups, Keys]:
    """The bins of groups that share them, each once and sorted."""
    first, _ = add_up(whole, low, [])
    return whole[first], low[first]


def _at(
    wanted: Shifts, group: Groups, shift: Shifts, low: Keys, values: list[NDArray[np.generic]], lattice: Lattice
) -> tuple[Groups, Shifts, Keys, list[NDArray[np.generic]]]:
    """Cells at the shifts that are wanted, or less where a bin would span an atom: sorted, each once."""
    finer = np.flatnonzero(shift < wanted)
    shift[finer] = lattice.limit_shifts(low[finer], wanted[finer])
    low = (low >> shift) << shift
    first, values = add_up(group, low, values)
    return group[first], shift[first], low[first], values


def _fitting_shifts(group: Groups, low: Keys, groups: int, lattice: Lattice, capacity: int) -> Shifts:
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


def equal_runs(values: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """The distinct ones of sorted values, and how often each occurs.

    >>> equal_runs(np.array([3, 3, 5]))
    (array([3, 5]), array([2, 1]))
    """
    new = np.ones(len(values), dtype=bool)
    new[1:] = values[1:] != values[:-1]
    first = np.flatnonzero(new)
    return values[first], np.diff(np.append(first, len(values)))

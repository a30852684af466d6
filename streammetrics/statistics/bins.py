"""Bring the bins of a histogram to a resolution that fits its capacity.

In numpy throughout: a query engine would wait here for the threads that are reading the next rows.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.lattice import MAX_SHIFT, Keys, Lattice
from streammetrics.tally import add_up

Groups = NDArray[np.int64]
Shifts = NDArray[np.int64]


def fit(table: pl.DataFrame, lattice: Lattice, capacity: int) -> pl.DataFrame:
    """Merge bins, in each group at the smallest shift at which no more than ``capacity`` are left.

    That shift follows from the rows seen, not from how they were split: a part never holds more bins than the whole. So
    a group keeps the shift it has come to, and a shift is never raised further than it must be.

    Args:
        table: columns group, shift, bin and values to add up; shifts may differ within a group.
        lattice: what the bins mean.
        capacity: the number of bins that a group may keep.

    Returns:
        The same columns, every bin once, sorted by group and value.
    """
    if table.is_empty():
        return table
    group, shift, bin, *values = (c.to_numpy() for c in table.iter_columns())
    group, shift = group.astype(np.int64), shift.astype(np.int64)
    shifts = np.zeros(group.max() + 1, dtype=np.int64)
    np.maximum.at(shifts, group, shift)
    group, shift, low, values = _at(shifts, group, shift, bin << shift, values, lattice)
    if np.bincount(group).max() > capacity:
        shifts = np.maximum(shifts, _fitting_shifts(group, low, len(shifts), lattice, capacity))
        group, shift, low, values = _at(shifts, group, shift, low, values, lattice)
    columns = (group, shift, low >> shift, *values)
    return pl.DataFrame([pl.Series(n, c, t) for (n, t), c in zip(table.schema.items(), columns, strict=True)])


def _at(
    shifts: Shifts, group: Groups, shift: Shifts, low: Keys, values: list[NDArray[np.generic]], lattice: Lattice
) -> tuple[Groups, Shifts, Keys, list[NDArray[np.generic]]]:
    """Cells at the shifts of their groups, or less where a bin would span an atom: sorted, each once."""
    finer = np.flatnonzero(shift < shifts[group])
    shift[finer] = lattice.limit_shifts(low[finer], shifts[group[finer]])
    low = (low >> shift) << shift
    first, values = add_up(group, low, values)
    return group[first], shift[first], low[first], values


def _fitting_shifts(group: Groups, low: Keys, groups: int, lattice: Lattice, capacity: int) -> Shifts:
    """The smallest shift that fits each group, 0 where its bins fit as they are.

    At shift s a group holds one bin more than it has neighbours that only merge above s; so all but ``capacity - 1``
    neighbours must merge, and the shift is the ``capacity``-th highest of their levels.
    """
    pairs = np.flatnonzero(group[1:] == group[:-1])
    levels = np.minimum(lattice.merge_levels(low), MAX_SHIFT)[pairs]
    group = group[1:][pairs]
    order = np.lexsort((-levels, group))
    counts = np.bincount(group, minlength=groups)
    found = np.cumsum(counts) - counts + capacity - 1
    full = counts >= capacity
    shifts = np.zeros(groups, dtype=np.int64)
    shifts[full] = levels[order[found[full]]]
    return shifts

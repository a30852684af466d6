"""Merging of bins at the finest resolution that fits the capacity of a histogram.

Uses numpy instead of Polars, whose threads are busy with reading the next rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Runs
from streammetrics.core.lattice import Keys, Lattice

LONG = 64  # average rows per group above which groups are sorted one by one
ROWS = 1 << 20  # approximate table rows that are merged at once, in whole groups, to limit memory use

Groups = NDArray[np.int64]
Shifts = NDArray[np.int64]


class Cells(NamedTuple):
    """Bins by group, each with its lowest key, its shift, and values to sum."""

    group: Groups
    low: Keys
    shift: Shifts
    values: Sequence[NDArray[np.generic]]

    @classmethod
    def of(cls, parts: Sequence[Cells]) -> Cells:
        """Concatenate the cells of all parts."""
        filled = [part for part in parts if len(part.low)]
        if len(filled) == 1:
            return filled[0]
        group, low, shift, values = zip(*parts, strict=True)
        sides = [np.concatenate(side) for side in zip(*values, strict=True)]
        return cls(np.concatenate(group), np.concatenate(low), np.concatenate(shift), sides)

    def take(self, places: Any) -> Cells:
        """Select cells by index or slice."""
        group, low, shift, values = self
        return Cells(group[places], low[places], shift[places], [value[places] for value in values])


def fit(table: pl.DataFrame, lattice: Lattice, capacity: int, sharing: int = 1) -> pl.DataFrame:
    """Merge bins, in each group at the smallest shift at which at most ``capacity`` bins are left.

    This shift depends only on the rows, not on how they were split, because a part never has more bins than the whole.
    Therefore a part never raises the shift further than the whole requires.

    The table has the columns group, shift, bin, and values to sum, and is returned sorted by group and value. As many
    consecutive groups as ``sharing`` says share one shift and one capacity.
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
    """Merge cells like `fit`."""
    cells = _sorted(cells)
    whole = cells if sharing == 1 else _sorted(cells._replace(group=cells.group // sharing, values=[]))
    runs = Runs.of(whole.group)
    least = np.maximum.reduceat(whole.shift, runs.starts[:-1])
    first, shifts = core.find_bins(whole.low, runs, least, lattice, capacity)
    if sharing > 1:
        wholes, runs = runs.groups, Runs.of(cells.group)
        shifts = shifts[np.searchsorted(wholes, runs.groups // sharing)]
        first, _ = core.find_bins(cells.low, runs, shifts, lattice, len(cells.low))
    low, bins = cells.low[first], np.diff(np.searchsorted(first, runs.starts))
    shift = lattice.limit_shifts(low, np.repeat(shifts, bins))
    return Cells(cells.group[first], low >> shift << shift, shift, [sums(value, first) for value in cells.values])


def add_up(cells: Cells) -> Cells:
    """Sum equal cells, in order of group and key."""
    group, low, shift, values = _sorted(cells)
    new = np.ones(len(low), dtype=bool)
    new[1:] = (low[1:] != low[:-1]) | (group[1:] != group[:-1])
    first = np.flatnonzero(new)
    return Cells(group[first], low[first], shift[first], [sums(value, first) for value in values])


def sums(values: NDArray[Any], first: NDArray[np.intp]) -> NDArray[Any]:
    """Sums from each index in ``first`` to the next, exclusive."""
    return np.add.reduceat(values, first) if values.dtype.kind == "f" else core.sum_bins(values, first)


def _sorted(cells: Cells) -> Cells:
    """Sort cells by group and key."""
    group, low, _, values = cells
    same = group[1:] == group[:-1]
    if np.all((group[1:] > group[:-1]) | (same & (low[1:] >= low[:-1]))):
        return cells
    floats = any(value.dtype.kind == "f" for value in values)
    kind: Any = "stable" if floats else None  # float values of equal bins are summed in a fixed order
    order = sort_order(group)
    runs = Runs.of(group[order])
    if len(runs.groups) * LONG < len(group):
        for start, end in pairwise(runs.starts.tolist()):
            order[start:end] = order[start:end][np.argsort(low[order[start:end]], kind=kind)]
    else:
        order = np.argsort(low, kind=kind)
        order = order[sort_order(group[order])]
    return cells.take(order)


def sort_order(groups: Groups) -> NDArray[np.intp]:
    """The stable sort order of groups, in linear time for small numbers."""
    return np.argsort(groups.astype(np.uint16) if groups.max(initial=0) < 1 << 16 else groups, kind="stable")

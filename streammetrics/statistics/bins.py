"""Histogram bins of each group, at the finest resolution that fits the capacity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Codes, Floats, Lattice
from streammetrics.data import Rows
from streammetrics.statistics.counter import Counter

Read = Callable[[Rows], tuple[Floats, NDArray[np.uint8] | None]]


@dataclass
class Bins(Counter):
    """Counts or weights of rows by group and bin, and by label if ``read`` returns labels.

    The table does not depend on the order of the rows.
    """

    read: Read
    lattice: Lattice
    capacity: int
    sides: int
    weighted: bool

    @cached_property
    def lock(self) -> AbstractContextManager[Any]:
        """None: the core lets several threads count at once."""
        return nullcontext()

    def __post_init__(self) -> None:
        self.cells: core.Bins = empty(self.lattice, self.capacity, self.sides, self.weighted)

    def add(self, rows: Rows, groups: int) -> None:
        """Count more rows."""
        values, label = self.read(rows)
        self.cells.add(values, label, rows.weight, rows.runs, groups)

    def absorb(self, other: Self, numbers: Codes, groups: int) -> None:
        """Add the rows of another counter."""
        self.cells.absorb(other.cells, numbers, groups)

    def table(self) -> pl.DataFrame:
        """Return the columns group, shift, bin, and either neg and pos or count."""
        *keys, amounts = self.cells.cells()
        columns: list[Any] = [*amounts[::-1], *keys[::-1]]
        del keys, amounts
        sides = ("count",) if self.sides == 1 else ("neg", "pos")
        return pl.DataFrame([pl.Series(name, columns.pop()) for name in ("group", "shift", "bin", *sides)])


def empty(lattice: Lattice, capacity: int, sides: int, weighted: bool) -> core.Bins:
    """The bins of no rows."""
    return core.Bins(capacity, lattice.domain == "probability", lattice.atom_keys, sides, weighted)


def fit(table: pl.DataFrame, lattice: Lattice, capacity: int, sharing: int = 1) -> pl.DataFrame:
    """Merge bins, in each group at the smallest shift at which at most ``capacity`` bins are left.

    This shift depends only on the rows, not on how they were split, because a part never has more bins than the whole.
    Therefore a part never raises the shift further than the whole requires.

    The table has the columns group, shift, bin, and values to sum, and is returned sorted by group and value. As many
    consecutive groups as ``sharing`` says share one shift and one capacity.
    """
    if table.is_empty():
        return table
    group = table["group"].to_numpy()
    if (group[1:] < group[:-1]).any():
        few = group.max() < 1 << 16  # which are sorted in linear time
        order = np.argsort(group.astype(np.uint16) if few else group, kind="stable")
        table, group = table[order], group[order]
    shift, bin, *values = (column.to_numpy() for column in table if column.name != "group")
    amount = np.float64 if any(value.dtype.kind == "f" for value in values) else np.int64
    values = [np.ascontiguousarray(value, dtype=amount) for value in values]
    wholes = group // sharing
    starts = np.append(np.flatnonzero(changes(wholes)), len(group))
    if sharing == 1 and core.is_fitted(starts, bin, shift, lattice.atom_keys, capacity):
        return table
    low = bin << shift.astype(np.int64)
    least = np.maximum.reduceat(shift, starts[:-1])
    if sharing > 1:
        *_, least = core.fit(starts, low, least, [], lattice.atom_keys, capacity)
        of_whole = np.repeat(least, np.diff(starts))
        starts = np.append(np.flatnonzero(changes(group)), len(group))
        least, capacity = of_whole[starts[:-1]], len(group)
    run, shift, bin, sums, _ = core.fit(starts, low, least, values, lattice.atom_keys, capacity)
    columns = (group[starts[:-1]][run], shift, bin, *sums)
    return pl.DataFrame([pl.Series(n, c, t) for (n, t), c in zip(table.schema.items(), columns, strict=True)])


def fit_by(
    table: pl.DataFrame, by: Sequence[str], lattice: Lattice, capacity: int, share: bool = False
) -> pl.DataFrame:
    """Merge bins as `fit` does, by key columns. If ``share``, groups that differ only in the last share a shift."""
    if table.is_empty():
        return table
    sizes = tuple(int(size) + 1 for size in table.select(pl.max(*by)).row(0))
    numbers = pl.Series("group", np.ravel_multi_index([table[key].to_numpy() for key in by], sizes))
    cells = fit(table.drop(by).insert_column(0, numbers), lattice, capacity, sizes[-1] if share else 1)
    keys = dict(zip(by, np.unravel_index(cells["group"].to_numpy(), sizes), strict=True))
    return cells.with_columns(**keys).select(pl.col(name).cast(kind) for name, kind in table.schema.items())


def changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value differs from the one before it."""
    new = np.ones(len(column), dtype=np.bool_)
    np.not_equal(column[1:], column[:-1], out=new[1:])
    return new

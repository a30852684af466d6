"""All slices by conjunctions of values of group columns that are large enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.data import encode, number
from streammetrics.reading.slicing.cuts import Numbers

Columns: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Lot:
    """The slices by the same columns.

    ``numbers`` is the slice number of each group of the report, -1 for none. ``first`` is a group of each slice,
    ``rows`` its number of rows.
    """

    columns: Columns
    numbers: Numbers
    first: Numbers
    rows: Numbers

    def only(self, kept: NDArray[np.bool_]) -> Lot:
        """Some of the slices, with new numbers."""
        places = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)
        return Lot(self.columns, places[self.numbers], self.first[kept], self.rows[kept])

    def holds(self, other: Lot) -> bool:
        """Whether slices of the other lot are within slices of this one."""
        return {*self.columns} <= {*other.columns}


def all_lots(keys: pl.DataFrame, rows: Numbers, depth: int, min_rows: int) -> list[Lot]:
    """Slices with enough rows, and fewer rows than each larger slice that contains them; all rows first."""
    codes = {c: encode(keys.select(c))[1] for c in keys.columns}
    everywhere = Lot((), np.zeros(len(rows), np.int64), np.zeros(min(len(rows), 1), np.int64), rows.sum(keepdims=True))
    found: dict[Columns, Lot] = {(): everywhere}
    for size in range(1, min(depth, keys.width) + 1):
        for columns in combinations(keys.columns, size):
            parents = [found.get(c) for c in combinations(columns, size - 1)]
            if all(parents):
                lot = _lot(columns, [p for p in parents if p], codes[columns[-1]], rows, min_rows)
                if len(lot.rows):
                    found[columns] = lot
    return list(found.values())


def _lot(columns: Columns, parents: Sequence[Lot], codes: Numbers, rows: Numbers, min_rows: int) -> Lot:
    """Slices by some columns: those of the first parent, which lacks the last column, divided by its codes."""
    inside = parents[0].numbers.astype(np.int64) + 1
    numbers, first = number(pl.Series(inside * (int(codes.max(initial=0)) + 1) + codes))
    sizes = np.bincount(numbers, rows, len(first)).astype(np.int64)
    kept = sizes >= min_rows
    for parent in parents:
        of_parent = parent.numbers[first]
        kept &= (of_parent >= 0) & (sizes < parent.rows[of_parent])
    return Lot(columns, numbers, first, sizes).only(kept)

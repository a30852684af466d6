"""All slices by conjunctions of values of group columns that are large enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.data import encode, number

Columns: TypeAlias = tuple[str, ...]
Numbers: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Candidates:
    """Slices, numbered by their columns. Number 0 has all rows.

    Args:
        numbers: For each combination of columns, the slice of each group of the report, -1 for none.
        columns: The columns of each slice.
        first: A group of each slice.
        rows: Number of rows of each slice.
    """

    numbers: dict[Columns, Numbers]
    columns: Sequence[Columns]
    first: Numbers
    rows: Numbers

    def slices_by(self, columns: Columns) -> Numbers:
        """The slices by some columns."""
        numbers = self.numbers[columns]
        slices: Numbers = np.unique(numbers[numbers >= 0])
        return slices

    def parents(self, columns: Columns) -> list[Columns]:
        """The combinations of one column less."""
        return [*combinations(columns, len(columns) - 1)] if columns else []


def all_candidates(keys: pl.DataFrame, rows: Numbers, depth: int, min_rows: int) -> Candidates:
    """Slices with enough rows, and fewer rows than each larger slice that contains them."""
    codes = {c: encode(keys.select(c))[1] for c in keys.columns}
    numbers: dict[Columns, Numbers] = {(): np.zeros(len(rows), np.int32)}
    every: list[Columns] = [()]
    first, sizes = np.zeros(1, np.int64), rows.sum(keepdims=True)
    for size in range(1, min(depth, keys.width) + 1):
        for columns in combinations(keys.columns, size):
            parents = [numbers[c] for c in combinations(columns, size - 1) if c in numbers]
            if len(parents) < size:
                continue
            code = codes[columns[-1]]
            cells = (parents[0].astype(np.int64) + 1) * (int(code.max(initial=0)) + 1) + code
            cell, group = number(pl.Series(cells))
            count = np.bincount(cell, rows, len(group)).astype(np.int64)
            large = count >= min_rows
            for parent in parents:
                owner = parent[group]
                large &= (owner >= 0) & (count < sizes[owner])
            if large.any():
                numbers[columns] = np.where(large, len(sizes) + np.cumsum(large) - 1, -1).astype(np.int32)[cell]
                every += [columns] * int(large.sum())
                first, sizes = np.append(first, group[large]), np.append(sizes, count[large])
    return Candidates(numbers, every, first, sizes)

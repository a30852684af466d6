"""Rows of a histogram that are collected in a list and counted together later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from streammetrics.core import Runs, ranges
from streammetrics.core.lattice import Keys
from streammetrics.counting.fitting import LONG, Cells, add_up, sort_order

T = TypeVar("T", bound=np.integer[Any])


class Listed(NamedTuple):
    """Rows in runs, with their keys, and with labels and weights if the histogram uses them."""

    runs: Runs
    keys: Keys
    label: NDArray[np.uint8] | None
    weight: NDArray[np.float64] | None

    @classmethod
    def of(cls, parts: Sequence[Listed]) -> Listed:
        """Concatenate all rows, with one run per group."""
        sizes = np.concatenate([np.diff(part.runs.starts) for part in parts])
        groups = np.concatenate([part.runs.groups for part in parts])
        before = np.cumsum(sizes) - sizes
        order = sort_order(groups)
        sizes, groups, before = sizes[order], groups[order], before[order]
        starts = np.cumsum(sizes) - sizes
        rows = ranges(before, sizes)
        first = np.flatnonzero(np.diff(groups, prepend=-1))
        joint = Runs(np.append(starts[first], len(rows)), groups[first])
        columns: Iterable[Any] = zip(*(part[1:] for part in parts), strict=True)
        return cls._make([joint, *(None if column[0] is None else np.concatenate(column)[rows] for column in columns)])

    def of_groups(self, low: int, high: int) -> Listed:
        """The rows of a range of groups. Each group must have one run."""
        first, last = np.searchsorted(self.runs.groups, (low, high))
        starts = self.runs.starts[first : last + 1]
        rows = slice(starts[0], starts[-1])
        runs = Runs(starts - starts[0], self.runs.groups[first:last])
        return Listed(runs, self.keys[rows], some(self.label, rows), some(self.weight, rows))


def some(column: Any, places: Any) -> Any:
    """Select values of a column, or return None for None."""
    return None if column is None else column[places]


def as_cells(rows: Listed) -> Cells:
    """Convert rows to sorted cells of single values, with counts or weights to sum, by label if labels are counted.

    Each group must have one run.

    >>> runs = Runs(np.array([0, 3]), np.array([4]))
    >>> group, low, _, (negatives, positives) = as_cells(Listed(runs, np.array([7, 5, 7]), np.array([1, 0, 0]), None))
    >>> low.tolist(), negatives.tolist(), positives.tolist()
    ([5, 7, 7], [1, 1, 0], [0, 0, 1])
    """
    runs, keys, label, weight = rows
    group, shift = runs.codes(), np.zeros(len(keys), dtype=np.int64)
    if weight is None and (label is None or not len(keys) or keys.min() >= 0):  # the sign bit is free for the label
        if label is None:
            return Cells(group, _sorted(keys.copy(), runs), shift, [np.ones(len(keys), dtype=np.uint8)])
        packed = _sorted((keys << 1 | label).view(np.uint64), runs)
        label = (packed & np.uint64(1)).astype(np.uint8)
        return Cells(group, (packed >> np.uint64(1)).view(np.int64), shift, [label ^ 1, label])
    amounts = np.ones(len(keys), dtype=np.int64) if weight is None else weight
    sides = [amounts] if label is None else [amounts * (label == side) for side in (0, 1)]
    return add_up(Cells(group, keys, shift, sides))


def _sorted(numbers: NDArray[T], runs: Runs) -> NDArray[T]:
    """Sort each run in place. Sorting plain integers is much faster than computing their sort order."""
    if len(runs.groups) * LONG < len(numbers):
        for start, end in pairwise(runs.starts.tolist()):
            numbers[start:end].sort()
        return numbers
    order = np.argsort(numbers)
    return numbers[order[sort_order(runs.codes()[order])]]

"""Rows of a histogram that are listed and later counted together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streammetrics.counting.fitting import Cells, add_up, sort_order, sums
from streammetrics.kernels import Codes
from streammetrics.kernels.lattice import Keys

LONG = 64  # rows of a group from which groups are sorted one by one


class Listed(NamedTuple):
    """Listed rows: group and key, and label and weight, if any."""

    group: Codes
    keys: Keys
    label: NDArray[np.uint8] | None
    weight: NDArray[np.float64] | None

    @classmethod
    def of(cls, parts: Sequence[Listed]) -> Listed:
        """All rows, ordered by group."""
        columns: Iterable[Any] = zip(*parts, strict=True)
        rows = cls._make(None if column[0] is None else np.concatenate(column) for column in columns)
        return rows.take(sort_order(rows.group))

    def take(self, places: Any) -> Listed:
        """Some of the rows."""
        return Listed._make(some(column, places) for column in self)


def some(column: Any, places: Any) -> Any:
    """Some of a column, if there is one."""
    return None if column is None else column[places]


def count_listed(rows: Listed) -> Cells:
    """Rows, arranged by group, as bins of a single value: how many, or of which weight, by label if that is kept.

    >>> rows = Listed(np.array([0, 0, 0]), np.array([7, 5, 7]), np.array([1, 0, 0], dtype=np.uint8), None)
    >>> group, low, _, (negatives, positives) = count_listed(rows)
    >>> low.tolist(), negatives.tolist(), positives.tolist()
    ([5, 7], [1, 1], [0, 1])
    """
    group, keys, label, weight = rows
    if weight is None and (label is None or not len(keys) or keys.min() >= 0):  # a label fits beside such a key
        return _count_sorted(group, keys.view(np.uint64), label)
    amounts = np.ones(len(keys), dtype=np.int64) if weight is None else weight
    sides = [amounts] if label is None else [amounts * (label == side) for side in (0, 1)]
    return add_up(Cells(group, keys, np.zeros(len(keys), dtype=np.int64), sides))


def _count_sorted(group: Codes, keys: NDArray[np.uint64], label: NDArray[np.uint8] | None) -> Cells:
    """As integers without anything beside them, which are sorted much faster than their order is found."""
    packed = keys.copy() if label is None else keys << np.uint64(1) | label
    ends = np.flatnonzero(np.diff(group, append=-1)) + 1
    if len(ends) * LONG < len(group):
        for start, end in pairwise([0, *ends.tolist()]):
            packed[start:end].sort()
    else:
        order = np.argsort(packed)
        order = order[sort_order(group[order])]
        group, packed = group[order], packed[order]
    low = packed if label is None else packed >> np.uint64(1)
    new = np.ones(len(low), dtype=bool)
    new[1:] = (low[1:] != low[:-1]) | (group[1:] != group[:-1])
    first = np.flatnonzero(new)
    values = [np.diff(first, append=len(low))]
    if label is not None:
        positives = sums((packed & np.uint64(1)).view(np.int64), first)
        values = [values[0] - positives, positives]
    return Cells(group[first], low[first].view(np.int64), np.zeros(len(first), dtype=np.int64), values)

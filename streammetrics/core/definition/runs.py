"""Rows in runs of the same group, as loops over rows take them, and sums by cell."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.uint8]
Floats = NDArray[np.float64]
Scores = NDArray[np.float64 | np.uint8]
Codes = NDArray[np.intp]
Counts = NDArray[np.int64 | np.float64]
Extent: TypeAlias = tuple[float, float]

CLIP = 1e-15
NOTHING: Extent = (float("inf"), float("-inf"))  # the extent of no values


class Runs(NamedTuple):
    """Runs: consecutive rows of the same group.

    Run i consists of the rows from ``starts[i]`` to ``starts[i + 1]``, exclusive, of group ``groups[i]``. A group can
    have several runs.
    """

    starts: Codes
    groups: Codes

    @classmethod
    def of(cls, codes: Codes) -> Runs:
        """Find the runs in the group codes of rows."""
        ends = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        starts = np.concatenate([[0], ends, [len(codes)]]) if len(codes) else np.zeros(1, dtype=np.intp)
        return cls(starts, codes[starts[:-1]])

    def codes(self) -> Codes:
        """The group of each row."""
        return np.repeat(self.groups, np.diff(self.starts))


def ranges(starts: NDArray[np.integer], sizes: NDArray[np.integer]) -> Codes:
    """The concatenated indices of several ranges.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    places: Codes = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    places += np.arange(len(places))
    return places


def add_runs(out: NDArray[np.generic], values: NDArray[np.generic], runs: Runs) -> None:
    """Sum ``values``, of shape (columns, rows), by group: ``out`` is (groups, columns)."""
    filled = np.flatnonzero(np.diff(runs.starts))  # since reduceat takes a value for a run without rows
    if len(filled):
        np.add.at(out, runs.groups[filled], np.add.reduceat(values, runs.starts[filled], axis=1).T)

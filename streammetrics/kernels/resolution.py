"""The finest resolution at which the bins of a group fit its capacity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streammetrics.kernels.lattice import MAX_SHIFT, Keys, Lattice
from streammetrics.kernels.numpy import Codes, Runs

NEW = MAX_SHIFT + 2  # above all levels, for the first cell of a run

Shifts = NDArray[np.int64]


def find_bins(low: Keys, runs: Runs, least: Shifts, lattice: Lattice, capacity: int) -> tuple[Codes, Shifts]:
    """The first cell of each bin, and the smallest shift of each run at which its bins fit the capacity; 30 ns.

    A run contains the lowest keys of the cells of a group in ascending order. Its shift is at least ``least``, the
    largest shift of its cells. At shift s, it has one bin plus one for each pair of neighbors that merge only above s.
    """
    sizes = np.diff(runs.starts)
    levels = np.append(NEW, lattice.merge_levels(low))
    levels[runs.starts[:-1]] = NEW
    shifts, full = least.copy(), np.flatnonzero(sizes > capacity)
    if len(full):
        place = np.full(len(sizes), len(full))
        place[full] = np.arange(len(full))
        cells = np.repeat(place * (NEW + 1), sizes)
        cells += levels
        merging = np.bincount(cells, minlength=(len(full) + 1) * (NEW + 1)).reshape(-1, NEW + 1)[: len(full)]
        left = sizes[full, np.newaxis] - np.cumsum(merging, axis=1)  # number of bins at each shift
        shifts[full] = np.minimum(np.maximum(shifts[full], np.argmax(left <= capacity, axis=1)), MAX_SHIFT)
    return np.flatnonzero(levels > np.repeat(shifts, sizes)), shifts


def sum_bins(values: NDArray[np.integer], first: Codes) -> NDArray[np.int64]:
    """Sums of integers from each index in ``first`` to the next, exclusive; 3 ns."""
    before = np.append(0, np.cumsum(values, dtype=np.int64))  # exact for integers, and faster than many short sums
    return np.diff(before[first], append=before[-1])

"""Resolution of bins, compiled: the functions of ``resolution.py``.

Docstrings of public functions only state the CPU time per cell. For a description, see the numpy function of the same
name.
"""

from __future__ import annotations

import numpy as np

from streammetrics.kernels.compiled import exact
from streammetrics.kernels.lattice import MAX_SHIFT, Keys, Lattice
from streammetrics.kernels.numpy import Codes, Runs
from streammetrics.kernels.resolution import NEW, Shifts


def find_bins(low: Keys, runs: Runs, least: Shifts, lattice: Lattice, capacity: int) -> tuple[Codes, Shifts]:
    """4 ns."""
    first, shifts = np.empty(len(low), dtype=np.intp), least.copy()
    return first[: _find_bins(low, runs.starts, lattice.atom_keys, capacity, first, shifts)], shifts


@exact
def _find_bins(low, starts, atoms, capacity, first, shifts):
    levels, merging, found = np.empty(len(low), np.uint8), np.empty(NEW + 1, np.int64), 0
    for run in range(len(shifts)):
        start, end = starts[run], starts[run + 1]
        _find_levels(low[start:end], atoms, levels[start:end])
        merging[:] = 0
        for cell in range(start, end):
            merging[levels[cell]] += 1
        left, shift = end - start - merging[: shifts[run] + 1].sum(), shifts[run]
        while left > capacity and shift < MAX_SHIFT:
            shift += 1
            left -= merging[shift]
        for cell in range(start, end):
            first[found] = cell
            found += levels[cell] > shift
        shifts[run] = shift
    return found


@exact
def _find_levels(low, atoms, levels):
    levels[0] = NEW
    for cell in range(1, len(low)):
        bits = low[cell] ^ low[cell - 1]
        top = np.float64(bits & ~(bits >> 1)).view(np.int64)  # keeps the float from rounding up
        level = min((top >> 52) - 1022 if bits > 0 else 0, MAX_SHIFT)
        near = False
        for i in range(len(atoms)):
            near |= (low[cell] ^ atoms[i]) >> level == 0
        levels[cell] = MAX_SHIFT + 1 if bits < 0 or (near and level > 0) else level


@exact
def sum_bins(values, first):
    """1 ns."""
    before, sums = np.empty(len(values) + 1, np.int64), np.empty(len(first), np.int64)
    before[0] = 0
    for cell in range(len(values)):
        before[cell + 1] = before[cell] + values[cell]
    for bin in range(len(first) - 1):
        sums[bin] = before[first[bin + 1]] - before[first[bin]]
    if len(first):
        sums[-1] = before[-1] - before[first[-1]]
    return sums

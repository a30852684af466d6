"""Histogram bins by group, at the finest resolution that fits a capacity.

``atoms`` are the keys that always have a bin of their own, in ascending order (see `streammetrics.core.lattice`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import Codes, Counts, Floats, Labels, Runs
from streammetrics.core.lattice import MAX_SHIFT, Keys, Lattice, limit_shifts, merge_levels

NEW = MAX_SHIFT + 2  # above all levels, for the first cell of a run
WAITING = 1 << 20  # cells that are merged at once

Shifts: TypeAlias = NDArray[np.uint8]
Sides: TypeAlias = Sequence[Counts]


def fit(
    starts: Codes, low: Keys, least: Shifts, amounts: Sides, atoms: Keys, capacity: int
) -> tuple[NDArray[np.uint32], Shifts, Keys, list[Counts], Shifts]:
    """Merge the cells of each run at the smallest shift at which its bins fit the capacity.

    Run i has the cells from ``starts[i]`` up to ``starts[i + 1]``, in any order; each has the lowest key of its bin,
    ``low``, and one amount per side. The shift of a run is at least ``least``. At shift s, a run has one bin plus one
    for each pair of neighbors that merge only above s. Returns run, shift, number, and amounts of each bin, ascending,
    and the shift of each run. A bin near an atom has a smaller shift than its run.

    Raises:
        ValueError: If counts of a bin have a sum of 2^63 or more.
    """
    run = np.repeat(np.arange(len(least)), np.diff(starts))
    order = np.lexsort((low, run))  # stable
    low, run = low[order], run[order]
    levels = np.append(NEW, merge_levels(low, atoms))[: len(low)]
    levels[starts[:-1][np.diff(starts) > 0]] = NEW
    merging = np.zeros((len(least), NEW + 1), dtype=np.int64)
    np.add.at(merging, (run, levels), 1)
    bins = np.diff(starts)[:, np.newaxis] - np.cumsum(merging, axis=1)  # of each run at each shift
    fitting = np.argmax(bins[:, :MAX_SHIFT] <= capacity, axis=1)
    fitting[bins[:, MAX_SHIFT - 1] > capacity] = MAX_SHIFT
    shifts = np.maximum(fitting, least)
    first = np.flatnonzero(levels > shifts[run])
    shifts_of_bins = limit_shifts(low[first], shifts[run[first]], atoms)
    sums = [np.add.reduceat(side[order], first) if len(first) else side for side in amounts]
    for side, total in zip(amounts, sums, strict=True):
        exact = np.add.reduceat(side[order].astype(np.float64), first) if len(first) else total
        if side.dtype == np.int64 and (np.abs(exact - total) > 2.0**62).any():  # wrapped by 2^64
            raise ValueError("counts of a bin must have a sum below 2^63")
    return (
        run[first].astype(np.uint32),
        shifts_of_bins.astype(np.uint8),
        low[first] >> shifts_of_bins,
        sums,
        shifts.astype(np.uint8),
    )


def is_fitted(starts: Codes, bins: Keys, shifts: Shifts, atoms: Keys, capacity: int) -> bool:
    """Whether cells, given by number and shift, are what `fit` would return: ascending, distinct, and at one shift."""
    levels, sizes = shifts.astype(np.int64), np.diff(starts)
    low, run = bins << levels, np.repeat(np.arange(len(sizes)), sizes)
    least = np.zeros(len(sizes), dtype=np.int64)
    np.maximum.at(least, run, levels)
    ascending = (low[1:] > low[:-1]) | (run[1:] != run[:-1])
    limited = limit_shifts(low, least[run], atoms)
    return bool((sizes <= capacity).all() and ascending.all() and (levels == limited).all())


class Bins:
    """Rows by group and bin, and by side: a label, or the number of a class.

    Args:
        capacity: Maximum number of bins per group. Bins near atoms can be a few more.
        probability: Whether values are probabilities, whose bins are as fine near 1 as near 0.
        atoms: Keys with bins of their own.
        sides: Number of sides.
        weighted: Whether rows have weights. Then amounts are floats, else integers.
    """

    def __init__(self, capacity: int, probability: bool, atoms: Keys, sides: int, weighted: bool) -> None:
        self.lattice: Lattice = Lattice("probability" if probability else "real")
        self.capacity: int = capacity
        self.atoms: Keys = atoms
        self.sides: int = sides
        self.kind: Any = np.float64 if weighted else np.int64
        none = np.zeros(0, dtype=np.int64)
        self._parts = [(none, none, none, np.zeros((0, sides), dtype=self.kind))]
        self._held: int = 0

    def add(self, values: Floats, label: Labels | None, weight: Counts | None, runs: Runs, groups: int) -> None:
        """Count rows. All group numbers are below ``groups``."""
        self._add(values, label, weight, runs)

    def add_classes(self, values: Floats, classes: Codes, weight: Counts | None, runs: Runs, groups: int) -> None:
        """Count rows by class."""
        self._add(values, classes, weight, runs)

    def absorb(self, other: Bins, numbers: Codes, groups: int) -> None:
        """Add another counter, whose groups have these numbers in this one."""
        group, low, shift, amounts = other._merged()
        self._append(numbers[group], low, shift, amounts)

    def cells(self) -> tuple[NDArray[np.uint32], Shifts, Keys, list[Counts]]:
        """Group, shift, number, and amounts of each bin, sorted by group and value."""
        group, low, shift, amounts = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(group, kind="stable")
        group, sides = group[order], [amounts[order, side] for side in range(self.sides)]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        least = np.maximum.reduceat(shift[order], first) if len(first) else shift
        starts = np.append(first, len(group))
        run, shift, bin, sums, _ = fit(starts, low[order], least.astype(np.uint8), sides, self.atoms, self.capacity)
        return group[first][run].astype(np.uint32), shift, bin, sums

    def _add(self, values: Floats, side: Labels | Codes | None, weight: Counts | None, runs: Runs) -> None:
        keys, group = self.lattice.keys(values), runs.codes()
        step = WAITING // self.sides + 1
        for block in (slice(start, start + step) for start in range(0, len(keys), step)):
            amounts: Any = np.zeros((len(keys[block]), self.sides), dtype=self.kind)
            places = 0 if side is None else side[block]
            amounts[np.arange(len(amounts)), places] = 1 if weight is None else weight[block]
            self._append(group[block], keys[block], np.zeros(len(amounts), dtype=np.int64), amounts)

    def _append(self, group: Codes, low: Keys, shift: NDArray[Any], amounts: Counts) -> None:
        self._parts.append((group, low, shift, amounts))
        if sum(part[3].size for part in self._parts) >= max(WAITING, 2 * self._held):
            self._parts = [self._merged()]
            self._held = self._parts[0][3].size

    def _merged(self) -> tuple[Codes, Keys, NDArray[Any], Counts]:
        """Group, lowest key, shift, and amounts of each bin."""
        group, shifts, bin, sums = self.cells()
        shift = shifts.astype(np.int64)
        return group.astype(np.int64), bin << shift, shift, np.stack(sums, axis=1)

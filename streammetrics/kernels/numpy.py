"""The loops over rows, in numpy: blocks that stay in the cache, each reduced to integer cells and counted at once.

Every kernel takes whole columns of a chunk and returns one dense array. ``group`` numbers each row's group below
``groups``, or is None where there is one group; ``weight`` is None where every row counts once. Costs are CPU time per
row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streammetrics.lattice import Keys, Lattice

Labels = NDArray[np.uint8]
Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Counts = NDArray[np.int64 | np.float64]

BLOCK = 8192
CLIP = 1e-15


def lattice_keys(lattice: Lattice, values: Floats) -> Keys:
    """Ordered integer keys of values; 3 ns."""
    keys = np.empty(len(values), dtype=np.int64)
    for block in _blocks(len(values)):
        keys[block] = lattice.keys(values[block])
    return keys


def count_cells(cells: Codes, size: int, weight: Floats | None) -> Counts:
    """Rows, or their weight, in each of ``size`` cells; 1 ns."""
    counts: Counts = np.bincount(cells, weight, minlength=size)
    return counts


def count_outcomes(
    label: Labels, rank: Codes, ranks: int, group: Codes | None, groups: int, weight: Floats | None
) -> Counts:
    """Rows by group, rank and label: shape (groups, ranks, 2); 2 ns."""
    size = groups * ranks * 2
    counts: Counts = np.zeros(size, dtype=np.int64 if weight is None else np.float64)
    for block in _blocks(len(label), size):
        cells = _cells(group, block, ranks, rank[block]) * 2 + label[block]
        np.add(counts, count_cells(cells, size, None if weight is None else weight[block]), out=counts)
    return counts.reshape(groups, ranks, 2)


def threshold_ranks(score: Floats, thresholds: Floats) -> Codes:
    """For each score the number of thresholds it reaches; 0.5 ns for each of a few, 5 ns and more for many."""
    if len(thresholds) > 8:
        return np.searchsorted(thresholds, score, side="right")
    ranks = np.zeros(len(score), dtype=np.intp)
    for block in _blocks(len(score)):
        for threshold in thresholds:
            ranks[block] += score[block] >= threshold
    return ranks


def sum_losses(label: Labels, score: Floats, group: Codes | None, groups: int, weight: Floats | None) -> Floats:
    """Weight, log loss, its square, Brier loss, its square by group and label: shape (5, groups, 2); 12 ns."""
    size = groups * 2
    sums = np.zeros((5, size))
    for block in _blocks(len(label), size):
        cells = _cells(group, block, 2, label[block])
        clipped = np.minimum(np.maximum(score[block], CLIP), 1 - CLIP)
        log_loss = -np.log(np.abs(clipped - (1.0 - label[block])))  # the probability of the true class, exactly
        brier = np.square(score[block] - label[block])
        values = (None, log_loss, np.square(log_loss), brier, np.square(brier))
        _add_sums(sums, cells, values, None if weight is None else weight[block])
    return sums.reshape(5, groups, 2)


def sum_calibration(
    label: Labels, score: Floats, edges: Floats, group: Codes | None, groups: int, weight: Floats | None
) -> Floats:
    """Weight, score, its square by group, bin (lo, hi] and label: shape (3, groups, bins, 2); 10 ns."""
    bins = len(edges) - 1
    size = groups * bins * 2
    sums = np.zeros((3, size))
    for block in _blocks(len(label), size):
        scores = score[block]
        bin = np.minimum((scores * bins).astype(np.intp), bins - 1)  # off by one at most, put right by the edges
        bin -= (scores <= edges[bin]) & (bin > 0)
        bin += scores > edges[bin + 1]
        cells = _cells(group, block, bins, bin) * 2 + label[block]
        values = (None, scores, np.square(scores))
        _add_sums(sums, cells, values, None if weight is None else weight[block])
    return sums.reshape(3, groups, bins, 2)


def _blocks(rows: int, size: int = 0) -> Iterator[slice]:
    """Slices of the rows, no shorter than the table that each adds to, so that the cost stays linear in the rows."""
    step = max(BLOCK, size)
    return (slice(start, start + step) for start in range(0, rows, step))


def _cells(group: Codes | None, block: slice, width: int, cell: NDArray[np.integer]) -> Codes:
    if group is None:
        return cell.astype(np.intp)
    return group[block] * width + cell


def _add_sums(sums: Floats, cells: Codes, values: tuple[Floats | None, ...], weight: Floats | None) -> None:
    """Add each weighted value to its cells; the value None is 1."""
    for total, value in zip(sums, values, strict=True):
        weighted = value if weight is None else weight if value is None else weight * value
        total += np.bincount(cells, weighted, minlength=len(total))

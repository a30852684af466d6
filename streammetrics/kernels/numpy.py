"""The loops over rows, in numpy: blocks that stay in the cache, each reduced to integer cells and counted at once.

Every kernel takes whole columns of a chunk and returns one dense array. ``group`` numbers each row's group below
``groups``, or is None where there is one group; ``weight`` is None where every row counts once. Costs are CPU time per
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from streammetrics.lattice import Keys, Lattice

Labels = NDArray[np.uint8]
Floats = NDArray[np.float64]
Scores = NDArray[np.float64 | np.uint8]
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


def pack_cells(
    keys: Keys, label: Labels, group: Codes | None, shifts: NDArray[np.int64], offsets: NDArray[np.int64]
) -> Codes:
    """The cell of each row: twice its bin, at the shift of its group, plus the group's offset, plus the label; 2 ns."""
    cells = np.empty(len(keys), dtype=np.int64)
    for block in _blocks(len(keys)):
        groups = 0 if group is None else group[block]
        bins = keys[block] >> shifts[groups]
        bins += offsets[groups]
        bins <<= 1
        np.bitwise_or(bins, label[block], out=cells[block])
    return cells


def count_cells(cells: Codes, size: int, weight: Floats | None) -> Counts:
    """Rows, or their weight, in each of ``size`` cells; 1 ns."""
    counts: Counts = np.bincount(cells, weight, minlength=size)
    return counts if weight is None else counts.astype(np.float64, copy=False)  # no rows are counted as integers


def count_outcomes(
    label: Labels, score: Scores, thresholds: Floats, group: Codes | None, groups: int, weight: Floats | None
) -> Counts:
    """Rows by group, number of thresholds reached, and label: shape (groups, thresholds + 1, 2).

    One threshold without groups and weights costs 0.5 ns; else 4 ns, and 0.5 ns for each of a few thresholds more.
    """
    if len(thresholds) == 1 and group is None and weight is None:
        return _count_outcomes_once(label, score >= thresholds[0])
    ranks = len(thresholds) + 1
    size = groups * ranks * 2
    counts: Counts = np.zeros(size, dtype=np.int64 if weight is None else np.float64)
    for block in _blocks(len(label), size):
        cells = _cells(group, block, ranks, _ranks(score[block], thresholds)) * 2 + label[block]
        np.add(counts, count_cells(cells, size, None if weight is None else weight[block]), out=counts)
    return counts.reshape(groups, ranks, 2)


def _count_outcomes_once(label: Labels, reached: NDArray[np.bool_]) -> Counts:
    positive = label.view(np.bool_)
    predicted, positives, tp = (np.count_nonzero(rows) for rows in (reached, positive, reached & positive))
    return np.array([[[len(label) - positives - predicted + tp, positives - tp], [predicted - tp, tp]]])


def _ranks(score: Scores, thresholds: Floats) -> Codes:
    """For each score the number of thresholds it reaches."""
    if len(thresholds) > 8:
        return np.searchsorted(thresholds, score, side="right")
    ranks = np.zeros(len(score), dtype=np.intp)
    for threshold in thresholds:
        ranks += score >= threshold
    return ranks


def sum_losses(label: Labels, score: Floats, group: Codes | None, groups: int, weight: Floats | None) -> Floats:
    """Weight, log loss, its square, Brier loss, its square by group and label: shape (5, groups, 2).

    6 ns, 18 ns by group.
    """
    size = groups * 2
    sums = np.zeros((5, size))
    for block in _blocks(len(label), size):
        labels, scores = label[block].astype(np.float64), score[block]
        clipped = np.minimum(np.maximum(scores, CLIP), 1 - CLIP)
        log_loss = -np.log(np.abs(clipped - (1.0 - labels)))  # the probability of the true class, exactly
        brier = np.square(scores - labels)
        values = (log_loss, np.square(log_loss), brier, np.square(brier))
        weights = None if weight is None else weight[block]
        if group is None:
            _add_sums_by_label(sums, labels, values, weights)
        else:
            _add_sums(sums, _cells(group, block, 2, label[block]), values, weights)
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
        _add_sums(sums, cells, (scores, np.square(scores)), None if weight is None else weight[block])
    return sums.reshape(3, groups, bins, 2)


def _blocks(rows: int, size: int = 0) -> Iterator[slice]:
    """Slices of the rows, no shorter than the table that each adds to, so that the cost stays linear in the rows."""
    step = max(BLOCK, size)
    return (slice(start, start + step) for start in range(0, rows, step))


def _cells(group: Codes | None, block: slice, width: int, cell: NDArray[np.integer]) -> Codes:
    if group is None:
        return cell.astype(np.intp)
    return group[block] * width + cell


def _add_sums_by_label(sums: Floats, labels: Floats, values: Sequence[Floats], weight: Floats | None) -> None:
    """What `_add_sums` does where labels are the cells, as dot products: two cells are slow to count into."""
    positive = labels if weight is None else labels * weight
    negative = (1.0 if weight is None else weight) - positive
    sums[0] += negative.sum(), positive.sum()
    for total, value in zip(sums[1:], values, strict=True):
        total += negative @ value, positive @ value


def _add_sums(sums: Floats, cells: Codes, values: Sequence[Floats], weight: Floats | None) -> None:
    """Add each value, and first of all 1, times the weight to its cells."""
    for total, value in zip(sums, (None, *values), strict=True):
        weighted = value if weight is None else weight if value is None else weight * value
        total += np.bincount(cells, weighted, minlength=len(total))

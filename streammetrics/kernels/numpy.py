"""The loops over rows, in numpy: blocks that stay in the cache, each reduced to integer cells and counted at once.

Every kernel takes whole columns of a chunk and returns one dense array. ``group`` numbers each row's group below
``groups``, or is None where there is one group; ``weight`` is None where every row counts once. Costs are CPU time per
row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.lattice import Keys, Lattice

Labels = NDArray[np.uint8]
Floats = NDArray[np.float64]
Scores = NDArray[np.float64 | np.uint8]
Codes = NDArray[np.intp]
Shifts = NDArray[np.int64]
Counts = NDArray[np.int64 | np.float64]
Extent: TypeAlias = tuple[float, float]

BLOCK = 8192
CLIP = 1e-15
CELLS = 4  # of a grid, for each threshold
NOTHING: Extent = (float("inf"), float("-inf"))  # of no values
FEW = 8  # thresholds that are compared one by one


def extent(values: NDArray[np.number]) -> Extent:
    """Smallest and largest value, NaN where one is NaN; 0.5 ns."""
    return (float(values.min()), float(values.max())) if len(values) else NOTHING


def differences(values: Floats, others: Floats) -> tuple[Floats, Extent]:
    """Values minus others, and the extent of these differences; 3 ns."""
    with np.errstate(all="ignore"):
        found = values - others
    return found, extent(found)


def nearest(values: Floats) -> float:
    """Smallest distance to zero; 0.7 ns."""
    return min((float(np.abs(values[block]).min()) for block in blocks(len(values))), default=np.inf)


def number(column: pl.Series) -> tuple[Codes, Codes]:
    """The number of each row's value, and for each number a row; 13 ns for text, 5 ns for integers close together,
    60 ns for others.

    ``column`` has no nulls. Rows of one number are equal; equal texts and zeros may have different numbers.
    """
    values = as_integers(column)
    if not len(values):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    width = int(values.max()) - int(values.min()) + 1
    if width > max(BLOCK, len(values)):
        frame = pl.DataFrame({"value": values}).with_row_index("first")
        distinct = frame.unique("value", keep="any").with_row_index("number")
        codes = frame.join(distinct, on="value", how="left", maintain_order="left")["number"]
        return codes.to_numpy().astype(np.intp), distinct["first"].to_numpy().astype(np.intp)
    places = values - values.min()
    row = np.full(width, -1)
    row[places] = np.arange(len(values))
    found = np.flatnonzero(row >= 0)
    numbers = np.empty(width, dtype=np.intp)
    numbers[found] = np.arange(len(found))
    return numbers[places], row[found]


def as_integers(column: pl.Series) -> NDArray[np.int64]:
    """An integer for each value, the same for equal values alone."""
    if column.dtype in (pl.Boolean, pl.Date):
        return column.cast(pl.Int64).to_numpy()
    if column.dtype.is_temporal() or column.dtype in (pl.Int64, pl.UInt64, pl.Float64):
        return column.to_physical().to_numpy().view(np.int64)
    text = column.bin.encode("hex") if column.dtype == pl.Binary else column.cast(pl.String)
    return text.cast(pl.Categorical(pl.Categories.random())).to_physical().cast(pl.Int64).to_numpy()


def lattice_keys(values: Floats, lattice: Lattice) -> Keys:
    """Ordered integer keys of values; 3 ns."""
    keys = np.empty(len(values), dtype=np.int64)
    for block in blocks(len(values)):
        keys[block] = lattice.keys(values[block])
    return keys


def count_bins(
    scores: Floats,
    label: Labels | None,
    group: Codes | None,
    weight: Floats | None,
    lattice: Lattice,
    shifts: Shifts,
    offsets: Shifts,
    size: int,
) -> Counts:
    """Rows, or their weight, in each of ``size`` cells; 4 ns.

    The cell of a row is its bin, at the shift of its group, plus an offset that ``offsets`` (groups, 2) has for bins
    below zero and for others; where there are labels, twice that plus the label.
    """
    cells = np.empty(len(scores), dtype=np.int64)
    for block in blocks(len(scores)):
        groups = 0 if group is None else group[block]
        bins = lattice.keys(scores[block])
        bins >>= shifts[groups]
        below, above = offsets[groups].T
        bins += np.where(bins < 0, below, above) if lattice.domain == "real" else above
        if label is None:
            cells[block] = bins
        else:
            bins <<= 1
            np.bitwise_or(bins, label[block], out=cells[block])
    return _count(cells, size, weight)


def count_outcomes(
    label: Labels, score: Scores, thresholds: Floats, group: Codes | None, groups: int, weight: Floats | None
) -> Counts:
    """Rows by group, number of thresholds reached, and label: shape (groups, thresholds + 1, 2).

    One threshold without groups and weights costs 0.5 ns; else 4 ns, and 8 ns for any number of thresholds that are
    spread evenly.
    """
    if len(thresholds) == 1 and group is None and weight is None:
        return _count_outcomes_once(label, score >= thresholds[0])
    ranks = len(thresholds) + 1
    size = groups * ranks * 2
    ladder = Ladder.of(thresholds)
    counts: Counts = np.zeros(size, dtype=np.int64 if weight is None else np.float64)
    for block in blocks(len(label), size):
        cells = _cells(group, block, ranks, ladder.ranks(score[block])) * 2 + label[block]
        np.add(counts, _count(cells, size, None if weight is None else weight[block]), out=counts)
    return counts.reshape(groups, ranks, 2)


def _count_outcomes_once(label: Labels, reached: NDArray[np.bool_]) -> Counts:
    positive = label.view(np.bool_)
    predicted, positives, tp = (np.count_nonzero(rows) for rows in (reached, positive, reached & positive))
    return np.array([[[len(label) - positives - predicted + tp, positives - tp], [predicted - tp, tp]]])


class Ladder(NamedTuple):
    """Ascending thresholds, ended by NaN, and a grid over them: ``below[i]`` of them lie in cells before the i-th."""

    thresholds: Floats
    origin: float
    scale: float
    below: Codes
    most: int  # of a cell

    @classmethod
    def of(cls, thresholds: Floats) -> Ladder:
        """A grid with a few cells for each threshold; a single one where they are few, or endlessly far apart."""
        ended, finite = np.append(thresholds, np.nan), thresholds[np.isfinite(thresholds)]
        cells = CELLS * len(thresholds)
        with np.errstate(over="ignore"):
            scale = cells / np.ptp(finite) if len(finite) > FEW else 0.0
        if not 0 < scale < np.inf:
            return cls(ended, 0.0, 0.0, np.array([0, len(thresholds)]), len(thresholds))
        grid = cls(ended, float(finite[0]), float(scale), np.arange(cells + 1), 0)
        below = np.searchsorted(grid.cells(thresholds), grid.below)
        return grid._replace(below=below, most=int(np.diff(below).max()))

    def cells(self, score: Scores) -> Codes:
        """The cell of each score; those beyond the ends fall in the outer ones."""
        with np.errstate(over="ignore"):
            cells: Codes = np.clip((score - self.origin) * self.scale, 0, len(self.below) - 2).astype(np.intp)
        return cells

    def ranks(self, score: Scores) -> Codes:
        """For each score the number of thresholds it reaches: those of lower cells, and some of its own."""
        if self.most > FEW:
            return np.searchsorted(self.thresholds, score, side="right")
        if len(self.below) == 2:
            return sum((score >= threshold for threshold in self.thresholds[:-1]), np.zeros(len(score), dtype=np.intp))
        ranks: Codes = self.below[self.cells(score)]
        for _ in range(self.most):
            ranks += self.thresholds[ranks] <= score
        return ranks


def sum_losses(label: Labels, score: Floats, group: Codes | None, groups: int, weight: Floats | None) -> Floats:
    """Weight, log loss, its square, Brier loss, its square by group and label: shape (groups, 2, 5).

    4 ns, 18 ns by group.
    """
    size = groups * 2
    sums = np.zeros((5, size))
    for block in blocks(len(label), size):
        scores = score[block]
        values, classes = np.empty((5, len(scores))), np.empty((2, len(scores)))
        classes[1] = label[block]
        np.subtract(1.0, classes[1], out=classes[0])
        values[0] = 1.0 if weight is None else weight[block]
        clipped = np.minimum(np.maximum(scores, CLIP), 1.0 - CLIP)
        np.log(np.abs(clipped - classes[0]), out=values[1])  # of the probability of the true class, exactly
        np.square(values[1], out=values[2])
        np.square(scores - classes[1], out=values[3])
        np.square(values[3], out=values[4])
        if weight is not None:
            values[1:] *= values[0]
        if group is None:
            sums += values @ classes.T  # two cells: much faster than counting into them
        else:
            _add_sums(sums, group[block] * 2 + label[block], values)
    np.negative(sums[1], out=sums[1])
    return sums.T.reshape(groups, 2, 5)


def sum_calibration(
    label: Labels, score: Floats, edges: Floats, group: Codes | None, groups: int, weight: Floats | None
) -> Floats:
    """Weight, score, its square by group, bin (lo, hi] and label: shape (groups, bins, 2, 3); 10 ns."""
    bins = len(edges) - 1
    size = groups * bins * 2
    sums = np.zeros((3, size))
    for block in blocks(len(label), size):
        scores = score[block]
        bin = (scores * bins).astype(np.intp)  # off by one at most, put right by the edges
        bin -= (scores <= edges[bin]) & (bin > 0)
        bin += scores > edges[bin + 1]
        values = np.stack([np.ones_like(scores) if weight is None else weight[block], scores, np.square(scores)])
        if weight is not None:
            values[1:] *= values[0]
        _add_sums(sums, _cells(group, block, bins, bin) * 2 + label[block], values)
    return sums.T.reshape(groups, bins, 2, 3)


def _count(cells: Codes, size: int, weight: Floats | None) -> Counts:
    counts: Counts = np.bincount(cells, weight, minlength=size)
    return counts if weight is None else counts.astype(np.float64, copy=False)  # no rows are counted as integers


def blocks(rows: int, size: int = 0) -> Iterator[slice]:
    """Slices of the rows, no shorter than the table that each adds to, so that the cost stays linear in the rows."""
    step = max(BLOCK, size)
    return (slice(start, start + step) for start in range(0, rows, step))


def _cells(group: Codes | None, block: slice, width: int, cell: NDArray[np.integer]) -> Codes:
    if group is None:
        return cell.astype(np.intp)
    return group[block] * width + cell


def _add_sums(sums: Floats, cells: Codes, values: Floats) -> None:
    """Add each row of values to its sums, by cell."""
    for total, value in zip(sums, values, strict=True):
        total += np.bincount(cells, value, minlength=len(total))

"""The loops over rows, in numpy: blocks that stay in the cache, each reduced to integer cells and counted at once.

Rows come arranged by group, as `Runs`. A kernel that counts or sums adds each run to ``out``, which has a row for each
group; ``weight`` is None if every row counts once. Costs are CPU time per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Labels = NDArray[np.uint8]
Floats = NDArray[np.float64]
Scores = NDArray[np.float64 | np.uint8]
Codes = NDArray[np.intp]
Order = NDArray[np.int32 | np.intp]
Counts = NDArray[np.int64 | np.float64]
Extent: TypeAlias = tuple[float, float]

BLOCK = 8192
CLIP = 1e-15
CELLS = 4  # of a grid, for each threshold
NOTHING: Extent = (float("inf"), float("-inf"))  # of no values
FEW = 8  # thresholds that are compared one by one
SHORT = 6  # rows of a run, below which arranging costs more than it saves


class Runs(NamedTuple):
    """Rows in a row that belong to one group.

    Run i has the rows from ``starts[i]`` up to ``starts[i + 1]``, of group ``groups[i]``. A group may have several.
    """

    starts: Codes
    groups: Codes

    @classmethod
    def of(cls, codes: Codes) -> Runs:
        """The runs of rows whose groups are given."""
        ends = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        starts = np.concatenate([[0], ends, [len(codes)]]) if len(codes) else np.zeros(1, dtype=np.intp)
        return cls(starts, codes[starts[:-1]])

    def codes(self) -> Codes:
        """The group of each row."""
        return np.repeat(self.groups, np.diff(self.starts))

    def codes_of(self, rows: Codes) -> Codes:
        """The group of some rows."""
        codes: Codes = self.groups[np.searchsorted(self.starts, rows, side="right") - 1]
        return codes

    def blocks(self, rows: int = BLOCK) -> Iterator[tuple[slice, Codes | int]]:
        """Slices of so many rows, with the group of each row, or of all."""
        if len(self.groups) == 1:
            yield from ((block, int(self.groups[0])) for block in blocks(int(self.starts[1]), rows))
        elif len(self.groups):
            codes = self.codes()
            yield from ((block, codes[block]) for block in blocks(len(codes), rows))


def ranges(starts: NDArray[np.integer], sizes: NDArray[np.integer]) -> Codes:
    """The places of several ranges, one range after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    places: Codes = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    places += np.arange(len(places))
    return places


def arrange(codes: Codes, groups: int) -> tuple[Order | None, Runs]:
    """The order that brings rows of one group together, None for rows that stay as they are, and their runs; 12 ns.

    Rows stay if they come in runs already. They also stay, each a run of its own, if the groups are so many that runs
    would be short.
    """
    rows, runs = len(codes), Runs.of(codes)
    if len(runs.groups) * SHORT <= rows or groups <= 1:
        return None, runs
    if groups * SHORT > rows:
        return None, Runs(np.arange(rows + 1), codes)
    order = np.argsort(codes.astype(np.uint16) if groups <= 1 << 16 else codes, kind="stable")  # few bits: a radix sort
    counts = np.bincount(codes, minlength=groups)
    found = np.flatnonzero(counts)
    return order, Runs(np.append(0, np.cumsum(counts[found])), found)


def take(values: NDArray[Any], order: Order | None) -> NDArray[Any]:
    """The values in the order that `arrange` found; 4 ns."""
    return values if order is None else values[order]


def extent(values: NDArray[np.number]) -> Extent:
    """Smallest and largest value, NaN if one is NaN; 0.5 ns."""
    return (float(values.min()), float(values.max())) if len(values) else NOTHING


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


def as_integers(column: pl.Series) -> NDArray[np.integer]:
    """An integer for each value, the same for equal values alone."""
    if column.dtype == pl.Boolean:
        return column.cast(pl.Int64).to_numpy()
    if column.dtype == pl.Date or isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        return column.to_physical().to_numpy()
    if column.dtype.is_temporal() or column.dtype in (pl.Int64, pl.UInt64, pl.Float64):
        return column.to_physical().to_numpy().view(np.int64)
    text = column.bin.encode("hex") if column.dtype == pl.Binary else column.cast(pl.String)
    return text.cast(pl.Categorical(pl.Categories.random())).to_physical().cast(pl.Int64).to_numpy()


def count_outcomes(
    label: Labels, score: Scores, thresholds: Floats, weight: Floats | None, runs: Runs, out: Counts
) -> None:
    """Add rows by number of thresholds reached and label: ``out`` is (groups, thresholds + 1, 2).

    One threshold in a single run costs 0.5 ns; else 4 ns, and 8 ns for any number of thresholds that are spread evenly.
    """
    ladder, ranks = Ladder.of(thresholds), len(thresholds) + 1
    for block, group in runs.blocks():
        if ranks == 2 and weight is None and isinstance(group, int):
            out[group] += _count_outcomes_once(label[block], score[block] >= thresholds[0])
        else:
            cells = (group * ranks + ladder.ranks(score[block])) * 2 + label[block]
            add(out, cells, 1 if weight is None else weight[block])


def _count_outcomes_once(label: Labels, reached: NDArray[np.bool_]) -> Counts:
    positive = label.view(np.bool_)
    predicted, positives, tp = (np.count_nonzero(rows) for rows in (reached, positive, reached & positive))
    return np.array([[len(label) - positives - predicted + tp, positives - tp], [predicted - tp, tp]])


class Ladder(NamedTuple):
    """Ascending thresholds, ended by NaN, and a grid over them: ``below[i]`` of them lie in cells before the i-th."""

    thresholds: Floats
    origin: float
    scale: float
    below: Codes
    most: int  # of a cell

    @classmethod
    def of(cls, thresholds: Floats) -> Ladder:
        """A grid with a few cells for each threshold; a single one if they are few, or endlessly far apart."""
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


def sum_losses(label: Labels, score: Floats, weight: Floats | None, runs: Runs, out: Floats) -> None:
    """Add weight, log loss, its square, Brier loss, its square by label: ``out`` is (groups, 2, 5); 4 to 18 ns."""
    for block, group in runs.blocks():
        scores = score[block]
        values, classes = np.empty((5, len(scores))), np.empty((2, len(scores)))
        classes[1] = label[block]
        np.subtract(1.0, classes[1], out=classes[0])
        values[0] = 1.0 if weight is None else weight[block]
        clipped = np.minimum(np.maximum(scores, CLIP), 1.0 - CLIP)
        np.log(np.abs(clipped - classes[0]), out=values[1])  # of the probability of the true class, exactly
        np.square(values[1], out=values[2])
        np.negative(values[1], out=values[1])
        np.square(scores - classes[1], out=values[3])
        np.square(values[3], out=values[4])
        if weight is not None:
            values[1:] *= values[0]
        if isinstance(group, int):
            out[group] += classes @ values.T  # two cells: much faster than counting into them
        else:
            add_each(out, group * 2 + label[block], values)


def sum_calibration(
    label: Labels, score: Floats, edges: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """Add weight, score, its square by bin (lo, hi] and label: ``out`` is (groups, bins, 2, 3); 10 ns."""
    bins = len(edges) - 1
    for block, group in runs.blocks():
        scores = score[block]
        bin = (scores * bins).astype(np.intp)  # off by one at most, put right by the edges
        bin -= (scores <= edges[bin]) & (bin > 0)
        bin += scores > edges[bin + 1]
        values = np.stack([np.ones_like(scores) if weight is None else weight[block], scores, np.square(scores)])
        if weight is not None:
            values[1:] *= values[0]
        add_each(out, (group * bins + bin) * 2 + label[block], values)


def blocks(rows: int, size: int = 0) -> Iterator[slice]:
    """Slices of the rows that stay in the cache, no shorter than a table of that size that each adds to."""
    step = max(BLOCK, size)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def add(out: Counts, cells: Codes, value: Floats | int) -> None:
    """Add to cells of an array, numbered through it."""
    flat = out.reshape(-1)
    if len(flat) > 4 * len(cells):
        np.add.at(flat, cells, value)
    elif isinstance(value, int):
        flat += np.bincount(cells, minlength=len(flat))
    else:
        flat += np.bincount(cells, value, minlength=len(flat))


def add_each(out: Floats, cells: Codes, values: Floats) -> None:
    """Add each row of values to the cells of its own place along the last axis."""
    flat = out.reshape(-1, len(values))
    if len(flat) > 4 * len(cells):
        for i, value in enumerate(values):
            np.add.at(flat[:, i], cells, value)
    else:
        flat += np.stack([np.bincount(cells, value, minlength=len(flat)) for value in values], axis=1)


def add_runs(out: NDArray[np.generic], values: NDArray[np.generic], runs: Runs) -> None:
    """Add the rows of values, of shape (columns, rows), to the cells of their groups: ``out`` is (groups, columns)."""
    if runs.starts[-1]:
        np.add.at(out, runs.groups, np.add.reduceat(values, runs.starts[:-1], axis=1).T)

"""Kernels in numpy, the reference for the compiled ones.

A kernel processes rows in blocks that fit into the cache. It computes the index of a cell for each row of a block, then
counts or sums all rows of the block at once. Rows are arranged by group, as `Runs`. Kernels add each run to ``out``,
which has one entry per group. ``weight`` is None if every row counts once. Costs are CPU time per row.
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
CELLS = 4  # cells of the grid per threshold
NOTHING: Extent = (float("inf"), float("-inf"))  # the extent of no values
FEW = 8  # maximum number of thresholds that are compared one by one
SHORT = 6  # minimum average rows per run; with shorter runs, sorting costs more than it saves


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

    def codes_of(self, rows: Codes) -> Codes:
        """The group of each of the given rows."""
        codes: Codes = self.groups[np.searchsorted(self.starts, rows, side="right") - 1]
        return codes

    def blocks(self, rows: int = BLOCK) -> Iterator[tuple[slice, Codes | int]]:
        """Yield slices of at most ``rows`` rows, with the group of each row, or with one group if all rows share it."""
        if len(self.groups) == 1:
            yield from ((block, int(self.groups[0])) for block in blocks(int(self.starts[1]), rows))
        elif len(self.groups):
            codes = self.codes()
            yield from ((block, codes[block]) for block in blocks(len(codes), rows))


def ranges(starts: NDArray[np.integer], sizes: NDArray[np.integer]) -> Codes:
    """The concatenated indices of several ranges.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    places: Codes = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    places += np.arange(len(places))
    return places


def arrange(codes: Codes, groups: int) -> tuple[Order | None, Runs]:
    """The order that sorts rows by group, or None to keep the order of rows, and the resulting runs; 12 ns.

    The order is kept if rows already form long runs. It is also kept, with each row as its own run, if there are so
    many groups that sorted runs would be short.
    """
    rows, runs = len(codes), Runs.of(codes)
    if len(runs.groups) * SHORT <= rows or groups <= 1:
        return None, runs
    if groups * SHORT > rows:
        return None, Runs(np.arange(rows + 1), codes)
    order = np.argsort(codes.astype(np.uint16) if groups <= 1 << 16 else codes, kind="stable")  # 16 bits: a radix sort
    counts = np.bincount(codes, minlength=groups)
    found = np.flatnonzero(counts)
    return order, Runs(np.append(0, np.cumsum(counts[found])), found)


def take(values: NDArray[Any], order: Order | None) -> NDArray[Any]:
    """The values in the order that `arrange` returned; 4 ns."""
    return values if order is None else values[order]


def extent(values: NDArray[np.number]) -> Extent:
    """Smallest and largest value, both NaN if any value is NaN; 0.5 ns."""
    return (float(values.min()), float(values.max())) if len(values) else NOTHING


def number(column: pl.Series) -> tuple[Codes, Codes]:
    """Number the distinct values of a column: the number of each row, and one row with each number.

    ``column`` must not contain nulls. Rows with the same number have equal values, but equal strings and equal zeros
    may have different numbers. Costs 13 ns for strings, 5 ns for integers in a narrow range, and 60 ns for others.
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
    """An integer for each value, so that different values have different integers."""
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
    """Count rows by the number of thresholds that they reach and by label: ``out`` is (groups, thresholds + 1, 2).

    Costs 0.5 ns for one threshold in a single run, 4 ns for few thresholds, and 8 ns for many evenly spaced ones.
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
    """Ascending thresholds, followed by NaN, and a grid over them.

    ``below[i]`` is the number of thresholds in the cells before cell i.
    """

    thresholds: Floats
    origin: float
    scale: float
    below: Codes
    most: int  # maximum number of thresholds in a cell

    @classmethod
    def of(cls, thresholds: Floats) -> Ladder:
        """A grid with a few cells per threshold, or a single cell for few thresholds or an infinite range."""
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
        """The cell of each score. Scores outside the grid fall into the outer cells."""
        with np.errstate(over="ignore"):
            cells: Codes = np.clip((score - self.origin) * self.scale, 0, len(self.below) - 2).astype(np.intp)
        return cells

    def ranks(self, score: Scores) -> Codes:
        """The number of thresholds that each score reaches: all in lower cells, and some in its own cell."""
        if self.most > FEW:
            return np.searchsorted(self.thresholds, score, side="right")
        if len(self.below) == 2:
            return sum((score >= threshold for threshold in self.thresholds[:-1]), np.zeros(len(score), dtype=np.intp))
        ranks: Codes = self.below[self.cells(score)]
        for _ in range(self.most):
            ranks += self.thresholds[ranks] <= score
        return ranks


def sum_losses(label: Labels, score: Floats, weight: Floats | None, runs: Runs, out: Floats) -> None:
    """Sum weight, log loss, its square, Brier loss, and its square by label: ``out`` is (groups, 2, 5); 4 to 18 ns."""
    for block, group in runs.blocks():
        scores = score[block]
        values, classes = np.empty((5, len(scores))), np.empty((2, len(scores)))
        classes[1] = label[block]
        np.subtract(1.0, classes[1], out=classes[0])
        values[0] = 1.0 if weight is None else weight[block]
        clipped = np.minimum(np.maximum(scores, CLIP), 1.0 - CLIP)
        np.log(np.abs(clipped - classes[0]), out=values[1])  # log of the exact probability of the true class
        np.square(values[1], out=values[2])
        np.negative(values[1], out=values[1])
        np.square(scores - classes[1], out=values[3])
        np.square(values[3], out=values[4])
        if weight is not None:
            values[1:] *= values[0]
        if isinstance(group, int):
            out[group] += classes @ values.T  # for two cells, faster than bincount
        else:
            add_each(out, group * 2 + label[block], values)


def sum_calibration(
    label: Labels, score: Floats, edges: Floats, weight: Floats | None, runs: Runs, out: Floats
) -> None:
    """Sum weight, score, and its square by bin (lo, hi] and label: ``out`` is (groups, bins, 2, 3); 10 ns."""
    bins = len(edges) - 1
    for block, group in runs.blocks():
        scores = score[block]
        bin = (scores * bins).astype(np.intp)  # off by one at most, corrected with the edges
        bin -= (scores <= edges[bin]) & (bin > 0)
        bin += scores > edges[bin + 1]
        values = np.stack([np.ones_like(scores) if weight is None else weight[block], scores, np.square(scores)])
        if weight is not None:
            values[1:] *= values[0]
        add_each(out, (group * bins + bin) * 2 + label[block], values)


def blocks(rows: int, size: int = 0) -> Iterator[slice]:
    """Slices of rows that fit into the cache, at least as long as the table of ``size`` cells that they update."""
    step = max(BLOCK, size)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def add(out: Counts, cells: Codes, value: Floats | int) -> None:
    """Add values to the cells of an array, by their flat index."""
    flat = out.reshape(-1)
    if len(flat) > 4 * len(cells):
        np.add.at(flat, cells, value)
    elif isinstance(value, int):
        flat += np.bincount(cells, minlength=len(flat))
    else:
        flat += np.bincount(cells, value, minlength=len(flat))


def add_each(out: Floats, cells: Codes, values: Floats) -> None:
    """Add row i of ``values`` to the cells at index i of the last axis."""
    flat = out.reshape(-1, len(values))
    if len(flat) > 4 * len(cells):
        for i, value in enumerate(values):
            np.add.at(flat[:, i], cells, value)
    else:
        flat += np.stack([np.bincount(cells, value, minlength=len(flat)) for value in values], axis=1)


def add_runs(out: NDArray[np.generic], values: NDArray[np.generic], runs: Runs) -> None:
    """Sum ``values``, of shape (columns, rows), by group: ``out`` is (groups, columns)."""
    if runs.starts[-1]:
        np.add.at(out, runs.groups, np.add.reduceat(values, runs.starts[:-1], axis=1).T)

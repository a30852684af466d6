"""Rows by label and by the number of thresholds that their scores reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streammetrics.core.definition.runs import Codes, Counts, Floats, Labels, Runs, Scores, add

CELLS = 4  # cells of the grid per threshold
FEW = 8  # maximum number of thresholds that are compared one by one


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

"""The rate of positives at each score: fitted to rows with labels, and the range that odds within a factor leave."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Integers = NDArray[np.intp]

CELLS = 100  # of the reference, at most; isotonic regression pools them further
FEWEST = 25  # rows of a cell, or so


def cells(neg: Values, pos: Values) -> Integers:
    """The cell of each bin: cells ascend, and hold about equal shares of the negatives and of the positives.

    >>> cells(np.full(5, 20), np.full(5, 20))
    array([0, 2, 4, 5, 7])
    """
    rows = neg + pos
    number = min(CELLS, int(rows.sum() / FEWEST))
    below_neg, below_pos = ((np.cumsum(side) - side / 2) / side.sum() for side in (neg, pos))
    found: Integers = np.floor((below_neg + below_pos) / 2 * number).astype(np.intp)
    return found


def fitted(neg: Values, pos: Values) -> Values:
    """The rate of positives in each bin: isotonic over the score, and never 0 or 1.

    Bins are pooled to cells, and cells by isotonic regression, so that few rows do not make a rate of their own. The
    lowest rate counts half a positive if there is none, the highest half a negative. Bins without rows get a rate
    between those of their neighbors.

    Args:
        neg: Negatives of each bin, by ascending score. Both classes must have some.
        pos: Positives of each bin.

    >>> fitted(np.array([30.0, 20, 0, 10]), np.array([0.0, 20, 0, 30])).round(4)
    array([0.0161, 0.5   , 0.625 , 0.75  ])
    """
    occupied = np.flatnonzero(neg + pos)
    cell = cells(neg[occupied], pos[occupied])
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    sums = (np.add.reduceat(side[occupied], starts).astype(float) for side in (neg, pos))
    rates = isotonic(*sums)
    return np.interp(np.arange(len(neg)), occupied, np.repeat(rates, np.diff(starts, append=len(cell))))


def isotonic(neg: Values, pos: Values) -> Values:
    """Rates that ascend with the cell and fit best, by the max-min formula; cells lie along the last axis.

    Reference: Robertson, Wright & Dykstra (1988), Order Restricted Statistical Inference, theorem 1.4.4.

    >>> isotonic(np.array([9.0, 1, 5]), np.array([1.0, 2, 5])).round(4)
    array([0.1   , 0.5385, 0.5385])
    """
    rows = neg + pos
    below, rows_below = (np.cumsum(side, axis=-1) - side for side in (pos, rows))
    upto, rows_upto = np.cumsum(pos, axis=-1), np.cumsum(rows, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (upto[..., None, :] - below[..., :, None]) / (rows_upto[..., None, :] - rows_below[..., :, None])
    later = np.tri(rows.shape[-1], dtype=bool).T  # from a cell to itself or to one above it
    least = np.minimum.accumulate(np.where(later, mean, np.inf)[..., ::-1], axis=-1)[..., ::-1]
    rates = np.maximum.accumulate(np.where(later, least, -np.inf), axis=-2)
    found: Values = np.diagonal(rates, axis1=-2, axis2=-1)
    return _inside(found, neg, pos)


def _inside(rates: Values, neg: Values, pos: Values) -> Values:
    """The rates, with half a row of the other class if the lowest is 0 or the highest is 1."""
    none, all_ = rates <= 0, rates >= 1
    others = np.where(none | all_, 0.5, rates)
    lowest = 0.5 / ((neg * none).sum(axis=-1, keepdims=True) + 1)
    highest = 1 - 0.5 / ((pos * all_).sum(axis=-1, keepdims=True) + 1)
    lowest = np.minimum(lowest, others.min(axis=-1, keepdims=True))
    highest = np.maximum(highest, others.max(axis=-1, keepdims=True))
    return np.where(none, lowest, np.where(all_, highest, rates))


def within_odds(rates: Values, odds: float) -> tuple[Values, Values]:
    """The lowest and the highest rates whose odds differ by at most a factor.

    >>> low, high = within_odds(np.array([0.5, 0.2]), 4)
    >>> low.round(4).tolist(), high.tolist()
    ([0.2, 0.0588], [0.8, 0.5])
    """
    return rates / (rates + odds * (1 - rates)), odds * rates / (odds * rates + 1 - rates)

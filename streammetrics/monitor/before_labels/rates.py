"""The positive rate at each score, fitted to rows with labels, and its ends if odds can change."""

from __future__ import annotations

import numpy as np

from streammetrics.core import Codes, Floats

CELLS = 100  # maximum number of cells of the reference, which isotonic regression pools further
FEWEST = 25  # approximate minimum number of rows per cell


def cells(neg: Floats, pos: Floats) -> Codes:
    """The cell of each bin. Each cell has about the same share of the negatives and of the positives.

    >>> cells(np.full(5, 20), np.full(5, 20))
    array([0, 2, 4, 5, 7])
    """
    rows = neg + pos
    number = min(CELLS, int(rows.sum() / FEWEST))
    below_neg, below_pos = ((np.cumsum(side) - side / 2) / side.sum() for side in (neg, pos))
    numbers: Codes = np.floor((below_neg + below_pos) / 2 * number).astype(np.intp)
    return numbers


def fitted(neg: Floats, pos: Floats) -> Floats:
    """The positive rate in each bin, by ascending score, which never falls and is never 0 or 1. Both classes have rows.

    Bins are pooled to cells, and cells by isotonic regression, so that no rate is estimated from very few rows. If the
    lowest rate has no positives, it counts half a positive, and if the highest rate has no negatives, it counts half a
    negative. Bins without rows get a rate between the rates of their neighbors.
    """
    occupied = np.flatnonzero(neg + pos)
    cell = cells(neg[occupied], pos[occupied])
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    sums = (np.add.reduceat(side[occupied], starts).astype(float) for side in (neg, pos))
    rates = isotonic(*sums)
    return np.interp(np.arange(len(neg)), occupied, np.repeat(rates, np.diff(starts, append=len(cell))))


def isotonic(neg: Floats, pos: Floats) -> Floats:
    """Isotonic regression by the max-min formula: the best fitting rates that never fall; cells along the last axis.

    Reference: Robertson, Wright & Dykstra (1988), Order Restricted Statistical Inference, theorem 1.4.4.

    >>> isotonic(np.array([9.0, 1, 5]), np.array([1.0, 2, 5])).round(4)
    array([0.1   , 0.5385, 0.5385])
    """
    rows = neg + pos
    below, rows_below = (np.cumsum(side, axis=-1) - side for side in (pos, rows))
    upto, rows_upto = np.cumsum(pos, axis=-1), np.cumsum(rows, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (upto[..., None, :] - below[..., :, None]) / (rows_upto[..., None, :] - rows_below[..., :, None])
    later = np.tri(rows.shape[-1], dtype=bool).T  # ranges from a cell to itself or to a higher cell
    least = np.minimum.accumulate(np.where(later, mean, np.inf)[..., ::-1], axis=-1)[..., ::-1]
    rates = np.maximum.accumulate(np.where(later, least, -np.inf), axis=-2)
    return _inside(np.diagonal(rates, axis1=-2, axis2=-1), neg, pos)


def _inside(rates: Floats, neg: Floats, pos: Floats) -> Floats:
    """Add half a row of the other class to a lowest rate of 0 and to a highest rate of 1."""
    none, all_ = rates <= 0, rates >= 1
    others = np.where(none | all_, 0.5, rates)
    lowest = 0.5 / ((neg * none).sum(axis=-1, keepdims=True) + 1)
    highest = 1 - 0.5 / ((pos * all_).sum(axis=-1, keepdims=True) + 1)
    lowest = np.minimum(lowest, others.min(axis=-1, keepdims=True))
    highest = np.maximum(highest, others.max(axis=-1, keepdims=True))
    return np.where(none, lowest, np.where(all_, highest, rates))


def within_odds(rates: Floats, odds: float) -> tuple[Floats, Floats]:
    """The lowest and the highest rates whose odds differ from those of ``rates`` by at most a factor.

    >>> low, high = within_odds(np.array([0.5, 0.2]), 4)
    >>> low.round(4).tolist(), high.tolist()
    ([0.2, 0.0588], [0.8, 0.5])
    """
    return rates / (rates + odds * (1 - rates)), odds * rates / (odds * rates + 1 - rates)

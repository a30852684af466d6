"""Kernels for rows with a score per class, in numpy.

``truth`` contains the number of the true class of each row, and ``scores`` one array per class. Costs are CPU time per
row and class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streammetrics.core.definition.runs import CLIP, Codes, Counts, Floats, Runs, add, add_each, blocks

CELLS = 1 << 20  # values that are sorted at once
DECIMALS = 1e12  # floats represent integers exactly up to 1000 times this number


def likeliest(scores: Sequence[Floats]) -> Codes:
    """The class with the highest score of each row, the first one if scores are tied; 2 ns."""
    best: Codes = np.zeros(len(scores[0]), dtype=np.intp)
    for block in blocks(len(best)):
        highest = scores[0][block].copy()
        for i, score in enumerate(scores[1:], start=1):
            np.copyto(best[block], i, where=score[block] > highest)
            np.maximum(highest, score[block], out=highest)
    return best


def row_sums(scores: Sequence[Floats]) -> Floats:
    """The sum of the scores of each row, NaN if any score is NaN. The order of the scores does not affect the result.

    If all scores are decimals with at most 12 places, the result is the float nearest to the exact sum of these
    decimals, so that 0.1 + 0.2 is 0.3. Otherwise, rounding errors are summed and added. A sum is never below a score.
    """
    totals = np.empty(len(scores[0]))
    step = max(1, CELLS // len(scores))
    for start in range(0, len(totals), step):
        values = np.sort([score[start : start + step] for score in scores], axis=0)
        total, missed = values[-1], np.zeros(values.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            for value in values[-2::-1]:
                more = total + value
                missed += value - (more - total)  # exact, because the total is at least the value
                total = more
            total = np.where(np.isinf(total), total, total + missed)
            decimal = (np.rint(values * DECIMALS) / DECIMALS == values).all(axis=0) & (total < 1000)
            totals[start : start + step] = np.where(decimal, np.rint(total * DECIMALS) / DECIMALS, total)
    return totals


def sum_class_losses(truth: Codes, scores: Sequence[Floats], weight: Floats | None, runs: Runs, out: Floats) -> None:
    """Sum weight, log loss, its square, Brier loss, and its square by class: ``out`` is (groups, classes, 5); 3 ns."""
    for block, group in runs.blocks():
        true = truth[block]
        values, own, brier = np.empty((5, len(true))), np.zeros(len(true)), np.zeros(len(true))
        for i, score in enumerate(scores):
            hit = true == i
            np.copyto(own, score[block], where=hit)
            brier += np.square(score[block] - hit)
        values[0] = 1.0 if weight is None else weight[block]
        values[1] = -np.log(np.clip(own, CLIP, 1.0 - CLIP))
        values[2] = np.square(values[1])
        values[3] = brier
        values[4] = np.square(brier)
        if weight is not None:
            values[1:] *= values[0]
        add_each(out, group * len(scores) + true, values)


def count_ranks(truth: Codes, scores: Sequence[Floats], weight: Floats | None, runs: Runs, out: Counts) -> None:
    """Count rows by the rank of the true class, 0 for the highest score: ``out`` is (groups, classes); 3 ns.

    If scores are tied, the first class ranks higher.
    """
    for block, group in runs.blocks():
        true = truth[block]
        own, rank = np.zeros(len(true)), np.zeros(len(true), dtype=np.intp)
        for i, score in enumerate(scores):
            np.copyto(own, score[block], where=true == i)
        for i, score in enumerate(scores):
            rank += (score[block] > own) | ((score[block] == own) & (true > i))
        add(out, group * len(scores) + rank, 1 if weight is None else weight[block])

"""The loops over rows with a score for each of several classes, in numpy.

``truth`` holds the number of each row's class, ``scores`` an array for each class. Costs are CPU time per row and
class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streammetrics.kernels.numpy import CLIP, Codes, Counts, Floats, blocks


def likeliest(scores: Sequence[Floats]) -> Codes:
    """Of each row the number of the highest score, the first of those that are equally high; 2 ns."""
    best: Codes = np.zeros(len(scores[0]), dtype=np.intp)
    for block in blocks(len(best)):
        highest = scores[0][block].copy()
        for i, score in enumerate(scores[1:], start=1):
            np.copyto(best[block], i, where=score[block] > highest)
            np.maximum(highest, score[block], out=highest)
    return best


def sum_class_losses(
    truth: Codes, scores: Sequence[Floats], group: Codes | None, groups: int, weight: Floats | None
) -> Floats:
    """Weight, log loss, its square, Brier loss, its square by group and class: shape (groups, classes, 5); 3 ns."""
    classes = len(scores)
    sums = np.zeros((5, groups * classes))
    for block in blocks(len(truth), groups * classes):
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
        cells = true if group is None else group[block] * classes + true
        for total, value in zip(sums, values, strict=True):
            total += np.bincount(cells, value, minlength=len(total))
    return sums.T.reshape(groups, classes, 5)


def count_ranks(
    truth: Codes, scores: Sequence[Floats], group: Codes | None, groups: int, weight: Floats | None
) -> Counts:
    """Rows by group and rank of the class among the scores, 0 for the highest: shape (groups, classes); 3 ns.

    Of equal scores the first class ranks higher.
    """
    classes = len(scores)
    counts: Counts = np.zeros(groups * classes, dtype=np.int64 if weight is None else np.float64)
    for block in blocks(len(truth), groups * classes):
        true = truth[block]
        own, rank = np.zeros(len(true)), np.zeros(len(true), dtype=np.intp)
        for i, score in enumerate(scores):
            np.copyto(own, score[block], where=true == i)
        for i, score in enumerate(scores):
            rank += (score[block] > own) | ((score[block] == own) & (true > i))
        cells = rank if group is None else group[block] * classes + rank
        np.add(counts, np.bincount(cells, None if weight is None else weight[block], minlength=len(counts)), out=counts)
    return counts.reshape(groups, classes)

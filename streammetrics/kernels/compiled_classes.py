"""The loops over rows with a score for each of several classes, compiled: what classes.py defines.

A loop takes the scores of one class and adds to what is known of each row, so that it is compiled once for any number
of classes. Rows come in pieces whose notes stay in the cache, long enough that other threads seldom wait for the lock.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streammetrics.kernels.compiled import _log, any_order, exact
from streammetrics.kernels.numpy import CLIP, Codes, Counts, Floats

PIECE = 32_768  # rows


def likeliest(scores: Sequence[Floats]) -> Codes:
    """1.2 ns."""
    best: Codes = np.zeros(len(scores[0]), dtype=np.intp)
    for start in range(0, len(best), PIECE):
        piece = slice(start, start + PIECE)
        highest = scores[0][piece].copy()
        for i, score in enumerate(scores[1:], start=1):
            _take_higher(score[piece], i, highest, best[piece])
    return best


def sum_class_losses(
    truth: Codes, scores: Sequence[Floats], group: Codes | None, groups: int, weight: Floats | None
) -> Floats:
    """2 ns."""
    sums = np.zeros((groups * len(scores), 5))
    for start in range(0, len(truth), PIECE):
        piece = slice(start, start + PIECE)
        true = truth[piece]
        own, brier = np.zeros(len(true)), np.zeros(len(true))
        for i, score in enumerate(scores):
            _add_to_brier(true, score[piece], i, own, brier)
        groups_of, weights = (None if of is None else of[piece] for of in (group, weight))
        _sum_class_losses(true, own, brier, groups_of, weights, len(scores), sums)
    return sums.reshape(groups, len(scores), 5)


def count_ranks(
    truth: Codes, scores: Sequence[Floats], group: Codes | None, groups: int, weight: Floats | None
) -> Counts:
    """2 ns."""
    counts: Counts = np.zeros((groups, len(scores)), dtype=np.int64 if weight is None else np.float64)
    for start in range(0, len(truth), PIECE):
        piece = slice(start, start + PIECE)
        true = truth[piece]
        own, rank = np.zeros(len(true)), np.zeros(len(true), dtype=np.intp)
        for i, score in enumerate(scores):
            _take_own(true, score[piece], i, own)
        for i, score in enumerate(scores):
            _add_to_rank(true, score[piece], i, own, rank)
        groups_of, weights = (None if of is None else of[piece] for of in (group, weight))
        _count_ranks(rank, groups_of, weights, counts)
    return counts


@exact
def _take_higher(score, number, highest, best):
    for i in range(len(score)):
        higher = score[i] > highest[i]
        best[i] = number if higher else best[i]
        highest[i] = score[i] if higher else highest[i]


@exact
def _take_own(truth, score, number, own):
    for i in range(len(truth)):
        own[i] = score[i] if truth[i] == number else own[i]


@exact
def _add_to_brier(truth, score, number, own, brier):
    for i in range(len(truth)):
        hit = truth[i] == number
        own[i] = score[i] if hit else own[i]
        miss = score[i] - (1.0 if hit else 0.0)
        brier[i] += miss * miss


@exact
def _add_to_rank(truth, score, number, own, rank):
    for i in range(len(truth)):
        rank[i] += (score[i] > own[i]) | ((score[i] == own[i]) & (truth[i] > number))


@any_order
def _sum_class_losses(truth, own, brier, group, weight, classes, sums):
    for i in range(len(truth)):
        log_loss = -_log(min(max(own[i], CLIP), 1.0 - CLIP))
        w = 1.0 if weight is None else weight[i]
        cell = np.uint64(truth[i] if group is None else group[i] * classes + truth[i])
        sums[cell, 0] += w
        sums[cell, 1] += w * log_loss
        sums[cell, 2] += w * log_loss * log_loss
        sums[cell, 3] += w * brier[i]
        sums[cell, 4] += w * brier[i] * brier[i]


@exact
def _count_ranks(rank, group, weight, counts):
    for i in range(len(rank)):
        counts[0 if group is None else group[i], rank[i]] += 1 if weight is None else weight[i]

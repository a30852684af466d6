"""Kernels for rows with a score per class, compiled: the functions of ``classes.py``.

Each loop processes the scores of one class and updates an array with one entry per row, so that one compiled loop works
for any number of classes. Rows are processed in pieces: short enough that these arrays fit into the cache, and long
enough that other threads rarely wait for the GIL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from streammetrics.kernels.compiled import _log, any_order, exact
from streammetrics.kernels.numpy import BLOCK, CLIP, FEW, Codes, Counts, Floats, Runs

PIECE = 32_768  # rows per piece


def likeliest(scores: Sequence[Floats]) -> Codes:
    """1.2 ns."""
    best: Codes = np.zeros(len(scores[0]), dtype=np.intp)
    for piece in _pieces(len(best)):
        highest = scores[0][piece].copy()
        for i, score in enumerate(scores[1:], start=1):
            _take_higher(score[piece], i, highest, best[piece])
    return best


def sum_class_losses(truth: Codes, scores: Sequence[Floats], weight: Floats | None, runs: Runs, out: Floats) -> None:
    """2 ns."""
    own, brier = np.zeros(len(truth)), np.zeros(len(truth))
    for piece in _pieces(len(truth)):
        for i, score in enumerate(scores):
            _add_to_brier(truth[piece], score[piece], i, own[piece], brier[piece])
    _sum_class_losses(truth, own, brier, weight, runs, out)


def count_ranks(truth: Codes, scores: Sequence[Floats], weight: Floats | None, runs: Runs, out: Counts) -> None:
    """2 ns."""
    own, rank = np.zeros(len(truth)), np.zeros(len(truth), dtype=np.intp)
    for piece in _pieces(len(truth)):
        for i, score in enumerate(scores):
            _take_own(truth[piece], score[piece], i, own[piece])
        for i, score in enumerate(scores):
            _add_to_rank(truth[piece], score[piece], i, own[piece], rank[piece])
    _count_ranks(rank, weight, runs, out)


def _pieces(rows: int) -> Iterator[slice]:
    return (slice(start, start + PIECE) for start in range(0, rows, PIECE))


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
def _sum_class_losses(truth, own, brier, weight, runs, out):
    sums = np.zeros(out.shape[1:])
    for run in range(len(runs.groups)):
        last = runs.starts[run + 1]
        for start in range(runs.starts[run], last, BLOCK):  # short blocks, so that sums lose few digits
            few = last - start < FEW
            cells = out[runs.groups[run]] if few else sums
            for i in range(start, min(start + BLOCK, last)):
                log_loss = -_log(min(max(own[i], CLIP), 1.0 - CLIP))
                w = 1.0 if weight is None else weight[i]
                terms = cells[truth[i]]
                terms[0] += w
                terms[1] += w * log_loss
                terms[2] += w * log_loss * log_loss
                terms[3] += w * brier[i]
                terms[4] += w * brier[i] * brier[i]
            if not few:
                out[runs.groups[run]] += sums
                sums[:] = 0.0


@exact
def _count_ranks(rank, weight, runs, out):
    for run in range(len(runs.groups)):
        cells = out[runs.groups[run]]
        for i in range(runs.starts[run], runs.starts[run + 1]):
            cells[rank[i]] += 1 if weight is None else weight[i]

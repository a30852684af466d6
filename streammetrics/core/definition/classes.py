"""Loops over rows with a score per class.

``truth`` contains the number of the true class of each row, and ``scores`` one array per class.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streammetrics.core.definition.runs import Codes, Counts, Floats, Runs
from streammetrics.core.definition.sums import add_values, clipped, log

CELLS = 1 << 20  # values that are sorted at once
DECIMALS = 1e12  # floats represent integers exactly up to 1000 times this number


def likeliest(scores: Sequence[Floats]) -> Codes:
    """The class with the highest score of each row, the first one if scores are tied."""
    best: Codes = np.argmax(scores, axis=0)
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


def sum_class_losses(truth: Codes, scores: Sequence[Floats], weight: Counts | None, runs: Runs, out: Counts) -> None:
    """Sum log loss, its square, Brier loss, and its square by class: ``out`` is (groups, classes, cell)."""
    log_loss = -log(clipped(own_scores(truth, scores)))
    brier = sum((np.square(score - (truth == i)) for i, score in enumerate(scores)), np.zeros(len(truth)))
    values = (log_loss, np.square(log_loss), brier, np.square(brier))
    add_values(out, runs.codes() * len(scores) + truth, values, weight)


def count_ranks(truth: Codes, scores: Sequence[Floats], weight: Counts | None, runs: Runs, out: Counts) -> None:
    """Count rows by the rank of the true class, 0 for the highest score: ``out`` is (groups, classes).

    If scores are tied, the first class ranks higher.
    """
    of_class, rank = own_scores(truth, scores), np.zeros(len(truth), dtype=np.intp)
    for i, score in enumerate(scores):
        rank += (score > of_class) | ((score == of_class) & (truth > i))
    np.add.at(out, (runs.codes(), rank), 1 if weight is None else weight)


def own_scores(truth: Codes, scores: Sequence[Floats]) -> Floats:
    """The score that each row gives to its true class."""
    of_class: Floats = np.stack(scores)[truth, np.arange(len(truth))]
    return of_class

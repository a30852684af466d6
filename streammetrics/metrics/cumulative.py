"""Calibration without bins of the score: cumulative differences between labels and scores, from a score histogram.

The histogram has one row per bin in ascending order of score, with the numbers of negatives and positives.
``score_low`` and ``score_high`` are the smallest and the largest score of a bin, equal if it is a single score. Values
place the rows of a bin at its middle. Bounds hold for all scores and all orders of the rows within their bins.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
from polars import Expr

from streammetrics.base import each
from streammetrics.metrics.intervals import brownian, methods
from streammetrics.metrics.metric import Bounded, metric

FEWEST_EXPECTED = 10  # variance of the sum of the labels, from which it is about normal


@metric(
    range=(0, 1),
    better="low",
    aliases=("ecce_r", "empirical_cumulative_calibration_error"),
    interval=methods.RangeOfSums(),
)
def ecce(neg: Expr, pos: Expr, score_low: Expr, score_high: Expr) -> Bounded:
    """Empirical cumulative calibration error: the largest excess or lack of positives between any two scores.

    |positives - expected positives| of the rows in the worst range of scores, divided by all rows. It is the range of
    the cumulative differences of labels and scores in ascending order of the score (ECCE-R; Arrieta-Ibarra, Gujral,
    Tannen, Tygert & Xu 2022). Unlike `ece`, it needs no bins and approaches 0 if scores are calibrated. For few rows,
    compare it with `expected_ecce`. Equal scores count together. Null if there are no rows. The bounds are attained.

    >>> ecce([4, 1], [0, 3], [0.25, 0.75], [0.25, 0.75]), ecce([3, 1], [1, 3], [0.25, 0.75], [0.25, 0.75])
    (0.125, 0.0)
    >>> ecce([], [], [], []) is None
    True
    """
    rows, middle, inside = neg.sum() + pos.sum(), (score_low + score_high) / 2, score_low < score_high
    nowhere = pl.lit(False)
    value = _range(neg, pos, middle, middle, nowhere)
    lower = _range(neg, pos, score_high, score_low, nowhere)
    upper = _range(neg, pos, score_low, score_high, inside)
    return Bounded(*((size / rows).clip(None, 1) for size in (value, lower, upper)))


@metric(range=(0, 1), interval="it is what chance gives")
def expected_ecce(neg: Expr, pos: Expr, score_low: Expr, score_high: Expr, row_weight: Expr | float = 1.0) -> Bounded:
    """Expected value of `ecce` if the scores are calibrated.

    ``sqrt(8 / pi)`` times its standard error over independent rows with scores s: ``sqrt(sum(s (1 - s))) / n``, or
    ``sqrt(sum(w**2 s (1 - s))) / sum(w)`` with weights w. With ``unit``, it is computed as for `ecce_p_value`. An
    `ecce` of this size is no evidence against the scores. Null if there are no rows. ``row_weight`` is the mean weight
    of the rows of a bin: ``sum(w**2) / sum(w)``.

    >>> round(expected_ecce([4, 1], [0, 3], [0.25, 0.75], [0.25, 0.75]), 6)
    0.244301
    """
    chance = _chance(neg + pos, score_low, score_high, row_weight)
    return Bounded(*(pl.when(chance.defined).then(brownian.MEAN_RANGE * error) for error in chance.errors))


@metric(range=(0, 1), better="high", interval="a p-value")
def ecce_p_value(neg: Expr, pos: Expr, score_low: Expr, score_high: Expr, row_weight: Expr | float = 1.0) -> Bounded:
    """Probability of an `ecce` at least as large as this one if the scores are calibrated.

    Below 0.05, labels contradict the scores at the 5% level. It follows from the range of a Brownian motion (Feller
    1951), with the standard error of `expected_ecce`. If rows of a unit are correlated, pass ``unit``: it is then the
    share of random signs of the folds of units whose cumulative differences have such a range. Null if the sum of
    s (1 - s) over the scores is below 10, as for fewer than 10 expected positives; the effective number of rows counts
    if they have weights, and it must be about 100 with ``unit``.

    >>> round(ecce_p_value([320, 90], [80, 310], [0.25, 0.75], [0.25, 0.75]), 6)
    0.401167
    >>> ecce_p_value([4, 1], [0, 3], [0.25, 0.75], [0.25, 0.75]) is None
    True
    """
    size: Bounded = ecce.formula(neg, pos, score_low, score_high)
    chance = _chance(neg + pos, score_low, score_high, row_weight)
    pairs = zip((size.value, size.upper, size.lower), chance.errors, strict=True)
    return Bounded(*(pl.when(chance.enough).then(each(brownian.exceeding, size=s / error)) for s, error in pairs))


@expected_ecce.note
def _unknown(neg: Expr, pos: Expr, score_low: Expr, score_high: Expr, row_weight: Expr) -> Expr:
    chance, rows = _chance(neg + pos, score_low, score_high, row_weight), neg.sum() + pos.sum()
    return pl.when((rows > 0) & ~chance.defined).then(pl.lit("the squares of the weights are unknown"))


@ecce_p_value.note
def _few(neg: Expr, pos: Expr, score_low: Expr, score_high: Expr, row_weight: Expr) -> Expr:
    chance = _chance(neg + pos, score_low, score_high, row_weight)
    few = pl.when(chance.defined & ~chance.enough).then(pl.lit("too few expected positives or negatives"))
    return pl.coalesce(_unknown(neg, pos, score_low, score_high, row_weight), few)


def _range(neg: Expr, pos: Expr, of_rise: Expr, of_fall: Expr, inside: Expr) -> Expr:
    """Largest rise or fall of the sums of labels minus scores, with the scores of bins while it rises and falls."""
    rise = _rise(pos * (1 - of_rise), neg * of_rise, inside)
    return pl.max_horizontal(rise, _rise(neg * of_fall, pos * (1 - of_fall), inside))


def _rise(gain: Expr, loss: Expr, inside: Expr) -> Expr:
    """Largest rise of sums of gains minus losses, which can start and end ``inside`` bins, in their best order."""
    before = (gain - loss).cum_sum().shift(1, fill_value=0)
    start = before - pl.when(inside).then(loss).otherwise(0)
    end = before + gain - pl.when(inside).then(0).otherwise(loss)
    return pl.max_horizontal((end - pl.min_horizontal(start.cum_min().shift(1, fill_value=0), before)).max(), 0)


class _Chance(NamedTuple):
    """What is known of the sum of all differences between labels and calibrated scores."""

    defined: Expr  # whether there are rows, and squares of their weights
    enough: Expr  # whether the sum is about normal
    errors: Bounded  # its standard error, as a share of the rows


def _chance(rows: Expr, low: Expr, high: Expr, row_weight: Expr | float) -> _Chance:
    middle, squares = (low + high) / 2, rows * row_weight
    at_low, at_high = low * (1 - low), high * (1 - high)
    largest = pl.when((low < 0.5) & (high > 0.5)).then(0.25).otherwise(pl.max_horizontal(at_low, at_high))
    usual = squares.sum() / rows.sum()
    variances = [(squares * v).sum() for v in (middle * (1 - middle), pl.min_horizontal(at_low, at_high), largest)]
    defined = usual.is_finite() & (usual > 0)
    enough = defined & (variances[0] / usual**2 >= FEWEST_EXPECTED)
    return _Chance(defined, enough, Bounded(*(variance.sqrt() / rows.sum() for variance in variances)))

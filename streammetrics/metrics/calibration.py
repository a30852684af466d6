"""Calibration errors and the Brier decomposition, from predicted and observed rates in bins of the score.

Metrics of single bins depend on the number of bins; means over all rows do not.
"""

from __future__ import annotations

from math import inf

import polars as pl
from polars import Expr

from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric

_BIASED = "it is biased upwards"


@metric(range=(0, 1), better="low", aliases=("expected_calibration_error",), interval=_BIASED)
def ece(weight: Expr, pos: Expr, score_sum: Expr) -> Expr:
    """Expected calibration error: mean |mean score - observed rate| of the bins, weighted by rows (Naeini et al. 2015).

    0 if mean score and observed rate agree in every bin. It depends on the number of bins, and is biased upward for few
    rows per bin. Bins include their upper edge.

    >>> ece([4, 4], [1, 3], [0.5, 3.5])
    0.125
    """
    return (score_sum - pos).abs().sum() / weight.sum()


@metric(range=(0, 1), better="low", aliases=("maximum_calibration_error",), interval=_BIASED)
def mce(weight: Expr, pos: Expr, score_sum: Expr) -> Expr:
    """Maximum calibration error: largest |mean score - observed rate| of a bin (Naeini et al. 2015).

    0 if mean score and observed rate agree in every bin. It depends on the number of bins, and on bins with few rows.

    >>> mce([4, 8], [1, 3], [0.5, 4])
    0.125
    """
    return ((score_sum - pos) / weight).abs().max()


@metric(range=(0, 1), better="low", aliases=("root_mean_square_calibration_error",), interval=_BIASED)
def rmsce(weight: Expr, pos: Expr, score_sum: Expr) -> Expr:
    """Root mean square calibration error: like ece, with squares instead of absolute values.

    0 if mean score and observed rate agree in every bin.

    >>> rmsce([4, 4], [1, 3], [0.5, 3.5])
    0.125
    """
    reliability: Expr = brier_reliability(weight, pos, score_sum)
    return reliability.sqrt()


@metric(range=(0, 1), aliases=("mean_predicted",))
def mean_score(weight: Expr, score_sum: Expr) -> Expr:
    """Mean predicted probability.

    >>> mean_score([4, 4], [0.5, 3.5])
    0.5
    """
    return score_sum.sum() / weight.sum()


@metric(range=(0, 1), interval=methods.Proportion(pl.sum("pos"), pl.sum("weight")))
def observed_rate(weight: Expr, pos: Expr) -> Expr:
    """Share of rows that are positive.

    >>> observed_rate([4, 4], [1, 2])
    0.375
    """
    return pos.sum() / weight.sum()


@metric(range=(0, inf), aliases=("expected_observed_ratio",))
def calibration_ratio(pos: Expr, score_sum: Expr) -> Expr:
    """Expected number of positives divided by the observed number (E/O); above 1 if scores are too high on average.

    1 if the numbers agree, infinite without positives.

    >>> calibration_ratio([1, 2], [0.5, 4])
    1.5
    """
    return score_sum.sum() / pos.sum()


@metric(range=(-1, 1))
def calibration_in_the_large(weight: Expr, pos: Expr, score_sum: Expr) -> Expr:
    """Observed rate - mean score; above 0 if scores are too low on average (Steyerberg et al. 2010).

    >>> calibration_in_the_large([4, 4], [1, 2], [0.5, 4])
    -0.1875
    """
    return (pos.sum() - score_sum.sum()) / weight.sum()


@metric(range=(0, 1), better="low", interval=_BIASED)
def brier_reliability(weight: Expr, pos: Expr, score_sum: Expr) -> Expr:
    """Mean squared difference between mean score and observed rate of the bins, weighted by rows (Murphy 1973).

    0 if the two agree in every bin. The Brier score is ``brier_reliability - brier_resolution + brier_uncertainty +
    brier_within_bin``.

    >>> brier_reliability([4, 4], [1, 3], [0.5, 3.5])
    0.015625
    """
    error = score_sum - pos
    return (error * (error / weight)).sum() / weight.sum()


@metric(range=(0, 0.25), better="high", interval=_BIASED)
def brier_resolution(weight: Expr, pos: Expr) -> Expr:
    """Mean squared difference between the observed rate of a row's bin and the overall rate (Murphy 1973).

    0 if all bins have the same observed rate, `brier_uncertainty` if each bin contains a single class.

    >>> brier_resolution([4, 4], [1, 3])
    0.0625
    """
    rate: Expr = observed_rate(weight, pos)
    return (weight * (pos / weight - rate) ** 2).sum() / weight.sum()


@metric(range=(0, 0.25), interval=methods.AT_MAXIMUM)
def brier_uncertainty(weight: Expr, pos: Expr) -> Expr:
    """Variance p (1 - p) of the label, where p is the share of positives (Murphy 1973).

    0 if only one class occurs, 0.25 for classes of equal size. Equal to `baseline_brier_score`.

    >>> brier_uncertainty([4, 4], [1, 3])
    0.25
    """
    rate: Expr = observed_rate(weight, pos)
    return rate * (1 - rate)


@metric(range=(-0.25, 0.75), interval=methods.NO_SQUARES)
def brier_within_bin(weight: Expr, pos: Expr, score_sum: Expr, score_square_sum: Expr, pos_score_sum: Expr) -> Expr:
    """Contribution of score variation within bins to the Brier score (Stephenson, Coelho & Jolliffe 2008).

    Within each bin, the variance of the score minus twice its covariance with the label, averaged over rows. 0 if the
    scores within each bin are equal, below 0 if they rank the rows of a bin well.

    >>> brier_within_bin([2], [1], [1.5], [1.25], [1])
    -0.1875
    """
    mean = score_sum / weight
    variance = score_square_sum - score_sum * mean
    covariance = pos_score_sum - pos * mean
    return (variance - 2 * covariance).sum() / weight.sum()

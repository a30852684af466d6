"""Interval of the ROC AUC."""

from __future__ import annotations

from polars import Expr

from streammetrics.metrics.ranking import roc_auc
from streammetrics.uncertainty.distributions import normal_quantile, upper_level
from streammetrics.uncertainty.limits import Interval, limits


def delong_interval(neg: Expr, pos: Expr, confidence: float = 0.95) -> Interval:
    """Interval of the ROC AUC after DeLong, DeLong & Clarke-Pearson (1988), on the logit.

    The placement of a positive is the share of negatives below it, ties counted half, that of a negative the share of
    positives above it. The variances of the two, over the number of positives and of negatives, add up to that of the
    AUC. It is exact for tied rows, so it is that of the AUC with the rows of a coarse bin tied.

    Args:
        neg: number of negatives in each bin, in ascending order of score.
        pos: number of positives. Sums of weights don't tell how many rows there are: such tables have no interval.
        confidence: probability with which the interval is to hold the AUC.

    Returns:
        ``ci_lower`` and ``ci_upper``; null where the AUC is 0 or 1, and where a class has less than two rows.

    Raises:
        SpecificationError: for a confidence that is not between 0 and 1.

    >>> import polars as pl
    >>> table = pl.DataFrame({"neg": [33, 6, 6, 11, 2], "pos": [3, 2, 2, 11, 33]})
    >>> table.select(x.round(4) for x in delong_interval(pl.col("neg"), pl.col("pos"))).row(0)
    (0.8164, 0.9402)
    """
    auc = roc_auc.formula(neg, pos)
    positives, negatives = pos.sum(), neg.sum()
    of_positives = (neg.cum_sum() - neg / 2) / negatives
    of_negatives = (pos.cum_sum(reverse=True) - pos / 2) / positives
    error = (_variance(of_positives, pos, auc) / positives + _variance(of_negatives, neg, auc) / negatives).sqrt()
    return limits(auc, error, normal_quantile(upper_level(confidence)), roc_auc.range)


def _variance(values: Expr, count: Expr, mean: Expr) -> Expr:
    return (count * (values - mean) ** 2).sum() / (count.sum() - 1)

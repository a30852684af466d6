"""Rows with several labels each: the share of rows, or of decisions, that are right.

The table has one row: ``row_weight`` rows, or their weight, with a yes or no for each label. The other columns are sums
over these rows.
"""

from __future__ import annotations

import polars as pl
from polars import Expr

from streammetrics.metrics.metric import metric
from streammetrics.uncertainty import methods


@metric(
    range=(0, 1),
    better="high",
    aliases=("exact_match_ratio",),
    interval=methods.share(pl.col("exact_match"), pl.col("row_weight")),
)
def subset_accuracy(row_weight: Expr, exact_match: Expr) -> Expr:
    """Share of rows with all labels right: scikit-learn's ``accuracy_score`` of label indicators.

    ``exact_match`` is the number of such rows.

    >>> subset_accuracy(8, 6)
    0.75
    >>> subset_accuracy(0, 0) is None
    True
    """
    return exact_match / row_weight


@metric(range=(0, 1), better="low")
def hamming_loss(label_errors: Expr, label_decisions: Expr) -> Expr:
    """Share of decisions, one for each row and label, that are wrong.

    >>> hamming_loss(4, 40)
    0.1
    >>> hamming_loss(0, 0) is None
    True
    """
    return label_errors / label_decisions


@metric(range=(0, 1), better="high", aliases=("jaccard_samples",))
def samples_jaccard(row_weight: Expr, jaccard_sum: Expr) -> Expr:
    """Mean over rows of the Jaccard index of their actual and predicted labels: those in both, out of those in either.

    ``jaccard_sum`` adds up the indices of the rows. A row without an actual or predicted label counts 0, as with
    scikit-learn's ``jaccard_score(average="samples", zero_division=0)``, its default up to a warning.

    >>> samples_jaccard(8, 6)
    0.75
    >>> samples_jaccard(0, 0) is None
    True
    """
    return jaccard_sum / row_weight

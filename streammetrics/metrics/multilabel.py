"""Multilabel metrics: the share of rows, or of decisions, that are correct.

The table has one row. ``row_weight`` is the number of rows, or the sum of their weights; the other columns are sums
over these rows.
"""

from __future__ import annotations

from polars import Expr

from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric


@metric(
    range=(0, 1),
    better="high",
    aliases=("exact_match_ratio",),
    interval=methods.ShareOfSets("exact_match", "exact_match", "row_weight", "row_weight"),
)
def subset_accuracy(row_weight: Expr, exact_match: Expr) -> Expr:
    """Share of rows with all labels correct.

    ``exact_match`` is the number of these rows. Equivalent to scikit-learn's ``accuracy_score`` for label indicators.

    >>> subset_accuracy(8, 6)
    0.75
    """
    return exact_match / row_weight


@metric(
    range=(0, 1),
    better="low",
    interval=methods.MeanOfShares("label_errors", "label_error_square_sum", "label_decisions", "row_weight"),
)
def hamming_loss(label_errors: Expr, label_decisions: Expr) -> Expr:
    """Share of wrong decisions, with one decision per row and label.

    Equivalent to scikit-learn's ``hamming_loss``.

    >>> hamming_loss(4, 40)
    0.1
    """
    return label_errors / label_decisions


@metric(
    range=(0, 1),
    better="high",
    aliases=("jaccard_samples",),
    interval=methods.MeanOfShares("jaccard_sum", "jaccard_square_sum", "row_weight", "row_weight"),
)
def samples_jaccard(row_weight: Expr, jaccard_sum: Expr) -> Expr:
    """Mean Jaccard index of the rows: labels both true and predicted, divided by labels true or predicted.

    ``jaccard_sum`` is the sum of the indices. A row with neither true nor predicted labels counts as 0. Equivalent to
    scikit-learn's ``jaccard_score(average="samples", zero_division=0)``.

    >>> samples_jaccard(8, 6)
    0.75
    """
    return jaccard_sum / row_weight

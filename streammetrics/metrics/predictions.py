"""Counts and rates of predictions without labels."""

from __future__ import annotations

from math import inf

import polars as pl
from polars import Expr

from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric

_POSITIVE = pl.col("predicted_positives")


@metric(
    range=(0, 1),
    aliases=("selection_rate", "detection_prevalence"),
    interval=methods.Proportion(_POSITIVE, _POSITIVE + pl.col("predicted_negatives")),
)
def predicted_positive_rate(predicted_positives: Expr, predicted_negatives: Expr) -> Expr:
    """Share of rows that are predicted positive.

    >>> predicted_positive_rate(144, 856)
    0.144
    >>> predicted_positive_rate(0, 0) is None
    True
    """
    return predicted_positives / (predicted_positives + predicted_negatives)


@predicted_positive_rate.note
def _predicted_positive_rate_note(predicted_positives: Expr) -> Expr:
    return pl.when(predicted_positives == 0).then(pl.lit("no row is predicted positive"))


@metric(range=(0, inf), interval=methods.A_COUNT)
def predicted_positives(predicted_positives: Expr) -> Expr:
    """Number of rows predicted positive, or the sum of their weights.

    >>> predicted_positives(144)
    144.0
    """
    return predicted_positives


@metric(range=(0, inf), interval=methods.A_COUNT)
def predicted_negatives(predicted_negatives: Expr) -> Expr:
    """Number of rows predicted negative, or the sum of their weights.

    >>> predicted_negatives(856)
    856.0
    """
    return predicted_negatives

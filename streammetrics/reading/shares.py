"""Metrics that are shares of rows, and their denominators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streammetrics import metrics as binary
from streammetrics.metrics import Metric, class_probabilities, multilabel, predictions, several_classes
from streammetrics.uncertainty.proportions import CELLS, as_proportion

ROWS = ("rows",)
OF_CELLS: dict[frozenset[str], tuple[str, ...]] = {
    frozenset(CELLS): ("support",),
    frozenset({"tp", "fn"}): ("positives",),
    frozenset({"fp", "tn"}): ("negatives",),
    frozenset({"tp", "fp"}): ("predicted_positives",),
    frozenset({"fn", "tn"}): ("predicted_negatives",),
}
OTHERS: dict[Callable[..., Any], tuple[str, ...]] = {
    binary.dropped_rate.formula: ("rows", "dropped"),
    binary.observed_rate.formula: ROWS,
    predictions.predicted_positive_rate.formula: ("predicted_positives", "predicted_negatives"),
    several_classes.accuracy.formula: ROWS,
    several_classes.error_rate.formula: ROWS,
    class_probabilities.top_k_accuracy.formula: ROWS,
    multilabel.subset_accuracy.formula: ROWS,
}


def counted_by(metric: Metric) -> tuple[str, ...]:
    """Return the names of the metrics whose sum is the denominator of a metric; empty if it is not a share.

    >>> from streammetrics.metrics import dropped_rate, f1, recall
    >>> counted_by(recall), counted_by(dropped_rate), counted_by(f1)
    (('positives',), ('rows', 'dropped'), ())
    """
    if metric.average is not None:
        return ()
    if not set(metric.columns) <= set(CELLS):
        return OTHERS.get(metric.formula, ())
    share = as_proportion(metric)
    return () if share is None else OF_CELLS.get(frozenset(share[1].meta.root_names()), ())

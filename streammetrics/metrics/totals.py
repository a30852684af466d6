"""Numbers of positives, negatives, and outcomes in binary classification."""

from __future__ import annotations

from math import inf

from polars import Expr

from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric


@metric(range=(0, inf), interval=methods.A_COUNT)
def support(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Number of rows, or the sum of their weights. For scikit-learn's support of a class, use `positives`.

    >>> support(94, 50, 6, 850)
    1000.0
    """
    return tp + fp + fn + tn


@metric(range=(0, inf), interval=methods.A_COUNT)
def positives(tp: Expr, fn: Expr) -> Expr:
    """Number of positive rows, or the sum of their weights.

    >>> positives(94, 6)
    100.0
    """
    return tp + fn


@metric(range=(0, inf), interval=methods.A_COUNT)
def negatives(fp: Expr, tn: Expr) -> Expr:
    """Number of negative rows, or the sum of their weights.

    >>> negatives(50, 850)
    900.0
    """
    return fp + tn


@metric(range=(0, inf), interval=methods.A_COUNT)
def predicted_positives(tp: Expr, fp: Expr) -> Expr:
    """Number of rows predicted positive, or the sum of their weights.

    >>> predicted_positives(94, 50)
    144.0
    """
    return tp + fp


@metric(range=(0, inf), interval=methods.A_COUNT)
def predicted_negatives(fn: Expr, tn: Expr) -> Expr:
    """Number of rows predicted negative, or the sum of their weights.

    >>> predicted_negatives(6, 850)
    856.0
    """
    return fn + tn


@metric(range=(0, inf), better="high", aliases=("tp", "hits"), interval=methods.A_COUNT)
def true_positives(tp: Expr) -> Expr:
    """Number of positives predicted positive, or the sum of their weights.

    >>> true_positives(94)
    94.0
    """
    return tp


@metric(range=(0, inf), better="low", aliases=("fp", "false_alarms"), interval=methods.A_COUNT)
def false_positives(fp: Expr) -> Expr:
    """Number of negatives predicted positive, or the sum of their weights.

    >>> false_positives(50)
    50.0
    """
    return fp


@metric(range=(0, inf), better="low", aliases=("fn", "misses"), interval=methods.A_COUNT)
def false_negatives(fn: Expr) -> Expr:
    """Number of positives predicted negative, or the sum of their weights.

    >>> false_negatives(6)
    6.0
    """
    return fn


@metric(range=(0, inf), better="high", aliases=("tn", "correct_rejections"), interval=methods.A_COUNT)
def true_negatives(tn: Expr) -> Expr:
    """Number of negatives predicted negative, or the sum of their weights.

    >>> true_negatives(850)
    850.0
    """
    return tn

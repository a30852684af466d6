"""The largest rows of losses and errors with heavy tails.

A sample of n rows can lack up to 3/n of the population beyond its largest row at a confidence level of 95% (the rule of
three; Hanley & Lippman-Hand 1983). Intervals therefore extend as if the sample had more rows like the largest one. See
`streammetrics.intervals.influence.influence_intervals`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
import polars as pl

from streammetrics.intervals.distributions import normal_quantile
from streammetrics.intervals.moments import Values, column

Row: TypeAlias = Mapping[str, Values]  # what a row adds to each column, for each row of a table
Largest: TypeAlias = Callable[[pl.DataFrame], Sequence[Row]]

MISSING = 3  # rows as large as the largest one that a sample can lack


def largest_of_lognormal(total: Values, squares: Values, rows: Values) -> Values:
    """Return how large the largest loss of a log-normal distribution with the same mean and variance usually is.

    It is the quantile ``1 - 1 / rows``, and at most the root of the sum of squares, since no loss exceeds it.

    >>> total, squares, rows = np.array([100.0]), np.array([300.0]), np.array([100.0])
    >>> largest_of_lognormal(total, squares, rows).round(2)
    array([6.61])
    """
    with np.errstate(all="ignore"):
        mean = total / rows
        variance = np.log(np.maximum(squares / rows / mean**2, 1))  # of the logarithm
        quantile = mean * np.exp(np.sqrt(variance) * _quantiles(1 - 1 / rows) - variance / 2)
    return np.minimum(quantile, np.sqrt(squares))


@cache
def of_loss(total: str, squares: str, weight: str = "weight") -> Largest:
    """The largest row of a mean loss, from the sum of the loss and of its square."""

    def rows(table: pl.DataFrame) -> Sequence[Row]:
        sums = (column(table, name) for name in (total, squares, weight))
        return [{weight: np.ones(table.height), total: largest_of_lognormal(*sums)}]

    return rows


def of_square_percentage(table: pl.DataFrame) -> Sequence[Row]:
    """The row with the largest squared percentage error: at least the largest error of a mean true value."""
    [usual] = of_loss("percentage_square_sum", "percentage_fourth_sum")(table)
    with np.errstate(all="ignore"):
        size = column(table, "absolute_actual_sum") / column(table, "weight")
        at_mean = np.minimum((_largest_error(table) / size) ** 2, column(table, "percentage_fourth_sum") ** 0.5)
    return [{**usual, "percentage_square_sum": np.fmax(usual["percentage_square_sum"], at_mean)}]


def of_square_error(table: pl.DataFrame) -> Sequence[Row]:
    """The row with the largest squared error."""
    return [{"weight": np.ones(table.height), "square_error_sum": _largest_error(table) ** 2}]


def of_error_deviation(table: pl.DataFrame) -> Sequence[Row]:
    """The row whose error is the farthest from the mean error."""
    bias = _bias(table)
    return [_row(np.zeros(table.height), np.maximum(_largest_error(table) - np.abs(bias), 0), bias)]


def of_errors(table: pl.DataFrame) -> Sequence[Row]:
    """Rows with an extreme true value, and rows with a mean true value and the largest error of either sign.

    The part of the error that is a linear function of the true value is in the former rows only.
    """
    bias, spread, mean = _bias(table), column(table, "actual_m2"), column(table, "actual_mean")
    slope = np.divide(column(table, "comoment"), spread, out=np.ones(table.height), where=spread > 0) - 1
    ends = [np.where(spread > 0, column(table, f"actual_{end}") - mean, 0) for end in ("min", "max")]
    rest = np.abs(bias) + np.abs(slope) * np.maximum(*np.abs(ends))
    largest, at_mean = np.maximum(_largest_error(table) - rest, 0), np.zeros(table.height)
    found = [*((dy, slope * dy) for dy in ends), (at_mean, largest), (at_mean, -largest)]
    return [_row(dy, de, bias) for dy, de in found]


def _row(dy: Values, de: Values, bias: Values) -> Row:
    """What a row adds to the columns of moments, from its distances to the mean true value and to the mean error."""
    return {
        "weight": np.ones_like(dy),
        "over_sum": bias + de,
        "square_error_sum": (bias + de) ** 2,
        "actual_m2": dy**2,
        "predicted_m2": (dy + de) ** 2,
        "comoment": dy**2 + dy * de,
    }


def _bias(table: pl.DataFrame) -> Values:
    with np.errstate(all="ignore"):
        return (column(table, "over_sum") - column(table, "under_sum")) / column(table, "weight")


def _largest_error(table: pl.DataFrame) -> Values:
    """The largest absolute error; if it is unknown, as of log-normal squares.

    With weights, errors of light rows count less, because of their sums of squares.
    """
    sums = (column(table, name) for name in ("square_error_sum", "error_fourth_sum", "weight"))
    known, fourth = column(table, "absolute_error_max"), "error_fourth_sum_w2"
    largest = np.where(np.isnan(known), largest_of_lognormal(*sums) ** 0.5, known)
    if fourth not in table.columns:
        return largest
    return np.minimum(largest, np.maximum(column(table, fourth), 0) ** 0.25)


def _quantiles(shares: Values) -> Values:
    return np.array([normal_quantile(share) if 0.5 < share < 1 else 0.0 for share in shares])

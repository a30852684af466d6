"""Skewness of losses and errors whose states keep sums of squares, but not of higher powers.

Each function returns the sums of the second to fourth powers of the influences of the rows in each row of a table, and
the largest influence if no cells show it. The skewness of the limits depends on the ratios of the sums only, as the
variance is computed from the sums of squares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import comb
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from streammetrics.core import Floats
from streammetrics.metrics.intervals.moments import PRODUCTS, column

if TYPE_CHECKING:
    from streammetrics.metrics.intervals.influence import Influence

Tail: TypeAlias = Callable[[pl.DataFrame, Floats, "Influence", Floats], Sequence[Floats]]
"""From a table, slopes of shape (rows, columns, metrics), the influence, and its mean in each row."""

POWERS = (2, 3, 4)
POWERS_OF_ERRORS = {"over_sum": 1, "square_error_sum": 2}
SQUARED_NORMAL = 8.0, 15.0  # squared skewness and kurtosis of the squares of normal errors


def powers_of_cells(table: pl.DataFrame, slopes: Floats, influence: Influence, centre: Floats) -> Sequence[Floats]:
    """Powers of the influences of rows that are counted in columns: those of a cell are alike."""
    powers = [np.zeros_like(centre) for _ in POWERS]
    for i, (name, squares) in enumerate(influence.squares.items()):
        weight, square = (column(table, c)[:, np.newaxis] for c in (name, squares))
        rows = np.where(weight > 0, weight**2 / square, 0)
        each = np.where(weight > 0, (slopes[:, i] - centre) * square / weight, 0)
        for power, total in enumerate(powers, 2):
            total += rows * each**power
    return powers


def powers_of_losses(table: pl.DataFrame, slopes: Floats, influence: Influence, centre: Floats) -> Sequence[Floats]:
    """Powers of the influences of losses, as if each loss had a gamma distribution with its mean and mean square.

    The first column is the number of rows. The others are sums of losses, of which a row has one at most. The table can
    have the ratios of the powers of a loss, and the largest error, whose fourth power is the least one.
    """
    columns, products = influence.columns, dict(influence.products)
    rows = column(table, columns[0])[:, np.newaxis]
    constant, largest = slopes[:, 0] - centre, np.zeros_like(centre)
    powers = [rows * constant**power for power in POWERS]
    for i, name in enumerate(columns[1:], 1):
        slope, first = slopes[:, i], np.maximum(column(table, name), 0)[:, np.newaxis]
        second = np.maximum(column(table, products[name, name]), 0)[:, np.newaxis]
        share = np.where(first > 0, first / rows, 0)  # the mean loss, and its squared coefficient of variation
        spread = np.where(first > 0, np.maximum(second * rows / first**2 - 1, 0), 0)
        third = second * _ratio(table, f"{name.removesuffix('_sum')}_third", share * (1 + 2 * spread))
        fourth = third * _ratio(table, f"{name.removesuffix('_sum')}_fourth", share * (1 + 3 * spread))
        terms = powers_of_sums(constant, slope, (np.zeros_like(rows), first, second, third, fourth))
        powers = [total + more for total, more in zip(powers, terms, strict=True)]
        if name in POWERS_OF_ERRORS and "absolute_error_max" in table.columns:
            loss = column(table, "absolute_error_max")[:, np.newaxis] ** POWERS_OF_ERRORS[name]
            largest = np.fmax(largest, np.abs(constant + slope * loss))
    powers[2] = np.minimum(np.fmax(powers[2], largest**4), powers[0] ** 2)  # at most that of a single row
    return [*powers, largest]


def powers_of_sums(constant: Floats, slope: Floats, moments: Sequence[Floats]) -> list[Floats]:
    """Sums over rows of the powers of ``constant + slope * x``, from the number of rows and the sums of powers of x."""
    return [
        sum((comb(power, i) * constant ** (power - i) * slope**i * moments[i] for i in range(power + 1)), np.zeros(()))
        for power in POWERS
    ]


def _ratio(table: pl.DataFrame, name: str, otherwise: Floats) -> Floats:
    """The ratio of one power of a loss to the one before, if it is known."""
    if name not in table.columns:
        return otherwise
    ratio = column(table, name)[:, np.newaxis]
    return np.where(np.isnan(ratio), otherwise, ratio)


def powers_of_bins(table: pl.DataFrame, slopes: Floats, influence: Influence, centre: Floats) -> Sequence[Floats]:
    """Powers of the influences of labels and scores: those of each class in a bin are alike."""
    slope = {name: slopes[:, i] for i, name in enumerate(influence.columns)}
    rows, positives, scores, scores_of_positives = (
        column(table, name)[:, np.newaxis] for name in ("weight", "pos", "score_sum", "pos_score_sum")
    )
    powers = [np.zeros_like(centre) for _ in POWERS]
    classes = (1, positives, scores_of_positives), (0, rows - positives, scores - scores_of_positives)
    for label, number, score in classes:
        mean = np.where(number > 0, score / number, 0)
        each = slope["weight"] + slope["pos"] * label + slope["score_sum"] * mean - centre
        for power, total in enumerate(powers, 2):
            total += number * each**power
    return powers


def powers_of_moments(table: pl.DataFrame, slopes: Floats, influence: Influence, centre: Floats) -> Sequence[Floats]:
    """Powers of the influences of squared and multiplied deviations, which are about as skewed as squared errors.

    The sign of the skewness is that of the larger of the influences at the extremes: rows with an extreme true value,
    and rows with a mean true value and the largest error of either sign.
    """
    columns = influence.columns
    bias = (column(table, "over_sum") - column(table, "under_sum")) / column(table, "weight")
    rows_at_ends = (_row(dy, de, bias) for dy, de in _extremes(table, bias))
    influences = np.stack([_influence(slopes, columns, row) - centre for row in rows_at_ends])
    low, high = np.fmin(influences.min(axis=0), 0), np.fmax(influences.max(axis=0), 0)
    side = np.where(high > low, (high + low) / (high - low), 0)
    rows, (skewness, kurtosis) = column(table, "weight")[:, np.newaxis], SQUARED_NORMAL
    second = np.zeros_like(centre)
    for (a, b), name in PRODUCTS.items():
        product = slopes[:, columns.index(a)] * slopes[:, columns.index(b)] * column(table, name)[:, np.newaxis]
        second += product * (1 if a == b else 2)
    largest = np.fmax(np.abs(low), np.abs(high))
    third = side * (skewness * np.fmax(second, 0) ** 3 / rows) ** 0.5
    return [second, third, np.fmax(kurtosis * second**2 / rows, largest**4), largest]


def _extremes(table: pl.DataFrame, bias: Floats) -> list[tuple[Floats, Floats]]:
    """Distances of extreme rows to the mean true value and to the mean error.

    The part of the error that is a linear function of the true value is in the rows with an extreme true value only.
    """
    spread, mean = column(table, "actual_m2"), column(table, "actual_mean")
    slope = np.divide(column(table, "comoment"), spread, out=np.ones(table.height), where=spread > 0) - 1
    ends = [np.where(spread > 0, column(table, f"actual_{end}") - mean, 0) for end in ("min", "max")]
    explained = np.abs(bias) + np.abs(slope) * np.maximum(*np.abs(ends))
    largest, at_mean = np.maximum(column(table, "absolute_error_max") - explained, 0), np.zeros(table.height)
    return [*((dy, slope * dy) for dy in ends), (at_mean, largest), (at_mean, -largest)]


def _row(dy: Floats, de: Floats, bias: Floats) -> Mapping[str, Floats]:
    """What a row adds to the columns of moments, from its distances to the mean true value and to the mean error."""
    return {
        "weight": np.ones_like(dy),
        "over_sum": bias + de,
        "square_error_sum": (bias + de) ** 2,
        "actual_m2": dy**2,
        "predicted_m2": (dy + de) ** 2,
        "comoment": dy**2 + dy * de,
    }


def _influence(slopes: Floats, columns: Sequence[str], row: Mapping[str, Floats]) -> Floats:
    amounts = np.stack([row.get(c, np.zeros(len(slopes))) for c in columns], axis=1)[..., np.newaxis]
    influence: Floats = (slopes * amounts).sum(axis=1)
    return influence

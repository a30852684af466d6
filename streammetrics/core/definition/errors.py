"""Sums of errors by group, and of the terms that moments of true values and predictions need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streammetrics.core.definition.runs import Floats, Runs
from streammetrics.core.moments import losses


@np.errstate(all="ignore")
def sum_values(actual: Floats, predicted: Floats, weight: Floats | None, runs: Runs, out: Floats) -> None:
    """Sum weights, true values, and predictions: ``out`` is (groups, 3)."""
    _add(out, [np.ones_like(actual), actual, predicted], weight, runs)


@np.errstate(all="ignore")
def sum_errors(
    actual: Floats,
    predicted: Floats,
    weight: Floats | None,
    reference: Floats,
    runs: Runs,
    out: Floats,
    extremes: Floats,
) -> None:
    """Sum terms of the errors, and of the distances of true values and predictions to a reference value of the group.

    ``reference`` is (groups, 2), ``out`` is (groups, 29), and ``extremes`` is (groups, 5): the minima and the maxima of
    true values and predictions, and the maximum absolute error. True values and predictions must not be NaN.
    """
    codes, y, p = runs.codes(), actual, predicted
    error, of_error = p - y, reference[:, 1] - reference[:, 0]
    dy, dp, de = y - reference[codes, 0], p - reference[codes, 1], error - of_error[codes]
    over, under, square = np.maximum(error, 0.0), np.minimum(error, 0.0), error**2
    ratio = np.abs(error / y)
    symmetric = ratio / (1.0 + np.abs(1.0 + error / y))  # |e| / (|y| + |p|), whose sum could overflow
    symmetric = np.where(error == 0.0, 0.0, np.where(np.isinf(ratio), 1.0, symmetric))
    terms = [over, under, square, square**2, np.abs(y), ratio, ratio**2, symmetric]
    terms += [over**2, under**2, y**2, np.abs(error * y), (ratio**2) ** 2, symmetric**2]
    terms += [np.ones_like(y), dy, dp, dy * dy, dp * dp, dy * dp]
    terms += [dy * dy * dy, dy * dy * de, dy * (de * de), de * (de * de)]
    terms += [dy * dy * (dy * dy), dy * dy * (dy * de), dy * dy * (de * de), dy * de * (de * de), (de * de) ** 2]
    _add(out, terms, weight, runs)
    for i, values in enumerate((y, p)):
        np.minimum.at(extremes[:, i], codes, values)
        np.maximum.at(extremes[:, 2 + i], codes, values)
    np.maximum.at(extremes[:, 4], codes, np.abs(error))


@np.errstate(all="ignore")
def sum_families(
    actual: Floats,
    predicted: Floats,
    weight: Floats | None,
    means: Floats,
    families: Sequence[str],
    power: float,
    runs: Runs,
    out: Floats,
) -> None:
    """Sum the losses of families (see `streammetrics.core.moments.losses`): ``out`` is (groups, columns).

    ``means`` are the means of the true values by group.
    """
    mean = means[runs.codes()]
    _add(out, [loss for family in families for loss in losses(family, power, actual, predicted, mean)], weight, runs)


def _add(out: Floats, terms: Sequence[Floats], weight: Floats | None, runs: Runs) -> None:
    """Add each term, times the weight of its row, to its column of the group."""
    some = np.diff(runs.starts) > 0
    for column, term in zip(out.T, terms, strict=True):
        values = term if weight is None else weight * term
        np.add.at(column, runs.groups[some], np.add.reduceat(values, runs.starts[:-1][some]))

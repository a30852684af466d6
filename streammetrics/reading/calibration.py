"""Calibration of correlated rows: what `ecce` would be by chance, from the errors of folds of their units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl

from streammetrics.base import LIMITS, METRIC, RIGHT, STATUS, VALUE, Status, bounds_status
from streammetrics.data import FEWEST_FOLDS, FOLD
from streammetrics.metrics import FEWEST_EXPECTED, FoldSums, Metric, ecce, ecce_p_value, expected_ecce
from streammetrics.reading.estimates import metrics_by_view
from streammetrics.statistics import GROUP, State, Statistic

Read: TypeAlias = Callable[[FoldSums], Sequence[float]]

FEWEST, FEWEST_OF_UNITS = 50, 20  # rows and units of rare positives that are not too skewed
READ: dict[object, Read] = {expected_ecce.formula: FoldSums.expected, ecce_p_value.formula: FoldSums.p_values}


def with_correlated_calibration(
    frame: pl.DataFrame, state: State, folds: State, metrics: Sequence[Metric]
) -> pl.DataFrame:
    """Return estimates in which metrics that depend on the correlation of rows are computed from folds of units."""
    affected = [m for m in metrics if m.formula in READ]
    if not affected:
        return frame
    values = _read(state, folds, {m: READ[m.formula] for m in affected if m.average is None}, VALUE)
    keys = [c for c in values.columns if c not in VALUE]
    joined = frame.join(values, on=keys, how="left", nulls_equal=True, maintain_order="left", suffix=RIGHT)
    replaced = pl.col("value").is_not_null() & pl.col(METRIC).is_in([m.name for m in affected])
    numbers = [pl.when(replaced).then(f"{c}{RIGHT}").otherwise(c).alias(c) for c in VALUE]
    is_few = replaced & pl.col(f"value{RIGHT}").is_null()
    few = pl.when(is_few).then(pl.lit("few_expected", Status)).otherwise(STATUS).alias(STATUS)
    estimates = joined.with_columns(*numbers, few).select(frame.columns)
    return estimates.with_columns(pl.coalesce(bounds_status(), STATUS).alias(STATUS))


def limits_of_ranges(state: State, folds: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Return keys, metric, and limits of metrics that are the range of the sums of errors."""
    return _read(state, folds, dict.fromkeys(metrics, lambda sums: sums.limits(confidence)), LIMITS)


def _read(state: State, folds: State, reads: Mapping[Metric, Read], columns: Sequence[str]) -> pl.DataFrame:
    """Numbers of each group, or of each label of it, whose errors are not too skewed: keys, metric, and columns."""
    statistic, view, _ = next(entry for entry in metrics_by_view(state, [ecce]) if entry[2])
    every, parts = (view.first_case(s.table(statistic)) for s in (state, folds))
    rows = [
        {GROUP: group, METRIC: metric.name, **dict(zip(columns, read(sums), strict=True))}
        for group, bins, fold_bins in _groups(every, parts, state, folds, statistic)
        if (sums := _sums(bins, fold_bins)) is not None
        for metric, read in reads.items()
    ]
    types = {GROUP: pl.UInt32(), METRIC: pl.String(), **dict.fromkeys(columns, pl.Float64())}
    return state.with_groups(state.with_label(statistic, pl.DataFrame(rows, types)))


def _groups(
    bins: pl.DataFrame, parts: pl.DataFrame, state: State, folds: State, statistic: Statistic
) -> Iterator[tuple[int, pl.DataFrame, pl.DataFrame]]:
    """The number of each group, or label of it, its bins, and its bins by fold."""
    labels, number = max(len(state.labels_of(statistic)), 1), parts[GROUP].to_numpy()
    owner = state.numbers_of(folds).to_numpy()
    group = pl.Series(GROUP, owner[number // labels] * labels + number % labels)
    of_groups = parts.with_columns(group, folds.keys[FOLD].gather(number // labels)).partition_by(GROUP, as_dict=True)
    for key, group_bins in bins.partition_by(GROUP, as_dict=True, maintain_order=True).items():
        yield key[0], group_bins, of_groups[key]


def _sums(bins: pl.DataFrame, parts: pl.DataFrame) -> FoldSums | None:
    """The errors of a group in units of its mean weight; None if it has few folds, or if the errors are too skewed."""
    low, high, neg, pos, weight = bins.select("score_low", "score_high", "neg", "pos", "row_weight").to_numpy().T
    numbers, fold = np.unique(parts[FOLD].to_numpy(), return_inverse=True)
    usual = ((neg + pos) * weight).sum() / (neg + pos).sum()
    if len(numbers) < FEWEST_FOLDS or not 0 < usual < np.inf:
        return None
    own_low, *classes = parts.select("score_low", "neg", "pos").to_numpy().T
    cell, shape = fold * len(bins) + np.searchsorted(high, own_low), (len(numbers), len(bins))
    neg, pos = (np.bincount(cell, c / usual, shape[0] * shape[1]).reshape(shape).astype(float) for c in classes)
    sums = FoldSums.of(neg, pos, low, high)
    middle, rows = (low + high) / 2, (neg + pos).sum(axis=0)
    variances = rows * (weight / usual) * middle * (1 - middle)
    variance, third = variances.sum(), (variances * (weight / usual) * np.abs(1 - 2 * middle)).sum()
    symmetric = variance**3 >= third**2 * max(FEWEST, FEWEST_OF_UNITS * sums.unit_size)  # about, as few are skewed
    enough = symmetric and variance >= FEWEST_EXPECTED
    return sums if enough else None

"""Confidence intervals of correlated rows: the jackknife over folds of their units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.base import (
    EFFECTIVE_ROWS,
    LIMITS,
    METRIC,
    RIGHT,
    ROWS_OF_SHARE,
    VARIANCE,
    A,
    B,
    concat_limits,
    hidden,
    joined,
    keys_of,
)
from streammetrics.data import FOLD
from streammetrics.metrics import (
    FEW_PLACEMENTS,
    FEWEST,
    TOTAL,
    Metric,
    jackknife_intervals,
    methods,
    range_of_difference,
)
from streammetrics.reading.calibration import limits_of_ranges
from streammetrics.reading.confidence import few_rows_of_class, independent_intervals, rows_intervals, samples_of
from streammetrics.reading.estimates import estimate
from streammetrics.reading.looks import with_total
from streammetrics.statistics import GROUP, State

AT_ONCE = 1 << 20  # table rows that are processed at once
MERGED = -1  # instead of the numbers of folds that stay
ALONE, DESIGN = hidden("alone"), hidden("design effect")


def units_intervals(frame: pl.DataFrame, folds: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Keys, metric and limits, from the values without each fold."""
    keys, state = [*keys_of(frame), METRIC], folds.without(FOLD)
    ranges = [m for m in metrics if isinstance(m.interval, methods.RangeOfSums) and m.average is None]
    metrics = [m for m in metrics if not m.interval.reason_of_units]
    values = frame.select(*keys, pl.col("value").alias(TOTAL))
    left_out = joined(_without_each_fold(folds, metrics), values, keys)
    jackknife = jackknife_intervals(left_out, keys, {m.name: m.range for m in metrics}, confidence)
    of_ranges = [limits_of_ranges(state, folds, ranges, confidence)] if ranges else []
    limits = concat_limits(frame, keys, jackknife, *of_ranges)
    samples = [*samples_of(state, metrics)]
    rows = concat_limits(frame, keys, rows_intervals(state, samples, confidence))
    few = few_rows_of_class(state, samples, FEW_PLACEMENTS)
    of_rows = [rows.drop_nulls(EFFECTIVE_ROWS), *(_spread_of_share(frame, state, m) for m in metrics)]
    return with_effective_units(_widened(limits, few, rows), pl.concat(of_rows, how="diagonal_relaxed"))


def _spread_of_share(frame: pl.DataFrame, state: State, metric: Metric) -> pl.DataFrame:
    """Keys, metric, effective rows, and variance of a proportion of independent rows; empty for other metrics."""
    estimates = with_total(frame.filter(metric=metric.name), state, metric).drop_nulls(ROWS_OF_SHARE)
    p, rows = pl.col("value"), pl.col(ROWS_OF_SHARE)
    effective = rows * p * (1 - p) / ((1 - p) ** 3 + p**3)
    return estimates.select(
        *keys_of(frame), METRIC, effective.alias(EFFECTIVE_ROWS), (p * (1 - p) / rows).alias(VARIANCE)
    )


def with_effective_units(limits: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Add the effective rows of independent rows, divided by the design effect: how much more units vary than rows.

    ``rows`` has the keys, the effective rows, and the variance of independent rows. Few folds do not show that few rows
    have most of the variance.
    """
    keys = [*keys_of(limits), METRIC]
    of_rows = rows.select(*keys, EFFECTIVE_ROWS, pl.col(VARIANCE).alias(DESIGN)).cast(limits.select(keys).schema)
    both = joined(limits.drop(EFFECTIVE_ROWS, strict=False), of_rows, keys)
    design_effect = pl.max_horizontal(pl.col(VARIANCE) / pl.col(DESIGN), pl.lit(1.0))
    return both.with_columns(pl.col(EFFECTIVE_ROWS) / design_effect).select(*keys, *LIMITS, EFFECTIVE_ROWS)


def with_fewest_rows(limits: pl.DataFrame, *sides: pl.DataFrame) -> pl.DataFrame:
    """Add the smallest number of effective rows of several frames with the same keys."""
    keys = [*keys_of(limits), METRIC]
    rows = pl.concat([side.select(*keys, EFFECTIVE_ROWS).cast(limits.select(keys).schema) for side in sides])
    return joined(limits.drop(EFFECTIVE_ROWS), rows.group_by(keys).agg(pl.min(EFFECTIVE_ROWS)), keys)


def units_that_differ(limits: pl.DataFrame, a: State, b: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Return the number of units in which a metric of two evaluations differs, as effective rows.

    It is unknown which rows differ, but not in which folds. If m units are in k folds at random, a share of exp(-m/k)
    of the folds has none of them.
    """
    keys = [*keys_of(limits), METRIC]
    types = limits.select(keys).schema
    one, other = (estimate(side, metrics).select(*keys, FOLD, "value").cast(types) for side in (a, b))
    both = one.join(other, on=[*keys, FOLD], how="full", coalesce=True, nulls_equal=True, suffix=RIGHT)
    folds, equal = pl.len(), pl.col("value").eq_missing(pl.col(f"value{RIGHT}")).sum()
    return both.group_by(keys).agg((folds * (folds / equal).log()).alias(EFFECTIVE_ROWS))


def paired_intervals(
    frame: pl.DataFrame, a: State, b: State, metrics: Sequence[Metric], confidence: float, factor: float
) -> pl.DataFrame:
    """Return keys, metric, and limits of ``b - factor * a``, if the rows of both are in the same folds of units.

    Common variation, such as units that are hard for both models, cancels (see `jackknife_intervals`). ``frame`` has
    keys, metric, ``b``, and ``a`` times the factor.
    """
    keys, metrics = [*keys_of(frame), METRIC], [m for m in metrics if not m.interval.reason_of_units]
    types = frame.select(keys).schema
    left_out = [
        _without_each_fold(folds, metrics)
        .cast(types)
        .select(*keys, FOLD, pl.struct(pl.col("value") * times).alias(side))
        for side, folds, times in ((A, a, factor), (B, b, 1.0))
    ]
    values = (
        left_out[0]
        .join(left_out[1], on=[*keys, FOLD], how="full", coalesce=True, nulls_equal=True, suffix=RIGHT)
        .join(frame, on=keys, nulls_equal=True)
        .with_columns(_left_of(A, "a"), _left_of(B, "b"))
    )
    ranges = {m.name: range_of_difference(m.range, factor) for m in metrics}
    differences = {"value": pl.col(B) - pl.col(A), TOTAL: pl.col("b") - pl.col("a")}
    intervals = jackknife_intervals(values.with_columns(**differences), keys, ranges, confidence)
    limits = concat_limits(frame, keys, intervals)
    sides = [folds.without(FOLD) for folds in (a, b)]
    parts = [few_rows_of_class(side, samples_of(side, metrics), FEWEST) for side in sides]
    few = pl.concat([frame.select(keys).clear(), *parts], how="diagonal_relaxed").select(keys).unique()
    some = [m for m in metrics if m.name in few[METRIC]]
    of_rows = (rows_intervals(side, samples_of(side, some), confidence) for side in sides)
    one, other = (concat_limits(frame, keys, rows) for rows in of_rows)
    return _widened(limits, few, independent_intervals(joined(few, frame, keys), one, other, factor))


def _widened(limits: pl.DataFrame, few: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Extend limits of estimates from few rows of a class so that they contain those of independent rows.

    Folds with few such rows can be similar by chance, so their variance is unreliable. Without limits of independent
    rows, there are none.
    """
    keys = [*keys_of(limits), METRIC]
    few = pl.concat([limits.select(keys).clear(), few], how="diagonal_relaxed").select(keys)
    alone = joined(few, rows.select(*keys, *LIMITS).cast(few.schema), keys).select(
        *keys, pl.struct(LIMITS).alias(ALONE)
    )
    lower, upper = (pl.col(ALONE).struct.field(side) for side in LIMITS)
    limited = pl.col(ALONE).is_null() | lower.is_not_null() | upper.is_not_null()
    wider = {"ci_lower": pl.min_horizontal("ci_lower", lower), "ci_upper": pl.max_horizontal("ci_upper", upper)}
    ends = [pl.when(limited & pl.col(side).is_not_null()).then(end).alias(side) for side, end in wider.items()]
    return joined(limits, alone, keys).select(*keys, *ends, EFFECTIVE_ROWS, VARIANCE)


def _left_of(without: str, total: str) -> Expr:
    """The value without a fold: the value of all rows if the fold has no rows."""
    return (
        pl.when(pl.col(without).is_null()).then(total).otherwise(pl.col(without).struct.field("value")).alias(without)
    )


def _without_each_fold(folds: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """The estimates of each group without each of its folds, with the omitted fold in the column ``fold``."""
    by = [c for c in folds.by if c != FOLD]
    numbers, keys = folds.keys[FOLD].unique().sort().cast(pl.Int64), folds.keys.cast({FOLD: pl.Int64})
    parts = [estimate(folds.roll_up(by), metrics).clear().with_columns(pl.lit(None, pl.Int64).alias(FOLD))]
    for others in _other_folds(folds, by, numbers) if len(numbers) else ():
        if by or others.groups.height:
            estimates = estimate(others, metrics)
        else:  # no rows without the only fold
            estimates = estimate(others.roll_up([]), metrics).with_columns(pl.lit(numbers[0], pl.Int64).alias(FOLD))
        parts.append(estimates.join(keys, on=[*by, FOLD], how="semi", nulls_equal=True).select(parts[0].columns))
    return pl.concat(parts, how="vertical_relaxed")


def _other_folds(folds: State, by: Sequence[str], numbers: pl.Series) -> Iterator[State]:
    """The groups without each of these folds. To omit one of one half, the folds of the other half are merged first."""
    if len(numbers) <= max(1, AT_ONCE // max(1, folds.cells)):
        yield _copies_without(folds, numbers).roll_up([*by, FOLD])
        return
    middle = len(numbers) // 2
    for half in (numbers[:middle], numbers[middle:]):
        others = pl.when(pl.col(FOLD).is_in(half.implode())).then(FOLD).otherwise(MERGED)
        yield from _other_folds(folds.with_keys({FOLD: others}).roll_up([*by, FOLD]), by, half)


def _copies_without(folds: State, numbers: pl.Series) -> State:
    """For each of these folds, a copy of the groups without it. The column ``fold`` is the omitted fold."""
    stays = folds.groups[FOLD].to_numpy()[:, None] != numbers.to_numpy()
    group, left_out = np.nonzero(stays)
    place = np.cumsum(stays).reshape(stays.shape) - 1
    keys = folds.keys[group].with_columns(numbers.gather(left_out).alias(FOLD))
    tables = {}
    for name, table in folds.tables.items():
        group = table[GROUP].to_numpy()
        row, left_out = np.nonzero(stays[group])
        tables[name] = table[row].with_columns(pl.Series(GROUP, place[group[row], left_out], pl.UInt32))
    return replace(folds, groups=keys.with_row_index(GROUP), tables=tables)

"""Confidence intervals of correlated rows: the jackknife over folds of their units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.base import (
    EFFECTIVE_ROWS,
    ESTIMATE,
    LIMITS,
    RIGHT,
    SAMPLED,
    VARIANCE,
    A,
    B,
    hidden,
    joined,
    no_limits,
)
from streammetrics.data import FOLD
from streammetrics.metrics import (
    FEW_PLACEMENTS,
    FEWEST,
    HIGH,
    LOW,
    TOTAL,
    Metric,
    Range,
    jackknife_intervals,
    methods,
    range_of_difference,
)
from streammetrics.reading.calibration import limits_of_ranges
from streammetrics.reading.estimates import estimate
from streammetrics.reading.few_rows import of_few_rows
from streammetrics.reading.independent_rows import independent_intervals, rows_intervals, samples_of
from streammetrics.reading.looks import TOTAL as ROWS_OF_SHARE
from streammetrics.reading.looks import with_total
from streammetrics.statistics import GROUP, State, roll_up, select, with_keys

AT_ONCE = 1 << 20  # table rows that are processed at once
MERGED = -1  # instead of the numbers of folds that stay
ALONE, NUMBER, OF_ROWS = hidden("alone"), hidden("number"), hidden("variance of rows")


def units_intervals(frame: pl.DataFrame, folds: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Keys, metric and limits, from the values without each fold."""
    keys = [c for c in frame.columns if c not in ESTIMATE[1:]]
    values = frame.select(*keys, pl.col("value").alias(TOTAL))
    state = _whole(folds)
    ranges = [m for m in metrics if isinstance(m.interval, methods.RangeOfSums) and m.average is None]
    metrics = [m for m in metrics if not m.interval.reason_of_units]
    left_out = _without_each_fold(folds, metrics).join(values, on=keys, how="left", nulls_equal=True)
    left_out = left_out.with_columns(_ends({m.name: m.range for m in metrics}))
    limits = [jackknife_intervals(left_out, keys, confidence)]
    limits += [limits_of_ranges(state, folds, ranges, confidence)] if ranges else []
    found = pl.concat([no_limits(frame, keys), *limits], how="diagonal_relaxed")
    found = _widened(found, _alone(state, _of_few(state, metrics, FEW_PLACEMENTS), metrics, confidence))
    return of_effective_units(found, _spread_of_rows(frame, state, metrics, confidence))


def of_effective_units(found: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Add the effective rows of independent rows, divided by the design effect: how much more units vary than rows.

    ``rows`` has the keys, the effective rows, and the variance of independent rows. Few folds do not show that few rows
    have most of the variance.
    """
    keys = [c for c in found.columns if c not in (*LIMITS, VARIANCE, EFFECTIVE_ROWS)]
    own = rows.select(*keys, EFFECTIVE_ROWS, pl.col(VARIANCE).alias(OF_ROWS)).cast(found.select(keys).schema)
    design_effect = pl.max_horizontal(pl.col(VARIANCE) / pl.col(OF_ROWS), pl.lit(1.0))
    both = found.drop(EFFECTIVE_ROWS, strict=False).join(own, on=keys, how="left", nulls_equal=True)
    return both.with_columns(pl.col(EFFECTIVE_ROWS) / design_effect).select(*keys, *LIMITS, EFFECTIVE_ROWS)


def with_fewest_rows(found: pl.DataFrame, *sides: pl.DataFrame) -> pl.DataFrame:
    """Add the smallest number of effective rows of several frames with the same keys."""
    keys = [c for c in found.columns if c not in (*LIMITS, VARIANCE, EFFECTIVE_ROWS)]
    rows = pl.concat([side.select(*keys, EFFECTIVE_ROWS).cast(found.select(keys).schema) for side in sides])
    fewest = rows.group_by(keys).agg(pl.min(EFFECTIVE_ROWS))
    return joined(found.drop(EFFECTIVE_ROWS), fewest, keys)


def units_that_differ(found: pl.DataFrame, a: State, b: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Return the number of units in which a metric of two evaluations differs, as effective rows.

    It is unknown which rows differ, but not in which folds. If m units are in k folds at random, a share of exp(-m/k)
    of the folds has none of them.
    """
    keys = [c for c in found.columns if c not in (*LIMITS, VARIANCE, EFFECTIVE_ROWS)]
    types = found.select(keys).schema
    one, other = (estimate(side, metrics).select(*keys, FOLD, "value").cast(types) for side in (a, b))
    both = one.join(other, on=[*keys, FOLD], how="full", coalesce=True, nulls_equal=True, suffix=RIGHT)
    folds, alike = pl.len(), pl.col("value").eq_missing(pl.col(f"value{RIGHT}")).sum()
    return both.group_by(keys).agg((folds * (folds / alike).log()).alias(EFFECTIVE_ROWS))


def _spread_of_rows(frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Keys, metric, effective rows, and variance of independent rows, also of proportions."""
    keys = [c for c in frame.columns if c not in ESTIMATE[1:]]
    found = rows_intervals(state, samples_of(state, metrics), confidence).drop_nulls(EFFECTIVE_ROWS)
    shares = [with_total(frame.filter(metric=m.name), state, m).drop_nulls(ROWS_OF_SHARE) for m in metrics]
    p, rows = pl.col("value"), pl.col(ROWS_OF_SHARE)
    successes = rows * p * (1 - p) / ((1 - p) ** 3 + p**3)
    of_shares = [f.select(*keys, successes.alias(EFFECTIVE_ROWS), (p * (1 - p) / rows).alias(VARIANCE)) for f in shares]
    return pl.concat([no_limits(frame, keys), found, *of_shares], how="diagonal_relaxed")


def paired_intervals(
    frame: pl.DataFrame, a: State, b: State, metrics: Sequence[Metric], confidence: float, factor: float
) -> pl.DataFrame:
    """Return keys, metric, and limits of ``b - factor * a``, if the rows of both are in the same folds of units.

    Common variation, such as units that are hard for both models, cancels (see `jackknife_intervals`). ``frame`` has
    keys, metric, ``b``, and ``a`` times the factor.
    """
    keys, metrics = frame.columns[: frame.columns.index("a")], [m for m in metrics if not m.interval.reason_of_units]
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
    limits = jackknife_intervals(values.with_columns(**differences).with_columns(_ends(ranges)), keys, confidence)
    found = pl.concat([no_limits(frame, keys), limits], how="diagonal_relaxed")
    sides = [_whole(folds) for folds in (a, b)]
    found_few = [frame.select(keys).clear(), *(_of_few(side, metrics, FEWEST) for side in sides)]
    few = pl.concat(found_few, how="diagonal_relaxed").select(keys).unique(maintain_order=True)
    seen = few.join(frame, on=keys, nulls_equal=True, maintain_order="left")
    of_a, of_b = (_alone(side, few, metrics, confidence) for side in sides)
    return _widened(found, independent_intervals(seen, of_a, of_b, factor))


def _whole(folds: State) -> State:
    return roll_up(folds, [c for c in folds.by if c != FOLD])


def _of_few(state: State, metrics: Sequence[Metric], fewest: int) -> pl.DataFrame:
    return of_few_rows(state, samples_of(state, metrics), dict.fromkeys(metrics, fewest))


def _widened(found: pl.DataFrame, alone: pl.DataFrame) -> pl.DataFrame:
    """Extend limits so that they contain those of independent rows, which are null if there are none.

    ``alone`` has the keys and limits of estimates from few rows of a class. Folds with few such rows can be similar by
    chance, so their variance is unreliable.
    """
    keys = [c for c in found.columns if c not in SAMPLED]
    alone = pl.concat([no_limits(found.clear(), keys).drop(EFFECTIVE_ROWS, VARIANCE), alone], how="diagonal_relaxed")
    alone = alone.select(*keys, pl.struct(LIMITS).alias(ALONE))
    lower, upper = (pl.col(ALONE).struct.field(side) for side in LIMITS)
    limited = pl.col(ALONE).is_null() | lower.is_not_null() | upper.is_not_null()
    wider = {"ci_lower": pl.min_horizontal("ci_lower", lower), "ci_upper": pl.max_horizontal("ci_upper", upper)}
    return found.join(alone, on=keys, how="left", nulls_equal=True).select(
        *keys,
        *(pl.when(limited & pl.col(side).is_not_null()).then(end).alias(side) for side, end in wider.items()),
        EFFECTIVE_ROWS,
        VARIANCE,
    )


def _alone(state: State, few: pl.DataFrame, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Keys and limits of independent rows, null or not, of the estimates from few rows of a class."""
    keys, by = few.columns, state.by
    limits = [no_limits(few.clear(), keys)]
    if few.height:
        own = [m for m in metrics if m.name in few["metric"]]
        some = _groups_of(state, few.select(by)) if by else state
        limits.append(rows_intervals(some, samples_of(some, own), confidence))
    found = pl.concat(limits, how="diagonal_relaxed").select(*keys, *LIMITS)
    return joined(few, found.cast(few.schema), keys)


def _groups_of(state: State, keys: pl.DataFrame) -> State:
    """The groups with these keys, which can have other types, for example in another state."""
    numbered = state.keys.cast(keys.schema).with_row_index(NUMBER)
    return select(state, state.keys[numbered.join(keys, on=keys.columns, how="semi", nulls_equal=True)[NUMBER]])


def _left_of(without: str, total: str) -> Expr:
    """The value without a fold: the value of all rows if the fold has no rows."""
    return (
        pl.when(pl.col(without).is_null()).then(total).otherwise(pl.col(without).struct.field("value")).alias(without)
    )


def _ends(ranges: Mapping[str, Range]) -> list[Expr]:
    """The ends of the range of each metric."""
    ends = {name: {metric: float(range[i]) for metric, range in ranges.items()} for i, name in enumerate((LOW, HIGH))}
    return [pl.col("metric").replace_strict(of, return_dtype=pl.Float64).alias(name) for name, of in ends.items()]


def _without_each_fold(folds: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """The estimates of each group without each of its folds, with the omitted fold in the column ``fold``."""
    by = [c for c in folds.by if c != FOLD]
    numbers, own = folds.keys[FOLD].unique().sort().cast(pl.Int64), folds.keys.cast({FOLD: pl.Int64})
    parts = [estimate(roll_up(folds, by), metrics).clear().with_columns(pl.lit(None, pl.Int64).alias(FOLD))]
    for rest in _rests(folds, by, numbers) if len(numbers) else ():
        if by or rest.groups.height:
            found = estimate(rest, metrics)
        else:  # no rows without the only fold
            found = estimate(roll_up(rest, []), metrics).with_columns(pl.lit(numbers[0], pl.Int64).alias(FOLD))
        parts.append(found.join(own, on=[*by, FOLD], how="semi", nulls_equal=True).select(parts[0].columns))
    return pl.concat(parts, how="vertical_relaxed")


def _rests(folds: State, by: Sequence[str], numbers: pl.Series) -> Iterator[State]:
    """The groups without each of these folds. To omit one of one half, the folds of the other half are merged first."""
    if len(numbers) <= max(1, AT_ONCE // max(1, folds.cells)):
        yield roll_up(_copies_without(folds, numbers), [*by, FOLD])
        return
    middle = len(numbers) // 2
    for half in (numbers[:middle], numbers[middle:]):
        others = pl.when(pl.col(FOLD).is_in(half.implode())).then(FOLD).otherwise(MERGED)
        yield from _rests(roll_up(with_keys(folds, {FOLD: others}), [*by, FOLD]), by, half)


def _copies_without(folds: State, numbers: pl.Series) -> State:
    """For each of these folds, a copy of the groups without it. The column ``fold`` is the omitted fold."""
    kept = folds.groups[FOLD].to_numpy()[:, None] != numbers.to_numpy()
    group, left_out = np.nonzero(kept)
    place = np.cumsum(kept).reshape(kept.shape) - 1
    keys = folds.keys[group].with_columns(numbers.gather(left_out).alias(FOLD))
    tables = {}
    for name, table in folds.tables.items():
        group = table[GROUP].to_numpy()
        row, left_out = np.nonzero(kept[group])
        tables[name] = table[row].with_columns(pl.Series(GROUP, place[group[row], left_out], pl.UInt32))
    return replace(folds, groups=keys.with_row_index(GROUP), tables=tables)

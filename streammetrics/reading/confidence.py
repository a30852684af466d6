"""Confidence intervals of estimates, and why some have none."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.base import (
    ESTIMATE,
    FEW_OF_A_CLASS,
    LIMITS,
    VARIANCE,
    few_effective,
    joined,
    noted,
    of_effective_rows,
)
from streammetrics.metrics import FEWEST, PAIRS_OF_LABELS, Metric, Sample, is_crowded, method_of, methods
from streammetrics.reading.few_rows import of_few_rows
from streammetrics.reading.independent_rows import rows_intervals, samples_of
from streammetrics.reading.units import units_intervals
from streammetrics.statistics import State

FEW_ROWS = "too few rows of a class"
INFINITE = "the metric is infinite"
ALIKE = "they do not vary"
AT_END = "the metric does not vary at the end of its range"
NEEDS_UNITS = "a confidence interval requires a unit"


def with_intervals(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, folds: State | None = None
) -> pl.DataFrame:
    """Return the estimates of a state with ``ci_lower`` and ``ci_upper``, null without a valid interval.

    With ``unit``, ``folds`` has the same rows by fold of their units.
    """
    samples = [*samples_of(state, metrics)]
    if folds is None:
        found = rows_intervals(state, samples, confidence)
    else:
        found = units_intervals(frame, folds, metrics, confidence)
    keys = [c for c in frame.columns if c in found.columns and c not in ESTIMATE[1:]]
    estimates = joined(frame, found, keys)
    reasons, otherwise, needed = {}, {}, {}
    for _, sample, own in samples:
        for m in own:
            method = method_of(m, sample)
            needed[m] = FEWEST if method is None else method.fewest_of(m)
            reasons[m.name] = _reason_with_units(m) if folds is not None else _reason(m, sample)
            otherwise[m.name] = _of_rows(m, units=folds is not None)
    without = ~pl.col("value").is_nan() & pl.col(LIMITS[0]).is_null() & pl.col(LIMITS[1]).is_null()
    told, else_told = (pl.col("metric").replace_strict(texts, return_dtype=pl.String) for texts in (reasons, otherwise))
    told = pl.when(pl.col("value").is_infinite()).then(pl.lit(INFINITE)).otherwise(told)
    ends = [{m.name: float(m.range[i]) for m in metrics} for i in (0, 1)]
    at_ends = [pl.col("metric").replace_strict(end, return_dtype=pl.Float64) == pl.col("value") for end in ends]
    at_end = pl.any_horizontal(at_ends)
    undecided = set(estimates.filter(without & told.is_null())["metric"])
    few = of_few_rows(state, samples, {m: least for m, least in needed.items() if m.name in undecided})
    found = few.with_columns(pl.lit(True).alias(FEW_OF_A_CLASS))
    estimates = joined(estimates, found, few.columns)
    of_class = (without & told.is_null() & pl.col(FEW_OF_A_CLASS)).fill_null(False)
    estimates = estimates.with_columns(of_class.alias(FEW_OF_A_CLASS))
    why = pl.when(FEW_OF_A_CLASS).then(pl.lit(FEW_ROWS)).when(at_end).then(pl.lit(AT_END)).otherwise(else_told)
    said = pl.format("no interval: {}", pl.coalesce(told, why))
    rows = pl.when(~without & few_effective(units=folds is not None)).then(of_effective_rows())
    said = pl.when(without).then(said).otherwise(pl.format("{}, so the interval can be too narrow", rows))
    return estimates.select(pl.exclude("note", VARIANCE), note=noted("note", said))


def _reason_with_units(metric: Metric) -> str | None:
    """Why no estimate of a metric has an interval, None if this depends on the rows."""
    own = metric.interval
    return None if isinstance(own, methods.RangeOfSums) and metric.average is None else own.reason_of_units or None


def _reason(metric: Metric, sample: Sample) -> str | None:
    """Why no estimate of a metric has an interval if rows are independent, None if this depends on the rows."""
    own = metric.interval
    if own.reason:
        return own.reason
    if method_of(metric, sample) is None:
        of_labels = methods.SEPARATE.reason_of_rows if metric.average is not None else ""
        why = of_labels or own.reason_of_rows or ("not available for weighted rows" if sample.weighted else "")
        return "; ".join([why] * bool(why) + [NEEDS_UNITS] * (not own.reason_of_units))
    if sample.pairs is not None and sample.pairs.table.filter(is_crowded()).height:
        return f"more than {PAIRS_OF_LABELS} pairs of labels; {NEEDS_UNITS}"
    return None


def _of_rows(metric: Metric, units: bool) -> str:
    """Why an estimate has no interval if another one of the same metric can have one."""
    return f"too few units or rows of a class, or {ALIKE}" if units else f"too few rows, or {ALIKE}"

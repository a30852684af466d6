"""Confidence intervals of estimates, and the status of those without one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.base import (
    LIMITS,
    METRIC,
    NO_LIMITS,
    STATUS,
    VARIANCE,
    Status,
    few_effective,
    hidden,
    joined,
    keys_of,
)
from streammetrics.metrics import FEWEST, Metric, Sample, is_crowded, method_of, methods
from streammetrics.reading.few_rows import few_rows_of_class
from streammetrics.reading.independent_rows import rows_intervals, samples_of
from streammetrics.reading.units import units_intervals
from streammetrics.statistics import State

FEW = hidden("few rows of a class")


def with_intervals(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, folds: State | None = None
) -> pl.DataFrame:
    """Return the estimates of a state with ``ci_lower`` and ``ci_upper``, null without a valid interval.

    With ``unit``, ``folds`` has the same rows by fold of their units.
    """
    if not metrics:
        return frame.with_columns(NO_LIMITS)
    samples = [*samples_of(state, metrics)]
    if folds is None:
        limits = rows_intervals(state, samples, confidence)
    else:
        limits = units_intervals(frame, folds, metrics, confidence)
    estimates = joined(frame, limits, [c for c in (*keys_of(frame), METRIC) if c in limits.columns])
    statuses, fewest = dict[str, str | None](), dict[Metric, int]()
    for _, sample, of_sample in samples:
        for metric in of_sample:
            method = method_of(metric, sample)
            fewest[metric] = FEWEST if method is None else method.fewest_of(metric)
            statuses[metric.name] = _status(metric, sample) if folds is None else _status_of_units(metric)
    of_metric = pl.col(METRIC).replace_strict(statuses, return_dtype=Status)
    of_metric = pl.when(pl.col("value").is_infinite()).then(pl.lit("infinite", Status)).otherwise(of_metric)
    lower, upper = map(pl.col, LIMITS)
    missing = ~pl.col("value").is_nan() & lower.is_null() & upper.is_null()
    undecided = set(estimates.filter(missing & of_metric.is_null())[METRIC])
    few = few_rows_of_class(state, samples, {m: least for m, least in fewest.items() if m.name in undecided})
    estimates = joined(estimates, few.with_columns(pl.lit(True).alias(FEW)), few.columns)
    lowest, highest = (
        pl.col(METRIC).replace_strict({m.name: float(m.range[end]) for m in metrics}, return_dtype=pl.Float64)
        for end in (0, 1)
    )
    at_end = (lowest == pl.col("value")) | (highest == pl.col("value"))
    status = (
        pl.when(missing & of_metric.is_not_null())
        .then(of_metric)
        .when(missing & pl.col(FEW))
        .then(pl.lit("few_rows_of_class", Status))
        .when(missing & at_end)
        .then(pl.lit("at_end", Status))
        .when(missing)
        .then(pl.lit("few_rows" if folds is None else "few_units", Status))
        .when(pl.col("value").is_not_null() & few_effective(units=folds is not None))
        .then(pl.lit("few_effective_rows", Status))
        .otherwise(STATUS)
    )
    return estimates.with_columns(status.alias(STATUS)).drop(FEW, VARIANCE, strict=False)


def _status_of_units(metric: Metric) -> str | None:
    """Why no estimate of a metric has an interval, None if this depends on the rows."""
    method = metric.interval
    if method.reason:
        return "no_method"
    has_method = isinstance(method, methods.RangeOfSums) and metric.average is None
    return "no_method_of_units" if method.reason_of_units and not has_method else None


def _status(metric: Metric, sample: Sample) -> str | None:
    """Why no estimate of a metric has an interval if rows are independent, None if this depends on the rows."""
    method = metric.interval
    if method.reason:
        return "no_method"
    if method_of(metric, sample) is None:
        needs_units = metric.average is not None or method.reason_of_rows or not sample.weighted
        return "needs_units" if needs_units else "weighted_rows"
    if sample.pairs is not None and sample.pairs.table.filter(is_crowded()).height:
        return "many_labels"
    return None

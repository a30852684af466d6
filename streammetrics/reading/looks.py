"""Confidence intervals that hold at every look at a growing set of rows."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.base import LIMITS, ROWS, ROWS_OF_SHARE, STATUS, Status, hidden, joined, keys_of
from streammetrics.metrics import Metric, with_limits_at_looks
from streammetrics.reading.available import find
from streammetrics.reading.estimates import estimate, expression_of
from streammetrics.statistics import State

PLACE = hidden("place")


def with_sequences(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, always: int
) -> pl.DataFrame:
    """The frame of estimates with intervals that hold at every look instead of a single look.

    They are tightest at ``always`` rows.
    """
    columns, numbered = frame.columns, with_row_count(frame.with_row_index(PLACE), state, ROWS)
    parts = [
        with_limits_at_looks(with_total(numbered.filter(metric=m.name), state, m), m.range, confidence, always)
        for m in metrics
    ]
    estimates = pl.concat([numbered.clear(), *parts], how="diagonal_relaxed").sort(PLACE).select(columns)
    is_valid = pl.any_horizontal(pl.col(LIMITS).is_not_null()) & (pl.col(STATUS) != "few_effective_rows")
    return estimates.with_columns(pl.when(is_valid).then(pl.lit("every_look", Status)).otherwise(STATUS).alias(STATUS))


def with_total(frame: pl.DataFrame, state: State, metric: Metric) -> pl.DataFrame:
    """Estimates of a metric with `ROWS_OF_SHARE`, the denominator in rows if it is a share and rows have no weights."""
    rows = None if metric.average is not None or state.weighted else metric.interval.rows_of(metric)
    if rows is None:
        return frame.with_columns(pl.lit(None, pl.Float64).alias(ROWS_OF_SHARE))
    estimates = _joined(frame, state, expression_of(state, metric, rows), ROWS_OF_SHARE)
    successes = pl.col("value") * pl.col(ROWS_OF_SHARE)
    is_integer = (successes % 1 - 0.5).abs() > 0.25  # half a row: a threshold cuts its bin
    return estimates.with_columns(pl.when(is_integer).then(ROWS_OF_SHARE).alias(ROWS_OF_SHARE))


def with_row_count(frame: pl.DataFrame, state: State, name: str) -> pl.DataFrame:
    """The frame with the number of rows as an additional column."""
    return _joined(frame, state, estimate(state, find("rows", state.statistics, state.labels)), name)


def _joined(frame: pl.DataFrame, state: State, counts: pl.DataFrame, name: str) -> pl.DataFrame:
    keys = [c for c in keys_of(counts) if c in frame.columns and (c in state.by or not counts[c].null_count())]
    numbers = counts.select(*keys, pl.col("value").alias(name)).cast(frame.select(keys).schema)
    return joined(frame, numbers, keys)

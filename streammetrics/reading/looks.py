"""Confidence intervals that hold at every look at a growing set of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import LIMITS, ROWS, ROWS_OF_SHARE, STATUS, Status, hidden, joined, keys_of
from streammetrics.core import Floats
from streammetrics.metrics import (
    Metric,
    Range,
    bisected,
    errors_wide,
    is_beyond,
    normal_quantile,
    share_limits,
    upper_level,
)
from streammetrics.reading.available import find
from streammetrics.reading.estimates import estimate, expression_of
from streammetrics.statistics import State

PLACE = hidden("place")
NUMBERS = ["value", *LIMITS, ROWS, ROWS_OF_SHARE]
MOST_ROWS = 1e15  # more than any decision can have


def with_sequences(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, always: int
) -> pl.DataFrame:
    """The frame of estimates with intervals that hold at every look instead of a single look.

    They are tightest at ``always`` rows.
    """
    columns, numbered = frame.columns, with_row_count(frame.with_row_index(PLACE), state, ROWS)
    parts = [
        widened(with_total(numbered.filter(metric=m.name), state, m), m.range, confidence, always) for m in metrics
    ]
    estimates = pl.concat([numbered.clear(), *parts], how="diagonal_relaxed").sort(PLACE).select(columns)
    is_valid = pl.any_horizontal(pl.col(LIMITS).is_not_null()) & (pl.col(STATUS) != "few_effective_rows")
    return estimates.with_columns(pl.when(is_valid).then(pl.lit("every_look", Status)).otherwise(STATUS).alias(STATUS))


def widened(
    estimates: pl.DataFrame, range: Range, confidence: float, always: int, *, one_sided: bool = False
) -> pl.DataFrame:
    """Estimates of a metric with intervals for every look, from those for one look, `ROWS`, and `ROWS_OF_SHARE`.

    Intervals of shares are exact. All others have the half-width of `errors_wide` in standard errors, within the range
    of the metric. With ``one_sided``, each limit has the confidence level by itself.
    """
    alpha, level = 1 - confidence, confidence if one_sided else upper_level(confidence)
    value, ci_lower, ci_upper, rows, total = estimates.select(pl.col(NUMBERS).cast(pl.Float64)).to_numpy().T
    wider = errors_wide(np.maximum(rows, 1), always, alpha, one_sided=one_sided) / normal_quantile(level)
    limits = np.stack([value - wider * (value - ci_lower), value + wider * (ci_upper - value)]).clip(*range)
    shares = (total > 0) & ~np.isnan(ci_lower)
    successes = np.round(value * total)[shares]
    limits[:, shares] = share_limits(successes, total[shares], always, alpha, one_sided=one_sided)
    ends = zip(LIMITS, limits, strict=True)
    return estimates.with_columns(pl.Series(name, limit, nan_to_null=True) for name, limit in ends)


def rows_to_decide_at_looks(estimates: pl.DataFrame, limit: float, confidence: float, always: int) -> pl.Series:
    """Return the rows with which one-sided intervals for every look, widened by the bounds, exclude a limit.

    They follow from estimates with two-sided intervals for one look, each limit of which has the confidence level. The
    value and the mix of rows stay as they are. `MOST_ROWS` if no number suffices, and null without an interval.
    """
    alpha = 1 - confidence
    numbers = ["value", "lower", "upper", *LIMITS, ROWS, ROWS_OF_SHARE]
    value, lower, upper, ci_lower, ci_upper, rows, total = (
        estimates.select(pl.col(numbers).cast(pl.Float64)).to_numpy().T
    )
    error = (ci_upper - ci_lower) / (2 * normal_quantile(confidence))
    above, share = value > limit, (total > 0) & (0 < limit < 1)
    nearest = np.where(above, lower, upper)
    gap = np.where(above, nearest - limit, limit - nearest)

    def undecided(log_rows: Floats) -> NDArray[np.bool_]:
        times = np.exp(log_rows) / rows
        reach = errors_wide(times * rows, always, alpha, one_sided=True) * error / np.sqrt(times)
        inside: NDArray[np.bool_] = (reach >= gap) | (gap <= 0)
        if share.any():  # no share is beyond 0 or 1
            drawn = times * total
            over, under = (is_beyond(nearest * drawn, drawn, limit, always, alpha, above=a) for a in (True, False))
            inside = np.where(share, np.where(above, ~over, ~under) | (gap <= 0), inside)
        return inside

    with np.errstate(invalid="ignore", divide="ignore"):
        _, log_needed = bisected(np.log(rows), np.full_like(rows, np.log(MOST_ROWS)), undecided)
    needed = np.where(log_needed < np.log(MOST_ROWS), np.exp(log_needed), MOST_ROWS)
    return pl.Series(np.where(np.isnan(error), np.nan, needed), nan_to_null=True)


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

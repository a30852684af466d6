"""Confidence intervals of estimates, and why some have none."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.frame import ESTIMATE, LIMITS, noted
from streammetrics.metrics import Metric
from streammetrics.reading.estimates import by_view
from streammetrics.reading.independent_rows import known_of, rows_intervals
from streammetrics.reading.intervals import AT_END, NOISE, OPEN, reason
from streammetrics.reading.units import units_intervals
from streammetrics.state.tables import State


def with_intervals(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, folds: State | None = None
) -> pl.DataFrame:
    """Return the estimates of a state with ``ci_lower`` and ``ci_upper``, null without a valid interval.

    With ``unit``, ``folds`` has the same rows by fold of their units.

    Raises:
        SpecificationError: If ``confidence`` is not between 0 and 1.
    """
    if folds is None:
        found = rows_intervals(state, metrics, confidence)
    else:
        found = units_intervals(frame, folds, metrics, confidence)
    keys = [c for c in frame.columns if c in found.columns and c not in ESTIMATE[1:]]
    joined = frame.join(found, on=keys, how="left", nulls_equal=True, maintain_order="left")
    reasons = {
        m.name: reason(m, units=folds is not None, **known_of(m, statistic, view, state.tables[statistic.name]))
        for statistic, view, own in by_view(state, metrics)
        for m in own
    }
    without = pl.col("value").is_not_null() & pl.col(LIMITS[0]).is_null() & pl.col(LIMITS[1]).is_null()
    told = pl.col("metric").replace_strict(reasons, return_dtype=pl.String)
    ends = [{m.name: float(m.range[i]) for m in metrics} for i in (0, 1)]
    at_ends = [pl.col("metric").replace_strict(end, return_dtype=pl.Float64) == pl.col("value") for end in ends]
    at_end = pl.col("value").is_finite() & pl.any_horizontal(at_ends)
    undecided = told.str.ends_with(OPEN) | told.str.ends_with(NOISE)
    said = pl.format("no interval: {}", pl.when(undecided & at_end).then(pl.lit(AT_END)).otherwise(told))
    return joined.select(
        pl.exclude("note"),
        note=noted("note", pl.when(without).then(said)),
    )

"""Confidence intervals of estimates, and why some have none."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.frame import ESTIMATE, LIMITS, hidden, noted
from streammetrics.metrics import Metric
from streammetrics.reading.estimates import by_view
from streammetrics.reading.few_rows import of_few_rows
from streammetrics.reading.independent_rows import known_of, rows_intervals
from streammetrics.reading.intervals import AT_END, FEW_OF_A_CLASS, NOISE, OPEN, fewest, influence, reason
from streammetrics.reading.units import units_intervals
from streammetrics.state.tables import State
from streammetrics.uncertainty.methods import FEWEST

FEW = hidden("few rows")


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
    without = pl.col("value").is_finite() & pl.col(LIMITS[0]).is_null() & pl.col(LIMITS[1]).is_null()
    told = pl.col("metric").replace_strict(reasons, return_dtype=pl.String)
    ends = [{m.name: float(m.range[i]) for m in metrics} for i in (0, 1)]
    at_ends = [pl.col("metric").replace_strict(end, return_dtype=pl.Float64) == pl.col("value") for end in ends]
    at_end = pl.any_horizontal(at_ends)
    undecided = told.str.ends_with(OPEN) | told.str.ends_with(NOISE)
    open_ = set(joined.filter(without & undecided)["metric"])
    few = of_few_rows(state, {m: _needed(m) for m in metrics if m.name in open_})
    found = few.with_columns(pl.lit(True).alias(FEW))
    joined = joined.join(found, on=few.columns, how="left", nulls_equal=True, maintain_order="left")
    why = pl.when(pl.col(FEW)).then(pl.lit(FEW_OF_A_CLASS)).when(at_end).then(pl.lit(AT_END)).otherwise(told)
    said = pl.format("no interval: {}", pl.when(undecided).then(why).otherwise(told))
    return joined.select(
        pl.exclude("note", FEW),
        note=noted("note", pl.when(without).then(said)),
    )


def _needed(metric: Metric) -> int:
    """Minimum number of rows of each class for an interval."""
    way = influence(metric)
    return FEWEST if way is None else max(FEWEST, fewest(metric, way))

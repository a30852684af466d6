"""Confidence intervals of estimates, and why some have none."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.frame import ESTIMATE, FEW_OF_A_CLASS, LIMITS, hidden, noted
from streammetrics.metrics import Metric
from streammetrics.reading.estimates import by_view
from streammetrics.reading.few_rows import of_few_rows
from streammetrics.reading.independent_rows import known_of, needed_by, rows_intervals
from streammetrics.reading.intervals import AT_END, of_rows, reason
from streammetrics.reading.units import units_intervals
from streammetrics.state.tables import State

FEW = hidden("few rows")


def with_intervals(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, folds: State | None = None
) -> pl.DataFrame:
    """Return the estimates of a state with ``ci_lower`` and ``ci_upper``, null without a valid interval.

    With ``unit``, ``folds`` has the same rows by fold of their units.
    """
    if folds is None:
        found = rows_intervals(state, metrics, confidence)
    else:
        found = units_intervals(frame, folds, metrics, confidence)
    keys = [c for c in frame.columns if c in found.columns and c not in ESTIMATE[1:]]
    joined = frame.join(found, on=keys, how="left", nulls_equal=True, maintain_order="left")
    reasons, otherwise, needed = {}, {}, {}
    for statistic, view, own in by_view(state, metrics):
        for m in own:
            of_table = m, statistic, view, state.table(statistic)
            reasons[m.name] = reason(m, units=folds is not None, **known_of(*of_table))
            otherwise[m.name] = of_rows(m, units=folds is not None)
            needed[m] = needed_by(*of_table)
    without = pl.col("value").is_finite() & pl.col(LIMITS[0]).is_null() & pl.col(LIMITS[1]).is_null()
    told, else_told = (pl.col("metric").replace_strict(texts, return_dtype=pl.String) for texts in (reasons, otherwise))
    ends = [{m.name: float(m.range[i]) for m in metrics} for i in (0, 1)]
    at_ends = [pl.col("metric").replace_strict(end, return_dtype=pl.Float64) == pl.col("value") for end in ends]
    at_end = pl.any_horizontal(at_ends)
    undecided = set(joined.filter(without & told.is_null())["metric"])
    few = of_few_rows(state, {m: least for m, least in needed.items() if m.name in undecided})
    found = few.with_columns(pl.lit(True).alias(FEW))
    joined = joined.join(found, on=few.columns, how="left", nulls_equal=True, maintain_order="left")
    why = pl.when(pl.col(FEW)).then(pl.lit(FEW_OF_A_CLASS)).when(at_end).then(pl.lit(AT_END)).otherwise(else_told)
    said = pl.format("no interval: {}", pl.coalesce(told, why))
    return joined.select(pl.exclude("note", FEW), note=noted("note", pl.when(without).then(said)))

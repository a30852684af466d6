"""Measures of drift of the distributions of two evaluations, with intervals and statuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import LIMITS, STATUS, VALUE, Status, bounds_status
from streammetrics.reading.drift.distances import MEASURES, distances
from streammetrics.reading.drift.sampling import CENTER, drift_intervals
from streammetrics.reading.score_distributions import Distribution, distributions, paired, side_by_side
from streammetrics.statistics import GROUP

if TYPE_CHECKING:
    from streammetrics.report import Comparison


def drift_measures(sides: Comparison, names: Sequence[str], bins: int, confidence: float | None) -> pl.DataFrame:
    """Return the measures of some distributions: group columns, of, measure, value, bounds, and status.

    With a confidence level, also limits and `CENTER`.
    """
    one, other = (distributions(report.state) for report in (sides.a, sides.b))
    missing = None if confidence is None else _missing(sides)
    parts = [_measures(name, one[name], other[name], bins, confidence, missing) for name in names]
    return pl.concat(parts, how="diagonal_relaxed")


def without_bias(measures: pl.DataFrame) -> pl.DataFrame:
    """Return measures with values, bounds, and limits around the value without the bias of small samples."""
    bias, center = pl.coalesce(pl.col("value") - pl.col(CENTER), 0.0), pl.col(CENTER)
    lower = 2 * center - pl.col("ci_upper")
    return measures.select(pl.exclude(*VALUE, "ci_lower"), pl.col(VALUE) - bias, lower.alias("ci_lower"))


def _missing(sides: Comparison) -> str:
    """The status of a measure without an interval."""
    if any(side.unit is not None for side in (sides.a, sides.b)):
        return "dependent_rows"
    weighted = any(side.state.weighted for side in (sides.a, sides.b))
    return "weighted_rows" if weighted else "no_method"


def _measures(
    name: str, reference: Distribution, current: Distribution, bins: int, confidence: float | None, missing: str | None
) -> pl.DataFrame:
    pairs = paired(reference, current)
    tables = list(side_by_side({"reference": reference, "current": current}, pairs))
    values = pl.concat([distances(table, bins) for table in tables])
    status = (
        pl.when(pl.col("reference_rows").is_null())
        .then(pl.lit("no_rows_in_reference", Status))
        .when(pl.col("current_rows").is_null())
        .then(pl.lit("rows_only_in_reference", Status))
    )
    limits = list[str]()
    if confidence is not None:
        limits = [CENTER, *LIMITS]
        sampled = [table if missing == "no_method" else table.clear() for table in tables]
        intervals = pl.concat([drift_intervals(table, bins, confidence) for table in sampled])
        values = values.join(intervals, on=[GROUP, "measure"], how="left", maintain_order="left")
        status = status.when(pl.col("ci_upper").is_null()).then(pl.lit(missing, Status))
    measures = pl.DataFrame({"of": name, "measure": MEASURES})
    rows = pairs.join(measures, how="cross", maintain_order="left_right")
    rows = rows.join(
        values, left_on=["pair", "measure"], right_on=[GROUP, "measure"], how="left", maintain_order="left"
    )
    return rows.select(*current.keys, "of", "measure", *VALUE, *limits, status.otherwise(bounds_status()).alias(STATUS))

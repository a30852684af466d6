"""Verdicts of estimates on a requirement: whether it holds, is breached, or is open."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from streammetrics.frame import FEW_OF_A_CLASS, LIMITS, ON_THESE_ROWS, VALUE
from streammetrics.metrics import Metric
from streammetrics.metrics.requirement import Requirement
from streammetrics.reading.looks import ROWS

OPEN = ("open", "too few rows")  # undecided verdicts
PASSING = {"fail": ["holds"], "pass": ["holds", *OPEN]}  # by the result of open verdicts
TYPES: dict[str, pl.DataType] = {"rows": pl.Int64(), "passes": pl.Boolean()}
TYPES |= dict.fromkeys((*VALUE, *LIMITS, "reference", "e_value"), pl.Float64())
NO_INTERVAL = pl.all_horizontal(pl.col(LIMITS).is_null())
UNDECIDED = pl.col("note").cast(pl.String).str.contains(FEW_OF_A_CLASS, literal=True).fill_null(False)


def typed(*columns: str) -> pl.Schema:
    """Return the schema of a frame of verdicts with these columns: strings unless they have other `TYPES`."""
    return pl.Schema({name: TYPES.get(name, pl.String()) for name in columns})


def is_total(metric: Metric) -> bool:
    """Whether a metric is a count or a sum over the rows, which requires no interval."""
    return metric.interval.without in ("a count", "a sum")


def on_these_rows(metrics: Iterable[Metric]) -> pl.Expr:
    """A note on verdicts that ignore sampling, because the metric has no interval. Totals require none."""
    if any(map(is_total, metrics)):
        return pl.lit(None, pl.String)
    return pl.when(NO_INTERVAL & ~UNDECIDED & pl.col("value").is_not_null()).then(pl.lit(ON_THESE_ROWS))


def verdict(required: Requirement, min_rows: int = 1, bounded: bool = False) -> pl.Expr:
    """Return the verdict on a requirement, from the bounds, the confidence limits, and the `ROWS` of estimates.

    It ``"holds"`` or is ``"breached"`` if the bounds and the confidence interval, widened by them, lie on one side of
    the limit. Otherwise it is ``"open"``, also if a class has too few rows for an interval. Other metrics without one
    are decided by their bounds, those without a value are ``"undefined"``, and groups with fewer than ``min_rows`` rows
    have ``"too few rows"``. With ``bounded``, intervals already contain the bounds.
    """
    below, above = (pl.col("value") - pl.col("lower"), pl.col("upper") - pl.col("value")) if not bounded else (0, 0)
    low = [pl.col("lower"), pl.col("ci_lower") - below]
    high = [pl.col("upper"), pl.col("ci_upper") + above]
    worst, best = (low, high) if required.wants_high else (high, low)

    def met(ends: list[pl.Expr], wanted: bool) -> pl.Expr:
        by_bound, by_limit = (required.holds(end) == wanted for end in ends)
        found: pl.Expr = by_bound & (NO_INTERVAL | by_limit.fill_null(False))
        return found

    return (
        pl.when(pl.col(ROWS).is_between(1, min_rows, closed="left"))
        .then(pl.lit("too few rows"))
        .when(pl.col("value").is_null())
        .then(pl.lit("undefined"))
        .when(UNDECIDED)
        .then(pl.lit("open"))
        .when(met(worst, True))
        .then(pl.lit("holds"))
        .when(met(best, False))
        .then(pl.lit("breached"))
        .otherwise(pl.lit("open"))
    )

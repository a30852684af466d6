"""What estimates say of a requirement: whether it holds, is breached, or is open."""

from __future__ import annotations

import polars as pl

from streammetrics.frame import LIMITS, VALUE
from streammetrics.metrics.requirement import Requirement
from streammetrics.reading.intervals import FEW_OF_A_CLASS
from streammetrics.reading.looks import ROWS

OPEN = ("open", "too few rows")  # verdicts that say neither yes nor no
PASSING = {"fail": ["holds"], "pass": ["holds", *OPEN]}  # by what open verdicts do
TYPES: dict[str, pl.DataType] = {"rows": pl.Int64(), "passes": pl.Boolean()}
TYPES |= dict.fromkeys((*VALUE, *LIMITS, "reference", "e_value"), pl.Float64())
NO_INTERVAL = pl.all_horizontal(pl.col(LIMITS).is_null())
UNDECIDED = NO_INTERVAL & pl.col("note").cast(pl.String).str.contains(FEW_OF_A_CLASS, literal=True).fill_null(False)
ON_THESE_ROWS = pl.when(NO_INTERVAL & ~UNDECIDED & pl.col("value").is_not_null()).then(pl.lit("on these rows"))
"""A note on verdicts that ignore sampling, because the metric has no interval."""


def typed(*columns: str) -> pl.Schema:
    """Return the schema of a frame of verdicts with these columns: strings unless they have other `TYPES`."""
    return pl.Schema({name: TYPES.get(name, pl.String()) for name in columns})


def verdict(required: Requirement, min_rows: int = 1, bounded: bool = False) -> pl.Expr:
    """Return the verdict on a requirement, from the bounds, the confidence limits, and the `ROWS` of estimates.

    It ``"holds"`` or is ``"breached"`` if the confidence interval, widened by the certified bounds, lies on one side of
    the limit. Otherwise it is ``"open"``, also if a class has too few rows for an interval. Other metrics without one
    are decided by their bounds, those without a value are ``"undefined"``, and groups with fewer than ``min_rows`` rows
    have ``"too few rows"``.

    Args:
        required: The requirement.
        min_rows: Minimum number of rows.
        bounded: Whether intervals contain the bounds already.

    >>> frame = pl.DataFrame({"value": [0.8, 0.8], "lower": [0.8, 0.75], "upper": 0.8, ROWS: 9})
    >>> frame = frame.with_columns(ci_lower=0.72, ci_upper=0.88, note=None)
    >>> frame.select(verdict(Requirement.parse("recall >= 0.7"))).to_series().to_list()
    ['holds', 'open']
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

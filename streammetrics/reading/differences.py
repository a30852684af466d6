"""Two evaluations, or two models, side by side: the values of both, and their difference with its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import (
    EFFECTIVE_ROWS,
    LIMITS,
    METRIC,
    REMARK,
    RIGHT,
    STATUS,
    VALUE,
    A,
    B,
    Status,
    bounds_status,
    keys_of,
)
from streammetrics.data import LABEL, common_types, typed
from streammetrics.errors import ReportError
from streammetrics.metrics import Metric

if TYPE_CHECKING:
    from streammetrics.report import Comparison, Report

BOUNDS = [f"{side}{bound}" for side in (A, B) for bound in ("lower", "upper")]  # of each side
SIDES = [f"{side}{column}" for side in (A, B) for column in (STATUS, REMARK)]
LETTERS = ("a", "b")


def showing(comparison: Comparison, metrics: Sequence[str | Metric], confidence: float | None) -> Comparison:
    """Return the comparison of some metrics at a confidence level."""
    a, b = (report.showing(metrics) for report in (comparison.a, comparison.b))
    return replace(comparison, a=a, b=b, confidence=confidence)


def metrics_of(comparison: Comparison) -> list[Metric]:
    """The metrics that both reports show."""
    names = {metric.name for metric in comparison.b.metrics}
    return [metric for metric in comparison.a.metrics if metric.name in names]


def values_of(comparison: Comparison) -> pl.DataFrame:
    """Return the metrics of both sides and their difference, without limits (see `values`)."""
    both = values(*estimates_of(comparison, None))
    return both.filter(pl.col(METRIC).is_in([metric.name for metric in metrics_of(comparison)]))


def values(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """Return estimates of two sides with the same keys in one frame.

    Returns:
        Keys, metric, ``a``, ``b``, their difference b - a as ``value`` with ``lower`` and ``upper``, ``status``, and
        of each side its `BOUNDS`, its status, and its remark.
    """
    keys = [*keys_of(a), METRIC]
    one, other = (
        side.select(
            *keys, pl.col(VALUE).cast(pl.Float64).name.prefix(prefix), pl.col(STATUS, REMARK).name.prefix(prefix)
        )
        for side, prefix in ((a, A), (b, B))
    )
    both = one.join(
        other, on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right", suffix=RIGHT
    )
    differences = both.select(
        *(*keys, *BOUNDS, *SIDES),
        a=f"{A}value",
        b=f"{B}value",
        value=_minus("value", "value"),
        lower=_minus("lower", "upper"),
        upper=_minus("upper", "lower"),
    )
    return differences.with_columns(_status().alias(STATUS))


def estimates_of(comparison: Comparison, confidence: float | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the estimates of both sides, with the same key columns in the same types.

    They have intervals and effective rows at a confidence level. If ``a`` has fewer group columns, its rows are
    repeated for each group of ``b``.
    """
    a, b = comparison.a, comparison.b
    one, other = (_with_confidence(report, confidence)._sampled_frame for report in (a, b))
    columns = [*keys_of(one), METRIC]
    keys = [c for c in [*keys_of(other), METRIC] if c in columns or c in b.by]
    if LABEL not in keys and any(LABEL in frame.columns and frame[LABEL].count() for frame in (one, other)):
        raise ReportError(
            "Only one of the evaluations has metrics of each label. Compare evaluations of the same task."
        )
    shared = [c for c in keys if c in columns]
    types = common_types([frame.select(shared) for frame in (one, other)])
    one, other = typed(one, types), typed(other, types)
    if len(shared) < len(keys):
        groups = other.select(b.by).unique(maintain_order=True)
        one = groups.join(one, on=a.by, nulls_equal=True) if a.by else groups.join(one, how="cross")
    numbers = (*VALUE, *LIMITS, EFFECTIVE_ROWS, STATUS, REMARK)
    one, other = (frame.select(*keys, *(c for c in numbers if c in frame.columns)) for frame in (one, other))
    return one, other


def _with_confidence(report: Report, confidence: float | None) -> Report:
    if confidence is None or (report.confidence == confidence and report.always is None):
        return report
    return report.with_confidence(confidence)


def _minus(of_b: str, of_a: str) -> pl.Expr:
    """A difference of b and a; null between two infinities."""
    return (pl.col(f"{B}{of_b}") - pl.col(f"{A}{of_a}")).fill_nan(None)


def _status() -> pl.Expr:
    """The status of a difference: which side has no value, or whether it is exact."""
    without = {A: pl.col("a").is_null(), B: pl.col("b").is_null()}
    return pl.coalesce(
        bounds_status(),
        *(
            pl.when(without[side] & pl.col(f"{side}{STATUS}").is_not_null()).then(pl.lit(status, Status))
            for side, status in ((A, "undefined_a"), (B, "undefined_b"))
        ),
        pl.when(without[A] | without[B]).then(pl.lit("one_side", Status)),
        pl.lit("infinite", Status),
    )

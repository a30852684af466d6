"""Gaps of a metric between the values of a group column, and fairness criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
from polars import Expr

from streammetrics.base import (
    EFFECTIVE_ROWS,
    EXPLAINED,
    LABELS,
    LIMITS,
    METRIC,
    REMARK,
    STATUS,
    UNDEFINED_LABELS,
    VALUE,
    B,
    keys_of,
    matching,
    require_free,
    require_group_columns,
    text,
    whole,
)
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import Metric
from streammetrics.reading.segments import with_rows

if TYPE_CHECKING:
    from streammetrics.report import Report

Side: TypeAlias = tuple[Expr, tuple[Expr, Expr]]

ENDS = ("highest", "lowest")
MEASURES = tuple(f"{measure}{end}" for measure in ("difference", "ratio") for end in ("", "_lower", "_upper"))
SAMPLED = tuple(f"{measure}_{end}" for measure in ("difference", "ratio") for end in LIMITS)
FROM_REFERENCE = ("reference", "rows", "value", "reference_value")
CRITERIA: dict[str, tuple[str, ...]] = {
    "demographic_parity": ("predicted_positive_rate",),
    "equal_opportunity": ("recall",),
    "equalized_odds": ("recall", "fpr"),
    "predictive_parity": ("precision",),
}


def gaps(
    report: Report, metric: str | Metric, over: str, reference: Any, min_rows: int, keys: Mapping[str, Any]
) -> pl.DataFrame:
    """Return a metric compared between the values of a group column. See `Report.gaps`."""
    require_group_columns([over], report.by)
    require_free(report.by, {*ENDS, *MEASURES, *SAMPLED, *FROM_REFERENCE, "max", "min", "criterion"})
    enough = pl.col("rows") >= whole(Argument("min_rows"), min_rows, least=0)
    rows = with_rows(report, report._sampled_rows(metric, **keys)).filter(enough)
    if reference is not None:
        return _from_reference(rows, over, reference)
    sampled = SAMPLED if "ci_lower" in rows.columns else ()
    index = [c for c in keys_of(rows) if c != over] + [METRIC]
    found = rows.group_by(index, maintain_order=True).agg(
        *(_at(over, side).alias(side) for side in ENDS),
        pl.max("value").alias("max"),
        pl.min("value").alias("min"),
        *_bounds(),
        *(_intervals([_end(side) for side in ENDS], [_end(side) for side in reversed(ENDS)]) if sampled else ()),
        pl.col("value").null_count().alias(UNDEFINED_LABELS),
        pl.len().alias(LABELS),
    )
    return found.select(*index, *ENDS, "max", "min", *_difference_last(sampled), UNDEFINED_LABELS, LABELS)


def fairness(report: Report, over: str, reference: Any, min_rows: int, keys: Mapping[str, Any]) -> pl.DataFrame:
    """Return fairness criteria over the values of a group column. See `Report.fairness`."""
    metrics = dict.fromkeys(m for needed in CRITERIA.values() for m in needed)
    readable = [m for m in metrics if report.readable(m)]
    if not readable:
        raise MetricError(
            "Fairness requires confusion counts or predicted counts, which this accumulator does not have."
        )
    gap = {m: gaps(report, m, over, reference, min_rows, keys) for m in readable}
    table = pl.concat(
        gap[m].with_columns(criterion=pl.lit(criterion))
        for criterion, needed in CRITERIA.items()
        if gap.keys() >= set(needed)
        for m in needed
    )
    index = keys_of(table)
    found = table.select(*index, "criterion", pl.exclude(*index, "criterion"))
    if not index:
        return found
    groups = table.select(index).unique(maintain_order=True)
    return groups.join(found, on=index, nulls_equal=True, maintain_order="left_right")


def _difference_last(sampled: Sequence[str]) -> list[str]:
    """The measures with the difference and its interval at the end, which printed frames show."""
    return [*MEASURES[3:], *sampled[2:], *MEASURES[1:3], MEASURES[0], *sampled[:2]]


def _from_reference(rows: pl.DataFrame, over: str, reference: Any) -> pl.DataFrame:
    """Each group compared with the group that has the reference value and otherwise the same keys."""
    of_reference = matching(rows, [over], {over: reference})
    if of_reference.is_empty():
        raise ReportError(
            f"Unknown reference {reference!r}. "
            f"Values of {over}: {text.few(rows[over].unique(maintain_order=True)) or 'none'}."
        )
    index = [c for c in keys_of(rows) if c != over] + [METRIC]
    estimates = [c for c in (*VALUE, *LIMITS) if c in rows.columns]
    require_free(index, [f"reference_{c}" for c in estimates], "a name that gaps use")
    both = rows.filter(pl.col(over).ne_missing(of_reference[over][0])).join(
        of_reference.select(*index, pl.col(estimates).name.prefix("reference_"), pl.col(STATUS, REMARK).name.prefix(B)),
        on=index,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    sampled = SAMPLED if LIMITS[0] in estimates else ()
    sides = [_sides(whose) for whose in ("", "reference_")]
    a, b = ([pl.col(f"{whose}{c}") for c in ("value", "lower", "upper")] for whose in ("", "reference_"))
    both = both.with_columns(
        *(e.alias(n) for n, e in zip(MEASURES[:3], (a[0] - b[0], a[1] - b[2], a[2] - b[1]), strict=True)),
        *(_ratio(e).alias(n) for n, e in zip(MEASURES[3:], (a[0] / b[0], a[1] / b[2], a[2] / b[1]), strict=True)),
        *(_intervals(sides, sides) if sampled else ()),
        reference=pl.lit(of_reference[over][0], rows.schema[over]),
    )
    explained = [*EXPLAINED, *{EFFECTIVE_ROWS} & {*both.columns}, f"{B}{STATUS}", f"{B}{REMARK}"]
    return both.select(*keys_of(rows), METRIC, *FROM_REFERENCE, *_difference_last(sampled), *explained)


def _ratio(ratio: Expr) -> Expr:
    """A ratio of nonnegative values; null for 0/0."""
    return pl.when(pl.min_horizontal("lower", "reference_lower") >= 0).then(ratio).fill_nan(None)


def _sides(whose: str) -> Side:
    return pl.col(f"{whose}value"), (pl.col(f"{whose}ci_lower"), pl.col(f"{whose}ci_upper"))


def _end(side: str) -> Side:
    """The highest or the lowest value of a group, and its interval."""
    several = pl.when(pl.col("value").count() > 1)
    return _at("value", side), (several.then(_at("ci_lower", side)), several.then(_at("ci_upper", side)))


def _intervals(difference: Sequence[Side], ratio: Sequence[Side]) -> list[Expr]:
    """Intervals of the difference of two values and of the ratio of two values."""
    from streammetrics.metrics import difference_interval, ratio_interval  # when it is needed

    positive = pl.when(pl.min_horizontal(value for value, _ in ratio) >= 0)
    (a, of_a), (b, of_b), (c, of_c), (d, of_d) = *difference, *ratio
    limits = [*difference_interval(a, of_a, b, of_b), *(positive.then(x) for x in ratio_interval(c, of_c, d, of_d))]
    return [limit.fill_nan(None).alias(name) for name, limit in zip(SAMPLED, limits, strict=True)]


def _at(column: str, side: str) -> pl.Expr:
    """The value of a column at which the metric is highest or lowest."""
    value = pl.col("value")
    return pl.col(column).get(value.arg_max() if side == "highest" else value.arg_min())


def _bounds() -> list[pl.Expr]:
    """Bounds of the difference and the ratio of the highest and the lowest value."""
    value, lower, upper = (pl.col(c) for c in VALUE)
    alone = value.count() == 1
    difference, ratio = value.max() - value.min(), value.min() / value.max()
    least, most = (lower.max() - upper.min()).clip(0), upper.max() - lower.min()
    low, high = lower.min().clip(0) / upper.max(), (upper.min() / lower.max().clip(0)).fill_nan(1).clip(0, 1)
    sound = pl.when(value.min() >= 0)
    differences = (pl.when(alone).then(difference).otherwise(bound) for bound in (difference, least, most))
    ratios = (sound.then(pl.when(alone).then(ratio).otherwise(bound)) for bound in (ratio, low, high))
    return [bound.fill_nan(None).alias(n) for n, bound in zip(MEASURES, (*differences, *ratios), strict=True)]

"""Gaps of a metric between the values of a group column, and fairness criteria."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

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
    A,
    B,
    hidden,
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

ENDS = ("highest", "lowest")
MEASURES = tuple(f"{measure}{end}" for measure in ("difference", "ratio") for end in ("", "_lower", "_upper"))
RATIOS = MEASURES[3:]
SAMPLED = tuple(f"{measure}_{end}" for measure in ("difference", "ratio") for end in LIMITS)
NUMBERS = (*VALUE, *LIMITS)
SEVERAL = hidden("several")
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
    return _highest_and_lowest(rows, over)


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
    criteria = table.select(*index, "criterion", pl.exclude(*index, "criterion"))
    if not index:
        return criteria
    groups = table.select(index).unique(maintain_order=True)
    return groups.join(criteria, on=index, nulls_equal=True, maintain_order="left_right")


class Side(NamedTuple):
    """An estimate that is compared with another one."""

    value: Expr
    lower: Expr
    upper: Expr
    ci_lower: Expr
    ci_upper: Expr

    @classmethod
    def prefixed(cls, prefix: str) -> Side:
        """The columns of a side."""
        return cls(*(pl.col(f"{prefix}{name}") for name in NUMBERS))

    @property
    def limits(self) -> tuple[Expr, Expr]:
        """Both ends of the interval."""
        return self.ci_lower, self.ci_upper


def _highest_and_lowest(rows: pl.DataFrame, over: str) -> pl.DataFrame:
    """The group with the highest value compared with that of the lowest, of all groups with the same other keys."""
    index = [c for c in keys_of(rows) if c != over] + [METRIC]
    value, several = pl.col("value"), pl.col("value").count() > 1
    columns = dict[str, Expr]()
    for end, side, place, extreme in (("highest", A, value.arg_max(), pl.max), ("lowest", B, value.arg_min(), pl.min)):
        columns[end] = pl.col(over).get(place)
        columns[f"{side}value"] = extreme("value")
        columns |= {
            f"{side}{bound}": pl.when(several).then(extreme(bound)).otherwise(value.max()) for bound in VALUE[1:]
        }
        columns |= {f"{side}{c}": pl.when(several).then(pl.col(c).get(place)) for c in LIMITS if c in rows.columns}
    skipped = {UNDEFINED_LABELS: value.null_count(), LABELS: pl.len()}
    both = rows.group_by(index, maintain_order=True).agg(several.alias(SEVERAL), **columns, **skipped)
    highest, lowest = Side.prefixed(A), Side.prefixed(B)
    measures = _measures(highest, lowest, ratio=(lowest, highest), sampled="ci_lower" in rows.columns)
    measures["difference_lower"] = measures["difference_lower"].clip(0)
    most = measures["ratio_upper"]
    measures["ratio_upper"] = pl.when(SEVERAL).then(most.fill_nan(1).clip(0, 1)).otherwise(most)
    ends = [pl.col(f"{A}value").alias("max"), pl.col(f"{B}value").alias("min")]
    return both.select(*index, *ENDS, *ends, *_columns(measures, lowest.value >= 0), UNDEFINED_LABELS, LABELS)


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
    group, other = Side.prefixed(""), Side.prefixed("reference_")
    measures = _measures(group, other, ratio=(group, other), sampled=LIMITS[0] in estimates)
    nonnegative = pl.min_horizontal(group.lower, other.lower) >= 0
    explained = [*EXPLAINED, *{EFFECTIVE_ROWS} & {*both.columns}, f"{B}{STATUS}", f"{B}{REMARK}"]
    value = pl.lit(of_reference[over][0], rows.schema[over]).alias("reference")
    columns = both.with_columns(value, *_columns(measures, nonnegative))
    return columns.select(*keys_of(rows), METRIC, *FROM_REFERENCE, *_order(measures), *explained)


def _measures(a: Side, b: Side, ratio: tuple[Side, Side], sampled: bool) -> dict[str, Expr]:
    """The difference a - b and the ratio of two sides with bounds, and with intervals if rows are sampled."""
    from streammetrics.metrics import difference_interval, ratio_interval  # when it is needed

    c, d = ratio
    measures = {
        "difference": a.value - b.value,
        "difference_lower": a.lower - b.upper,
        "difference_upper": a.upper - b.lower,
        "ratio": c.value / d.value,
        "ratio_lower": c.lower.clip(0) / d.upper,
        "ratio_upper": c.upper / d.lower.clip(0),
    }
    if sampled:
        nonnegative = pl.when(pl.min_horizontal(a.value, b.value) >= 0)
        limits = ratio_interval(c.value, c.limits, d.value, d.limits)
        differences = difference_interval(a.value, a.limits, b.value, b.limits)
        measures |= zip(SAMPLED, (*differences, *map(nonnegative.then, limits)), strict=True)
    return measures


def _columns(measures: dict[str, Expr], nonnegative: Expr) -> list[Expr]:
    """The measures, null for 0/0, and ratios of negative values, in the order of `_order`."""
    ratios = {name: pl.when(nonnegative).then(measures[name]) for name in RATIOS}
    return [(measures | ratios)[name].fill_nan(None).alias(name) for name in _order(measures)]


def _order(measures: Collection[str]) -> list[str]:
    """The measures with the difference and its interval at the end, which printed frames show."""
    names = (*RATIOS, *SAMPLED[2:], "difference_lower", "difference_upper", "difference", *SAMPLED[:2])
    return [name for name in names if name in measures]

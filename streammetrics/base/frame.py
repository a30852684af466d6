"""The columns of a frame of estimates: keys, then the metric, its value with bounds, its interval, and a note."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

KEPT = ("threshold", "label")  # keys that only some metrics have
METRIC = "metric"  # columns before it are the keys of a row
VALUE = ("value", "lower", "upper")
LIMITS = ("ci_lower", "ci_upper")  # of confidence intervals, if requested
STATUS = "status"
ESTIMATE = (METRIC, *VALUE, *LIMITS, STATUS, "note")
# Statuses: what is to be known of an estimate, as codes of which `streammetrics.show` makes sentences
UNDEFINED = """
    undefined overflow no_label few_expected no_rows undefined_a undefined_b one_side not_positive
    no_rows_in_reference rows_only_in_reference no_value_in_reference value_only_in_reference not_in_reference
    no_positives_in_reference no_negatives_in_reference no_predicted_positives no_predicted_positives_in_reference
""".split()  # of one without a value
NO_INTERVAL = """
    no_method no_method_of_units needs_units weighted_rows many_labels infinite few_rows_of_class at_end
    few_rows few_units no_interval dependent_rows few_labeled_rows few_labeled_units other_units
""".split()  # of one without an interval
REMARKS = "few_effective_rows few_effective_rows_differ every_look no_alarm not_significant not_significant_with_bounds"
STATUSES: list[str] = ["exact", "bounded", *UNDEFINED, *NO_INTERVAL, *REMARKS.split()]
Status: pl.Enum = pl.Enum(STATUSES)
PointStatus: pl.Enum = pl.Enum(
    ["no_rows", "undefined", "few_rows_of_constraint", "constraint_not_met", "constraints_not_met"]
)  # of an operating point without a threshold
WHY_OPEN = """
    few_rows_of_class no_interval false_discovery_rate wide_bounds at_limit few_rows few_rows_differ
    short_history few_labels
""".split()
REASONS: list[str] = [*WHY_OPEN, "no_window", "bounds_only", "before_labels", "incomplete_period"]  # for verdicts
OF_LABELS = ("prevalence", "majority_accuracy", "class_imbalance", "support", "positives", "negatives")
"""Metrics of confusion counts that do not depend on predictions, and so not on the threshold."""


VOLUME = ("rows", "dropped", "dropped_rate")
"""Metrics of the numbers of rows, which do not depend on predictions or labels."""


def hidden(name: str) -> str:
    """Return the name of a column that no group column can have, since theirs have no null character.

    >>> hidden("rows")
    '\\x00rows'
    """
    return f"\0{name}"


REMARK = hidden("remark")  # of a metric or of its statistic on its value, or on why it has none
UNDEFINED_LABELS, LABELS = hidden("undefined labels"), hidden("labels")  # of an average, how many have no value
EFFECTIVE_ROWS = hidden("effective rows")  # see `streammetrics.metrics.intervals.limits.Spread`
VARIANCE = hidden("variance")  # of an estimate of independent rows
ENOUGH_ROWS = hidden("enough rows")
ENOUGH, ENOUGH_OF_UNITS = 10, 15  # effective rows for a verdict, of independent rows and of units
SAMPLED = (*LIMITS, EFFECTIVE_ROWS, VARIANCE)
NO_LIMITS = [pl.lit(None, pl.Float64).alias(name) for name in (*LIMITS, EFFECTIVE_ROWS)]
EXPLAINED = pl.Schema({STATUS: Status, REMARK: pl.String(), UNDEFINED_LABELS: pl.UInt32(), LABELS: pl.UInt32()})
"""Columns that the note of an estimate is made of."""

UNMET = hidden("unmet constraint")  # of an operating point: the constraint, the fewest rows that can meet it, its rows
RIGHT = hidden("right")  # suffix of columns of the right side of a join
VERDICT, NEEDED = hidden("verdict"), hidden("rows needed")
ROWS, ROWS_OF_SHARE = hidden("rows"), hidden("rows of the share")  # behind an estimate
AHEAD = hidden("ahead")  # side of a comparison that is ahead, but not better
A, B = hidden("a"), hidden("b")  # prefixes of columns of each side of a comparison


def keys_of(frame: pl.DataFrame) -> list[str]:
    """Return the columns that identify the rows of a metric."""
    return frame.columns[: frame.columns.index(METRIC)]


def told_apart(frame: pl.DataFrame) -> list[str]:
    """Return the key columns with several values, which tell the rows of a metric apart."""
    return [c for c in keys_of(frame) if frame[c].drop_nulls().n_unique() > 1]


def of_labels_once(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame in which metrics that do not depend on the threshold have one row, with a null threshold.

    >>> rows = {"threshold": [0.2, 0.5], "metric": ["prevalence"] * 2, "value": [None, 0.3]}
    >>> of_labels_once(pl.DataFrame(rows)).rows()
    [(None, 'prevalence', 0.3)]
    """
    if "threshold" not in frame.columns:
        return frame
    alone, has_value = pl.col(METRIC).is_in(OF_LABELS), pl.col("value").is_not_null()
    rows = frame.with_columns(threshold=pl.when(~alone).then("threshold"))
    cells = [*keys_of(rows), METRIC]
    rows = rows.filter(~alone | has_value | ~has_value.any().over(cells))
    return rows.filter(pl.struct(cells).is_first_distinct())


def outer_limits(value: str = "value") -> tuple[pl.Expr, pl.Expr]:
    """Return the ends of confidence intervals, widened by the certified bounds of a column.

    >>> row = {"value": [0.5], "lower": [0.4], "upper": [0.5], "ci_lower": [0.3], "ci_upper": [0.7]}
    >>> pl.DataFrame(row).select(low.round(2) for low in outer_limits()).row(0)
    (0.2, 0.7)
    """
    low, high = map(pl.col, LIMITS)
    return low - (pl.col(value) - pl.col("lower")), high + (pl.col("upper") - pl.col(value))


def few_effective(*, units: bool) -> pl.Expr:
    """Whether an interval depends on so few effective rows that it decides nothing."""
    return (pl.col(EFFECTIVE_ROWS) < enough_rows(units)).fill_null(False)


def enough_rows(units: bool) -> int:
    """Return the number of effective rows that a verdict requires."""
    return ENOUGH_OF_UNITS if units else ENOUGH


def because(**conditions: pl.Expr) -> list[pl.Expr]:
    """Return columns that say whether each of some `REASONS` explains a verdict."""
    return [condition.fill_null(False).alias(hidden(code)) for code, condition in conditions.items()]


def joined(frame: pl.DataFrame, other: pl.DataFrame, on: Sequence[str]) -> pl.DataFrame:
    """Return a frame with the columns of another one by some keys, which can be null, or of its only row by none."""
    if not on:
        return frame.join(other, how="cross")
    return frame.join(other, on=list(on), how="left", nulls_equal=True, maintain_order="left")


def concat_limits(frame: pl.DataFrame, keys: Sequence[str], *parts: pl.DataFrame) -> pl.DataFrame:
    """Return limits of estimates below each other, with the keys and all columns of intervals, even of no parts."""
    none = frame.select(keys).clear().with_columns(pl.lit(None, pl.Float64).alias(name) for name in SAMPLED)
    return pl.concat([none, *parts], how="diagonal_relaxed")


def tidy(keys: pl.DataFrame, metrics: Sequence[str], names: Sequence[str], numbers: ArrayLike) -> pl.DataFrame:
    """Return numbers of shape (columns, rows, metrics), NaN if there is none, in long format.

    The columns are the keys of each row, ``metric``, and the names, by row and then by metric.

    >>> tidy(pl.DataFrame({"group": [0, 1]}), ["f1", "mcc"], ["value"], [[[0.5, 0.1], [0.6, 0.2]]]).rows()
    [(0, 'f1', 0.5), (0, 'mcc', 0.1), (1, 'f1', 0.6), (1, 'mcc', 0.2)]
    """
    rows = np.repeat(np.arange(keys.height), len(metrics))
    metric = pl.Series(METRIC, [*metrics] * keys.height, dtype=pl.String)
    columns = zip(names, np.asarray(numbers, dtype=np.float64), strict=True)
    return keys[rows].hstack([metric, *(pl.Series(name, column.ravel(), nan_to_null=True) for name, column in columns)])


def bounds_status() -> pl.Expr:
    """Whether bounds leave the value open: ``exact`` or ``bounded``, null without one."""
    status = pl.when(pl.col("lower") == pl.col("upper")).then(pl.lit("exact")).otherwise(pl.lit("bounded"))
    return pl.when(pl.col("value").is_not_null()).then(status).cast(Status)


def visible(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame without its `hidden` columns."""
    return frame.select(name for name in frame.columns if not name.startswith(hidden("")))


def of_all_labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of metrics over all labels."""
    return frame.filter(pl.col("label").is_null()).drop("label") if "label" in frame.columns else frame

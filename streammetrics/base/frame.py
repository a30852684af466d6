"""The columns of a frame of estimates: keys, then the metric, its value with bounds, its interval, and a note."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

KEPT = ("threshold", "label")  # keys that only some metrics have
METRIC = "metric"  # columns before it are the keys of a row
VALUE = ("value", "lower", "upper")
LIMITS = ("ci_lower", "ci_upper")  # of confidence intervals, if requested
ESTIMATE = (METRIC, *VALUE, *LIMITS, "note")
WHY_OPEN = (
    *("few_rows_of_class", "no_interval", "false_discovery_rate", "wide_bounds", "at_limit", "few_rows"),
    *("few_rows_differ", "short_history", "few_labels"),
)
REASONS = (*WHY_OPEN, "no_window", "bounds_only", "before_labels", "incomplete_period")  # for verdicts
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


FEW_OF_A_CLASS = hidden("few_rows_of_class")  # whether an estimate has no interval because of few rows of a class
EFFECTIVE_ROWS = hidden("effective rows")  # see `streammetrics.metrics.intervals.limits.Spread`
VARIANCE = hidden("variance")  # of an estimate of independent rows
ENOUGH, ENOUGH_OF_UNITS = 10, 15  # effective rows for a verdict, of independent rows and of units
SAMPLED = (*LIMITS, EFFECTIVE_ROWS, VARIANCE)
OF_VERDICTS = (EFFECTIVE_ROWS, FEW_OF_A_CLASS)  # of estimates, for verdicts alone
NO_LIMITS = [
    *(pl.lit(None, pl.Float64).alias(name) for name in (*LIMITS, EFFECTIVE_ROWS)),
    pl.lit(False).alias(FEW_OF_A_CLASS),
]


RIGHT = hidden("right")  # suffix of columns of the right side of a join
AHEAD = hidden("ahead")  # side of a comparison that is ahead, if its note says no more
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
    alone, known = pl.col(METRIC).is_in(OF_LABELS), pl.col("value").is_not_null()
    made = frame.with_columns(threshold=pl.when(~alone).then("threshold"))
    cells = [*keys_of(made), METRIC]
    made = made.filter(~alone | known | ~known.any().over(cells))
    return made.filter(pl.struct(cells).is_first_distinct())


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


def of_effective_rows() -> pl.Expr:
    """How many effective rows there are, such as "about 6 effective rows"."""
    return pl.format("about {} effective rows", pl.col(EFFECTIVE_ROWS).round().cast(pl.Int64))


def too_few_effective(what: str, *, units: bool) -> pl.Expr:
    """Why a verdict is open, such as "too few rows differ (about 6 effective rows; 10 decide)"."""
    return pl.format(f"{what} ({{}}; {enough_rows(units)} decide)", of_effective_rows())


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


def no_limits(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the columns of intervals, with some keys, and no rows."""
    return frame.select(keys).clear().with_columns(pl.lit(None, pl.Float64).alias(name) for name in SAMPLED)


def noted(*notes: str | pl.Expr) -> pl.Expr:
    """Notes one after the other; null if all are.

    >>> pl.DataFrame({"a": ["wide", None], "b": ["exact", None]}).select(noted("a", "b")).to_series().to_list()
    ['wide; exact', None]
    """
    return pl.concat_str(notes, separator="; ", ignore_nulls=True).replace("", None)


def of_all_labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of metrics over all labels."""
    return frame.filter(pl.col("label").is_null()).drop("label") if "label" in frame.columns else frame

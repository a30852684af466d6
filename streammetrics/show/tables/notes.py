"""The notes of estimates, differences, and gaps: sentences, made of statuses and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import (
    AHEAD,
    EFFECTIVE_ROWS,
    ENOUGH_ROWS,
    EXPLAINED,
    LABELS,
    METRIC,
    NO_INTERVAL,
    REMARK,
    STATUS,
    UNDEFINED,
    UNDEFINED_LABELS,
    UNMET,
    A,
    B,
    visible,
)
from streammetrics.metrics import PAIRS_OF_LABELS, Metric, methods

if TYPE_CHECKING:
    from streammetrics.report import Comparison

NOT_WITHOUT_UNITS = "few rows of a class, equal predictions, or a metric that requires a unit"
TOO_FEW_UNITS = "few units, few rows of a class, or equal predictions"
FEW_EFFECTIVE = ("few_effective_rows", "few_effective_rows_differ")
ROUNDED = pl.col(EFFECTIVE_ROWS).round().cast(pl.Int64)
NEEDS_UNITS = "a confidence interval requires a unit"
TEXTS = {  # by status
    "undefined": "0/0",
    "overflow": "sums exceed the largest float; rescale the column",
    "no_label": "no label has a value",
    "few_expected": "too few units, or expected positives or negatives",
    "no_rows": "no rows",
    "undefined_a": "{} has no value: {}",
    "undefined_b": "{} has no value: {}",
    "one_side": "only one side has rows",
    "not_positive": "{} is not above 0",
    "no_rows_in_reference": "no rows in the reference",
    "rows_only_in_reference": "rows only in the reference",
    "no_value_in_reference": "no value in the reference",
    "value_only_in_reference": "value only in the reference",
    "no_positives_in_reference": "no positives in the reference",
    "no_negatives_in_reference": "no negatives in the reference",
    "no_predicted_positives": "no predicted positives",
    "no_predicted_positives_in_reference": "no predicted positives in the reference",
    "not_in_reference": "the reference does not have this metric at this threshold",
    "no_method": "not available for this measure",
    "weighted_rows": "not available for weighted rows",
    "many_labels": f"more than {PAIRS_OF_LABELS} pairs of labels; {NEEDS_UNITS}",
    "infinite": "the metric is infinite",
    "few_rows_of_class": "too few rows of a class",
    "at_end": "the metric does not vary at the end of its range",
    "few_rows": "too few rows, or they do not vary",
    "few_units": "too few units or rows of a class, or they do not vary",
    "dependent_rows": "rows of a unit are not independent",
    "few_labeled_rows": "too few rows with labels",
    "few_labeled_units": "too few units or rows with labels",
    "other_units": "the sides differ in unit or number of folds",
    "few_effective_rows": "about {} effective rows, so the interval can be too narrow",
    "every_look": "valid at every look at one growing set of rows",
    "no_alarm": "no confidence interval, so no alarm",
}
AHEAD_TEXTS = {  # by status of a difference: why the side that is ahead is not better
    "few_effective_rows": "{} ahead, not significant: too few rows (about {} effective rows; {} decide)",
    "few_effective_rows_differ": "{} ahead, not significant: too few rows differ (about {} effective rows; {} decide)",
    "not_significant": "{} ahead, not significant",
    "not_significant_with_bounds": "{} ahead, not significant with its bounds",
    "no_interval": "{} on these rows; no confidence interval",
}

POINT_TEXTS = {  # by status of an operating point
    "no_rows": "no rows",
    "undefined": "undefined: 0/0",
    "few_rows_of_constraint": "too few rows: {constraint} needs at least {fewest:,}, got {rows:,}",
    "constraint_not_met": "no threshold meets {constraint} at {level:g}% confidence",
    "constraints_not_met": "no threshold meets all constraints at {level:g}% confidence",
}


def with_note(frame: pl.DataFrame, metrics: Sequence[Metric] = (), *, intervals: bool = True) -> pl.DataFrame:
    """Return estimates with their notes: why they have no value or no interval, and what is to be known of the value.

    Reasons of a method are those of the ``metrics``. Without ``intervals``, notes do not say why there is none.
    """
    missing = [pl.lit(None, kind).alias(name) for name, kind in EXPLAINED.items() if name not in frame.columns]
    frame = frame.with_columns(missing) if missing else frame
    has_remark = bool(frame[REMARK].count()) or (frame[UNDEFINED_LABELS] > 0).any()
    if not has_remark and {*frame[STATUS].drop_nulls()} <= {"exact", "bounded"}:  # as most are
        return frame.select(pl.exclude(STATUS, "note"), STATUS, pl.lit(None, pl.String).alias("note"))
    undefined = pl.col(STATUS).is_in(UNDEFINED)
    labels = pl.format("undefined for {} of {} labels", UNDEFINED_LABELS, LABELS)
    remarks = [REMARK, pl.when(pl.col(UNDEFINED_LABELS) > 0).then(labels)]
    if intervals:
        remarks.append(pl.format("no interval: {}", _without_interval(metrics)))
    if EFFECTIVE_ROWS in frame.columns:
        few = pl.format(TEXTS["few_effective_rows"], ROUNDED)
        remarks.append(pl.when(pl.col(STATUS) == "few_effective_rows").then(few))
    remarks.append(_text("every_look", "no_alarm"))
    remark = pl.concat_str(remarks, separator="; ", ignore_nulls=True).replace("", None)
    note = pl.when(undefined).then(without_value()).otherwise(remark)
    return frame.select(pl.exclude(STATUS, "note"), STATUS, note.alias("note"))


def with_note_of_gap(gaps: pl.DataFrame, over: str, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Return gaps between the values of a column with notes, without hidden columns."""
    if "reference" not in gaps.columns:
        undefined = pl.format("undefined for {} of {} values of {}", UNDEFINED_LABELS, LABELS, pl.lit(over))
        return visible(gaps.with_columns(note=pl.when(pl.col(UNDEFINED_LABELS) > 0).then(undefined)))
    of_reference = pl.when(pl.col("reference_value").is_null()).then(pl.format("reference: {}", without_value(B)))
    gaps = with_note(gaps, metrics).with_columns(note=pl.coalesce("note", of_reference))
    return visible(gaps.drop(STATUS))


def with_note_of_threshold(points: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """Return operating points with notes: why no threshold meets the constraints on new rows."""
    notes = list[str | None]()
    for status, unmet in points.select(STATUS, UNMET).iter_rows():
        numbers = (unmet or {}) | {"level": 100 * confidence}
        notes.append(None if status is None else POINT_TEXTS[status].format_map(numbers))
    return visible(points.drop(STATUS)).with_columns(note=pl.Series(notes, dtype=pl.String))


def without_value(side: str = "") -> pl.Expr:
    """Return why an estimate, or that of a ``side``, has no value: null if it has one."""
    remark = pl.when(pl.col(f"{side}{STATUS}") == "undefined").then(f"{side}{REMARK}")
    return pl.coalesce(remark, _text(*UNDEFINED, side=side))


def _without_interval(metrics: Sequence[Metric]) -> pl.Expr:
    """Return why an estimate of the metrics has no interval: null if it has one, or no value."""
    texts = {
        "no_method": {m.name: m.interval.reason for m in metrics},
        "no_method_of_units": {m.name: m.interval.reason_of_units for m in metrics},
        "needs_units": {
            m.name: _requiring_units(m, (m.interval if m.average is None else methods.SEPARATE).reason_of_rows)
            for m in metrics
        },
        "weighted_rows": {m.name: _requiring_units(m, TEXTS["weighted_rows"]) for m in metrics},
    }
    reasons = list[pl.Expr]()
    for status, words in texts.items() if metrics else ():
        of_metric = pl.col(METRIC).replace_strict(words, default=None, return_dtype=pl.String)
        reasons.append(pl.when(pl.col(STATUS) == status).then(of_metric))
    return pl.coalesce(*reasons, _text(*NO_INTERVAL))


def _requiring_units(metric: Metric, reason: str) -> str:
    return "; ".join(filter(None, [reason, "" if metric.interval.reason_of_units else NEEDS_UNITS]))


def without_change(names: tuple[str, str]) -> pl.Expr:
    """Return why a difference of two sides has no value: null if it has one."""
    status = pl.col(STATUS)
    a, b = map(pl.lit, names)
    return pl.coalesce(
        pl.when(status == "undefined_a").then(pl.format(TEXTS["undefined_a"], a, without_value(A))),
        pl.when(status == "undefined_b").then(pl.format(TEXTS["undefined_b"], b, without_value(B))),
        pl.when(status == "not_positive").then(pl.format(TEXTS["not_positive"], a)),
        _text("no_rows", "one_side", "infinite"),
    )


def reason_without_interval(metric: Metric, source: Comparison | pl.DataFrame) -> str:
    """Return why a metric has no interval in a comparison, or in the row of an estimate, and what to do."""
    if isinstance(source, pl.DataFrame):
        return source.select(_without_interval([metric])).item() or source["note"].item() or TEXTS["few_rows"]
    from streammetrics.reading import has_common_folds  # when it is needed

    by_units = has_common_folds(source.a, source.b)
    of_rows = metric.interval.reason_of_units or TOO_FEW_UNITS if by_units else NOT_WITHOUT_UNITS
    return source.note or metric.interval.reason or of_rows


def with_names(differences: pl.DataFrame, names: tuple[str, str]) -> pl.DataFrame:
    """Return judged differences with the names of both sides, and with notes if there are intervals."""
    sides = dict(zip("ab", names, strict=True))
    frame = differences.with_columns(pl.col("better").replace(sides))
    if AHEAD not in frame.columns:
        return frame
    frame = frame.with_columns(pl.col(AHEAD).replace(sides))
    status = pl.col(STATUS)
    ahead = list[pl.Expr]()
    for code, text in AHEAD_TEXTS.items():
        numbers = [ROUNDED, pl.col(ENOUGH_ROWS)] if code in FEW_EFFECTIVE else []
        ahead.append(pl.when(status == code).then(pl.format(text, AHEAD, *numbers)))
    return frame.with_columns(note=pl.coalesce(without_change(names), *ahead))


def _text(*statuses: str, side: str = "") -> pl.Expr:
    """The sentence of a status, null if it is another one."""
    texts = {status: TEXTS.get(status) for status in statuses}
    return pl.col(f"{side}{STATUS}").cast(pl.String).replace_strict(texts, default=None, return_dtype=pl.String)

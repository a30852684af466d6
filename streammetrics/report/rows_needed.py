"""Rows that a test needs, metric from a pilot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from streammetrics.base import (
    ROWS,
    as_float,
    keys_of,
    matching,
    of_labels_once,
    of_percent,
    only,
    publish,
    require_level,
    shown,
)
from streammetrics.data import LABEL
from streammetrics.errors import Argument, ReportError, SpecificationError
from streammetrics.metrics import EVERYWHERE, Metric, rows_to_find
from streammetrics.reading import changes_of, with_row_count
from streammetrics.report.comparison import Comparison
from streammetrics.report.gate import narrowed
from streammetrics.report.report import Report
from streammetrics.show import reason_without_interval

CLASSES = ("positives", "negatives")


@dataclass(frozen=True)
class RowsNeeded:
    """The number of rows with which an interval finds a difference, for the mix of a pilot. ``str()`` is a sentence.

    Args:
        metric: Name of the metric.
        difference: Difference to find.
        rows: Number of rows.
        positives: Rows with a positive label among them. None if the task has none.
        negatives: Rows with a negative label among them.
        power: Probability that the interval of the difference excludes 0.
        confidence: Confidence level of the two-sided interval.

    >>> print(RowsNeeded("roc_auc", 0.002, 48_000, 4_800, 43_200))
    48,000 rows find a difference of 0.002 in roc_auc with 80% power: 4,800 positives and 43,200 negatives.
    """

    metric: str
    difference: float
    rows: int
    positives: int | None = None
    negatives: int | None = None
    power: float = 0.8
    confidence: float = 0.95

    def __str__(self) -> str:
        classes = "" if self.positives is None else f": {self.positives:,} positives and {self.negatives:,} negatives"
        power = f"with {100 * self.power:g}% power"
        return f"{self.rows:,} rows find a difference of {self.difference:g} in {self.metric} {power}{classes}."


def rows_needed(
    pilot: Report | Comparison,
    metric: str | Metric,
    *,
    difference: float,
    power: float = 0.8,
    confidence: float = 0.95,
    **keys: Any,
) -> RowsNeeded:
    """Plan how many rows a test needs, before labels are paid for, from the interval of a pilot.

    The standard error shrinks with the square root of the number of rows. The mix of rows, such as the share of
    positives or the rows of a unit, is that of the pilot. Certified bounds do not shrink, so they count fully.
    Evaluate a pilot with ``unit=`` with ``folds=200``: with 20 folds, its variance has an error of 32%.

    Args:
        pilot: A comparison, for a difference between its two sides, or a report, for a difference from a fixed value,
            such as the limit of a requirement.
        metric: Metric to plan for.
        difference: Difference to find, such as 0.002.
        power: Probability of finding it, if it is the true one.
        confidence: Confidence level of the two-sided interval, which then excludes 0, or the fixed value.
        keys: Values of group columns and key columns that select one row of the pilot, such as ``threshold=0.5``.

    Raises:
        MetricError: If the metric is unknown or not available.
        ReportError: If the keys do not select exactly one row, the pilot has no interval, or its certified bounds are
            too wide for the difference.
        SpecificationError: If an argument is out of range.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1, 0] * 50, "p": [0.9, 0.6, 0.4, 0.1] * 50})
    >>> print(rows_needed(acc.finalize(), "accuracy", difference=0.01))
    19,498 rows find a difference of 0.01 in accuracy with 80% power: 9,749 positives and 9,749 negatives.
    """
    require_level(Argument("power"), power)
    if not isinstance(difference, int | float) or not 0 < as_float(difference) < inf:
        raise SpecificationError(Argument("difference"), f" must be a positive number, got {shown(difference)}.")
    require_level(Argument("confidence"), confidence)
    if not isinstance(pilot, Report | Comparison):
        raise SpecificationError("The pilot must be a report, such as acc.finalize(), or a comparison.")
    report = pilot.b if isinstance(pilot, Comparison) else pilot
    metric = report.find(metric)
    low, high = metric.range
    if difference >= high - low:
        raise SpecificationError(
            f"The difference in {metric.name} must be below {high - low:g}, got {difference:g}.{of_percent(difference)}"
        )
    if isinstance(pilot, Comparison):
        pilot = narrowed(pilot, [metric], confidence, keys.get("threshold"))
        every = of_labels_once(changes_of(pilot))
        row, range = only(metric, matching(every, keys_of(every), keys), keys, lambda: every), EVERYWHERE
    else:
        row, range = report.with_confidence(confidence)._row(metric, keys), metric.range
    row = with_row_count(row, report.state, ROWS)
    needed = row.select(rows_to_find(difference, range, power, confidence)).item()
    if needed is None:
        reason = reason_without_interval(metric, pilot if isinstance(pilot, Comparison) else row)
        raise ReportError(f"{metric} has no confidence interval in the pilot: {reason}")
    if needed == inf:
        raise ReportError(
            f"The certified bounds of {metric} are wider than a difference of {difference:g}. "
            "Evaluate with more bins: pass a larger ",
            Argument("capacity"),
            ".",
        )
    share = needed / row[ROWS].item()
    classes = {name: ceil(share * count) for name, count in _classes(report, keys).items()}
    return RowsNeeded(metric.name, float(difference), ceil(needed), **classes, power=power, confidence=confidence)


def _classes(report: Report, keys: Mapping[str, Any]) -> dict[str, float]:
    """Rows of each class, if there are two of them, and rows have no weights."""
    if report.state.weighted or not all(map(report.readable, CLASSES)):
        return {}
    selection = {key: value for key, value in keys.items() if key in (*report.by, LABEL)}
    classes = {name: of_labels_once(report.rows(name, **selection))["value"] for name in CLASSES}
    return {name: counts[0] for name, counts in classes.items() if len(counts) == 1}


publish("streammetrics", RowsNeeded, rows_needed)

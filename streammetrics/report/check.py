"""The check of requirements, for each group of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from streammetrics import text
from streammetrics.frame import EFFECTIVE_ROWS, FEW_OF_A_CLASS, NO_LIMITS
from streammetrics.intervals.planning import rows_to_decide
from streammetrics.metrics.requirement import Requirement
from streammetrics.present.verdicts import on_these_rows, ranges, undecided
from streammetrics.reading.looks import ROWS, with_count
from streammetrics.reading.readings import Readings
from streammetrics.report.verdicts import (
    OF_RULES,
    PASSING,
    SCHEMA,
    VERDICT,
    Verdicts,
    at_least_one,
    is_total,
    judged_of_sample,
    levels,
    verdicts,
    with_rows_needed,
)
from streammetrics.text.decimals import said

SAID = {"open": "is inconclusive", "breached": "does not hold"}


def check(
    report: Readings, requirements: Sequence[str], confidence: float | None, open: str, min_rows: int, **keys: Any
) -> Verdicts:
    """Return the verdict on each requirement, with one row per requirement, group, and key. See `Report.check`."""
    confidence, min_rows = levels(confidence, open, min_rows)
    report, passes = report.with_confidence(confidence), pl.col(VERDICT).is_in(PASSING[open])
    parts = [pl.DataFrame(schema={name: kind for name, kind in SCHEMA.items() if name not in OF_RULES})]
    for required in map(Requirement.parse, requirements):
        metric = report.find(required.metric)
        required.require_within(*metric.range)
        rows = with_count(report._sampled_rows(required.metric, **keys), report.state, "rows", ROWS)
        rows = rows.with_columns(NO_LIMITS) if confidence is None else rows
        sampled, units = confidence is not None and not is_total(metric), report.folds is not None
        found = judged_of_sample(at_least_one(rows), required, min_rows, sampled=sampled, units=units)
        needed = rows_to_decide(required.limit, metric.range, ROWS, pl.col(EFFECTIVE_ROWS), units=units)
        found = with_rows_needed(found, needed)
        parts.append(verdicts(found, required, report.by, passes))
    return Verdicts(pl.concat(parts), tuple(report.by))


def sentences(found: Verdicts) -> list[str]:
    """Return a sentence on each verdict that does not pass."""
    return [_sentence(row) for row in found.frame.filter(~pl.col("passes")).iter_rows(named=True)]


def _sentence(row: dict[str, Any]) -> str:
    metric = Requirement.parse(row["rule"]).metric
    place = f" for {text.cell(row['where'])}" if row["where"] else ""
    if row["verdict"] == "too few rows":
        return f"{row['rule']} is not decided{place}: too few rows ({row['rows']:,})."
    if row["value"] is None:
        why = row["note"].removeprefix("undefined: ")
        return f"{row['rule']} cannot be checked{place}: {metric} is undefined ({why})."
    told = [f"{metric} is {said(row)}", *ranges(row)]
    if on_these_rows(row):
        told.append("without an interval, so on these rows only")
    if undecided(row):
        told.append(FEW_OF_A_CLASS)
    return f"{row['rule']} {SAID[row['verdict']]}{place}: {', '.join(told)}."

"""The check of requirements, for each group of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from streammetrics.frame import EFFECTIVE_ROWS, NO_LIMITS
from streammetrics.intervals.planning import rows_to_decide
from streammetrics.metrics.requirement import Requirement
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

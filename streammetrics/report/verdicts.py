"""The check of requirements, for each group of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from streammetrics import text
from streammetrics.arguments import require_level, whole
from streammetrics.errors import SpecificationError
from streammetrics.frame import FEW_OF_A_CLASS, LIMITS, NO_LIMITS, VALUE, keys_of, noted
from streammetrics.metrics.requirement import Requirement
from streammetrics.reading.looks import ROWS, with_count
from streammetrics.reading.readings import Readings
from streammetrics.reading.verdicts import PASSING, on_these_rows, typed, verdict
from streammetrics.report.findings import Findings
from streammetrics.text.decimals import said
from streammetrics.text.values import where

SCHEMA = typed("rule", "where", "rows", *VALUE, *LIMITS, "verdict", "passes", "note")
SAID = {"open": "is inconclusive", "breached": "does not hold"}


def check(
    report: Readings, requirements: Sequence[str], confidence: float | None, open: str, min_rows: int, **keys: Any
) -> Findings:
    """Return the verdict on each requirement, with one row per requirement, group, and key. See `Report.check`."""
    if not isinstance(open, str) or open not in PASSING:
        raise SpecificationError(f"open= must be 'pass' or 'fail', got {open!r}.")
    min_rows = whole("min_rows=", min_rows, least=1)
    if confidence is not None:
        require_level("confidence=", confidence, above=0.5)
        confidence = 2 * confidence - 1  # level of a two-sided interval whose endpoints each have the given level
    sampled = report.with_confidence(confidence)
    parts = [_of_one(sampled, Requirement.parse(wanted), PASSING[open], min_rows, keys) for wanted in requirements]
    return Findings(pl.concat([pl.DataFrame(schema=SCHEMA), *parts]), tuple(report.by))


def _of_one(
    report: Readings, required: Requirement, passing: list[str], min_rows: int, keys: dict[str, Any]
) -> pl.DataFrame:
    metric = report.find(required.metric)
    required.require_within(*metric.range)
    rows = with_count(report.rows(required.metric, **keys), report.state, "rows", ROWS)
    places = where(rows.select(keys_of(rows)), report.by)
    if rows.is_empty():
        rows, places = rows.clear(1).with_columns(note=pl.lit("no rows")), pl.lit("")
    if report.confidence is None:
        rows = rows.with_columns(NO_LIMITS)
    else:
        rows = rows.with_columns(note=noted("note", on_these_rows([metric])))
    rows = rows.with_columns(verdict=verdict(required, min_rows))
    made = {"rule": pl.lit(str(required)), "where": places, "rows": pl.col(ROWS)}
    made["passes"] = pl.col("verdict").is_in(passing)
    return rows.select(made.get(name, pl.col(name)).alias(name) for name in SCHEMA).cast(SCHEMA)


def sentences(found: Findings) -> list[str]:
    """A sentence on each verdict that does not pass."""
    return [_sentence(row) for row in found.frame.filter(~pl.col("passes")).iter_rows(named=True)]


def _sentence(row: dict[str, Any]) -> str:
    metric = Requirement.parse(row["rule"]).metric
    place = f" for {text.escaped(row['where'])}" if row["where"] else ""
    if row["verdict"] == "too few rows":
        return f"{row['rule']} is not decided{place}: too few rows ({row['rows']:,})."
    if row["value"] is None:
        why = row["note"].removeprefix("undefined: ")
        return f"{row['rule']} cannot be checked{place}: {metric} is undefined ({why})."
    told = [f"{metric} is {said(row)}", *text.ranges(row)]
    if text.on_these_rows(row):
        told.append("without an interval, so on these rows only")
    if text.undecided(row):
        told.append(FEW_OF_A_CLASS)
    return f"{row['rule']} {SAID[row['verdict']]}{place}: {', '.join(told)}."

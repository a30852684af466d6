"""Verdicts on requirements, for each group of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics import text
from streammetrics.errors import Argument, SpecificationError
from streammetrics.frame import LIMITS, NO_LIMITS, keys_of
from streammetrics.metrics.requirement import Requirement

if TYPE_CHECKING:
    from streammetrics.report.report import Report

SCHEMA: dict[str, pl.DataType] = {
    "rule": pl.String(),
    "where": pl.String(),
    "value": pl.Float64(),
    "lower": pl.Float64(),
    "upper": pl.Float64(),
    "ci_lower": pl.Float64(),
    "ci_upper": pl.Float64(),
    "verdict": pl.String(),
    "passes": pl.Boolean(),
    "note": pl.String(),
}
PASSING = {"fail": ["holds"], "pass": ["holds", "open"]}
SAID = {"open": "is inconclusive", "breached": "does not hold"}


def verdicts(
    report: Report, requirements: Sequence[str], confidence: float | None = None, open: str = "fail"
) -> pl.DataFrame:
    """Return the verdict on each requirement, with one row per requirement, group, and key.

    Arguments and verdicts are those of `Report.violations`, whose sentences are about the rows that do not pass.

    >>> import streammetrics as sm
    >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
    >>> verdicts(report, ["roc_auc >= 0.8", "recall >= 0.8"]).select("rule", "where", "value", "verdict").rows()
    [('roc_auc >= 0.8', '', 1.0, 'holds'), ('recall >= 0.8', 'threshold 0.5', 0.5, 'breached')]
    """
    if open not in PASSING:
        raise SpecificationError(Argument("open"), f" must be 'pass' or 'fail', got {open!r}.")
    if confidence is not None:
        if not 0.5 < confidence < 1:
            raise SpecificationError(Argument("confidence"), f" must be between 0.5 and 1, got {confidence!r}.")
        confidence = 2 * confidence - 1  # of a two-sided interval, each of whose limits has the given level
    sampled = report.with_confidence(confidence)
    parts = [_of_one(sampled, Requirement.parse(requirement), PASSING[open]) for requirement in requirements]
    return pl.concat([pl.DataFrame(schema=SCHEMA), *parts])


def _of_one(report: Report, required: Requirement, passing: list[str]) -> pl.DataFrame:
    rows = report.rows(required.metric)
    rows = rows.with_columns(limit for limit, name in zip(NO_LIMITS, LIMITS, strict=True) if name not in rows.columns)
    rows = rows.with_columns(verdict=required.verdict())
    where = text.where(rows.select(keys_of(rows)), report.by)
    if rows.is_empty():
        rows, where = rows.clear(1).with_columns(note=pl.lit("no rows"), verdict=pl.lit("undefined")), pl.lit("")
    made = {"rule": pl.lit(str(required)), "where": where, "passes": pl.col("verdict").is_in(passing)}
    return rows.select(made.get(name, pl.col(name)).alias(name) for name in SCHEMA).cast(pl.Schema(SCHEMA))


def violations(
    report: Report, requirements: Sequence[str], confidence: float | None = None, open: str = "fail"
) -> list[str]:
    """A sentence on each requirement, group, and key that does not pass. See `Report.violations`."""
    found = verdicts(report, requirements, confidence, open)
    return [_sentence(row) for row in found.filter(~pl.col("passes")).iter_rows(named=True)]


def _sentence(row: dict[str, Any]) -> str:
    metric = Requirement.parse(row["rule"]).metric
    place = f" for {text.escaped(row['where'])}" if row["where"] else ""
    if row["value"] is None:
        return f"{row['rule']} cannot be checked{place}: {metric} is undefined ({row['note']})."
    said = [f"{metric} is {text.said(row)}"]
    if row["lower"] != row["upper"]:
        said.append(f"bounds {row['lower']:.6g} to {row['upper']:.6g}")
    if interval := text.interval(row["ci_lower"], row["ci_upper"]):
        said.append(f"interval {interval}")
    return f"{row['rule']} {SAID[row['verdict']]}{place}: {', '.join(said)}."

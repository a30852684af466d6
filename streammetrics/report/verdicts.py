"""Verdicts on requirements, for each group of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics import text
from streammetrics.frame import KEPT, keys_of
from streammetrics.metrics.requirement import Requirement

if TYPE_CHECKING:
    from streammetrics.report.report import Report

SCHEMA: dict[str, pl.DataType] = {
    "rule": pl.String(),
    "where": pl.String(),
    "value": pl.Float64(),
    "lower": pl.Float64(),
    "upper": pl.Float64(),
    "verdict": pl.String(),
    "passes": pl.Boolean(),
    "note": pl.String(),
}


def verdicts(report: Report, requirements: Sequence[str]) -> pl.DataFrame:
    """Return the verdict on each requirement, with one row per requirement, group, and key.

    The verdict is ``"holds"`` or ``"breached"`` if both certified bounds are on one side of the limit, ``"open"``
    (inconclusive) if they are not, and ``"undefined"`` without a value. Only ``"holds"`` passes, as in
    `Report.violations`.

    >>> import streammetrics as sm
    >>> report = sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.8, 0.3, 0.4]}).finalize()
    >>> verdicts(report, ["roc_auc >= 0.8", "recall >= 0.8"]).select("rule", "where", "value", "verdict").rows()
    [('roc_auc >= 0.8', '', 1.0, 'holds'), ('recall >= 0.8', 'threshold 0.5', 0.5, 'breached')]
    """
    parts = [_of_one(report, Requirement.parse(requirement)) for requirement in requirements]
    return pl.concat([pl.DataFrame(schema=SCHEMA), *parts])


def _of_one(report: Report, required: Requirement) -> pl.DataFrame:
    rows = report.rows(required.metric)
    surely, possibly = ("lower", "upper") if required.wants_high else ("upper", "lower")
    verdict = (
        pl.when(pl.col("value").is_null())
        .then(pl.lit("undefined"))
        .when(required.holds(pl.col(surely)))
        .then(pl.lit("holds"))
        .when(required.holds(pl.col(possibly)))
        .then(pl.lit("open"))
        .otherwise(pl.lit("breached"))
    )
    made = {"rule": pl.lit(str(required)), "where": text.where(rows.select(keys_of(rows)), report.by)}
    made |= {"verdict": verdict, "passes": verdict == "holds"}
    return rows.select(made.get(name, pl.col(name)).alias(name) for name in SCHEMA).cast(pl.Schema(SCHEMA))


def violations(report: Report, requirements: Sequence[str]) -> list[str]:
    """A sentence on each requirement, group, and key that does not pass. See `Report.violations`."""
    parsed = [Requirement.parse(requirement) for requirement in requirements]
    return [sentence for required in parsed for sentence in _violations(report, required)]


def _violations(report: Report, required: Requirement) -> list[str]:
    deciding = "lower" if required.wants_high else "upper"
    rows = report.rows(required.metric)
    columns = keys_of(rows)
    failing = rows.filter(~required.holds(pl.col(deciding)).fill_null(False))
    return [_sentence(required, deciding, columns, row) for row in text.rows(failing)]


def _sentence(required: Requirement, deciding: str, columns: list[str], row: dict[str, Any]) -> str:
    where = ", ".join(f"{text.escaped(c)} {text.cell(row[c])}" for c in columns if not (c in KEPT and row[c] is None))
    place = f" for {where}" if where else ""
    if row["value"] is None:
        return f"{required} cannot be checked{place}: {row['metric']} is undefined ({row['note']})."
    value = text.number(row["value"], row["lower"], row["upper"])
    said = f"is {value}"
    if row["lower"] != row["upper"]:
        said += f", with {'a lower' if deciding == 'lower' else 'an upper'} bound of {row[deciding]:.6g}"
    return f"{required} does not hold{place}: {row['metric']} {said}."

"""Findings as a table to show, and as a frame."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.base import LIMITS, VALUE, shown_of, where
from streammetrics.reading import Finding
from streammetrics.show.tables.table import Cell, Level, Outcome, Table, columns

LEVELS: dict[str, Level] = {"bad": "warning"}  # of annotations; others are notices
TEXTS = ("code", "severity", "sentence", "where", "metric")
SCHEMA = pl.Schema(dict.fromkeys(TEXTS, pl.String()) | dict.fromkeys((*VALUE, *LIMITS), pl.Float64()))


def findings_table(findings: Sequence[Finding], most: int | None = None) -> Table:
    """Return findings as a table: the first of them if ``most`` is given, and a note that there are more.

    >>> findings_table([Finding("SM501", "info", "4% of the rows were dropped.")]).rows[0][2].text
    '4% of the rows were dropped.'
    """
    first = findings[: len(findings) if most is None else shown_of(len(findings), most)]
    cells = [[Cell(finding.severity), Cell(finding.code), Cell(finding.sentence)] for finding in first]
    more = len(findings) - len(first)
    notes = [f"… and {more:,} more findings"] if more else [] if cells else ["Nothing stands out."]
    return Table(columns("severity", "code", "finding"), cells, notes=notes)


def outcomes_of_findings(findings: Sequence[Finding]) -> list[Outcome]:
    """Return findings as outcomes of a check: a warning if bad, a notice otherwise.

    >>> outcomes_of_findings([Finding("SM501", "info", "4% of the rows were dropped.")])[0].level
    'notice'
    """
    return [
        Outcome(one.code, _words(one), LEVELS.get(one.severity, "notice"), one.severity, one.sentence)
        for one in findings
    ]


def as_frame(findings: Sequence[Finding]) -> pl.DataFrame:
    """Return findings as a frame with one row each.

    >>> as_frame([Finding("SM501", "info", "4% of the rows were dropped.")]).select("code", "where").rows()
    [('SM501', '')]
    """
    attributes = [name for name in SCHEMA if name != "where"]
    rows = [{name: getattr(finding, name) for name in attributes} | {"where": _words(finding)} for finding in findings]
    return pl.DataFrame(rows, schema=SCHEMA)


def _words(finding: Finding) -> str:
    keys = pl.DataFrame([dict(finding.keys)] if finding.keys else [])
    return str(keys.select(where(keys, keys.columns)).item()) if finding.keys else ""

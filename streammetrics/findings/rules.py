"""Findings of a history: rules that are breached or undecided now, and windows that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import polars as pl

from streammetrics.findings.finding import PLACE, SEVERITIES, WHERE, Finding, Severity, found, listed
from streammetrics.text import escaped, rows
from streammetrics.text.decimals import said
from streammetrics.text.values import readable

Now: TypeAlias = tuple[str, str, pl.DataFrame]
"""A rule in words, its severity, and its segments, the worst first: ``segment``, ``verdict``, ``since``, and values."""

SEVERITY: Final[dict[str, Severity]] = {"page": "bad", "warn": "warn"}  # of a breach, by that of its rule
GAP = 1.5  # usual distances from one window to the next, above which windows are missing


def findings_of_rules(rules: Iterable[Now], windows: pl.Series) -> list[Finding]:
    """Return all findings of rules at the newest window, and of missing windows, the most important first."""
    every = [finding for rule in rules for finding in _of_rule(*rule)]
    every += _gaps(windows)
    return sorted(every, key=lambda finding: (SEVERITIES.index(finding.severity), finding.code))


def _of_rule(title: str, severity: str, newest: pl.DataFrame) -> Iterator[Finding]:
    """SM801 and SM802: a rule is breached, or undecided."""
    kinds: tuple[tuple[str, str, Severity, str], ...] = (
        ("SM801", "breached", SEVERITY.get(severity, "bad"), "Breached"),
        ("SM802", "open", "info", "Undecided"),
    )
    for code, verdict, level, what in kinds:
        some = list(rows(newest.filter(verdict=verdict)))
        if some:
            texts = [
                escaped(row["segment"])
                + (f" (since {row['since']})" if row["value"] is None else f" ({said(row)}, since {row['since']})")
                for row in some
            ]
            place = {PLACE: "", WHERE: {"segment": some[0]["segment"]}}
            yield found(code, level, f"{what}: {escaped(title)}: {listed(texts)}.", {**some[0], **place}, title)


def _gaps(windows: pl.Series) -> Iterator[Finding]:
    """SM803: windows are missing between others."""
    starts = windows.drop_nulls().unique().sort()
    steps = starts.diff().cast(pl.Duration("us")).dt.total_microseconds()
    usual = steps.median()
    if usual is None:
        return
    late = (steps > GAP * float(usual)).fill_null(False)  # type: ignore[arg-type]
    if late.any():
        ends = (readable(some.filter(late)) for some in (starts.shift(1), starts))
        texts = [f"{a} and {b}" for a, b in zip(*ends, strict=True)]
        yield found("SM803", "warn", f"Windows are missing between {listed(texts)}.", {PLACE: "", WHERE: {}})

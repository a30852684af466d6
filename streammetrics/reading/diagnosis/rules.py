"""Findings of a history: rules that are breached or undecided now, and windows that are missing or overdue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from streammetrics.base import readable, rows, value_text
from streammetrics.errors import escaped
from streammetrics.reading.diagnosis.finding import PLACE, WHERE, Finding, Severity, finding, listed, sorted_by_severity

Now: TypeAlias = tuple[str, str, str, pl.DataFrame]
"""A rule in words, its name, its severity, and its segments, the worst first: ``segment``, ``verdict``, and values.

``duration`` says how long or how often the rule is breached. It is null if this is unknown. Undecided segments can have
``rows_needed`` and ``coverage``.
"""

SEVERITY: Final[dict[str, Severity]] = {"page": "bad", "warn": "warn"}  # of a breach, by that of its rule
OFTEN = 0.9  # share of the distances from one window to the next that are usual: weekends are not missing
GAP = 1.5  # times the largest usual distance, above which windows are missing
OVERDUE = 3  # usual distances after the usual arrival of a window
FEW = 3  # windows, below which nothing is usual


def findings_of_rules(rules: Iterable[Now], windows: pl.Series, appended: pl.DataFrame | None = None) -> list[Finding]:
    """Return all findings of rules at the newest window, and of missing windows, the most important first.

    With the frame of `MetricStore.windows`, windows that are overdue now are found too.
    """
    every = [finding for rule in rules for finding in _rule(*rule)]
    overdue = () if appended is None else _overdue(appended, datetime.now(UTC))
    return sorted_by_severity([*every, *_gaps(windows), *overdue])


def _rule(title: str, name: str, severity: str, newest: pl.DataFrame) -> Iterator[Finding]:
    """SM801 and SM802: a rule is breached, or undecided."""
    kinds: tuple[tuple[str, str, Severity, str], ...] = (
        ("SM801", "breached", SEVERITY.get(severity, "bad"), "Breached"),
        ("SM802", "open", "info", "Undecided"),
    )
    for code, verdict, level, what in kinds:
        some = list(rows(newest.filter(verdict=verdict)))
        if some:
            texts = [escaped(row["segment"]) + _facts(row) for row in some]
            place = {PLACE: "", WHERE: {"segment": some[0]["segment"]}}
            sentence = f"{what}: {escaped(title)}: {listed(texts)}."
            more = f" and {len(some) - 1:,} more" * (len(some) > 1)
            short = f"{escaped(name)} is {what.lower()} in {escaped(some[0]['segment'])}{more}"
            yield finding(code, level, sentence, {**some[0], **place}, title, short)


def _gaps(windows: pl.Series) -> Iterator[Finding]:
    """SM803: windows are missing between others."""
    starts = windows.drop_nulls().unique().sort()
    steps = _microseconds(starts.diff())
    usual = steps.quantile(OFTEN, "lower")
    late = (steps > GAP * (usual or 0)).fill_null(False)
    if late.any():
        ends = (readable(some.filter(late)) for some in (starts.shift(1), starts))
        texts = [f"{a} and {b}" for a, b in zip(*ends, strict=True)]
        sentence = f"Windows are missing between {listed(texts)}."
        yield finding("SM803", "warn", sentence, title="windows are missing")


def _overdue(appended: pl.DataFrame, now: datetime) -> Iterator[Finding]:
    """SM804: by the usual rhythm and delay of the windows, several more were expected until now."""
    naive = pl.Datetime("us")  # clocks of windows differ from UTC by a part of their delay
    start, ingested = pl.nth(0).cast(naive).alias("start"), pl.col("ingested").cast(naive)
    arrivals = appended.select(start, ingested).drop_nulls().sort("start")
    if arrivals.height < FEW:
        return
    steps = _microseconds(arrivals["start"].diff().drop_nulls()).to_numpy()
    delays = _microseconds(arrivals["ingested"] - arrivals["start"]).to_numpy()
    age = (now.replace(tzinfo=None) - arrivals["start"][-1]) / timedelta(microseconds=1)
    usual = np.median(steps)
    late = age - max(np.median(delays), usual)
    if late > max(OVERDUE * usual, steps.max()):
        newest = readable(appended.to_series().drop_nulls().sort().tail(1)).item()
        sentence = f"The newest window is {newest}. At the usual rate, {late // usual:,.0f} more are overdue."
        yield finding("SM804", "warn", sentence, title="windows are overdue")


def _microseconds(durations: pl.Series) -> pl.Series:
    return durations.cast(pl.Duration("us")).dt.total_microseconds()


def _facts(row: Mapping[str, Any]) -> str:
    """The value, how long or how often the rule is breached, and what would decide it, in brackets."""
    value = [] if row["value"] is None else [value_text(row)]
    duration = [] if row["duration"] is None else [row["duration"]]
    needed = [f"about {row['rows_needed']:,} rows would decide"] if row.get("rows_needed") else []
    labels = [text] if (text := arrived(row)) else []
    facts = ", ".join([*value, *duration, *labels, *needed])
    return f" ({facts})" if facts else ""


def arrived(row: Mapping[str, Any]) -> str:
    """Return the share of labels that have arrived, if it is known and the verdict is open.

    >>> arrived({"verdict": "open", "coverage": 0.149}), arrived({"verdict": "holds", "coverage": 0.149})
    ('14 % of labels have arrived', '')
    """
    coverage = row.get("coverage") if row["verdict"] == "open" else None
    return "" if coverage is None or coverage == 1 else f"{int(100 * coverage)} % of labels have arrived"

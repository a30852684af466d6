"""The page of a history: what rules find now, their values, and charts of metrics, rows, and drift over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from streammetrics.base import markup, readable, rows, value_texts
from streammetrics.metrics import metrics_of_name, words
from streammetrics.monitor.history.course import Course, Measure
from streammetrics.monitor.history.ruled import CUT, RANKS, SEGMENT, Ruled
from streammetrics.reading import findings_of_rules
from streammetrics.report import VERDICT
from streammetrics.show import (
    BREACH,
    Cell,
    Column,
    Level,
    Section,
    Table,
    columns,
    filtered,
    findings_list,
    lead,
    page_of,
    small_multiples,
    timelines,
)

LEVELS: dict[str, Level] = {"breached": "error", "undefined": "error", "open": "notice", "too few rows": "notice"}
WARNINGS: dict[str, Level] = LEVELS | {"breached": "warning", "undefined": "warning"}  # of severity warn
MOST = 5  # segments with a chart per metric, besides all rows


def history_page(found: Course, title: str, appended: pl.DataFrame | None = None) -> str:
    """Return the page. Of many segments, each metric has charts of those that need attention.

    With the frame of `MetricStore.windows`, it says whether windows are overdue.
    """
    ends = " to ".join(dict.fromkeys(readable(found.windows)[[0, -1]]))
    facts = [
        ("Windows", f"<strong>{len(found.windows):,}</strong> ({markup(found.windows.name)}): {markup(ends)}"),
        *([("Segments", f"<strong>{found.segments:,}</strong>")] if found.segments else []),
        *([("Rules", f"<strong>{found.rules:,}</strong>")] if found.rules else []),
    ]
    now = [(one.title, one.rule.severity, one.newest) for one in found.ruled]
    drawn = [_of_rule(one) for one in sorted(found.ruled, key=_worst) if one.rows["value"].count()]
    sections = [
        Section("findings", "What stands out", findings_list(findings_of_rules(now, found.windows, appended))),
        Section("rules", "Rules now", _board(found.ruled) if found.rules else ""),
        *(Section(f"r{i}", markup(m.title), _charts(found, m, f"r{i}c")) for i, m in enumerate(drawn)),
        Section("breaches", "Breaches", _breaches(found) if found.rules else ""),
        *(Section(f"m{i}", markup(m.title), _charts(found, m, f"m{i}c")) for i, m in enumerate(found.measures)),
        Section("reading", "How to read the charts", _notes(found)),
    ]
    return page_of(title, lead(facts), sections)


def _worst(ruled: Ruled) -> tuple[int, bool]:
    """The worst verdict of a rule now."""
    ranks = (RANKS.get(verdict, len(RANKS)) for verdict in ruled.newest["verdict"])
    return min(ranks, default=len(RANKS)), ruled.rule.severity == "warn"


def _board(ruled: Sequence[Ruled]) -> str:
    """The verdict of every rule in every segment at the newest window, the segments with most breaches first."""
    states: dict[str, dict[int, Cell]] = {}
    for i, one in enumerate(ruled):
        newest, levels = list(rows(one.newest)), LEVELS if one.rule.severity != "warn" else WARNINGS
        for row, value in zip(newest, value_texts(newest), strict=True):
            text = row["verdict"] + (f" {value}" if row["value"] is not None else "")
            cell = Cell(text, row["value"], f"since {row['since']}", levels.get(row["verdict"]))
            states.setdefault(row["segment"], {})[i] = cell
    cells = [
        [Cell(segment), *(own.get(i, Cell("")) for i in range(len(ruled)))]
        for segment, own in sorted(states.items(), key=lambda state: _badness(state[1].values()))
    ]
    named = [Column("segment", "head"), *columns(*(one.name for one in ruled))]
    return filtered(Table(named, cells, "Verdicts at the newest window"), "rules") if cells else ""


def _badness(cells: Iterable[Cell]) -> list[int]:
    levels = [cell.level for cell in cells]
    return [-levels.count(level) for level in ("error", "warning", "notice")]


def _of_rule(ruled: Ruled) -> Measure:
    """The value of a rule at each window, over its own period."""
    required = ruled.rule.required
    line = ruled.rows.with_columns(series=pl.lit("value"))
    breached = line.filter(pl.col(VERDICT) == "breached").with_columns(series=pl.lit(BREACH))
    named = required.metric if ruled.rule.measure else words(metrics_of_name(required.metric)[0])
    limits = {segment: [required.limit] for segment in ruled.rows[SEGMENT].unique(maintain_order=True)}
    return Measure(
        ruled.name,
        pl.concat([line, breached]),
        ("value", BREACH),
        named,
        (float("-inf"), float("inf")),
        ". ".join(filter(None, (ruled.title, ruled.rule.description))),
        not required.wants_high,
        limits,
        ruled.rule.two_sided,
        tuple(ruled.newest["segment"]),
    )


def _breaches(found: Course) -> str:
    if found.breaches.is_empty():
        return "<p>No rule was breached in these windows.</p>"
    times, latest = readable(found.windows).to_list(), len(found.windows) - 1
    cells = [
        [
            *(Cell(segment), Cell(times[first])),
            *(Cell(times[last] + " (latest window)" * (last == latest)), Cell(rule)),
        ]
        for segment, first, last, rule in found.breaches.iter_rows()
    ]
    named = [Column("segment", "head"), *columns("first window", "last window", "rule")]
    return filtered(Table(named, cells, "Breaches of rules, the latest first"), "breaches")


def _charts(found: Course, measure: Measure, identity: str) -> str:
    """Charts of all rows and of some segments: those with the latest breaches and the worst, if there are many."""
    window, rows = found.windows.name, measure.rows.drop_nulls("value")
    lines = rows.filter(series=measure.names[0]).sort(window)
    latest = lines.group_by(SEGMENT, CUT, maintain_order=True).agg(pl.last("value"))
    total, others = latest.filter(pl.col(CUT) == ""), latest.filter(pl.col(CUT) != "")
    segments, cut = others[SEGMENT].to_list(), ""
    if measure.first:
        known = set(latest[SEGMENT])
        every = [*(s for s in measure.first if s in known), *(s for s in latest[SEGMENT] if s not in measure.first)]
        total, segments = total.clear(), every[: MOST + 1]
        cut = f"{MOST + 1} of {len(every):,} segments, the worst first" if len(every) > MOST + 1 else ""
    elif len(segments) > MOST:
        worst = others.sort("value", descending=measure.high, maintain_order=True)[SEGMENT]
        known = set(segments)
        segments = list(dict.fromkeys([*(s for s in found.breaches[SEGMENT] if s in known), *worst]))[:MOST]
        cut = f"{MOST} of {others.height:,} segments: those with the latest breaches, then the worst of the last window"
    shown = [*total[SEGMENT], *segments]
    if not shown:
        return ""
    parts = {f"{measure.title}: {segment}": rows.filter(pl.col(SEGMENT) == segment) for segment in shown}
    limits = {f"{measure.title}: {segment}": own for segment, own in measure.limits.items()}
    axis = (measure.axis, measure.within)
    drawn = timelines(parts, window, *axis, measure.confidence, measure.names, note=cut, limits=limits)
    told = f"<p>{markup(measure.what)}</p>" if measure.what else ""
    return told + small_multiples("", dict(zip(shown, drawn, strict=True)), identity, interactive=False)


def _notes(found: Course) -> str:
    notes = [
        "Certified bounds are proven to contain the metric of the evaluated rows. Without a band of certified bounds, "
        "the value is exact."
    ]
    if found.confidence:
        notes.append(
            f"The confidence interval ({found.confidence * 100:g}%) estimates the metric for all rows of which these "
            "are a random sample."
        )
    if found.rules:
        notes.append(
            "Charts of rules show their value over their own period, as a check at the end of each window finds it. "
            "Dotted lines are limits."
        )
    return f'<ul class="bounded">{"".join(f"<li>{note}</li>" for note in notes)}</ul>'

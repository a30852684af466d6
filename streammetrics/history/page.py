"""The page of a history: breaches of rules, and charts of metrics, rows, and drift over time."""

from __future__ import annotations

import polars as pl

from streammetrics.charts.windows import timelines
from streammetrics.history.course import CUT, SEGMENT, Course, Measure
from streammetrics.html.pictures import small_multiples
from streammetrics.present.html import filtered
from streammetrics.present.page import Section, lead, page_of
from streammetrics.present.table import Cell, Column, Table, columns
from streammetrics.text.markup import markup
from streammetrics.text.values import readable

MOST = 5  # segments with a chart per metric, besides all rows


def history_page(found: Course, title: str) -> str:
    """Return the page. Of many segments, each metric has charts of those that need attention."""
    ends = " to ".join(dict.fromkeys(readable(found.windows)[[0, -1]]))
    facts = [
        ("Windows", f"<strong>{len(found.windows):,}</strong> ({markup(found.windows.name)}): {markup(ends)}"),
        ("Segments", f"<strong>{found.segments:,}</strong>"),
        *([("Rules", f"<strong>{found.rules:,}</strong>")] if found.rules else []),
    ]
    sections = [
        Section("breaches", "Breaches", _breaches(found) if found.rules else ""),
        *(Section(f"m{i}", markup(m.title), _charts(found, m, f"m{i}c")) for i, m in enumerate(found.measures)),
        Section("reading", "How to read the charts", _notes(found)),
    ]
    return page_of(title, lead(facts), sections)


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
    if len(segments) > MOST:
        worst = others.sort("value", descending=measure.high, maintain_order=True)[SEGMENT]
        known = set(segments)
        segments = list(dict.fromkeys([*(s for s in found.breaches[SEGMENT] if s in known), *worst]))[:MOST]
        cut = f"{MOST} of {others.height:,} segments: those with the latest breaches, then the worst of the last window"
    shown = [*total[SEGMENT], *segments]
    if not shown:
        return ""
    parts = {f"{measure.title}: {segment}": rows.filter(pl.col(SEGMENT) == segment) for segment in shown}
    limits = {f"{measure.title}: {segment}": own for segment, own in measure.limits.items()}
    drawn = timelines(parts, window, measure.y, found.confidence, measure.names, note=cut, limits=limits)
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
            "Dotted lines are the limits of rules. A rule is breached in a window if a check at the end of the window "
            "finds a breach."
        )
    return f'<ul class="bounded">{"".join(f"<li>{note}</li>" for note in notes)}</ul>'

"""The page of a history: what rules find now, their values, and charts of metrics, rows, and drift over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from streammetrics.base import markup, readable, rows, value_texts
from streammetrics.monitor.history.checks import RANKS
from streammetrics.monitor.history.content import CUT, SEGMENT, CheckedRule, Content, Measure
from streammetrics.monitor.history.rules import title_of
from streammetrics.reading import findings_of_rules
from streammetrics.show import (
    Cell,
    Column,
    Level,
    Section,
    Table,
    badness,
    figures,
    filtered,
    lead,
    page_of,
    small_multiples,
    stands_out,
    timelines,
)

LEVELS: dict[str, Level] = {"breached": "error", "undefined": "error", "open": "notice", "too few rows": "notice"}
WARNINGS: dict[str, Level] = LEVELS | {"breached": "warning", "undefined": "warning"}  # of severity warn
MOST = 5  # segments with a chart per metric, besides all rows
FIRST = 5  # charts that are not folded
BREACHED = 3  # of these, charts of rules
UNDECIDED = (RANKS["open"], False)  # verdict and severity of a rule


def history_page(content: Content, title: str, appended: pl.DataFrame | None = None) -> str:
    """Return the page: the verdicts of rules, charts of what matters most, and all others, folded.

    Of many segments, each metric has charts of those that need attention. With the frame of `MetricStore.windows`, the
    page says whether windows are overdue.
    """
    windows, rules = content.windows, sorted(content.rules, key=_worst)
    ends = " to ".join(dict.fromkeys(readable(windows)[[0, -1]]))
    facts = [("Windows", f"<strong>{len(windows):,}</strong> ({markup(windows.name)}): {markup(ends)}")]
    facts += [("Segments", f"<strong>{content.segments:,}</strong>")] if content.segments else []
    facts += [("Rules", f"<strong>{len(rules):,}</strong>")] if rules else []
    now = [(title_of(checked.rule), checked.name, checked.rule.severity, checked.newest) for checked in rules]
    otherwise = "No rule is breached" if rules else ""
    verdict, found = stands_out(findings_of_rules(now, windows, appended), otherwise)
    measures = _by_importance(content, rules)
    first = [partial(_chart, content, measure) for measure in measures[:FIRST]]
    every = "".join(_folded(content, measure, f"c{i}") for i, measure in enumerate(measures))
    sections = [
        found,
        Section("first", "Over time", figures("first", first, interactive=False)),
        Section("breaches", "Breaches", _breaches(content) if rules else ""),
        Section("charts", "All charts", every),
        Section("reading", "How to read the charts", _notes(content)),
    ]
    return page_of(title, verdict, lead(facts), sections, first=_board(rules, windows))


def _by_importance(content: Content, rules: Sequence[CheckedRule]) -> list[Measure]:
    """Measures with values: of breached rules, another metric, the numbers of rows, and drift, and then all others."""
    of_rules = [checked.measure for checked in rules]
    breached = of_rules[: min(BREACHED, sum(_worst(checked) < UNDECIDED for checked in rules))]
    axes = {measure.axis for measure in breached}
    another = [measure for measure in content.metrics if measure.axis not in axes][:1]
    every = [*breached, *another, *content.others, *of_rules, *content.metrics]
    return list({id(measure): measure for measure in every if _segments(content, measure)[0]}.values())


def _worst(checked: CheckedRule) -> tuple[int, bool]:
    """The worst verdict of a rule now."""
    ranks = (RANKS.get(verdict, len(RANKS)) for verdict in checked.newest["verdict"])
    return min(ranks, default=len(RANKS)), checked.rule.severity == "warn"


def _board(rules: Sequence[CheckedRule], windows: pl.Series) -> str:
    """The verdict of every rule in every segment at the newest window, the segments with most breaches first."""
    states: dict[str, dict[int, Cell]] = {}
    for i, checked in enumerate(rules):
        newest, levels = list(rows(checked.newest)), WARNINGS if checked.rule.severity == "warn" else LEVELS
        for row, value in zip(newest, value_texts(newest), strict=True):
            level = levels.get(row["verdict"])
            text = row["verdict"] + (f" {value}" if row["value"] is not None else "")
            states.setdefault(row["segment"], {})[i] = Cell.judged(text, level, row["value"], row["duration"] or "")
    cells = [
        [Cell(segment), *(by_rule.get(i, Cell("")) for i in range(len(rules)))]
        for segment, by_rule in sorted(states.items(), key=lambda state: badness(state[1].values()))
    ]
    if not cells:
        return ""
    header = [Column("segment", "head"), *(Column(checked.name) for checked in rules)]
    board = filtered(Table(header, cells, "Verdicts at the newest window"), "rules")
    at = markup(readable(windows.tail(1)).item())
    return f'<section aria-labelledby="rules"><h2 id="rules">Rules at {at}</h2>{board}</section>'


def _breaches(content: Content) -> str:
    if content.breaches.is_empty():
        return "<p>No rule was breached in these windows.</p>"
    times, latest = readable(content.windows).to_list(), len(content.windows) - 1
    cells = []
    for segment, first, last, rule in content.breaches.iter_rows():
        end = times[last] + " (latest window)" * (last == latest)
        cells.append([Cell(segment), Cell(times[first]), Cell(end), Cell(rule)])
    header = [Column("segment", "head"), *map(Column, ("first window", "last window", "rule"))]
    return filtered(Table(header, cells, "Breaches of rules, the latest first"), "breaches")


def _chart(content: Content, measure: Measure) -> dict[str, Any]:
    """The chart of the first segment."""
    segments, _ = _segments(content, measure)
    return _charts(content, measure, segments[:1])[segments[0]]


def _folded(content: Content, measure: Measure, identity: str) -> str:
    """The charts of several segments."""
    segments, note = _segments(content, measure)
    size = f": {len(segments)} charts" if len(segments) > 1 else ""
    which = f"<p>{note}.</p>" if note else ""
    drawn = small_multiples("", _charts(content, measure, segments), identity, interactive=False)
    return f"<details><summary>{markup(measure.title)}{size}</summary>{which}{drawn}</details>"


def _segments(content: Content, measure: Measure) -> tuple[list[str], str]:
    """All rows and some segments: those with the latest breaches and the worst, if there are many; and which."""
    lines = measure.rows.drop_nulls("value").filter(series=measure.names[0]).sort(content.windows.name)
    latest = lines.group_by(SEGMENT, CUT, maintain_order=True).agg(pl.last("value"))
    total, others = latest.filter(pl.col(CUT) == ""), latest.filter(pl.col(CUT) != "")
    segments = [*total[SEGMENT], *others[SEGMENT]]
    if measure.first:
        every = list(dict.fromkeys([*(s for s in measure.first if s in segments), *latest[SEGMENT]]))
        note = f"{MOST + 1} of {len(every):,} segments, the worst first" if len(every) > MOST + 1 else ""
        return every[: MOST + 1], note
    if others.height <= MOST:
        return segments, ""
    worst = others.sort("value", descending=measure.high, maintain_order=True)[SEGMENT]
    breached = content.breaches[SEGMENT].filter(content.breaches[SEGMENT].is_in(worst.implode()))
    note = f"{MOST} of {others.height:,} segments: those with the latest breaches, then the worst of the last window"
    return [*total[SEGMENT], *list(dict.fromkeys([*breached, *worst]))[:MOST]], note


def _charts(content: Content, measure: Measure, segments: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Charts of segments, with the same axes."""
    titles = {segment: f"{measure.title}: {segment}" for segment in segments}
    rows = measure.rows.drop_nulls("value")
    parts = {title: rows.filter(pl.col(SEGMENT) == segment) for segment, title in titles.items()}
    charts = timelines(
        parts,
        content.windows.name,
        measure.axis,
        measure.range,
        measure.confidence,
        measure.names,
        caption=measure.description,
        limits=dict.fromkeys(parts, measure.limit),
    )
    return dict(zip(segments, charts, strict=True))


def _notes(content: Content) -> str:
    notes = [
        "Certified bounds are proven to contain the metric of the evaluated rows. Without a band of certified bounds, "
        "the value is exact."
    ]
    if content.confidence:
        notes.append(
            f"The confidence interval ({content.confidence * 100:g}%) estimates the metric for all rows of which these "
            "are a random sample."
        )
    if content.rules:
        notes.append(
            "Charts of rules show their value over their own period, as a check at the end of each window finds it. "
            "Dotted lines are limits."
        )
    return f'<ul class="bounded">{"".join(f"<li>{note}</li>" for note in notes)}</ul>'

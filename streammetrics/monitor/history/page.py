"""The page of a history: what rules find now, their values, and charts of metrics, rows, and drift over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    columns,
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


def history_page(content: Content, title: str, appended: pl.DataFrame | None = None) -> str:
    """Return the page. Of many segments, each metric has charts of those that need attention.

    With the frame of `MetricStore.windows`, it says whether windows are overdue.
    """
    windows, rules = content.windows, content.rules
    ends = " to ".join(dict.fromkeys(readable(windows)[[0, -1]]))
    facts = [("Windows", f"<strong>{len(windows):,}</strong> ({markup(windows.name)}): {markup(ends)}")]
    facts += [("Segments", f"<strong>{content.segments:,}</strong>")] if content.segments else []
    facts += [("Rules", f"<strong>{len(rules):,}</strong>")] if rules else []
    now = [(title_of(checked.rule), checked.rule.severity, checked.newest) for checked in rules]
    charted = [checked.measure for checked in sorted(rules, key=_worst) if checked.rows["value"].count()]
    otherwise = "No rule is breached" if rules else ""
    verdict, found = stands_out(findings_of_rules(now, windows, appended), otherwise)
    sections = [
        found,
        Section("rules", "Rules now", _board(rules) if rules else ""),
        *(Section(f"r{i}", markup(m.title), _charts(content, m, f"r{i}c")) for i, m in enumerate(charted)),
        Section("breaches", "Breaches", _breaches(content) if rules else ""),
        *(Section(f"m{i}", markup(m.title), _charts(content, m, f"m{i}c")) for i, m in enumerate(content.measures)),
        Section("reading", "How to read the charts", _notes(content)),
    ]
    return page_of(title, verdict, lead(facts), sections)


def _worst(checked: CheckedRule) -> tuple[int, bool]:
    """The worst verdict of a rule now."""
    ranks = (RANKS.get(verdict, len(RANKS)) for verdict in checked.newest["verdict"])
    return min(ranks, default=len(RANKS)), checked.rule.severity == "warn"


def _board(rules: Sequence[CheckedRule]) -> str:
    """The verdict of every rule in every segment at the newest window, the segments with most breaches first."""
    states: dict[str, dict[int, Cell]] = {}
    for i, checked in enumerate(rules):
        newest, levels = list(rows(checked.newest)), WARNINGS if checked.rule.severity == "warn" else LEVELS
        for row, value in zip(newest, value_texts(newest), strict=True):
            text = row["verdict"] + (f" {value}" if row["value"] is not None else "")
            cell = Cell(text, row["value"], f"since {row['since']}", levels.get(row["verdict"]))
            states.setdefault(row["segment"], {})[i] = cell
    cells = [
        [Cell(segment), *(by_rule.get(i, Cell("")) for i in range(len(rules)))]
        for segment, by_rule in sorted(states.items(), key=lambda state: _badness(state[1].values()))
    ]
    header = [Column("segment", "head"), *columns(*(checked.name for checked in rules))]
    return filtered(Table(header, cells, "Verdicts at the newest window"), "rules") if cells else ""


def _badness(cells: Iterable[Cell]) -> list[int]:
    levels = [cell.level for cell in cells]
    return [-levels.count(level) for level in ("error", "warning", "notice")]


def _breaches(content: Content) -> str:
    if content.breaches.is_empty():
        return "<p>No rule was breached in these windows.</p>"
    times, latest = readable(content.windows).to_list(), len(content.windows) - 1
    cells = []
    for segment, first, last, rule in content.breaches.iter_rows():
        end = times[last] + " (latest window)" * (last == latest)
        cells.append([Cell(segment), Cell(times[first]), Cell(end), Cell(rule)])
    header = [Column("segment", "head"), *columns("first window", "last window", "rule")]
    return filtered(Table(header, cells, "Breaches of rules, the latest first"), "breaches")


def _charts(content: Content, measure: Measure, identity: str) -> str:
    """Charts of all rows and of some segments: those with the latest breaches and the worst, if there are many."""
    window, rows = content.windows.name, measure.rows.drop_nulls("value")
    lines = rows.filter(series=measure.names[0]).sort(window)
    latest = lines.group_by(SEGMENT, CUT, maintain_order=True).agg(pl.last("value"))
    total, others = latest.filter(pl.col(CUT) == ""), latest.filter(pl.col(CUT) != "")
    segments, note = [*total[SEGMENT], *others[SEGMENT]], ""
    if measure.first:
        every = list(dict.fromkeys([*(s for s in measure.first if s in segments), *latest[SEGMENT]]))
        segments = every[: MOST + 1]
        note = f"{MOST + 1} of {len(every):,} segments, the worst first" if len(every) > MOST + 1 else ""
    elif others.height > MOST:
        worst = others.sort("value", descending=measure.high, maintain_order=True)[SEGMENT]
        breached = content.breaches[SEGMENT].filter(content.breaches[SEGMENT].is_in(worst.implode()))
        segments = [*total[SEGMENT], *list(dict.fromkeys([*breached, *worst]))[:MOST]]
        note = (
            f"{MOST} of {others.height:,} segments: those with the latest breaches, then the worst of the last window"
        )
    if not segments:
        return ""
    titles = {segment: f"{measure.title}: {segment}" for segment in segments}
    parts = {title: rows.filter(pl.col(SEGMENT) == segment) for segment, title in titles.items()}
    axis, limits = (measure.axis, measure.range), dict.fromkeys(parts, measure.limit)
    charts = timelines(parts, window, *axis, measure.confidence, measure.names, note=note, limits=limits)
    description = f"<p>{markup(measure.description)}</p>" if measure.description else ""
    return description + small_multiples("", dict(zip(segments, charts, strict=True)), identity, interactive=False)


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

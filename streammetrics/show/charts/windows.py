"""Charts of a metric over time windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from streammetrics.base import TEXT_DATES, beyond_python, dates, hidden, require_group_columns
from streammetrics.data import several
from streammetrics.errors import Argument, ReportError
from streammetrics.metrics import Metric, better, words
from streammetrics.show.charts.axes import Spec, axis, time_axis
from streammetrics.show.charts.estimates import interval_columns, key_columns, reach, text_with_ends
from streammetrics.show.charts.marks import Marks, band, panel, reference, titled
from streammetrics.show.charts.series import PLACE, SIDES, Reports, series_of

TIME = hidden("time")
BREACH = "breach of a rule"  # series
MOST_DOTS = 120  # in a chart; with more, lines of several segments differ in color and dashes only


def over_time(
    report: Reports, /, metric: str | Metric, window: str | None = None, by: str | list[str] | None = None, **keys: Any
) -> Spec:
    """Return a metric over time windows, with a line per segment and a band for its interval.

    For the arguments, see `Plot.over_time`; models stay separate.
    """
    window = window or _window(report)
    [chart] = _charts(report, metric, window, by, keys, are_apart=False).values()
    return chart


def each_over_time(report: Reports, /, metric: str | Metric, window: str, by: str) -> dict[str, Spec]:
    """Return a metric over time windows as a chart per segment, all with the same axes, with a line per model."""
    return _charts(report, metric, window, by, {}, are_apart=True)


def _charts(
    report: Reports,
    metric: str | Metric,
    window: str,
    by: str | list[str] | None,
    keys: dict[str, Any],
    are_apart: bool,
) -> dict[str, Spec]:
    """One chart with a line per segment and model, or if segments ``are_apart``, a chart of each."""
    require_group_columns([window], report.by)
    metric = report.find(metric)
    if by is not None:
        columns = {window, *several(by), *SIDES}
        report = report.rollup(*(c for c in report.by if c in columns)).showing([metric.name])
    rows = report.rows(metric, **keys)
    if window not in window_of(report):
        fault = f"Column {window!r} must be Date or Datetime for a time axis, got {rows.schema[window]}."
        raise ReportError(f"{fault} {TEXT_DATES}")
    if beyond_python(rows[window]):
        raise ReportError(f"Charts support the years 1 to 9999, but column {window!r} has other dates.")
    varying = [c for c in key_columns(rows) if c != window]
    apart = [c for c in varying if are_apart and c not in SIDES]
    segments = series_of(report, rows, {}, columns=apart)
    frame = segments.frame.rename({"series": PLACE})
    lines = series_of(report, frame, {}, columns=[c for c in varying if c not in apart])
    legend = segments.legend if are_apart else lines.legend if len(lines.names) > 1 else ""
    title = f"{words(metric)} over time" + (f" by {legend}" if legend else "")
    titles = [f"{title}: {name}" for name in segments.names] if are_apart else [title]
    parts = {of: lines.frame.filter(pl.col(PLACE) == name) for of, name in zip(titles, segments.names, strict=True)}
    drawn = timelines(
        *(parts, window, words(metric), metric.range, report.confidence, lines.names),
        legend=lines.legend,
        note="; ".join(filter(None, (segments.note, lines.note))),
        caption=better(metric),
        with_dots=sum(part["value"].count() for part in parts.values()) <= MOST_DOTS * len(parts),
    )
    return dict(zip(segments.names, drawn, strict=True))


def timelines(
    parts: Mapping[str, pl.DataFrame],
    window: str,
    axis_title: str,
    within: tuple[float, float],
    confidence: float | None,
    names: Sequence[str],
    *,
    legend: str = "",
    note: str = "",
    caption: str = "",
    limits: Mapping[str, Sequence[float]] | None = None,
    with_dots: bool = False,
) -> list[Spec]:
    """Return a chart for each part of the rows of a metric, by its title, all with the same axes.

    Rows have a column ``series`` with one of the ``names``. Those of the series `BREACH` are dots, which others have
    only ``with_dots``. ``axis_title`` is that of the values, whose axis does not leave a range. Limits are horizontal
    lines.
    """
    parts = {name: _timed(part, window) for name, part in parts.items()}
    frame, limits = pl.concat(parts.values(), how="diagonal_relaxed"), limits or {}
    low, high, how = interval_columns(frame, confidence)
    x = time_axis(window, frame["x"].unique().sort().to_physical().to_list())
    also = pl.Series([limit for part in parts for limit in limits.get(part, ())], dtype=pl.Float64)
    ends = reach(within, frame["value"], frame[low], frame[high], also)
    y = axis(axis_title, *ends)
    charts = []
    for title, part in parts.items():
        series = [name for name in names if name != BREACH or name in part["series"]]
        lines, breached = part.filter(pl.col("series") != BREACH), part.filter(series=BREACH)
        upper, lower = (lines.select("series", "x", y=pl.col(c).clip(*ends)).drop_nulls() for c in (high, low))
        text = pl.format("{}: {}", TIME, text_with_ends(low, high))
        marks: list[Marks] = [
            *(reference(x["scale"]["domain"], (at, at)) for at in limits.get(title, ())),
            band(upper, lower),
            ("line", lines.select("series", "x", y="value").sort("series")),
            ("dot", (part if with_dots else breached).select("series", "x", y="value", text=text)),
        ]
        chart = panel(x, y, marks, series, legend)
        charts.append(titled(chart, title, [note, how and f"band: {how}"], [caption]))
    return charts


def _timed(rows: pl.DataFrame, window: str) -> pl.DataFrame:
    """The defined rows in order of local time, also as text."""
    time = pl.col(window)
    if getattr(rows.schema[window], "time_zone", None):
        time = time.dt.replace_time_zone(None)
    timed = rows.drop_nulls(["value", window]).with_columns(x=time.cast(pl.Datetime("ms"))).sort("x")
    times = dates(timed["x"])
    return timed.with_columns(times.dt.strftime("%Y-%m-%d" if times.dtype == pl.Date else "%Y-%m-%d %H:%M").alias(TIME))


def window_of(report: Reports) -> list[str]:
    """Return the group columns of dates or times."""
    types = report.state.groups.schema
    return [c for c in report.by if c in types and isinstance(types[c], (pl.Date, pl.Datetime))]


def _window(report: Reports) -> str:
    columns = window_of(report)
    if not columns:
        raise ReportError(f"A chart over time requires a Date or Datetime group column. {TEXT_DATES}")
    if len(columns) > 1:
        raise ReportError(
            "Pass ",
            Argument("window"),
            f" to select the time column. Date and Datetime group columns: {', '.join(columns)}.",
        )
    return columns[0]

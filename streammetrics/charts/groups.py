"""Charts of a metric by group and over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from streammetrics.charts.picture import MOST, Axis, Layer, Picture, between, extent, line
from streammetrics.charts.series import PLACE, SIDES, Drawn, Series, series_of, shared
from streammetrics.decimals import beside, interval
from streammetrics.errors import ReportError
from streammetrics.frame import ESTIMATE
from streammetrics.keys import TEXT_DATES, require_group_columns
from streammetrics.metrics import Metric
from streammetrics.metrics.words import better, words
from streammetrics.rows.roles import several
from streammetrics.values import beyond_python

MOST_GROUPS = 20
MOST_DOTS = 120  # maximum; with more, lines of several segments differ in color and dashes only
EVERY = 1 << 62


def segments(report: Drawn, /, metric: str | Metric, by: str | None = None, **keys: Any) -> Picture:
    """Return a metric of each group as a dot with its interval, the worst first; numbers and times in their order.

    For many groups, only the worst are shown. The interval is the confidence interval if the report has a confidence
    level, else the certified bounds. For the arguments, see `Plot.segments`; models stay separate.
    """
    found, frame, places, colours, undefined = _segments(report, metric, by, keys)
    own = places.keys
    order = (
        frame.group_by(PLACE, maintain_order=True)
        .agg(pl.mean("value"))
        .sort("value", descending=found.better == "low", maintain_order=True)[PLACE]
    )
    shown = order.head(MOST_GROUPS)
    if in_order := len(own) == 1 and len(order) <= MOST_GROUPS and _ordered(frame[own[0]]):
        shown = frame.sort(own[0], nulls_last=True)[PLACE].unique(maintain_order=True)
    prefix = shared(shown.to_list())
    frame = frame.filter(pl.col(PLACE).is_in(shown.implode())).with_columns(pl.col(PLACE).str.strip_prefix(prefix))
    low, high, how = interval_columns(frame, report.confidence)
    x = Axis(_title(found), *_reach(found, frame["value"], frame[low], frame[high]))
    from_low, to_high = (pl.col(c).clip(x.low, x.high) for c in (low, high))
    intervals = frame.select("series", x=from_low, y=PLACE, x2=to_high, y2=PLACE).drop_nulls()
    dots = frame.select("series", x="value", y=PLACE, text=_said(low, high))
    which = "worst" if found.better else "lowest"
    cut = f"the {MOST_GROUPS} {which} of {len(order) + undefined:,}" if len(order) > MOST_GROUPS else ""
    legend = places.legend or "group"
    return Picture(
        f"{words(found)} by {legend}",
        x,
        Axis(f"{legend} ({prefix}…)" if prefix else legend, scale="names", names=tuple(shown.str.strip_prefix(prefix))),
        [Layer("interval", intervals), Layer("dot", dots)],
        colours.names,
        colours.legend,
        "; ".join(filter(None, (cut, how))),
        " ".join(filter(None, (better(found), "" if in_order else _sorted(found), *_missing(frame, low, undefined)))),
    )


def caterpillar(report: Drawn, /, metric: str | Metric, by: str | None = None, **keys: Any) -> Picture:
    """Return a metric of all groups in sorted order, with intervals, and a line at the value of all rows.

    Names are shown as tooltips. Arguments are as for `segments`.
    """
    found, frame, places, colours, undefined = _segments(report, metric, by, keys)
    if set(places.keys) <= set(SIDES):
        raise ReportError("The groups are models, which `segments` shows.")
    if len(places.names) <= MOST_GROUPS:
        raise ReportError(f"`segments` shows all {len(places.names)} groups.")
    frame = frame.sort("value", descending=found.better == "low")
    frame = frame.with_columns(x=pl.int_range(1, pl.len() + 1).over("series").cast(pl.Float64))
    low, high, how = interval_columns(frame, report.confidence)
    y = Axis(_title(found), *_reach(found, frame["value"], frame[low], frame[high]))
    from_low, to_high = (pl.col(c).clip(y.low, y.high) for c in (low, high))
    intervals = frame.select("series", "x", y=from_low, x2="x", y2=to_high).drop_nulls()
    dots = frame.select("series", "x", y="value", text=pl.format("{}: {}", PLACE, _said(low, high)))
    most = float(len(places.names))
    total = report.rollup(*colours.keys).showing([found.name]).rows(found, **keys)["value"]
    lines = [line((0, most + 1), (v, v)) for v in total.drop_nulls()]
    size = len(places.names)
    groups = f"{size:,} of {size + undefined:,}" if undefined else f"all {size:,}"
    return Picture(
        f"{words(found)} of {groups} groups by {places.legend}",
        Axis("Rank, worst first" if found.better else "Rank, lowest first", 0.0, most + 1),
        y,
        [*lines, Layer("interval", intervals), Layer("dot", dots)],
        colours.names,
        colours.legend,
        how,
        " ".join(filter(None, ("Dotted line: all groups together.", better(found), *_missing(frame, low, undefined)))),
    )


def _segments(
    report: Drawn, metric: str | Metric, by: str | None, keys: dict[str, Any]
) -> tuple[Metric, pl.DataFrame, Series, Series, int]:
    """The metric, its defined values, their places and colors, and the number of segments in which it is undefined.

    Models have colors if there are other groups, which have places.
    """
    require_group_columns([] if by is None else [by], report.by)
    own = [c for c in report.by if by is None or c in (by, *SIDES)]
    if not own:
        raise ReportError("The report has no groups to compare: neither by= nor models are set.")
    found = report.find(metric)
    report = report.rollup(*own).showing([found.name]) if own != report.by else report
    rows = report.rows(metric, **keys)
    defined, segments = rows.drop_nulls("value"), [c for c in own if c not in SIDES] or own
    named = [c for c in _key_columns(defined) if c not in keys]
    sides = [c for c in named if c in SIDES] if set(named) - set(SIDES) else []
    places = _series(report, defined, [c for c in named if c not in sides], most=EVERY)
    colours = _series(report, defined, sides)
    frame = colours.of(places.of(defined).rename({"series": PLACE}))
    return found, frame, places, colours, rows.n_unique(segments) - defined.n_unique(segments)


def _ordered(values: pl.Series) -> bool:
    """Whether values have a natural order, such as hours or age ranges."""
    return values.dtype.is_numeric() or values.dtype.is_temporal() or isinstance(values.dtype, pl.Enum)


def _sorted(metric: Metric) -> str:
    return "Worst first." if metric.better else "Lowest first."


def _missing(frame: pl.DataFrame, low: str, undefined: int) -> Iterator[str]:
    """Sentences on groups without an interval, and on those without a value."""
    if low == "ci_lower" and frame.select("ci_lower", "ci_upper").drop_nulls().height < frame.height:
        yield "Dots without a line have no confidence interval."
    if undefined:
        yield f"Undefined in {undefined:,} {'group' if undefined == 1 else 'groups'}."


def over_time(
    report: Drawn, /, metric: str | Metric, window: str | None = None, by: str | list[str] | None = None, **keys: Any
) -> Picture:
    """Return a metric over time windows, with a line per segment and a band for its interval.

    For the arguments, see `Plot.over_time`; models stay separate.
    """
    window = window or _window(report)
    require_group_columns([window], report.by)
    if by is not None:
        wanted = {window, *several(by), *SIDES}
        report = report.rollup(*(c for c in report.by if c in wanted)).showing([report.find(metric).name])
    found, rows = report.find(metric), report.rows(metric, **keys)
    if window not in window_of(report):
        fault = f"Column {window!r} must be Date or Datetime for a time axis, got {rows.schema[window]}."
        raise ReportError(f"{fault} {TEXT_DATES}")
    if beyond_python(rows[window]):
        raise ReportError(f"Charts support the years 1 to 9999, but column {window!r} has other dates.")
    lines = _series(report, rows, [c for c in _key_columns(rows) if c != window])
    time = pl.col(window).cast(pl.Datetime("ms"))
    frame = lines.of(rows).drop_nulls(["value", window]).with_columns(x=time).sort("x")
    low, high, how = interval_columns(frame, report.confidence)
    y = Axis(_title(found), *_reach(found, frame["value"], frame[low], frame[high]))
    layers = [_ribbon(frame, low, high, y), Layer("line", frame.select("series", "x", y="value").sort("series"))]
    if frame.height <= MOST_DOTS:
        layers.append(Layer("dot", frame.select("series", "x", y="value", text=_said(low, high))))
    return Picture(
        f"{words(found)} over time" + (f" by {lines.legend}" if len(lines.names) > 1 and lines.legend else ""),
        Axis(window, *_apart(*extent(frame["x"], room=0.0)), scale="time"),
        y,
        layers,
        lines.names,
        lines.legend,
        "; ".join(filter(None, (lines.note, how and f"band: {how}"))),
        better(found),
    )


def _series(report: Drawn, rows: pl.DataFrame, keys: list[str], most: int = MOST) -> Series:
    """The series of some keys."""
    every = rows.select(keys).unique(maintain_order=True) if keys else pl.DataFrame()
    return series_of(report, every, {}, most, columns=keys)


def _ribbon(frame: pl.DataFrame, low: str, high: str, y: Axis) -> Layer:
    """The area between the limits of each series."""
    return between(*(frame.select("series", "x", y=pl.col(c).clip(y.low, y.high)).drop_nulls() for c in (high, low)))


def interval_columns(frame: pl.DataFrame, confidence: float | None) -> tuple[str, str, str]:
    """Return the columns of the interval to draw, and its name."""
    if confidence is not None and "ci_lower" in frame.columns and frame["ci_lower"].count():
        return "ci_lower", "ci_upper", f"{confidence * 100:g}% confidence interval"
    return "lower", "upper", "certified bounds" if (frame["lower"] != frame["upper"]).any() else ""


def window_of(report: Drawn) -> list[str]:
    """Return the group columns of dates or times."""
    types = report.state.groups.schema
    return [c for c in report.by if c in types and isinstance(types[c], (pl.Date, pl.Datetime))]


def _window(report: Drawn) -> str:
    found = window_of(report)
    if not found:
        raise ReportError(f"A chart over time requires a Date or Datetime group column. {TEXT_DATES}")
    if len(found) > 1:
        raise ReportError(
            f"Pass window= to select the time column. Date and Datetime group columns: {', '.join(found)}."
        )
    return found[0]


def _key_columns(rows: pl.DataFrame) -> list[str]:
    """The columns that identify the rows of a metric."""
    return [c for c in rows.columns if c not in ESTIMATE and rows[c].null_count() != rows.height]


def _reach(metric: Metric, *columns: pl.Series) -> tuple[float, float]:
    """The ends of an axis: the values, within the range of the metric."""
    low, high = extent(*columns)
    least, most = metric.range
    return max(low, least), min(high, most) if min(high, most) > max(low, least) else high


def _apart(low: float, high: float) -> tuple[float, float]:
    """The ends of a time axis, a day for a single window."""
    return (low, high) if high > low else (low - 43_200_000, high + 43_200_000)


def _title(metric: Metric) -> str:
    """The name with its range."""
    low, high = metric.range
    if (low, high) == (0, 1):
        return f"{metric.name} (0 to 1)"
    if (low, high) == (-1, 1):
        return f"{metric.name} (-1 to 1)"
    return metric.name


def _said(low: str, high: str) -> pl.Expr:
    """The value with its interval."""

    def told(row: dict[str, Any]) -> str:
        value = beside(row["value"], row[low], row[high])
        ends = interval(row[low], row[high]) if row[low] != row[high] else ""
        return f"{value} ({ends})" if ends else value

    return pl.struct(*dict.fromkeys(("value", low, high))).map_elements(told, return_dtype=pl.String)

"""Charts of a metric by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from streammetrics.base import hidden, require_group_columns
from streammetrics.errors import Argument, ReportError
from streammetrics.metrics import Metric, better, words
from streammetrics.show.charts.axes import Spec, axis, names_axis
from streammetrics.show.charts.estimates import groups_of, interval_columns, key_columns, reach, said_with
from streammetrics.show.charts.marks import across, dots, intervals, layered, reference
from streammetrics.show.charts.series import PLACE, SIDES, Reports, Series, shared

MOST_GROUPS = 20
END = hidden("end")
EVERY = 1 << 62


def segments(report: Reports, /, metric: str | Metric, by: str | None = None, **keys: Any) -> Spec:
    """Return a metric of each group as a dot with its interval, the worst first; numbers and times in their order.

    For many groups, only the worst are shown. The interval is the confidence interval if the report has a confidence
    level, else the certified bounds. For the arguments, see `Plot.segments`; models stay separate.
    """
    found, frame, places, colours, undefined = _segments(report, metric, by, keys)
    own = places.keys
    low, high, how = interval_columns(frame, report.confidence)
    order = worst_first(frame, PLACE, found, report.confidence)
    shown = order.head(MOST_GROUPS)
    if in_order := len(own) == 1 and in_their_order(frame[own[0]]):
        shown = frame.sort(own[0], nulls_last=True)[PLACE].unique(maintain_order=True)
    prefix = shared(shown.to_list())
    names = shown.str.strip_prefix(prefix).to_list()
    frame = frame.filter(pl.col(PLACE).is_in(shown.implode())).with_columns(pl.col(PLACE).str.strip_prefix(prefix))
    total = [] if set(own) <= set(SIDES) or len(colours.names) > 1 else _of_all(report, found, colours, keys)
    ends = reach(found.range, frame["value"], frame[low], frame[high], pl.Series(total))
    legend = places.legend or "group"
    x, y = axis(words(found), *ends), names_axis(f"{legend} ({prefix}…)" if prefix else legend, names, grid=True)
    from_low, to_high = (pl.col(c).clip(*ends) for c in (low, high))
    lines = frame.select("series", x=from_low, y=PLACE, x2=to_high).drop_nulls()
    points = frame.select("series", x="value", y=PLACE, text=said_with(low, high))
    which = "worst" if found.better else "lowest"
    cut = f"the {MOST_GROUPS} {which} of {len(order) + undefined:,}" if len(order) > MOST_GROUPS else ""
    by_value = "" if in_order else _sorted(found, how)
    caption = [better(found), "Dotted: all rows." if total else "", by_value, *_missing(frame, low, undefined)]
    layers = [*map(across, total), intervals(lines), dots(points, x, y)]
    title = f"{words(found)} by {legend}"
    return layered(title, x, y, layers, colours.names, colours.legend, [cut, how], caption)


def caterpillar(report: Reports, /, metric: str | Metric, by: str | None = None, **keys: Any) -> Spec:
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
    size = len(places.names)
    ends = reach(found.range, frame["value"], frame[low], frame[high])
    x = axis("Rank, worst first" if found.better else "Rank, lowest first", 0.0, size + 1)
    y = axis(words(found), *ends)
    from_low, to_high = (pl.col(c).clip(*ends) for c in (low, high))
    lines = frame.select("series", "x", y=from_low, y2=to_high).drop_nulls()
    points = frame.select("series", "x", y="value", text=pl.format("{}: {}", PLACE, said_with(low, high)))
    total = [reference((0, size + 1), (v, v)) for v in _of_all(report, found, colours, keys)]
    groups = f"{size:,} of {size + undefined:,}" if undefined else f"all {size:,}"
    title = f"{words(found)} of {groups} groups by {places.legend}"
    caption = ["Dotted: all rows.", better(found), *_missing(frame, low, undefined)]
    layers = [*total, intervals(lines), dots(points, x, y)]
    return layered(title, x, y, layers, colours.names, colours.legend, [how], caption)


def _segments(
    report: Reports, metric: str | Metric, by: str | None, keys: dict[str, Any]
) -> tuple[Metric, pl.DataFrame, Series, Series, int]:
    """The metric, its defined values, their places and colors, and the number of segments in which it is undefined.

    Models have colors if there are other groups, which have places.
    """
    require_group_columns([] if by is None else [by], report.by)
    own = [c for c in report.by if by is None or c in (by, *SIDES)]
    if not own:
        raise ReportError("The report has no groups to compare: neither ", Argument("by"), " nor models are set.")
    found = report.find(metric)
    report = report.rollup(*own).showing([found.name]) if own != report.by else report
    rows = report.rows(metric, **keys)
    defined, segments = rows.drop_nulls("value"), [c for c in own if c not in SIDES] or own
    named = [c for c in key_columns(defined) if c not in keys]
    sides = [c for c in named if c in SIDES] if set(named) - set(SIDES) else []
    places = groups_of(report, defined, [c for c in named if c not in sides], most=EVERY)
    colours = groups_of(report, defined, sides)
    frame = colours.of(places.of(defined).rename({"series": PLACE}))
    return found, frame, places, colours, rows.n_unique(segments) - defined.n_unique(segments)


def worst_first(rows: pl.DataFrame, column: str, metric: Metric, confidence: float | None) -> pl.Series:
    """Return the values of a column, sorted by the better end of the interval of a metric, the worst first."""
    low, high, _ = interval_columns(rows, confidence)
    end = pl.col({"high": high, "low": low}.get(metric.better or "", "value"))
    places = rows.group_by(column, maintain_order=True).agg(end.mean().alias(END))
    return places.sort(pl.last(), descending=metric.better == "low", nulls_last=True, maintain_order=True)[column]


def in_their_order(values: pl.Series) -> bool:
    """Whether groups keep their order: a few values with a natural one, such as hours or age ranges."""
    ordered = values.dtype.is_numeric() or values.dtype.is_temporal() or isinstance(values.dtype, pl.Enum)
    return ordered and values.n_unique() <= MOST_GROUPS


def _of_all(report: Reports, metric: Metric, colours: Series, keys: dict[str, Any]) -> list[float]:
    """The metric of all rows, of each color."""
    total = report.rollup(*colours.keys).showing([metric.name])
    return total.rows(metric, **keys).filter(pl.col("value").is_finite())["value"].to_list()


def _sorted(metric: Metric, how: str) -> str:
    if not metric.better:
        return "Lowest first."
    return "Worst first, by the better end of the interval." if how else "Worst first."


def _missing(frame: pl.DataFrame, low: str, undefined: int) -> Iterator[str]:
    """Sentences on groups without an interval, and on those without a value."""
    if low == "ci_lower" and frame.select("ci_lower", "ci_upper").drop_nulls().height < frame.height:
        yield "Dots without a line have no confidence interval."
    if undefined:
        yield f"Undefined in {undefined:,} {'group' if undefined == 1 else 'groups'}."

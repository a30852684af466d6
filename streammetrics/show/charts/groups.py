"""Charts of a metric by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from streammetrics.base import hidden, require_group_columns
from streammetrics.errors import Argument, ReportError
from streammetrics.metrics import Metric, better, words
from streammetrics.show.charts.axes import Spec, axis, names_axis
from streammetrics.show.charts.estimates import (
    HIGH,
    LOW,
    interval_columns,
    interval_marks,
    key_columns,
    reach,
    text_with_ends,
)
from streammetrics.show.charts.marks import Marks, panel, reference, titled
from streammetrics.show.charts.series import PLACE, SIDES, Reports, Series, series_of, shared

MOST_GROUPS = 20
END = hidden("end")
EVERY = 1 << 62


def segments(report: Reports, /, metric: str | Metric, by: str | None = None, **keys: Any) -> Spec:
    """Return a metric of each group as a dot with its interval, the worst first; numbers and times in their order.

    For many groups, only the worst are shown. The interval is the confidence interval if the report has a confidence
    level, else the certified bounds. For the arguments, see `Plot.segments`; models stay separate.
    """
    metric, frame, places, colours, undefined = _segments(report, metric, by, keys)
    order = worst_first(frame, PLACE, metric, report.confidence)
    names = order.head(MOST_GROUPS)
    if is_ordered := len(places.keys) == 1 and has_order(frame[places.keys[0]]):
        names = frame.sort(places.keys[0], nulls_last=True)[PLACE].unique(maintain_order=True)
    prefix = shared(names.to_list())
    frame = frame.filter(pl.col(PLACE).is_in(names.implode())).with_columns(pl.col(PLACE).str.strip_prefix(prefix))
    low, high, how = interval_columns(frame, report.confidence)
    has_total = not set(places.keys) <= set(SIDES) and len(colours.names) == 1
    total = _totals(report, metric, colours, keys) if has_total else []
    ends = reach(metric.range, frame["value"], frame[low], frame[high], pl.Series(total))
    legend = places.legend or "group"
    x = axis(words(metric), *ends)
    y = names_axis(f"{legend} ({prefix}…)" if prefix else legend, names.str.strip_prefix(prefix).to_list(), grid=True)
    text, from_low, to_high = text_with_ends(low, high), pl.col(low).clip(*ends), pl.col(high).clip(*ends)
    rows = frame.with_columns(from_low.alias(LOW), to_high.alias(HIGH), text.alias("text"), x="value")
    which = "worst" if metric.better else "lowest"
    cut = f"the {MOST_GROUPS} {which} of {len(order) + undefined:,}" if len(order) > MOST_GROUPS else ""
    by_end = ", by the better end of the interval" if how and metric.better else ""
    sorting = "" if is_ordered else f"{which.capitalize()} first{by_end}."
    caption = [better(metric), "Dotted: all rows." if total else "", sorting, *_missing(frame, low, undefined)]
    chart = panel(x, y, interval_marks(rows, total), colours.names, colours.legend)
    return titled(chart, f"{words(metric)} by {legend}", [cut, how], caption)


def caterpillar(report: Reports, /, metric: str | Metric, by: str | None = None, **keys: Any) -> Spec:
    """Return a metric of all groups in sorted order, with intervals, and a line at the value of all rows.

    Names are shown as tooltips. Arguments are as for `segments`.
    """
    metric, frame, places, colours, undefined = _segments(report, metric, by, keys)
    if set(places.keys) <= set(SIDES):
        raise ReportError("The groups are models, which `segments` shows.")
    size = len(places.names)
    if size <= MOST_GROUPS:
        raise ReportError(f"`segments` shows all {size} groups.")
    frame = frame.sort("value", descending=metric.better == "low")
    frame = frame.with_columns(x=pl.int_range(1, pl.len() + 1).over("series").cast(pl.Float64))
    low, high, how = interval_columns(frame, report.confidence)
    ends = reach(metric.range, frame["value"], frame[low], frame[high])
    x = axis("Rank, worst first" if metric.better else "Rank, lowest first", 0.0, size + 1)
    y = axis(words(metric), *ends)
    lines = frame.select("series", "x", y=pl.col(low).clip(*ends), y2=pl.col(high).clip(*ends)).drop_nulls()
    points = frame.select("series", "x", y="value", text=pl.format("{}: {}", PLACE, text_with_ends(low, high)))
    total = [reference((0, size + 1), (value, value)) for value in _totals(report, metric, colours, keys)]
    marks: list[Marks] = [*total, ("interval", lines), ("dot", points)]
    groups = f"{size:,} of {size + undefined:,}" if undefined else f"all {size:,}"
    title = f"{words(metric)} of {groups} groups by {places.legend}"
    caption = ["Dotted: all rows.", better(metric), *_missing(frame, low, undefined)]
    return titled(panel(x, y, marks, colours.names, colours.legend), title, [how], caption)


def _segments(
    report: Reports, metric: str | Metric, by: str | None, keys: dict[str, Any]
) -> tuple[Metric, pl.DataFrame, Series, Series, int]:
    """The metric, its defined values, their places and colors, and the number of segments in which it is undefined.

    Models have colors if there are other groups, which have places.
    """
    require_group_columns([] if by is None else [by], report.by)
    columns = [c for c in report.by if by is None or c in (by, *SIDES)]
    if not columns:
        raise ReportError("The report has no groups to compare: neither ", Argument("by"), " nor models are set.")
    metric = report.find(metric)
    report = report.rollup(*columns).showing([metric.name]) if columns != report.by else report
    rows = report.rows(metric, **keys)
    defined, segments = rows.drop_nulls("value"), [c for c in columns if c not in SIDES] or columns
    varying = [c for c in key_columns(defined) if c not in keys]
    sides = [c for c in varying if c in SIDES] if set(varying) - set(SIDES) else []
    places = series_of(report, defined, {}, EVERY, [c for c in varying if c not in sides])
    colours = series_of(report, places.frame.rename({"series": PLACE}), {}, columns=sides)
    return metric, colours.frame, places, colours, rows.n_unique(segments) - defined.n_unique(segments)


def worst_first(rows: pl.DataFrame, column: str, metric: Metric, confidence: float | None) -> pl.Series:
    """Return the values of a column, sorted by the better end of the interval of a metric, the worst first."""
    low, high, _ = interval_columns(rows, confidence)
    end = pl.col({"high": high, "low": low}.get(metric.better or "", "value"))
    places = rows.group_by(column, maintain_order=True).agg(end.mean().alias(END))
    return places.sort(pl.last(), descending=metric.better == "low", nulls_last=True, maintain_order=True)[column]


def has_order(values: pl.Series) -> bool:
    """Whether groups keep their order: a few values with a natural one, such as hours or age ranges."""
    is_ordered = values.dtype.is_numeric() or values.dtype.is_temporal() or isinstance(values.dtype, pl.Enum)
    return is_ordered and values.n_unique() <= MOST_GROUPS


def _totals(report: Reports, metric: Metric, colours: Series, keys: dict[str, Any]) -> list[float]:
    """The metric of all rows, of each color."""
    total = report.rollup(*colours.keys).showing([metric.name])
    return total.rows(metric, **keys).filter(pl.col("value").is_finite())["value"].to_list()


def _missing(frame: pl.DataFrame, low: str, undefined: int) -> Iterator[str]:
    """Sentences on groups without an interval, and on those without a value."""
    if low == "ci_lower" and frame.select("ci_lower", "ci_upper").drop_nulls().height < frame.height:
        yield "Dots without a line have no confidence interval."
    if undefined:
        yield f"Undefined in {undefined:,} {'group' if undefined == 1 else 'groups'}."

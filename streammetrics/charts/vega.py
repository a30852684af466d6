"""A picture as an Altair chart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from streammetrics.charts.picture import COLOURS, DASHES, SHAPES, Axis, Layer, Picture, numbers
from streammetrics.charts.ticks import marks, percent
from streammetrics.errors import SpecificationError

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 480, 360
ROW, BOX = 18, 72  # pixels of a name beside an axis, and of a cell
GREY = "#767676"


def as_altair(picture: Picture) -> alt.VConcatChart | alt.LayerChart:
    """The chart, which can be shown, layered, put beside others and saved as JSON, HTML, PNG or SVG.

    Raises:
        SpecificationError: where Altair is not installed.
    """
    altair = _altair()
    chart: alt.LayerChart = _layers(altair, picture, HEIGHT)
    if picture.below is None:
        return chart
    below = _layers(altair, picture.below, HEIGHT // 4)
    both: alt.VConcatChart = altair.vconcat(chart, below).resolve_scale(color="shared", strokeDash="shared")
    return both


def _altair() -> Any:
    try:
        import altair
    except ImportError as error:
        raise SpecificationError("charts need Altair: pip install 'streammetrics[plot]'.") from error
    return altair


def _layers(alt: Any, picture: Picture, height: int) -> Any:
    tall = len(picture.y.names) * (BOX // 2 if picture.x.names else ROW) if picture.y.names else height
    wide = len(picture.x.names) * BOX if picture.x.names else WIDTH
    drawn = [mark for layer in picture.layers if layer.frame.height for mark in _marks(alt, picture, layer)]
    drawn = drawn or [alt.Chart(alt.Data(values=[])).mark_point()]
    title = alt.TitleParams(
        picture.title,
        anchor="start",
        subtitle=picture.subtitle or alt.Undefined,
        subtitleColor="#555555",
        subtitlePadding=4,
        offset=8,
    )
    return alt.layer(*drawn).properties(
        width=wide, height=max(tall, 60), title=title, description=f"{picture.title}. {picture.caption}"
    )


def _marks(alt: Any, picture: Picture, layer: Layer) -> Sequence[Any]:
    frame = layer.frame
    x, y = _position(alt, "X", "x", picture.x), _position(alt, "Y", "y", picture.y)
    data = alt.Data(values=_values(picture, frame))
    base = alt.Chart(data)
    if layer.kind == "reference":
        line = base.mark_line(color=GREY, strokeDash=[1, 4], strokeWidth=1.5, strokeCap="round", clip=True)
        return [line.encode(x=x, y=y, order="order:Q")]
    if layer.kind == "cell":
        return _cells(alt, base, x, y)
    colour = _by_series(alt, "Color", picture, COLOURS)
    if layer.kind == "band":
        band = base.mark_line(
            filled=True, strokeWidth=0, fillOpacity=0.2 if len(picture.series) < 4 else 0.1, clip=True
        )
        return [band.encode(x=x, y=y, order="order:Q", color=colour)]
    if layer.kind == "line":
        dash = _by_series(alt, "StrokeDash", picture, [list(d) or [1, 0] for d in DASHES])
        line = base.mark_line(strokeWidth=2, strokeJoin="round", clip=True)
        return [line.encode(x=x, y=y, order="order:Q", color=colour, strokeDash=dash)]
    if layer.kind == "interval":
        interval = base.mark_rule(strokeWidth=2, opacity=0.7)
        return [interval.encode(x=x, x2="x2", y=y, y2="y2", color=colour)]
    shape = _by_series(alt, "Shape", picture, SHAPES)
    dot = base.mark_point(filled=True, size=55, opacity=1, stroke="white", strokeWidth=0.8, clip=True)
    tooltip = [alt.Tooltip("series:N", title=picture.legend or "series"), alt.Tooltip("text:N", title="value")]
    return [dot.encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)]


def _cells(alt: Any, base: Any, x: Any, y: Any) -> Sequence[Any]:
    """Boxes as dark as their share is large, with the share where there is room."""
    fill = alt.Color("share:Q", title="Share of actual", scale=alt.Scale(domain=[0, 1], scheme="blues"))
    tooltip = [alt.Tooltip(f"{c}:N", title=t) for c, t in (("y", "actual"), ("x", "predicted"), ("count", "rows"))]
    boxes = base.mark_rect(stroke="white").encode(x=x, y=y, color=fill, tooltip=[*tooltip, "text:N"])
    ink = alt.condition("datum.share > 0.5", alt.value("white"), alt.value("black"))
    shown = base.transform_filter("datum.text != '0%'").mark_text(fontSize=11)
    return [boxes, shown.encode(x=x, y=y, text="text:N", color=ink)]


def _values(picture: Picture, frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows, in the coordinates that the axes show."""
    columns: dict[str, pl.Expr | pl.Series] = {}
    for name, axis in (("x", picture.x), ("y", picture.y), ("x2", picture.x), ("y2", picture.y)):
        if name in frame.columns and axis.scale == "probit":
            columns[name] = pl.Series(axis.transformed(numbers(frame[name])))
        elif name in frame.columns and frame.schema[name].is_temporal():
            columns[name] = pl.col(name).dt.to_string("%Y-%m-%dT%H:%M:%S%.3f")  # without a zone it is shown as it is
    finite = pl.when(cs.float().is_finite()).then(cs.float())  # JSON has no other numbers
    return frame.with_columns(**columns).with_columns(finite).with_row_index("order").to_dicts()


def _position(alt: Any, channel: str, field: str, axis: Axis) -> Any:
    made = getattr(alt, channel)
    grid: dict[str, Any] = {"gridColor": "#e6e6e6", "titleFontWeight": "normal", "titlePadding": 10, "labelLimit": 220}
    if axis.scale == "names":
        longest = max((len(name) for name in axis.names), default=0)
        grid["labelAngle"] = -40 if channel == "X" and longest > BOX // 7 else 0
        scale = alt.Scale(domain=list(axis.names))
        return made(f"{field}:N", title=axis.title, sort=None, scale=scale, axis=alt.Axis(**grid))
    if axis.scale == "time":
        scale = alt.Scale(domain=[_date(alt, ms) for ms in (axis.low, axis.high)])
        return made(f"{field}:T", title=axis.title, scale=scale, axis=alt.Axis(**grid))
    low, high = axis.low, axis.high
    if axis.scale == "probit":
        values = marks(axis)
        places = axis.transformed(np.array(values)).tolist()
        said = [f"abs(datum.value - {at:.6f}) < 0.001 ? '{percent(v)}'" for v, at in zip(values, places, strict=True)]
        grid |= {"values": places, "labelExpr": " : ".join([*said, "''"])}
        low, high = axis.transformed(np.array([low, high])).tolist()
    elif axis.scale == "log":
        grid |= {"values": marks(axis), "format": "~s" if high >= 1000 else "~g"}
    elif axis.percent:
        grid["format"] = "~%"
    scale = alt.Scale(domain=[low, high], type="log" if axis.scale == "log" else "linear", nice=False)
    return made(f"{field}:Q", title=axis.title, scale=scale, axis=alt.Axis(**grid))


def _date(alt: Any, milliseconds: float) -> Any:
    t = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return alt.DateTime(year=t.year, month=t.month, date=t.day, hours=t.hour, minutes=t.minute, seconds=t.second)


def _by_series(alt: Any, channel: str, picture: Picture, values: Sequence[Any]) -> Any:
    """What tells series apart; with one series there is nothing to tell."""
    if len(picture.series) < 2:
        return getattr(alt, f"{channel}Value")(values[0])
    domain = list(picture.series)
    scale = alt.Scale(domain=domain, range=list(values[: len(domain)]))
    legend = alt.Legend(title=picture.legend or None, symbolStrokeWidth=2, symbolSize=120, labelLimit=240)
    return getattr(alt, channel)("series:N", scale=scale, legend=legend, sort=domain)

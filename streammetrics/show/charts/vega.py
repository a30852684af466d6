"""A picture as a Vega-Lite specification: plain dictionaries, which Altair shows and the page embeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from streammetrics.base import of_extra
from streammetrics.errors import escaped
from streammetrics.show.charts import cells
from streammetrics.show.charts.picture import COLOURS, DASHES, SHAPES, Axis, Layer, Picture, numbers

if TYPE_CHECKING:
    import altair as alt

Spec: TypeAlias = dict[str, Any]

WIDTH, HIGHEST = 480, 320
ROW = 17  # pixels of a name at an axis
BESIDE = 8  # pixels from a series to the next one at the same name
DAY = 86_400_000  # milliseconds
TIMES = ((360 * DAY, "%Y"), (27 * DAY, "%b %Y"), (DAY, "%b %-d"), (60_000, "%H:%M"), (0, "%H:%M:%S"))
"""Formats of labels by the least time between two of them."""
ROOM_OF_A_TIME = 54  # pixels from one label to the next
PARTS = 4  # times as many labels as fit, of which those in a part of the axis are shown
SLOPING = 16  # minimum pixels between sloped names
PROBITS = (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999)
BEYOND = 1e-9  # of the width of the plot: the distance beyond its edge at which a mark is still drawn
MANY = 100  # marks that would overlap
WIDEST = 8e307  # whose double is finite
NOT_XML = {0xFFFE: r"\ufffe", 0xFFFF: r"\uffff"}  # characters that are invalid in SVG
PAPER = {f"c{i}": colour for i, colour in enumerate(COLOURS)} | {
    "paper": "#ffffff",
    "text": "#16191d",
    "guide": "#70767f",
}
"""Colors by purpose; the style sheet of the page uses the same names."""


def as_altair(picture: Picture) -> alt.VConcatChart | alt.LayerChart:
    """Return the chart, which can be shown, combined with others, and saved as JSON, HTML, PNG, or SVG."""
    altair = of_extra("plot", "altair", "Charts require")
    kind = altair.VConcatChart if picture.below is not None else altair.LayerChart
    chart: alt.VConcatChart | alt.LayerChart = kind.from_dict(specification(picture), validate=False)
    return chart


def specification(
    picture: Picture, colours: Mapping[str, str] = PAPER, width: int = WIDTH, explore: bool = False
) -> Spec:
    """Return the chart in Vega-Lite, without top-level properties, so that it can be nested.

    The width is that of the plot in pixels. With ``explore``, lines have tooltips, and the plot panning and zooming.
    """
    drawn = [_panel(p, dict(colours), width, explore) for p in (picture, picture.below) if p is not None]
    spec = drawn[0]
    if picture.below is not None:
        drawn[1]["height"] = min(width // 5, HIGHEST // 4) * picture.below.strips
        spec = {"vconcat": drawn, "spacing": 14}
    title = {"text": picture.title, "anchor": "start", "offset": 8}
    title |= {"subtitle": picture.subtitle, "subtitlePadding": 4} if picture.subtitle else {}
    whole: Spec = _safe(spec | {"title": title, "description": f"{picture.title}. {picture.caption}"})
    return whole


def _safe(part: Any) -> Any:
    """A part of a specification with control characters removed, which could crash a renderer."""
    if isinstance(part, str):
        return escaped(part).translate(NOT_XML)
    if isinstance(part, dict):
        return {key: _safe(value) for key, value in part.items()}
    return [_safe(value) for value in part] if isinstance(part, list) else part


def _panel(picture: Picture, colours: dict[str, str], width: int, explore: bool) -> Spec:
    height = min(width * 3 // 4, HIGHEST)
    if picture.y.names:
        row = max(ROW, BESIDE * (len(picture.series) + 1)) if _share_names(picture) else ROW
        height = max(len(picture.y.names) * row, 4 * ROW)
    if picture.x.names:
        width, height = cells.size(len(picture.x.names))
    place = {"x": _position("x", picture.x, width, explore), "y": _position("y", picture.y, width, explore)}
    place["y"]["axis"]["grid"] = not picture.x.names
    layers = [
        m for layer in picture.layers if layer.frame.height for m in _marks(picture, layer, colours, width, explore)
    ]
    if explore and layers and not (picture.x.names or picture.y.names):
        zoom = "wheel![event.shiftKey]"  # so that the page can be scrolled
        layers[0]["params"] = [{"name": "view", "select": {"type": "interval", "zoom": zoom}, "bind": "scales"}]
    layers = layers or [{"mark": "point", "data": {"values": []}}]
    return {"width": width, "height": height, "encoding": place, "layer": layers}


def _marks(picture: Picture, layer: Layer, colours: dict[str, str], width: int, explore: bool) -> list[Spec]:
    if layer.kind == "dot" and not explore:
        layer = Layer("dot", _inside(picture, layer.frame))
    data = {"data": {"values": _values(picture, layer)}}
    if layer.kind == "reference":
        dotted = {"strokeDash": [1, 4], "strokeWidth": 1.5, "strokeCap": "round", "clip": True}
        if picture.y.names:  # across all of them
            return [{**data, "mark": {"type": "rule", "color": colours["guide"], **dotted}, "encoding": ACROSS}]
        return [{**data, "mark": {"type": "line", "color": colours["guide"], **dotted}, "encoding": ORDER}]
    if layer.kind == "cell":
        box, *texts = cells.marks(len(picture.x.names), colours)
        return [{**data, **box, "encoding": box["encoding"] | TOLD}, *({**data, **text} for text in texts)]
    own = [colours["guide" if name == picture.grey else f"c{i}"] for i, name in enumerate(picture.series or ("",))]
    colour = _by_series(picture, "color", own)
    apart = _apart(picture)
    if layer.kind == "band":
        mark: Spec = {"type": "line", "filled": True, "strokeWidth": 0, "clip": True}
        mark["fillOpacity"] = 0.2 if len(picture.series) < 4 else 0.1
        return [{**data, "mark": mark, "encoding": {**ORDER, **colour}}]
    if layer.kind == "line":
        mark = {"type": "line", "strokeWidth": 2, "strokeJoin": "round", "clip": True}
        dash = _by_series(picture, "strokeDash", [list(d) or [1, 0] for d in DASHES])
        line = {**data, "mark": mark, "encoding": {**ORDER, **colour, **dash}}
        told = {"tooltip": [_named(c, axis) for c, axis in (("x", picture.x), ("y", picture.y))]}
        points = {**data, "mark": {"type": "point", "size": 90, "opacity": 0}, "encoding": told}
        return [line, points] if explore else [line]
    many = layer.frame.height > MANY
    if layer.kind == "interval":
        ends = {"x2": {"field": "x2"}} | ({} if apart else {"y2": {"field": "y2"}})
        return [
            {
                **data,
                "mark": {"type": "rule", "strokeWidth": 1 if many else 2, "opacity": 0.7, "clip": True},
                "encoding": {**ends, **colour, **apart},
            }
        ]
    mark = {
        "type": "point",
        "filled": True,
        "size": 16 if many else 55,
        "opacity": 1,
        "stroke": colours["paper"],
        "strokeWidth": 0.8,
    }
    shape = {"shape": {"field": "shape", "type": "nominal", "scale": None}}
    shape = shape if _has_lines(picture) else _by_series(picture, "shape", SHAPES)
    # Unclipped, those at an end of an axis are whole. If the plot can be moved, they must not leave it.
    return [{**data, "mark": mark | {"clip": explore, "aria": True}, "encoding": {**colour, **shape, **apart, **TOLD}}]


def _named(channel: str, axis: Axis) -> Spec:
    """A coordinate in a tooltip."""
    time = {"timeUnit": "utcyearmonthdatehoursminutes", "format": "%Y-%m-%d %H:%M"} if axis.scale == "time" else {}
    return {"field": channel, "title": axis.title, **time}


ACROSS: Spec = {"y": {"value": 0}, "y2": {"value": "height"}}
ORDER = {"order": {"field": "order", "type": "quantitative"}}
TOLD = {"tooltip": {"field": "told", "type": "nominal"}, "description": {"field": "told", "type": "nominal"}}


def _inside(picture: Picture, dots: pl.DataFrame) -> pl.DataFrame:
    """The dots that lie in the plot."""
    places = (axis.place(dots[name]) for name, axis in (("x", picture.x), ("y", picture.y)))
    x, y = (np.abs(place - 0.5) <= 0.5 + BEYOND for place in places)
    return dots.filter(pl.Series(x & y))


def _values(picture: Picture, layer: Layer) -> list[dict[str, Any]]:
    """The rows, in the coordinates of the axes."""
    frame, columns = layer.frame, []
    for name, axis in (("x", picture.x), ("y", picture.y), ("x2", picture.x), ("y2", picture.y)):
        if name in frame.columns and axis.scale != "names":
            values = numbers(frame[name])
            values = axis.transformed(values) if axis.scale == "probit" else values
            finite = pl.Series(name, values, nan_to_null=True)  # JSON has no other numbers
            columns.append(finite.set(finite.is_infinite(), None))
    if layer.kind == "dot":
        one = len(picture.series) < 2
        columns.append(frame.select(told=pl.col("text") if one else pl.format("{}: {}", "series", "text")).to_series())
        shapes = dict(zip(picture.series, SHAPES, strict=False))
        columns.append(frame["series"].replace_strict(shapes, default=SHAPES[0], return_dtype=pl.String).alias("shape"))
    columns += cells.texts(frame, len(picture.x.names)) if layer.kind == "cell" else []
    shown = frame.with_columns(columns).drop({"dot": ["text"], "cell": ["size", "text", "count"]}.get(layer.kind, []))
    return (shown.with_row_index("order") if layer.kind in ("reference", "band", "line") else shown).to_dicts()


def _position(channel: str, axis: Axis, width: int, explore: bool) -> Spec:
    look: Spec = {"labelLimit": width // (3 if channel == "x" else 2), "labelFlush": False}
    if axis.scale == "names":
        longest = max((len(name) for name in axis.names), default=0)
        sloping = -45 if len(axis.names) * SLOPING < width else -90
        look["labelAngle"] = sloping if channel == "x" and longest * len(axis.names) * 6.5 > width else 0
        scale: Spec = {"domain": list(axis.names), "paddingInner": cells.GAP}
        return {"field": channel, "type": "nominal", "title": axis.title, "sort": None, "scale": scale, "axis": look}
    low, high, kind = axis.low, axis.high, "linear"
    look |= {"labelOverlap": "greedy", "labelSeparation": 6} | ({} if axis.windows else {"tickCount": 5})
    if axis.scale == "time":
        kind = "utc"
        look |= _dated(axis.windows, width, explore)
    elif axis.scale == "probit":
        shown = [p for p in PROBITS if low <= p <= high]
        places = axis.transformed(np.array(shown)).tolist()
        said = [f"abs(datum.value - {at:.6f}) < 0.001 ? '{percent(p)}'" for p, at in zip(shown, places, strict=True)]
        look |= {"values": places, "labelExpr": " : ".join([*said, "''"])}
        low, high = axis.transformed(np.array([low, high])).tolist()
    elif axis.scale == "log":
        kind = "log"
        look |= {"values": _powers(low, high), "format": "~s" if low >= 1 else "~g"}
    elif axis.percent:
        look["format"] = "~%"
    else:
        if axis.scale == "root":
            kind, look["tickCount"] = "sqrt", 3
        low, high = max(low, -WIDEST), min(high, WIDEST)
        size = max(abs(low), abs(high))
        form = "~s" if 1e4 <= size < 1e15 else "~g"
        look |= {} if 1e-4 < size < 1e4 else {"labelExpr": f"replace(format(datum.value, '{form}'), 'G', 'B')"}
    # The interpreter of the page has no `datetime` of milliseconds, with which Vega-Lite would write times.
    ends: Any = {"expr": f"[{low:.0f}, {high:.0f}]"} if kind == "utc" and explore else [low, high]
    scale = {"domain": ends, "type": kind, "nice": False} | ({"zero": False} if kind in ("linear", "sqrt") else {})
    type_ = "temporal" if kind == "utc" else "quantitative"
    return {"field": channel, "type": type_, "title": axis.title, "scale": scale, "axis": look}


def _dated(windows: Sequence[int], width: int, explore: bool) -> Spec:
    """Ticks at every window, or at every second, third, and so on; more of them if the axis can be zoomed."""
    most = width // ROOM_OF_A_TIME * (PARTS if explore else 1)
    shown = list(windows[:: -(-len(windows) // most)])
    step = min((after - before for before, after in pairwise(shown)), default=DAY)
    form = next(form for least, form in TIMES if step >= least)
    if step < DAY <= shown[-1] - shown[0]:
        form = f"%b %-d, {form}"
    return {"values": {"expr": str(shown)} if explore else shown, "format": form}


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten: some of them if there are many, also times 2 and 5 if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    most = 1 if last - first > 3 else 3
    every = [m * 10.0**k for k in range(first, last + 1, 1 + (last - first) // 7) for m in (1, 2, 5)[:most]]
    return [float(f"{v:.0e}") for v in every if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]


def percent(share: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.05), percent(1e-5)
    ('5%', '0.001%')
    """
    return f"{100 * share:.6f}".rstrip("0").rstrip(".") + "%"


def _by_series(picture: Picture, channel: str, values: Any) -> Spec:
    """Encodings that distinguish series; none for a single series."""
    names = list(picture.series)
    if len(names) < 2:
        return {channel: {"value": values[0]}}
    columns = 1 if max(map(len, names)) > 24 else 2 if max(map(len, names)) > 12 else 3
    legend = {"title": picture.legend or None, "orient": "bottom", "columns": columns, "labelLimit": 300}
    legend |= {"symbolStrokeWidth": 2, "symbolSize": 110, "symbolOpacity": 1}
    legend |= {"symbolType": "stroke", "symbolSize": 600} if _has_lines(picture) else {}
    scale = {"domain": names, "range": list(values[: len(names)])}
    return {channel: {"field": "series", "type": "nominal", "scale": scale, "legend": legend, "sort": None}}


def _apart(picture: Picture) -> Spec:
    """An encoding that puts several series at the same name below each other."""
    if not _share_names(picture):
        return {}
    scale = {"domain": list(picture.series), "paddingOuter": 0.5}
    return {"yOffset": {"field": "series", "type": "nominal", "sort": None, "scale": scale}}


def _share_names(picture: Picture) -> bool:
    """Whether several series have marks at the same name, other than if the series is a property of the name."""
    if not picture.y.names or picture.x.names or len(picture.series) < 2:
        return False
    dots = [layer.frame for layer in picture.layers if layer.kind == "dot"]
    return any(frame.n_unique(["y", "series"]) > frame["y"].n_unique() for frame in dots)


def _has_lines(picture: Picture) -> bool:
    """Whether series are lines, which the legend then shows, without the dots that are on some."""
    return any(layer.kind == "line" for layer in picture.layers)

"""Building blocks of charts: marks and panels as plain dictionaries of Vega-Lite, with their values inline.

Frames of marks have columns ``x``, ``y``, and ``series``. Lines connect points in the order of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from streammetrics.base import of_extra
from streammetrics.errors import LONGEST_SENTENCE, cut, escaped
from streammetrics.show.charts.axes import Spec, inside

if TYPE_CHECKING:
    import altair as alt

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#9A6700")
"""Blue, vermillion, green, purple and black of Okabe and Ito (2008), and their orange darkened: each has at least the
contrast of 3 to 1 on white that WCAG 2 asks of graphics."""
GUIDE, TEXT, PAPER = "#70767f", "#16191d", "#ffffff"
DASHES = ([1, 0], [8, 3], [2, 2], [8, 3, 2, 3], [12, 3], [4, 4])
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
MAX_SERIES = len(COLOURS)  # that are distinguishable, in color and without
WIDTH, MAX_HEIGHT = 480, 320  # pixels of a plot
STRIP = 60  # pixels of a low plot below another one
NAME_HEIGHT, SERIES_HEIGHT = 17, 8  # pixels of a name at an axis, and of each of several series at it
LEGIBLE = 150  # pixels of the shortest limit of a name, in which the rule of a requirement fits
CROWD = 100  # marks that would overlap
DOTTED: Spec = {"color": GUIDE, "strokeDash": [1, 4], "strokeWidth": 1.5, "strokeCap": "round"}
TOOLTIP = {channel: {"field": "text", "type": "nominal"} for channel in ("tooltip", "description")}
NOT_XML = {0xFFFE: r"\ufffe", 0xFFFF: r"\uffff"}  # characters that are invalid in SVG


def reference(x: Sequence[float], y: Sequence[float]) -> Spec:
    """Return a dotted line, such as a diagonal."""
    return _marks("reference", pl.DataFrame({"x": x, "y": y}), type="line", order=False, **DOTTED)


def across(x: float) -> Spec:
    """Return a dotted line across all names of an axis."""
    ends = {"y": {"value": 0}, "y2": {"value": "height"}}
    return _marks("reference", pl.DataFrame({"x": [x]}), ends, type="rule", **DOTTED)


def line(frame: pl.DataFrame) -> Spec:
    """Return a line of each series."""
    return _marks("line", frame, type="line", order=False, strokeWidth=2, strokeJoin="round")


def area(frame: pl.DataFrame) -> Spec:
    """Return the area inside a line of each series."""
    opacity = 0.2 if frame["series"].n_unique() < 4 else 0.1
    return _marks("band", frame, type="line", order=False, filled=True, strokeWidth=0, fillOpacity=opacity)


def band(upper: pl.DataFrame, lower: pl.DataFrame) -> Spec:
    """Return the area between two lines of each series."""
    return area(pl.concat([upper, lower.reverse()]))


def intervals(frame: pl.DataFrame) -> Spec:
    """Return a straight line from each point to ``x2`` or ``y2``."""
    ends: Spec = {end: {"field": end} for end in ("x2", "y2") if end in frame.columns}
    return _marks("interval", frame, ends, type="rule", strokeWidth=1 if frame.height > CROWD else 2, opacity=0.7)


def dots(frame: pl.DataFrame, x: Spec, y: Spec) -> Spec:
    """Return a dot at each point along the axes, with ``text`` as its tooltip; those at an end of an axis are whole."""
    points = frame.filter(inside(x, frame["x"]) & inside(y, frame["y"]))
    look = {"filled": True, "size": 16 if frame.height > CROWD else 55, "stroke": PAPER, "strokeWidth": 0.8}
    return _marks("dot", points, TOOLTIP, type="point", opacity=1, aria=True, clip=False, **look)


def _marks(style: str, frame: pl.DataFrame, encoding: Spec | None = None, **look: Any) -> Spec:
    frame = frame.with_columns(cs.temporal().cast(pl.Datetime("ms")).to_physical())
    finite = frame.with_columns(pl.when(cs.float().is_finite()).then(cs.float()))  # JSON has no other numbers
    mark = {"style": style, "clip": True} | look
    return {"mark": mark, "data": {"values": finite.to_dicts()}, "encoding": encoding or {}}


def values(chart: Spec, style: str) -> list[dict[str, Any]]:
    """Return the rows of marks of one style in the first panel of a chart, such as ``"dot"``."""
    first = chart.get("vconcat", [chart])[0]
    layers = [layer for layer in first["layer"] if layer["mark"].get("style") == style]
    return [row for layer in layers for row in layer["data"]["values"]]


def is_empty(chart: Spec) -> bool:
    """Return whether a chart is empty."""
    first = chart.get("vconcat", [chart])[0]
    return all(layer["mark"].get("style") in (None, "reference") for layer in first["layer"])


def layered(
    title: str,
    x: Spec,
    y: Spec,
    layers: Iterable[Spec],
    names: Sequence[str] = (),
    legend: str = "",
    subtitle: Iterable[str] = (),
    caption: Iterable[str] = (),
    below: Spec | None = None,
    grey: str = "",
) -> Spec:
    """Return a chart in Vega-Lite, without top-level properties, so that it can be nested.

    Args:
        title: Its title.
        x: The axis from left to right.
        y: The axis from bottom to top, or of names from top to bottom.
        layers: Marks, from back to front. Those without rows are left out.
        names: Series, which have colors, dashes, and shapes in this order.
        legend: Title of their names.
        subtitle: The main facts, some of which can be empty.
        caption: Sentences that explain the marks, some of which can be empty. Also the description of the chart.
        below: Another panel along the same x.
        grey: The last of the series if it has no color.
    """
    chart = panel(x, y, layers, names, legend, grey)
    facts = "; ".join(filter(None, subtitle)) or ("no values to draw" if is_empty(chart) else "")
    heading = {"text": cut(title, LONGEST_SENTENCE), "anchor": "start", "offset": 8}
    heading |= {"subtitle": cut(facts, LONGEST_SENTENCE), "subtitlePadding": 4} if facts else {}
    texts = {"title": heading, "description": cut(" ".join(filter(None, caption)), LONGEST_SENTENCE)}
    chart = chart if below is None else {"vconcat": [chart, below], "spacing": 14}
    safe: Spec = _escaped(chart | texts)
    return safe


def panel(
    x: Spec, y: Spec, layers: Iterable[Spec], names: Sequence[str] = (), legend: str = "", grey: str = ""
) -> Spec:
    """Return marks along two axes. For the arguments, see `layered`."""
    layers = [layer for layer in layers if layer["data"]["values"]]
    points = [row for layer in layers if layer["mark"]["style"] == "dot" for row in layer["data"]["values"]]
    has_lines = any(layer["mark"]["style"] == "line" for layer in layers)
    look = _legend(names, cut(legend, LONGEST_SENTENCE), has_lines)
    colours = [GUIDE if name == grey else colour for name, colour in zip(names, COLOURS, strict=False)] or COLOURS
    color = {"color": _series_encoding(names, colours, look)}
    dash = {"strokeDash": _series_encoding(names, DASHES, look)}
    shape = _series_encoding(names, SHAPES, look)
    height, offset = MAX_HEIGHT, {}
    if y["type"] == "nominal":
        places, row = y["scale"]["domain"], NAME_HEIGHT * (1 + ("labelLineHeight" in y["axis"]))
        if len({(point["y"], point["series"]) for point in points}) > len({point["y"] for point in points}):
            row = max(row, SERIES_HEIGHT * (len(names) + 1))
            scale = {"domain": list(names), "paddingOuter": 0.5}
            offset = {"yOffset": {"field": "series", "type": "nominal", "sort": None, "scale": scale}}
        height = max(len(places) * row, 4 * NAME_HEIGHT)
    if len(names) > 1:
        for point in points:
            place = names.index(point["series"]) % MAX_SERIES
            point |= {"text": f"{point['series']}: {point['text']}", "shape": SHAPES[place]}
        if has_lines:  # which the legend shows instead
            shape = {"field": "shape", "type": "nominal", "scale": None}
    by_style = {
        "band": color,
        "line": color | dash,
        "interval": color | offset,
        "dot": color | {"shape": shape} | offset,
    }
    for layer in layers:
        layer["encoding"] = layer["encoding"] | by_style.get(layer["mark"]["style"], {})
    layers = layers or [{"mark": {"type": "point"}, "data": {"values": []}}]
    spec = {"height": height, "encoding": {"x": {"field": "x", **x}, "y": {"field": "y", **y}}, "layer": layers}
    return resized(spec, WIDTH)


def resized(chart: Spec, width: int) -> Spec:
    """Return a chart of plots of a width in pixels, unless its cells are as large as their texts."""
    if "vconcat" in chart:
        return chart | {"vconcat": [resized(part, width) for part in chart["vconcat"]]}
    x, y = (dict(chart["encoding"][channel]) for channel in "xy")
    if x["type"] == "nominal":
        return chart
    height = chart["height"] if y["type"] == "nominal" else min(chart["height"], width * 3 // 4)
    for place, room in ((x, width // 3), (y, max(width // 2, LEGIBLE))):
        place["axis"] = place["axis"] | {"labelLimit": room}
    return chart | {"width": width, "height": height, "encoding": {"x": x, "y": y}}


def as_altair(chart: Spec) -> alt.VConcatChart | alt.LayerChart:
    """Return a chart of Altair, which can be shown, combined with others, and saved as JSON, HTML, PNG, or SVG."""
    altair = of_extra("plot", "altair", "Charts require")
    kind = altair.VConcatChart if "vconcat" in chart else altair.LayerChart
    drawn: alt.VConcatChart | alt.LayerChart = kind.from_dict(chart, validate=False)
    return drawn


def _legend(names: Sequence[str], title: str, has_lines: bool) -> Spec:
    longest = max(map(len, names), default=0)
    symbol = {"symbolType": "stroke", "symbolSize": 600} if has_lines else {"symbolSize": 110}
    look = {"title": title or None, "orient": "bottom", "columns": 1 if longest > 24 else 2 if longest > 12 else 3}
    return look | symbol | {"labelLimit": 300, "symbolStrokeWidth": 2, "symbolOpacity": 1}


def _series_encoding(names: Sequence[str], values: Sequence[Any], legend: Spec | None) -> Spec:
    """An encoding that distinguishes series; a single series needs none."""
    if len(names) < 2:
        return {"value": values[0]}
    scale = {"domain": list(names), "range": list(values[: len(names)])}
    return {"field": "series", "type": "nominal", "scale": scale, "legend": legend, "sort": None}


def _escaped(part: Any) -> Any:
    """A part of a specification without control characters, which could crash a renderer."""
    if isinstance(part, str):
        return escaped(part).translate(NOT_XML)
    if isinstance(part, dict):
        return {key: _escaped(value) for key, value in part.items()}
    return [_escaped(value) for value in part] if isinstance(part, list) else part

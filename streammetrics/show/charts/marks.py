"""Building blocks of charts: panels of marks as plain dictionaries of Vega-Lite, with their values inline.

Marks are a style and the rows that are drawn in it, with the columns ``x``, ``y``, and ``series``. Lines connect points
in the order of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl
import polars.selectors as cs

from streammetrics.base import of_extra
from streammetrics.errors import LONGEST_SENTENCE, cut, escaped
from streammetrics.show.charts.axes import Spec, inside

if TYPE_CHECKING:
    import altair as alt

Style: TypeAlias = Literal["reference", "band", "line", "interval", "dot"]
Marks: TypeAlias = tuple[Style, pl.DataFrame]

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
LOOKS: dict[Style, Spec] = {
    "reference": {"type": "line", "order": False, **DOTTED},
    "band": {"type": "line", "order": False, "filled": True, "strokeWidth": 0, "fillOpacity": 0.2},
    "line": {"type": "line", "order": False, "strokeWidth": 2, "strokeJoin": "round"},
    "interval": {"type": "rule", "strokeWidth": 2, "opacity": 0.7},
    "dot": {"type": "point", "opacity": 1, "aria": True, "clip": False}
    | {"filled": True, "size": 55, "stroke": PAPER, "strokeWidth": 0.8},
}
ACROSS: Spec = {"style": "reference", "clip": True, "type": "rule", **DOTTED}
EMPTY: Spec = {"mark": {"type": "point"}, "data": {"values": []}}  # the layer of a chart without marks
CROWDED: dict[Style, Spec] = {"interval": {"strokeWidth": 1}, "dot": {"size": 16}}
TOOLTIP = {channel: {"field": "text", "type": "nominal"} for channel in ("tooltip", "description")}
NOT_XML = {0xFFFE: r"\ufffe", 0xFFFF: r"\uffff"}  # characters that are invalid in SVG


def reference(x: Sequence[float], y: Sequence[float]) -> Marks:
    """Return a dotted line, such as a diagonal."""
    return "reference", pl.DataFrame({"x": x, "y": y})


def band(upper: pl.DataFrame, lower: pl.DataFrame) -> Marks:
    """Return the area between two lines of each series."""
    return "band", pl.concat([upper, lower.reverse()])


def bars(outlines: pl.DataFrame, names: Sequence[str]) -> list[Marks]:
    """Return histograms by their outlines, filled unless there are more than two, which would hide each other."""
    filled: list[Marks] = [("band", outlines)] if len(names) <= 2 else []
    return [*filled, ("line", outlines)]


def titled(chart: Spec, title: str, facts: Iterable[str], caption: Iterable[str]) -> Spec:
    """Return a chart with its title and texts, without top-level properties, so that it can be nested.

    Args:
        chart: A panel, or two along the same x, one below the other.
        title: Its title.
        facts: The main facts, some of which can be empty.
        caption: Sentences that explain the marks, some of which can be empty. Also the description of the chart.
    """
    subtitle = "; ".join(filter(None, facts)) or ("no values to draw" if is_empty(chart) else "")
    heading = {"text": cut(title, LONGEST_SENTENCE), "anchor": "start", "offset": 8}
    heading |= {"subtitle": cut(subtitle, LONGEST_SENTENCE), "subtitlePadding": 4} if subtitle else {}
    description = cut(" ".join(filter(None, caption)), LONGEST_SENTENCE)
    safe: Spec = _escaped(chart | {"title": heading, "description": description})
    return safe


def stacked(*panels: Spec) -> Spec:
    """Return panels below each other."""
    return {"vconcat": list(panels), "spacing": 14}


def panel(
    x: Spec, y: Spec, marks: Sequence[Marks], names: Sequence[str] = (), legend: str = "", grey: str = ""
) -> Spec:
    """Return marks along two axes, as a chart without a title.

    Args:
        x: The axis from left to right.
        y: The axis from bottom to top, or of names from top to bottom.
        marks: Marks, from back to front. Those without rows are left out. Intervals are straight lines to ``x2`` or
            ``y2``, and references without ``y`` are across all names. Dots have a ``text``, their tooltip; those at
            an end of an axis are not cut.
        names: Series, which have colors, dashes, and shapes in this order.
        legend: Title of their names.
        grey: The last of the series if it has no color.
    """
    crowded = {style for style, rows in marks if rows.height > CROWD}
    visible = [(style, _dots(x, y, rows, names) if style == "dot" else rows) for style, rows in marks]
    visible = [(style, rows) for style, rows in visible if rows.height]
    encodings = _encodings(names, legend, grey, has_lines="line" in dict(visible))
    height = MAX_HEIGHT
    if y["type"] == "nominal":
        row = NAME_HEIGHT * (1 + ("labelLineHeight" in y["axis"]))
        places = [rows.select("y", "series") for style, rows in visible if style == "dot"]
        if any(dots.n_unique() > dots["y"].n_unique() for dots in places):
            row = max(row, SERIES_HEIGHT * (len(names) + 1))
            scale = {"domain": list(names), "paddingOuter": 0.5}
            offset = {"yOffset": {"field": "series", "type": "nominal", "sort": None, "scale": scale}}
            encodings |= {style: encodings[style] | offset for style in ("interval", "dot")}
        height = max(len(y["scale"]["domain"]) * row, 4 * NAME_HEIGHT)
    layers = []
    for style, rows in visible:
        mark: Spec = (
            {"style": style, "clip": True} | LOOKS[style] | (CROWDED.get(style, {}) if style in crowded else {})
        )
        encoding = {end: {"field": end} for end in ("x2", "y2") if end in rows.columns} | encodings[style]
        if style == "band" and rows["series"].n_unique() > 3:
            mark["fillOpacity"] = 0.1
        if "y" not in rows.columns:  # across all names
            mark, encoding = ACROSS, {"y": {"value": 0}, "y2": {"value": "height"}}
        times = rows.with_columns(cs.temporal().cast(pl.Datetime("ms")).to_physical())
        finite = times.with_columns(pl.when(cs.float().is_finite()).then(cs.float()))  # JSON has no other numbers
        layers.append({"mark": mark, "data": {"values": finite.to_dicts()}, "encoding": encoding})
    axes = {"x": {"field": "x", **x}, "y": {"field": "y", **y}}
    return resized({"height": height, "encoding": axes, "layer": layers or [EMPTY]}, WIDTH)


def _dots(x: Spec, y: Spec, rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The dots along the axes. One of several series is in their tooltips, and has a shape."""
    rows = rows.filter(inside(x, rows["x"]) & inside(y, rows["y"]))
    if len(names) < 2:
        return rows
    shapes = dict(zip(names, itertools.cycle(SHAPES), strict=False))
    shape = pl.col("series").replace_strict(shapes, return_dtype=pl.String)
    return rows.with_columns(text=pl.format("{}: {}", "series", "text"), shape=shape)


def _encodings(names: Sequence[str], legend: str, grey: str, has_lines: bool) -> dict[Style, Spec]:
    """What distinguishes series, by the style of marks. A single series needs nothing."""
    longest = max(map(len, names), default=0)
    look: Spec = {"title": cut(legend, LONGEST_SENTENCE) or None, "orient": "bottom"}
    look |= {"columns": 1 if longest > 24 else 2 if longest > 12 else 3, "labelLimit": 300}
    look |= {"symbolType": "stroke", "symbolSize": 600} if has_lines else {"symbolSize": 110}
    look |= {"symbolStrokeWidth": 2, "symbolOpacity": 1}

    def encoding_of(values: Sequence[Any]) -> Spec:
        if len(names) < 2:
            return {"value": values[0]}
        scale = {"domain": list(names), "range": list(values[: len(names)])}
        return {"field": "series", "type": "nominal", "scale": scale, "legend": look, "sort": None}

    colours = [GUIDE if name == grey else colour for name, colour in zip(names, COLOURS, strict=False)] or COLOURS
    color, shape = {"color": encoding_of(colours)}, encoding_of(SHAPES)
    if has_lines and len(names) > 1:  # which the legend shows instead
        shape = {"field": "shape", "type": "nominal", "scale": None}
    return {
        "reference": {},
        "band": color,
        "line": color | {"strokeDash": encoding_of(DASHES)},
        "interval": color,
        "dot": TOOLTIP | color | {"shape": shape},
    }


def values(chart: Spec, style: str) -> list[dict[str, Any]]:
    """Return the rows of marks of one style in the first panel of a chart, such as ``"dot"``."""
    first = chart.get("vconcat", [chart])[0]
    layers = [layer for layer in first["layer"] if layer["mark"].get("style") == style]
    return [row for layer in layers for row in layer["data"]["values"]]


def is_empty(chart: Spec) -> bool:
    """Return whether a chart is empty."""
    first = chart.get("vconcat", [chart])[0]
    return all(layer["mark"].get("style") in (None, "reference") for layer in first["layer"])


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
    """Return a chart of Altair, which can be shown, combined with others, and saved as JSON, HTML, PNG, or SVG.

    Its rows are set afterwards, since Altair would compare each of them with the schema of Vega-Lite.
    """
    altair = of_extra("plot", "altair", "Charts require")
    panels = chart.get("vconcat", [chart])
    bare = [part | {"layer": [layer | {"data": {"values": []}} for layer in part["layer"]]} for part in panels]
    drawn: alt.VConcatChart | alt.LayerChart
    if "vconcat" in chart:
        drawn = altair.VConcatChart.from_dict(chart | {"vconcat": bare}, validate=False)
        parts = drawn.vconcat
    else:
        drawn = altair.LayerChart.from_dict(bare[0], validate=False)
        parts = [drawn]
    for part, spec in zip(parts, panels, strict=True):
        for layer, rows in zip(part.layer, (layer["data"]["values"] for layer in spec["layer"]), strict=True):
            layer.data = altair.InlineData(values=rows)
    return drawn


def _escaped(part: Any) -> Any:
    """A part of a specification without control characters, which could crash a renderer."""
    if isinstance(part, str):
        return escaped(part).translate(NOT_XML)
    if isinstance(part, dict):
        return {key: _escaped(value) for key, value in part.items()}
    return [_escaped(value) for value in part] if isinstance(part, list) else part

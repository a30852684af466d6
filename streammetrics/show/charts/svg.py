"""Charts for a page, whose style sheet replaces their colors: as SVG, or as data for scripts."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

from streammetrics.base import markup, of_extra
from streammetrics.show.charts.axes import Spec
from streammetrics.show.charts.marks import resized

WIDTH = 300  # of a plot that is one of three in a row of a page, without its labels
FONT, SIZE = "Helvetica, Arial, sans-serif", 14  # that reserve room for the text of the page, which can be wider
QUIET, GRID = "var(--quiet)", "var(--grid)"
CONFIG: Spec = {
    "font": FONT,
    "aria": False,
    "view": {"stroke": None},
    "axis": {"labelColor": QUIET, "titleColor": QUIET, "gridColor": GRID, "ticks": False, "domainColor": GRID}
    | {"labelFontSize": SIZE, "titleFontSize": SIZE, "titleFontWeight": "normal", "titlePadding": 8, "aria": False},
    "axisY": {"minExtent": 32},  # so that plots below each other are aligned
    "legend": {"labelColor": "var(--text)", "titleColor": QUIET, "titleFontWeight": "normal", "aria": False}
    | {"labelFontSize": SIZE, "titleFontSize": SIZE, "titleOrient": "left", "padding": 0, "offset": 10},
}
EMPTY_MARKS = ("background", "foreground")
NEEDLESS = ("class", "role", "aria-hidden", "aria-roledescription", "pointer-events", "font-family", "font-size")
DEFAULTS = (("opacity", "1"), ("transform", "translate(0,0)"))
GEOMETRY = ("d", "transform", "x2", "y2")
CLIP = re.compile(r"clip\d+")
FINE = re.compile(r"(?<=\.\d)\d+")  # digits beyond a tenth of a pixel


def as_svg(chart: Spec, identity: str, width: int = WIDTH) -> str:
    """Return the chart without its title, with a name and a description for screen readers, and tooltips of its marks.

    The identity is that of the chart on its page, and part of all names in it.
    """
    drawing = ElementTree.fromstring(_converter().vegalite_to_svg(json.dumps(page_spec(chart, width=width))))
    clips = dict[str, str]()  # numbered in the order of all charts of a process
    for element in list(drawing.iter()):
        element[:] = [part for part in element if part.get("class") not in EMPTY_MARKS]
        element.tag = element.tag.rpartition("}")[2]  # without its namespace
        if label := element.attrib.pop("aria-label", ""):
            ElementTree.SubElement(element, "title").text = label
        for name, value in list(element.items()):
            if name in NEEDLESS or (name, value) in DEFAULTS:
                del element.attrib[name]
            elif name in GEOMETRY:
                element.set(name, FINE.sub("", value))
            elif clip := CLIP.search(value):
                element.set(name, value.replace(clip[0], clips.setdefault(clip[0], f"{identity}clip{len(clips)}")))
    _unnest(drawing)
    marks = "".join(ElementTree.tostring(part, encoding="unicode") for part in drawing)
    box = drawing.attrib["viewBox"]
    return (
        f'<svg width="{float(box.split()[2]):.0f}" viewBox="{box}" role="img" '
        f'aria-labelledby="{identity}t {identity}d"><title id="{identity}t">{markup(chart["title"]["text"])}</title>'
        f'<desc id="{identity}d">{markup(description_of(chart))}</desc>{marks}</svg>'
    )


def _unnest(element: ElementTree.Element) -> None:
    """Replace groups without attributes, which Vega draws in each other, by their parts."""
    parts = list[ElementTree.Element]()
    for part in element:
        _unnest(part)
        is_plain = part.tag == "g" and not part.attrib and part.find("title") is None
        parts += part if is_plain else [part]
    element[:] = parts


def description_of(chart: Spec) -> str:
    """Return the subtitle and the caption as sentences."""
    subtitle = chart["title"].get("subtitle")
    return " ".join(filter(None, (subtitle and f"{subtitle}.", chart["description"])))


def page_spec(chart: Spec, explore: bool = False, width: int = WIDTH) -> Spec:
    """Return the whole specification of a chart on the page, which shows the title.

    With ``explore``, lines have tooltips, and the plot panning and zooming.
    """
    chart = {name: part for name, part in resized(chart, width).items() if name != "title"}
    if explore:
        chart |= {"vconcat": list(map(_explorable, chart["vconcat"]))} if "vconcat" in chart else _explorable(chart)
    return chart | {"config": CONFIG, "background": None, "padding": 2}


def _explorable(panel: Spec) -> Spec:
    """A panel with tooltips on lines, and with panning and zooming of plots of numbers."""
    x, y = (panel["encoding"][channel] for channel in "xy")
    layers = [layer | {"mark": layer["mark"] | {"clip": True}} for layer in panel["layer"]]
    for layer in layers:
        if layer["mark"].get("style") == "line":
            layer["mark"]["point"] = {"size": 90, "opacity": 0}
            layer["encoding"] = layer["encoding"] | {"tooltip": [_coordinate("x", x), _coordinate("y", y)]}
    if "nominal" not in (x["type"], y["type"]):
        select = {"type": "interval", "zoom": "wheel![event.shiftKey]"}  # so that the page can be scrolled
        layers[0]["params"] = [{"name": "view", "select": select, "bind": "scales"}]
    if x["type"] == "temporal":
        # The interpreter of the page has no `datetime` of milliseconds, with which Vega-Lite would write times.
        labels = {name: value for name, value in x["axis"].items() if name not in ("values", "format")}
        x = x | {"scale": x["scale"] | {"domain": {"expr": str(x["scale"]["domain"])}}, "axis": labels}
    return panel | {"layer": layers, "encoding": {"x": x, "y": y}}


def _coordinate(channel: str, axis: Spec) -> Spec:
    """A coordinate in a tooltip."""
    time = {"timeUnit": "utcyearmonthdatehoursminutes", "format": "%Y-%m-%d %H:%M"}
    return {"field": channel, "title": axis["title"]} | (time if axis["type"] == "temporal" else {})


def scripts() -> list[str]:
    """Return Vega, Vega-Lite, and Vega-Embed as one script that requires no network, and one that draws the charts."""
    draw = files("streammetrics.show.charts") / "charts.js"
    return [str(_converter().javascript_bundle()), draw.read_text(encoding="utf-8")]


def _converter() -> Any:
    return of_extra("plot", "vl_convert", "HTML pages require")

"""Pictures for a page, whose style sheet has their colors: as SVG, or as data for scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from streammetrics.base import markup, of_extra
from streammetrics.show.charts.picture import Picture
from streammetrics.show.charts.vega import PAPER, Spec, specification

WIDTH = 300  # of a plot that is one of three in a row of a page, without its labels
OF_PAGE = {name: f"var(--{name})" for name in PAPER}
FONT, SIZE = "Helvetica, Arial, sans-serif", 12  # as in the style sheet
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
TAG = re.compile("<[^>]*>")
UNSEEN = re.compile(r'<path class="(?:back|fore)ground"')
NEEDLESS = re.compile(
    r' (?:class|role|aria-[a-z]+|pointer-events|font-family|font-size)="[^"]*"'
    r'| (?:opacity|stroke-width)="1"| [xy]2="0"| font-weight="normal"| stroke-dasharray="1,0"'
    r'| transform="translate\(0,0\)"'
)
TOLD = re.compile(r'<path aria-label="([^"]*)"')
FILL = re.compile(r' fill="[^"]*"')
GEOMETRY = re.compile(r' (?:d|transform|[xy]2)="[^"]*"')
FINE = re.compile(r"(?<=\.\d)\d+")
CLIP = re.compile(r'(?<=id=")clip\d+|(?<=url\(#)clip\d+')  # numbered in the order of all charts of a process
CIRCLE = re.compile(
    r'<path transform="translate\((-?[\d.]+),(-?[\d.]+)\)" d="M([\d.]+),0A\3,\3,0,1,1,-\3,0A\3,\3,0,1,1,\3,0(Z?)"'
)
ALIKE = re.compile(r"(<g[^>]*)>((?:<line [^>]*/>){3,}|(?:<circle [^>]*>(?:<title>[^<]*</title></circle>)?){3,})</g>")
STYLE = re.compile(r' (?:fill|stroke|stroke-width|stroke-opacity)="[^"]*"')


def as_svg(picture: Picture, identity: str, width: int = WIDTH) -> str:
    """Return the chart without its title, with a name and a description for screen readers.

    Attributes for scripts are removed, and marks have tooltips. The identity is that of the chart on its page.
    """
    drawn = _converter().vegalite_to_svg(json.dumps(for_page(picture, width=width)))
    root, _, marks = drawn.partition(">")
    box = root.partition('viewBox="')[2].partition('"')[0]
    clips = {name: f"{identity}clip{i}" for i, name in enumerate(dict.fromkeys(CLIP.findall(marks)))}
    marks = ALIKE.sub(_shared, TAG.sub(lambda found: _tidy(found[0], clips), marks))
    return (
        f'<svg width="{float(box.split()[2]):.0f}" viewBox="{box}" '
        f'role="img" aria-labelledby="{identity}t {identity}d">'
        f'<title id="{identity}t">{markup(picture.title)}</title>'
        f'<desc id="{identity}d">{markup(described(picture))}</desc>{marks}'
    )


def described(picture: Picture) -> str:
    """Return the subtitle and the caption as sentences."""
    return " ".join(filter(None, (picture.subtitle and f"{picture.subtitle}.", picture.caption)))


def _tidy(tag: str, clips: Mapping[str, str]) -> str:
    """A tag with visible attributes, rounded to a tenth of a pixel, with names unique to this chart on any page."""
    if UNSEEN.match(tag):
        return ""
    if tag.startswith("<text"):  # the style sheet has the color of texts, and their size
        tag = "" if tag.endswith("/>") else FILL.sub("", tag)
    told = TOLD.match(tag)
    tag = CLIP.sub(lambda found: clips[found[0]], NEEDLESS.sub("", tag))
    tag = GEOMETRY.sub(lambda found: FINE.sub("", found[0]), tag)
    tag = CIRCLE.sub(r'<circle cx="\1" cy="\2" r="\3"', tag)
    tag = tag.replace(" opacity=", " stroke-opacity=") if tag.startswith("<line") else tag
    return f"{tag[:-2]}><title>{told[1]}</title></{tag[1 : tag.index(' ')]}>" if told else tag


def _shared(marks: re.Match[str]) -> str:
    """Marks of one style in a group that has it."""
    styles = [STYLE.findall(tag) for tag in re.findall("<(?:line|circle)[^>]*>", marks[2])]
    if any(style != styles[0] for style in styles):
        return marks[0]
    return f"{marks[1]}{''.join(styles[0])}>{STYLE.sub('', marks[2])}</g>"


def for_page(picture: Picture, explore: bool = False, width: int = WIDTH) -> Spec:
    """Return the whole specification of a chart on the page, which shows the title."""
    spec = specification(picture, OF_PAGE, width, explore)
    del spec["title"]
    return spec | {"config": CONFIG, "background": None, "padding": 2}


def scripts() -> list[str]:
    """Return Vega, Vega-Lite, and Vega-Embed as one script that requires no network, and one that draws the charts."""
    own = files("streammetrics.show.charts") / "charts.js"
    return [str(_converter().javascript_bundle()), own.read_text(encoding="utf-8")]


def _converter() -> Any:
    return of_extra("plot", "vl_convert", "HTML pages require")

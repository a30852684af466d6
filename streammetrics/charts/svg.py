"""A picture as SVG, to stand in an HTML page: its colours are those of the page's style sheet.

Classes ``s0``, ``s1``… are the series; the style sheet gives them ``--ink``. What comes from data is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from streammetrics.charts.picture import DASHES, Layer, Picture, Places
from streammetrics.charts.ticks import ticks
from streammetrics.text import markup

WIDTH, HEIGHT, SHORT = 360, 270, 80
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 10, 42
ROW, BOX = 19, 26  # pixels of a name beside an axis, and of a cell where they are many
CHARACTER = 6.4  # pixels, about
LONGEST = 22  # characters of a name beside an axis


def as_svg(picture: Picture, identity: str) -> str:
    """The chart without its title, with a title and a description for those who can't see it.

    Args:
        picture: what to draw.
        identity: of the chart on its page, which labels refer to.
    """
    parts, height = _panel(picture, identity, 0)
    if picture.below is not None:
        more, height = _panel(picture.below, f"{identity}b", height)
        parts += more
    described = " ".join(filter(None, (picture.subtitle and f"{picture.subtitle}.", picture.caption)))
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="{identity}t {identity}d">'
        f'<title id="{identity}t">{markup(picture.title)}</title><desc id="{identity}d">{markup(described)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def swatch(place: int) -> str:
    """What a series looks like, for a legend."""
    dash = _dash(place)
    return (
        f'<svg class="swatch s{place}" viewBox="0 0 34 12" aria-hidden="true">'
        f'<path class="line" d="M1 6H33"{dash}/>{_shape(place, 17, 6, 3.6)}</svg>'
    )


class _Frame:
    """Where the plot lies: from shares of its axes to pixels."""

    def __init__(self, picture: Picture, top: float, small: bool) -> None:
        x, y = picture.x, picture.y
        labels = y.names or [said for _, said in ticks(y)]
        self.left = max(LEFT, 28 + CHARACTER * max((len(_cut(n)) for n in labels), default=0))
        self.right = WIDTH - RIGHT
        self.slanted = bool(x.names) and max(len(n) for n in x.names) * CHARACTER > (self.right - self.left) / len(
            x.names
        )
        longest = max((len(_cut(n)) for n in x.names), default=0) if self.slanted else 0
        tall = (
            len(y.names) * (max(BOX, 120 // len(y.names)) if x.names else ROW) + 8
            if y.names
            else (SHORT if small else HEIGHT)
        )
        self.top, self.bottom = top + TOP, top + TOP + max(tall, 40)
        self.end = self.bottom + BOTTOM + longest * CHARACTER * 0.72
        self.picture = picture

    def x(self, values: pl.Series) -> Places:
        """Pixels from the left."""
        return self.left + self.picture.x.place(values).clip(-2, 3) * (self.right - self.left)

    def y(self, values: pl.Series) -> Places:
        """Pixels from the top; names run from the top down."""
        place = self.picture.y.place(values).clip(-2, 3)
        place = place if self.picture.y.names else 1 - place
        return self.top + place * (self.bottom - self.top)


def _panel(picture: Picture, identity: str, top: float) -> tuple[list[str], float]:
    frame = _Frame(picture, top, small=bool(top))
    width, height = frame.right - frame.left, frame.bottom - frame.top
    area = f'x="{frame.left:g}" y="{frame.top - 4:g}" width="{width:g}" height="{height + 8:g}"'
    clip = f'<clipPath id="{identity}c"><rect {area}/></clipPath>'
    marks = "".join(_draw(layer, picture, frame) for layer in picture.layers)
    return [clip, *_axes(picture, frame), f'<g clip-path="url(#{identity}c)">{marks}</g>'], round(frame.end)


def _axes(picture: Picture, frame: _Frame) -> list[str]:
    """Grid, labels and titles."""
    parts = []
    middle, centre = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2
    if picture.x.names:
        for name, at in zip(picture.x.names, frame.x(pl.Series(picture.x.names)), strict=True):
            turn = (
                f' transform="rotate(-45 {at:.1f} {frame.bottom + 14:g})" text-anchor="end"'
                if frame.slanted
                else ' text-anchor="middle"'
            )
            parts.append(f'<text x="{at:.1f}" y="{frame.bottom + 14:g}"{turn}>{_name(name)}</text>')
    else:
        free = 0.0  # from where on there is room for a label
        for place, said in ticks(picture.x):
            at, half = frame.left + place * (frame.right - frame.left), len(said) * CHARACTER / 2
            parts.append(f'<path class="grid" d="M{at:.1f} {frame.top:g}V{frame.bottom:g}"/>')
            if at - half >= free:
                parts.append(f'<text x="{at:.1f}" y="{frame.bottom + 15:g}" text-anchor="middle">{said}</text>')
                free = at + half + 4
    if picture.y.names:
        for name, at in zip(picture.y.names, frame.y(pl.Series(picture.y.names)), strict=True):
            if not picture.x.names:
                parts.append(f'<path class="grid" d="M{frame.left:g} {at:.1f}H{frame.right:g}"/>')
            parts.append(f'<text x="{frame.left - 6:g}" y="{at + 4:.1f}" text-anchor="end">{_name(name)}</text>')
    else:
        for place, said in ticks(picture.y, most=4 if frame.bottom - frame.top < HEIGHT / 2 else 6):
            at = frame.bottom - place * (frame.bottom - frame.top)
            parts.append(f'<path class="grid" d="M{frame.left:g} {at:.1f}H{frame.right:g}"/>')
            parts.append(f'<text x="{frame.left - 6:g}" y="{at + 4:.1f}" text-anchor="end">{said}</text>')
    parts.append(
        f'<text class="axis" x="{middle:g}" y="{frame.end - 8:g}" text-anchor="middle">{markup(picture.x.title)}</text>'
    )
    turn = f'transform="rotate(-90 12 {centre:g})"'
    parts.append(
        f'<text class="axis" x="12" y="{centre:g}" {turn} text-anchor="middle">{markup(picture.y.title)}</text>'
    )
    return parts


def _draw(layer: Layer, picture: Picture, frame: _Frame) -> str:
    table = layer.frame
    if table.is_empty():
        return ""
    if layer.kind == "reference":
        return f'<path class="reference" d="{_path(frame.x(table["x"]), frame.y(table["y"]))}"/>'
    if layer.kind == "cell":
        return _cells(table, frame)
    place = {name: i for i, name in enumerate(picture.series)}
    parts = []
    for part in table.partition_by("series", maintain_order=True):
        i = place[part["series"][0]]
        x, y = frame.x(part["x"]), frame.y(part["y"])
        if layer.kind == "band":
            parts.append(f'<path class="band s{i}" d="{_path(x, y)}Z"/>')
        elif layer.kind == "line":
            parts.append(f'<path class="line s{i}" d="{_path(x, y)}"{_dash(i)}/>')
        elif layer.kind == "interval":
            ends = zip(x, y, frame.x(part["x2"]), frame.y(part["y2"]), strict=True)
            path = "".join(f"M{_n(a)} {_n(b)}L{_n(c)} {_n(d)}" for a, b, c, d in ends)
            parts.append(f'<path class="interval s{i}" d="{path}"/>')
        else:
            dots = zip(x, y, part["text"], strict=True)
            parts.append(
                "".join(
                    f'<g class="dot s{i}"><title>{markup(_told(part["series"][0], t))}</title>{_shape(i, a, b, 4)}</g>'
                    for a, b, t in dots
                )
            )
    return "".join(parts)


def _told(series: str, text: str) -> str:
    return text if series == "all rows" else f"{series}: {text}"


def _cells(table: pl.DataFrame, frame: _Frame) -> str:
    """Boxes as dark as their share is large."""
    width = (frame.right - frame.left) / len(frame.picture.x.names)
    height = (frame.bottom - frame.top) / len(frame.picture.y.names)
    parts = []
    for x, y, row in zip(frame.x(table["x"]), frame.y(table["y"]), table.iter_rows(named=True), strict=True):
        said = f"actual {row['y']}, predicted {row['x']}: {row['count']} rows, {row['text']}"
        box = f'x="{_n(x - width / 2)}" y="{_n(y - height / 2)}" width="{_n(width)}" height="{_n(height)}"'
        text = row["text"] if width > 30 and row["text"] != "0%" else ""
        ink = "over" if row["share"] > 0.72 else "cell-text"
        label = f'<text class="{ink}" x="{_n(x)}" y="{_n(y + 4)}" text-anchor="middle">{text}</text>' if text else ""
        parts.append(
            f'<g><title>{markup(said)}</title><rect class="cell" {box} fill-opacity="{row["share"]:.3f}"/>{label}</g>'
        )
    return "".join(parts)


def _path(x: Places, y: Places) -> str:
    """A line through points, in tenths of a pixel."""
    keep = np.isfinite(x) & np.isfinite(y)
    points = [f"{_n(a)} {_n(b)}" for a, b in zip(x[keep], y[keep], strict=True)]
    return "M" + "L".join(dict.fromkeys(points) if len(points) == 1 else points) if points else ""


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _dash(place: int) -> str:
    return f' stroke-dasharray="{" ".join(map(str, DASHES[place]))}"' if DASHES[place] else ""


def _shape(place: int, x: float, y: float, r: float) -> str:
    """A mark of the shape of a series."""
    if place == 0:
        return f'<circle class="mark" cx="{_n(x)}" cy="{_n(y)}" r="{_n(r)}"/>'
    corners: Sequence[tuple[float, float]] = (
        [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        [(0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)],
        [(0, -1.3), (1.3, 1), (-1.3, 1)],
        [(0, 1.3), (1.3, -1), (-1.3, -1)],
        [
            (-0.4, -1.3),
            (0.4, -1.3),
            (0.4, -0.4),
            (1.3, -0.4),
            (1.3, 0.4),
            (0.4, 0.4),
            (0.4, 1.3),
            (-0.4, 1.3),
            (-0.4, 0.4),
            (-1.3, 0.4),
            (-1.3, -0.4),
            (-0.4, -0.4),
        ],
    )[place - 1]
    return f'<path class="mark" d="M{"L".join(f"{_n(x + r * a)} {_n(y + r * b)}" for a, b in corners)}Z"/>'


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _name(name: str) -> str:
    """A name, cut where it is long; the whole of it can be read by hovering."""
    return markup(_cut(name)) + (f"<title>{markup(name)}</title>" if len(name) > LONGEST else "")

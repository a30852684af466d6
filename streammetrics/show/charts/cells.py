"""The cells of a confusion matrix in Vega-Lite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from streammetrics.base import whole_percentage

FEW = 5  # labels of a matrix with counts below its shares
SIZES = ((88, 40), (36, 24))  # width and height of a cell in pixels, of few labels and of more
GAP = 0.04  # between cells, as a share of their size
FONT = 12  # pixels
DEEPEST = 0.5  # opacity, on which texts are still legible


def size(labels: int) -> tuple[int, int]:
    """Return the width and the height of a matrix in pixels, whose cells have room for their texts."""
    width, height = SIZES[labels > FEW]
    return labels * width, labels * height


def texts(frame: pl.DataFrame, labels: int) -> list[pl.Series]:
    """Return what cells show, what their tooltips say, and whether they are on the diagonal."""
    told = pl.format("actual {}, predicted {}: {}, {}", "y", "x", "size", "text")
    columns = frame.select(told=told, is_right=pl.col("x") == pl.col("y"), below="count").get_columns()
    shown = pl.Series("shown", map(whole_percentage, frame["share"]), pl.String)
    is_faint = (shown == "<1%") & (frame["x"] != frame["y"]) & (labels > FEW)  # many would hide the larger ones
    return [*columns, shown.set(is_faint, "")]


def marks(labels: int, colours: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the cells, shaded in other colors on the diagonal and off it, and their texts."""
    color = {"condition": {"test": "datum.is_right", "value": colours["c0"]}, "value": colours["c1"]}
    scale = {"domain": [0, 1], "range": [0, DEEPEST]}
    opacity = {"field": "shade", "type": "quantitative", "scale": scale, "legend": None}
    yield {"mark": {"type": "rect", "aria": True}, "encoding": {"fillOpacity": opacity, "color": color}}
    lines = (("shown", -8), ("below", 8)) if labels <= FEW else (("shown", 0),)
    for field, shift in lines:
        text = {"type": "text", "fontSize": FONT, "dy": shift, "color": colours["text"]}
        yield {"mark": text, "encoding": {"text": {"field": field, "type": "nominal"}}}

"""Lines of series in a plot: with the points that are visible, and the width of the area between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from streammetrics.show.charts.axes import Places, Spec, place
from streammetrics.show.charts.marks import Marks, band

HALF_A_PIXEL = 0.5 / 600  # of a chart 600 pixels wide
PIXELS = 300  # of a chart on a page
LINE_WIDTH = 2  # pixels


def lines_of(frame: pl.DataFrame, path: Callable[[pl.DataFrame], tuple[Places, Places]]) -> pl.DataFrame:
    """Return the finite points of a line of each series of a frame, given the x and y of its rows: series, x, and y."""
    parts = [pl.DataFrame(schema={"series": pl.String, "x": pl.Float64, "y": pl.Float64})]
    for (name,), rows in frame.group_by("series", maintain_order=True):
        x, y = path(rows)
        parts.append(pl.select(series=pl.repeat(name, len(x), dtype=pl.String), x=x, y=y))
    return pl.concat(parts).filter(pl.col("x").is_finite(), pl.col("y").is_finite())


def bounded_line(paths: Iterable[pl.DataFrame], x: Spec, y: Spec) -> list[Marks]:
    """Return a line for each series, before it the area between its upper and its lower bound if it is visible."""
    value, upper, lower = paths
    bounds = [band(simplified(upper, x, y), simplified(lower, x, y))] if are_apart(upper, lower, x, y) else []
    return [*bounds, ("line", simplified(value, x, y))]


def simplified(path: pl.DataFrame, x: Spec, y: Spec) -> pl.DataFrame:
    """Return lines without the points that are not needed: no such point is half a pixel from its line.

    >>> from streammetrics.show.charts.axes import axis
    >>> line = pl.DataFrame({"series": ["a"] * 5, "x": [0.0, 0.2, 0.4, 0.6, 1.0], "y": [0.0, 0.2, 0.4, 0.6, 0.0]})
    >>> simplified(line, axis("x"), axis("y"))["x"].to_list()
    [0.0, 0.6, 1.0]
    """
    parts = path.partition_by("series", maintain_order=True)
    return pl.concat([path[:0], *(part[visible_points(place(x, part["x"]), place(y, part["y"]))] for part in parts)])


def visible_points(x: Places, y: Places) -> list[int]:
    """Return the indices of points whose line is that of all points, up to half a pixel.

    The point farthest from the line between two others is shown, until none is farther than that (Ramer 1972; Douglas
    and Peucker 1973).
    """
    points, spans = {0, len(x) - 1}, [(0, len(x) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        xs, ys = x[first : last + 1] - x[first], y[first : last + 1] - y[first]
        length = max(xs[-1] ** 2 + ys[-1] ** 2, 1e-300)
        share = ((xs * xs[-1] + ys * ys[-1]) / length).clip(0, 1)
        distance = np.hypot(xs - share * xs[-1], ys - share * ys[-1])
        if distance.max() > HALF_A_PIXEL:
            farthest = first + int(distance.argmax())
            points.add(farthest)
            spans += [(first, farthest), (farthest, last)]
    return sorted(points)


def are_apart(upper: pl.DataFrame, lower: pl.DataFrame, x: Spec, y: Spec) -> bool:
    """Return whether a square as wide as a line fits between two lines with ascending x of some series."""
    columns = np.linspace(0, 1, PIXELS + 1)
    for name in upper["series"].unique(maintain_order=True):
        ends = (frame.filter(pl.col("series") == name) for frame in (upper, lower))
        places = [np.interp(columns, place(x, end["x"]), place(y, end["y"]).clip(0, 1), np.nan, np.nan) for end in ends]
        high, low = np.maximum(*places), np.minimum(*places)
        top = np.min([high[:-LINE_WIDTH], high[1:-1], high[LINE_WIDTH:]], axis=0)
        bottom = np.max([low[:-LINE_WIDTH], low[1:-1], low[LINE_WIDTH:]], axis=0)
        if (top - bottom > LINE_WIDTH / PIXELS).any():
            return True
    return False

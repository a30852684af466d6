"""Lines with fewer points that look the same."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.show.charts.picture import Axis, Places

HALF_A_PIXEL = 0.5 / 600  # of a chart 600 pixels wide
A_LINE = 2 / 300  # width of a line of a chart 300 pixels wide, as on a page


def thinned(frame: pl.DataFrame, x: Axis, y: Axis) -> pl.DataFrame:
    """Return the points of each series so that no dropped point is farther from the line than half a pixel.

    >>> straight = pl.DataFrame({"series": ["a"] * 5, "x": [0.0, 0.2, 0.4, 0.6, 1.0], "y": [0.0, 0.2, 0.4, 0.6, 0.0]})
    >>> thinned(straight, Axis("x"), Axis("y"))["x"].to_list()
    [0.0, 0.6, 1.0]
    """
    return pl.concat(
        [
            part.filter(needed(x.place(part["x"]), y.place(part["y"]), HALF_A_PIXEL))
            for part in frame.partition_by("series", maintain_order=True)
        ]
        or [frame]
    )


def seen_apart(a: pl.DataFrame, b: pl.DataFrame, x: Axis, y: Axis) -> bool:
    """Return whether the area between two lines with ascending x is so wide that a line in it does not hide it."""
    names = a["series"].unique(maintain_order=True)
    places = [
        [(x.place(f.filter(series=name)["x"]), y.place(f.filter(series=name)["y"])) for f in (a, b)] for name in names
    ]
    return any(_wide(one, other) > A_LINE for one, other in places)


def _wide(one: tuple[Places, Places], other: tuple[Places, Places]) -> float:
    """Largest width of the area between two lines in the plot, by the distance of its middle from both."""
    if not len(one[0]) or not len(other[0]):
        return 0.0
    at = np.unique(np.concatenate([one[0], other[0]]))
    at = np.concatenate([at, (at[1:] + at[:-1]) / 2])
    low, high = np.interp(at, *one), np.interp(at, *other)
    middle = (low + high) / 2
    seen = (at >= 0) & (at <= 1) & (middle >= 0) & (middle <= 1) & ~(np.abs(high - low) <= A_LINE)
    if not seen.any():  # as in most charts: distances take longer
        return 0.0
    away = [_away(at[seen], middle[seen], *line) for line in (one, other)]
    return 2 * float(np.min(away, axis=0).max(initial=0.0))


def _away(x: Places, y: Places, line_x: Places, line_y: Places) -> Places:
    """Distances of points from a line."""
    parts = zip(line_x, line_y, line_x[1:], line_y[1:], strict=False)
    away = [_distances(x, y, *ends) for ends in parts] or [np.zeros(len(x))]
    nearest: Places = np.nan_to_num(np.min(away, axis=0))
    return nearest


def needed(x: Places, y: Places, tolerance: float) -> NDArray[np.bool_]:
    """Return which points of a line are needed (Ramer 1972; Douglas and Peucker 1973).

    Points between two ends are dropped if all are within the tolerance of the straight line; otherwise the farthest
    becomes an end. Turning points of a line that reverses are kept.
    """
    kept = np.zeros(len(x), dtype=np.bool_)
    kept[:1] = kept[-1:] = True
    spans = [(0, len(x) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        inner = slice(first + 1, last)
        away = _distances(x[inner], y[inner], x[first], y[first], x[last], y[last])
        farthest = int(away.argmax())
        if not away[farthest] <= tolerance:
            middle = first + 1 + farthest
            kept[middle] = True
            spans += [(first, middle), (middle, last)]
    return kept


def _distances(x: Places, y: Places, x1: float, y1: float, x2: float, y2: float) -> Places:
    """Distances of points from a line segment."""
    dx, dy = x2 - x1, y2 - y1
    square = dx * dx + dy * dy
    along = ((x - x1) * dx + (y - y1) * dy) / square if square > 0 else np.zeros(len(x))
    along = np.minimum(np.maximum(along, 0), 1)  # faster than clip for few points
    return np.hypot(x - x1 - along * dx, y - y1 - along * dy)

"""A chart as plain data: axes, named series, and layers of marks. `vega` draws it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import LONGEST_CELL
from streammetrics.errors import LONGEST_SENTENCE, cut
from streammetrics.metrics import normal_quantile

Scale: TypeAlias = Literal["linear", "root", "log", "probit", "time", "names"]
Kind: TypeAlias = Literal["reference", "band", "line", "interval", "dot", "cell"]
Places: TypeAlias = NDArray[np.float64]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#9A6700")
"""Blue, vermillion, green, purple and black of Okabe and Ito (2008), and their orange darkened: each has at least the
contrast of 3 to 1 on white that WCAG 2 asks of graphics."""
DASHES = ((), (8, 3), (2, 2), (8, 3, 2, 3), (12, 3), (4, 4))
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
MOST = len(COLOURS)  # series that are distinguishable, in color and without


@dataclass(frozen=True)
class Axis:
    """An axis of a chart.

    ``low`` and ``high`` are its ends. Times are in milliseconds since 1970, with ticks at some of the ``windows``. An
    axis of names has one position per name, from the left or from the top.
    """

    title: str
    low: float = 0.0
    high: float = 1.0
    scale: Scale = "linear"
    percent: bool = False
    names: tuple[str, ...] = ()
    windows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", cut(self.title, LONGEST_CELL))

    def place(self, values: pl.Series) -> Places:
        """Return positions of values: 0 at the low end, 1 at the high end.

        >>> Axis("score", 0.01, 1.0, "log").place(pl.Series([0.01, 0.1, 1.0])).tolist()
        [0.0, 0.5, 1.0]
        """
        if self.scale == "names":
            place = {name: (i + 0.5) / len(self.names) for i, name in enumerate(self.names)}
            return np.array([place.get(name, np.nan) for name in values], dtype=np.float64)
        low, high = self.transformed(np.array([self.low, self.high])) / 2  # halves, whose differences don't overflow
        found: Places = (self.transformed(numbers(values)) / 2 - low) / ((high - low) or 1.0)
        return found

    def transformed(self, values: Places) -> Places:
        """Return the values on the linear scale of the axis."""
        if self.scale == "log":
            return np.log10(np.maximum(values, np.finfo(float).tiny))
        if self.scale == "root":
            return np.sqrt(np.maximum(values, 0.0))
        if self.scale == "probit":
            shares, place = np.unique(np.clip(values, 1e-12, 1 - 1e-12), return_inverse=True)  # many are equal
            return np.array([normal_quantile(share) for share in shares.tolist()])[place]
        return values


@dataclass(frozen=True)
class Layer:
    """Marks of one kind.

    Columns of ``frame``: ``x``, ``y``, and ``series`` except for references and cells. Lines and references connect
    points in the order of rows. A band is the area inside such a line. An interval is a straight line to
    ``x2``, ``y2``. A dot has a ``text`` as its tooltip. A cell has a ``share`` and a ``shade`` between 0 and 1, and as
    texts its ``text``, its ``count``, and its ``size`` in words.
    """

    kind: Kind
    frame: pl.DataFrame


@dataclass(frozen=True)
class Picture:
    """A chart.

    ``subtitle`` has the main facts, ``caption`` explains the marks. ``series`` names the colors, dashes, and shapes,
    ``legend`` is their title, ``grey`` the last of them if it has no color. ``below`` is a chart along the same x, of
    a height of one or more ``strips``.
    """

    title: str
    x: Axis
    y: Axis
    layers: Sequence[Layer]
    series: tuple[str, ...] = ()
    legend: str = ""
    subtitle: str = ""
    caption: str = ""
    grey: str = ""
    below: Picture | None = field(default=None, repr=False)
    strips: int = 1

    def __post_init__(self) -> None:
        for name in ("title", "legend", "subtitle", "caption"):
            object.__setattr__(self, name, cut(getattr(self, name), LONGEST_SENTENCE))

    @property
    def empty(self) -> bool:
        """Whether the chart is empty."""
        return all(layer.frame.is_empty() for layer in self.layers if layer.kind != "reference")


def numbers(values: pl.Series) -> Places:
    """Return values as floats, times as milliseconds since 1970, null as NaN."""
    if values.dtype.is_temporal():
        values = values.cast(pl.Datetime("ms")).to_physical()
    return values.cast(pl.Float64).fill_null(math.nan).to_numpy()


def line(x: Sequence[float], y: Sequence[float]) -> Layer:
    """Return a reference line, such as a diagonal."""
    return Layer("reference", pl.DataFrame({"x": x, "y": y}, {"x": pl.Float64, "y": pl.Float64}))


def lines_of(frame: pl.DataFrame, drawn: Callable[[pl.DataFrame], tuple[Places, Places]]) -> pl.DataFrame:
    """Return a line for each series of a frame, given the x and y of its rows: columns series, x, and y."""
    parts = [pl.DataFrame(schema={"series": pl.String, "x": pl.Float64, "y": pl.Float64})]
    for part in frame.partition_by("series", maintain_order=True):
        x, y = drawn(part)
        parts.append(pl.DataFrame({"series": pl.repeat(part["series"][0], len(x), eager=True), "x": x, "y": y}))
    return pl.concat(parts)


def between(upper: pl.DataFrame, lower: pl.DataFrame) -> Layer:
    """A band: the area between two lines of each series, along one and back along the other."""
    parts = [
        pl.concat([upper.filter(series=name), lower.filter(series=name).reverse()])
        for name in upper["series"].unique(maintain_order=True)
    ]
    return Layer("band", pl.concat(parts) if parts else upper)


def extent(*columns: pl.Series, room: float = 0.05) -> tuple[float, float]:
    """Return the ends of an axis for finite values, with some margin.

    >>> extent(pl.Series([2.0, 4.0, None]), room=0.5)
    (1.0, 5.0)
    """
    values = np.concatenate([numbers(c) for c in columns] or [np.zeros(0)])
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low == high and room:
        return low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
    space = (high / 2 - low / 2) * 2 * room
    return low - space, high + space

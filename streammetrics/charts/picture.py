"""A chart as plain data: axes, named series, and layers of marks. `vega` draws it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.uncertainty.distributions import normal_quantile

Scale: TypeAlias = Literal["linear", "root", "log", "probit", "time", "names"]
Kind: TypeAlias = Literal["reference", "band", "line", "interval", "dot", "cell"]
Places: TypeAlias = NDArray[np.float64]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#9A6700")
"""Blue, vermillion, green, purple and black of Okabe and Ito (2008), and their orange darkened: each has at least the
contrast of 3 to 1 on white that WCAG 2 asks of graphics."""
DASHES = ((), (8, 3), (2, 2), (8, 3, 2, 3), (12, 3), (4, 4))
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
MOST = len(COLOURS)  # series that can be told apart, in colour and without


@dataclass(frozen=True)
class Axis:
    """What one direction of a chart means.

    ``low`` and ``high`` are the ends of the axis; times are given as milliseconds since 1970. An axis of names has one
    place for each, from the left or from the top.
    """

    title: str
    low: float = 0.0
    high: float = 1.0
    scale: Scale = "linear"
    percent: bool = False
    names: tuple[str, ...] = ()

    def place(self, values: pl.Series) -> Places:
        """Where values lie: 0 at the low end, 1 at the high one.

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
        """The values on the line that is drawn straight."""
        if self.scale == "log":
            return np.log10(np.maximum(values, np.finfo(float).tiny))
        if self.scale == "root":
            return np.sqrt(np.maximum(values, 0.0))
        if self.scale == "probit":
            return np.array([normal_quantile(min(max(v, 1e-12), 1 - 1e-12)) for v in values])
        return values


@dataclass(frozen=True)
class Layer:
    """Marks of one kind.

    Columns of ``frame``: ``x``, ``y``, and ``series`` but for references and cells. Lines and references go through
    their points in the order of the rows; a band is the area inside of such a line; an interval is a straight line to
    ``x2``, ``y2``; a dot has a ``text`` that tells what it is; a cell has a ``share`` between 0 and 1 and a ``text``.
    """

    kind: Kind
    frame: pl.DataFrame


@dataclass(frozen=True)
class Picture:
    """A chart.

    ``subtitle`` tells what must not be overlooked, ``caption`` how to read the chart. ``series`` names what colours,
    dashes and shapes stand for, ``legend`` what these names are. ``below`` is a chart along the same x.
    """

    title: str
    x: Axis
    y: Axis
    layers: Sequence[Layer]
    series: tuple[str, ...] = ()
    legend: str = ""
    subtitle: str = ""
    caption: str = ""
    below: Picture | None = field(default=None, repr=False)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to see."""
        return all(layer.frame.is_empty() for layer in self.layers if layer.kind != "reference")


def numbers(values: pl.Series) -> Places:
    """Values as floats, times as milliseconds since 1970, null as NaN."""
    if values.dtype.is_temporal():
        values = values.cast(pl.Datetime("ms")).to_physical()
    return values.cast(pl.Float64).fill_null(math.nan).to_numpy()


def line(x: Sequence[float], y: Sequence[float]) -> Layer:
    """A reference, such as a diagonal.

    >>> line((0, 1), (0, 1)).frame.rows()
    [(0.0, 0.0), (1.0, 1.0)]
    """
    return Layer("reference", pl.DataFrame({"x": x, "y": y}, {"x": pl.Float64, "y": pl.Float64}))


def between(upper: pl.DataFrame, lower: pl.DataFrame) -> Layer:
    """A band: the area between two lines of each series, along one and back along the other."""
    parts = [
        pl.concat([upper.filter(series=name), lower.filter(series=name).reverse()])
        for name in upper["series"].unique(maintain_order=True)
    ]
    return Layer("band", pl.concat(parts) if parts else upper)


def extent(*columns: pl.Series, room: float = 0.05) -> tuple[float, float]:
    """The ends of an axis that holds finite values, with some room beside them.

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

"""Axes of charts in Vega-Lite, and places of values along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import LONGEST_CELL
from streammetrics.errors import cut
from streammetrics.metrics import normal_quantile

Spec: TypeAlias = dict[str, Any]
Scale: TypeAlias = Literal["linear", "sqrt", "log"]
Places: TypeAlias = NDArray[np.float64]

LABELS: Spec = {"labelFlush": False, "labelOverlap": "greedy", "labelSeparation": 6}
BETWEEN = " · "  # two names
LINE = 12  # pixels of a line of a label
GAP = 0.04  # between names, as a share of their size
DAY = 86_400_000  # milliseconds
TIME_FORMATS = ((360 * DAY, "%Y"), (27 * DAY, "%b %Y"), (DAY, "%b %-d"), (60_000, "%H:%M"), (0, "%H:%M:%S"))
"""Formats of labels by the least time between two of them."""
MAX_LABELS = 8  # of times, and of powers of ten
PROBITS = (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999)
WIDEST = 8e307  # whose double is finite
BEYOND = 1e-9  # of an axis: the distance beyond its ends at which a mark is still drawn


def axis(title: str, low: float = 0.0, high: float = 1.0, scale: Scale = "linear", percent: bool = False) -> Spec:
    """Return an axis of numbers from one end to the other."""
    labels: Spec = LABELS | {"tickCount": 3 if scale == "sqrt" else 5}
    low, high = max(low, -WIDEST), min(high, WIDEST)
    size = max(abs(low), abs(high))
    if scale == "log":
        first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
        powers = [float(f"1e{power}") for power in range(first, last + 1, 1 + (last - first) // MAX_LABELS)]
        labels |= {"values": powers, "format": "~s" if low >= 1 else "~g"}
    elif percent:
        labels["format"] = "~%"
    elif not 1e-4 < size < 1e4:
        form = "~s" if 1e4 <= size < 1e15 else "~g"
        labels["labelExpr"] = f"replace(format(datum.value, '{form}'), 'G', 'B')"
    ends = {"domain": [low, high], "type": scale, "nice": False} | ({} if scale == "log" else {"zero": False})
    return {"type": "quantitative", "title": cut(title, LONGEST_CELL), "scale": ends, "axis": labels}


def probit_axis(title: str, low: float, high: float) -> Spec:
    """Return an axis of normal quantiles from that of one share to that of another, with shares as labels."""
    spec = axis(title, normal_quantile(low), normal_quantile(high))
    ticks = {normal_quantile(share): share for share in PROBITS if low <= share <= high}
    shares = (f"abs(datum.value - {at:.6f}) < 0.001 ? {share:f}" for at, share in ticks.items())
    spec["axis"] |= {"values": list(ticks), "labelExpr": f"format({' : '.join([*shares, '0'])}, '~%')"}
    return spec


def time_axis(title: str, windows: Sequence[int]) -> Spec:
    """Return an axis of windows in milliseconds since 1970, with labels at all, or at every second, third, and so on.

    A single window has half a day on either side.
    """
    first, last = (windows[0], windows[-1]) if windows else (0, 0)
    half = 0 if first < last else DAY // 2
    ticks = list(windows[:: -(-len(windows) // MAX_LABELS)]) if windows else []
    step = min((after - before for before, after in pairwise(ticks)), default=DAY)
    form = next(form for least, form in TIME_FORMATS if step >= least)
    if step < DAY <= last - first:
        form = f"%b %-d, {form}"
    ends = {"domain": [first - half, last + half], "type": "utc", "nice": False}
    labels = LABELS | {"values": ticks, "format": form, "labelOverlap": "parity"}
    return {"type": "temporal", "title": cut(title, LONGEST_CELL), "scale": ends, "axis": labels}


def names_axis(title: str, names: Sequence[str], angle: int = 0, grid: bool = False, two_lines: bool = False) -> Spec:
    """Return an axis with a place for each name, from the left or from the top.

    With ``two_lines``, what is after the first `BETWEEN` is below.
    """
    places = {"domain": list(names), "paddingInner": GAP}
    labels: Spec = {"labelFlush": False, "labelAngle": angle, "grid": grid}
    if two_lines:
        parts = f"split(datum.label, '{BETWEEN}')"
        labels["labelExpr"] = f"[{parts}[0], join(slice({parts}, 1), '{BETWEEN}')]"
        labels |= {"labelLineHeight": LINE, "labelOffset": -LINE / 2}
    return {"type": "nominal", "title": cut(title, LONGEST_CELL), "sort": None, "scale": places, "axis": labels}


def place(axis: Spec, values: pl.Series) -> Places:
    """Return positions of numbers along an axis: 0 at the low end, 1 at the high end.

    >>> place(axis("score", 0.01, 1.0, "log"), pl.Series([0.01, 0.1, 1.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    low, high = transformed(axis, np.array(axis["scale"]["domain"], dtype=np.float64)) / 2
    places: Places = (transformed(axis, numbers(values)) / 2 - low) / ((high - low) or 1.0)  # halves don't overflow
    return places


def transformed(axis: Spec, values: Places) -> Places:
    """Return values on the linear scale of an axis."""
    match axis["scale"]["type"]:
        case "log":
            return np.log10(np.maximum(values, np.finfo(float).tiny))
        case "sqrt":
            return np.sqrt(np.maximum(values, 0.0))
    return values


def inside(axis: Spec, values: pl.Series) -> pl.Series:
    """Return which values lie along an axis."""
    if axis["type"] == "nominal":
        return values.is_in(axis["scale"]["domain"])
    return pl.Series(np.abs(place(axis, values) - 0.5) <= 0.5 + BEYOND, dtype=pl.Boolean)


def numbers(values: pl.Series) -> Places:
    """Return values as floats, times as milliseconds since 1970, null as NaN."""
    if values.dtype.is_temporal():
        values = values.cast(pl.Datetime("ms")).to_physical()
    return values.cast(pl.Float64).fill_null(math.nan).to_numpy()


def extent(*columns: pl.Series, margin: float = 0.05) -> tuple[float, float]:
    """Return the ends of an axis for finite values, with some margin.

    >>> extent(pl.Series([2.0, 4.0, None]), margin=0.5)
    (1.0, 5.0)
    """
    values = np.concatenate([numbers(column) for column in columns])
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low == high:
        return low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
    space = (high / 2 - low / 2) * 2 * margin
    return low - space, high + space

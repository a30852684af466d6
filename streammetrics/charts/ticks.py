"""Round numbers along an axis, and how they are written."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import polars as pl

from streammetrics.charts.picture import Axis

PROBITS = (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)
STEPS = (1, 2, 5, 10)
DAY = 86_400_000
LENGTHS = (
    *(1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 3 * 3_600_000, 6 * 3_600_000),
    *(DAY // 2, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 182 * DAY, 365 * DAY, 730 * DAY, 1826 * DAY),
)


def ticks(axis: Axis, most: int = 6) -> list[tuple[float, str]]:
    """Where an axis is marked, from 0 to 1, and with what.

    >>> ticks(Axis("share"), most=5)
    [(0.0, '0'), (0.5, '0.5'), (1.0, '1')]
    >>> ticks(Axis("rows", 1.0, 1000.0, "log"))
    [(0.0, '1'), (0.333..., '10'), (0.666..., '100'), (1.0, '1k')]
    """
    if axis.scale == "names":
        return []
    if axis.scale == "time":
        return _times(axis, most)
    values = marks(axis, most)
    places = axis.place(pl.Series(values, dtype=pl.Float64))
    step = min((b - a for a, b in pairwise(values)), default=0.0)
    said = percent if axis.percent else lambda v: number(v, step if axis.scale == "linear" else 0.0)
    return [(float(place), said(value)) for place, value in zip(places, values, strict=True)]


def marks(axis: Axis, most: int = 6) -> list[float]:
    """The values at which an axis of numbers is marked.

    >>> marks(Axis("errors", -30.0, 45.0))
    [-20.0, 0.0, 20.0, 40.0]
    """
    if axis.scale == "log":
        return _powers(axis, most)
    if axis.scale == "probit":
        return [p for p in PROBITS if axis.low <= p <= axis.high]
    return _round(axis.low, axis.high, most)


def _round(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not (0 < span < math.inf):
        return [low]
    unit = 10.0 ** math.floor(math.log10(span / most))
    for step in (s * unit for s in (*STEPS, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [
                round(k * step, 12 - math.floor(math.log10(step)) if step < 1 else 6) + 0.0
                for k in range(first, last + 1)
            ]
    return [low, high]


def _powers(axis: Axis, most: int) -> list[float]:
    """Powers of ten; with 2 and 5 times them where these are few."""
    low, high = math.log10(axis.low), math.log10(axis.high)
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    step = max(1, math.ceil((last - first + 1) / most))
    if last - first >= 2:
        return [10.0**k for k in range(first, last + 1, step)]
    every = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [v for v in every if axis.low * (1 - 1e-9) <= v <= axis.high * (1 + 1e-9)][:most]


def _times(axis: Axis, most: int) -> list[tuple[float, str]]:
    span = axis.high - axis.low
    step = next((length for length in LENGTHS if span / length <= most - 1), LENGTHS[-1])
    first = math.ceil(axis.low / step) * step
    if step >= DAY:  # counted from the first day shown, so that windows are hit
        first = math.ceil(axis.low / DAY) * DAY
    values = np.arange(first, axis.high + 1, step)
    form = "%H:%M:%S" if step < 60_000 else "%H:%M" if step < DAY // 2 else "%d %b" if step < 180 * DAY else "%b %Y"
    if (
        step >= DAY // 2
        and datetime.fromtimestamp(axis.low / 1000, UTC).year != datetime.fromtimestamp(axis.high / 1000, UTC).year
    ):
        form = "%b %Y" if step >= 28 * DAY else "%d %b %y"
    return [(float((v - axis.low) / (span or 1)), datetime.fromtimestamp(v / 1000, UTC).strftime(form)) for v in values]


def number(value: float, step: float = 0.0) -> str:
    """A short number, with as many digits as the steps between marks need.

    >>> [number(v) for v in (0.0, 0.25, 1500.0, 2e6, 1e-5)], number(0.5, 0.25), number(-3.0)
    (['0', '0.25', '1.5k', '2M', '1e-5'], '0.5', '−3')
    """
    size = abs(value)
    if size < step * 1e-6 or value == 0:
        return "0"
    for limit, unit in ((1e12, None), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= limit and (unit is not None or size >= 1e15):
            digits = max(3, 1 + math.ceil(math.log10(size / step))) if 0 < step < size else 3
            text = f"{value / limit:.{digits}g}{unit}" if unit else f"{value:.3g}"
            break
    else:
        digits = max(0, min(12, -math.floor(math.log10(step) + 1e-9))) if step else 0
        text = f"{value:.{digits}f}" if step and size >= 1e-4 else f"{value:.3g}"
        if "." in text and "e" not in text:
            text = text.rstrip("0").rstrip(".")
    return text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e").replace("-", "−", 1 if value < 0 else 0)


def percent(share: float) -> str:
    """A share as a percentage.

    >>> percent(0.05), percent(1e-5)
    ('5%', '0.001%')
    """
    return f"{100 * share:.6f}".rstrip("0").rstrip(".") + "%"

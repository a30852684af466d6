"""The page of a history: one chart of any metric, segment, and time range, drawn by a script from data in the page.

Values are rounded to at most a fortieth of the width of their interval, and compressed. Three years of days and 200
segments take 0.5 MB per metric with its bounds and interval. The script draws the chart itself: with Vega, a page of a
month would have 1.2 MB instead of 40 kB, and open three times slower.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.frame import LIMITS, VALUE
from streammetrics.html.document import created, document, embedded, resource
from streammetrics.text.values import dates

ALL_ROWS = "All rows"
COLUMNS = (*VALUE, *LIMITS)
LEVELS = 20  # number of rounded values within an interval
SPREAD = 1000  # number of rounded values without interval, between the lowest and the highest
DIGITS = 12  # at most
LARGEST = 2**29  # of an integer of the page


@dataclass(frozen=True)
class Measure:
    """A number of every segment and window.

    Attributes:
        name: Its name.
        values: `COLUMNS` of each segment and window, NaN if missing: shape (5, segments, windows).
        what: Description in one sentence.
    """

    name: str
    values: NDArray[np.float64]
    what: str = ""

    @classmethod
    def of(cls, name: str, found: pl.DataFrame, segments: int, windows: int, what: str = "") -> Measure:
        """Return the measure of a frame with the numeric columns ``segment`` and ``window``, and `COLUMNS`."""
        values = np.full((len(COLUMNS), segments, windows), np.nan)
        segment, window = (found[c].to_numpy() for c in ("segment", "window"))
        for column, matrix in zip(COLUMNS, values, strict=True):
            if column in found.columns:
                matrix[segment, window] = found[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return cls(name, values, what)

    def packed(self) -> dict[str, Any]:
        """The measure as JSON.

        Values are multiples of ``10 ** exponent`` of their segment, each as its difference from the window before.
        Certified bounds are rounded outward. Missing numbers are 0, others are increased by one.
        """
        value, lower, upper, *ends = np.where(np.isfinite(self.values), self.values, np.nan)
        known = ~np.isnan(value)
        exponents = np.array([_exponent(segment) for segment in self.values.transpose(1, 0, 2)])
        scale = 10.0 ** -exponents[:, None]
        numbers = np.where(known, np.rint(value * scale), np.nan)
        below = np.where(lower == value, 0, np.maximum(numbers - np.floor(lower * scale + 1e-6), 0))
        above = np.where(upper == value, 0, np.maximum(np.ceil(upper * scale - 1e-6) - numbers, 0))
        steps = np.diff(_filled(numbers), axis=1, prepend=0)
        columns = [_signed(steps), _integers(below + 1), _integers(above)]
        columns += [np.where(np.isnan(end), 0, _signed(np.rint(end * scale) - numbers) + 1) for end in ends]
        planes = [_planes(column) for column in columns]
        data = zlib.compress(b"".join(plane for own in planes for plane in own))
        return {
            "name": self.name,
            "what": self.what,
            "exponents": exponents.tolist(),
            "planes": [len(own) for own in planes],
            "data": base64.b64encode(data).decode(),
        }


@dataclass(frozen=True)
class Watched:
    """A rule and its breaches.

    Attributes:
        text: The rule.
        metric: The metric that it limits, if it is one of the page.
        limit: The limit of this metric.
        segments: The segments in which it must hold.
        runs: Segment, first window and last window of each breach.
    """

    text: str
    metric: str | None
    limit: float
    segments: list[int]
    runs: list[tuple[int, int, int]]


@dataclass(frozen=True)
class Course:
    """Content of the page of a history.

    Attributes:
        window: Name of the window.
        windows: Windows in order, of type Date or Datetime.
        segments: Names of groups of segments, each with the names of its segments.
        metrics: Metrics to choose from.
        rows: Number of rows.
        scored: Number of rows with or without labels, if both are known.
        dropped: Number of dropped rows, if any, and if ``scored`` is unknown.
        drift: Drift, if measured.
        reference: Description of the reference of the drift.
        reference_rows: Number of rows of a fixed reference by segment, 0 if there is none.
        rules: The rules.
        confidence: Confidence level of the intervals.
    """

    window: str
    windows: pl.Series
    segments: list[tuple[str, list[str]]]
    metrics: list[Measure]
    rows: Measure
    scored: Measure | None
    dropped: Measure | None
    drift: Measure | None
    reference: str
    reference_rows: list[int]
    rules: Sequence[Watched]
    confidence: float | None


def history_page(course: Course, title: str) -> str:
    """The page."""
    style = resource("page.css") + resource("history.css")
    data = embedded(_content(course))
    return document("history", title, style, resource("history.js"), data=data, created=created())


def _content(course: Course) -> dict[str, Any]:
    rules = [vars(rule) for rule in course.rules]
    measures = {name: getattr(course, name) for name in ("rows", "scored", "dropped", "drift")}
    return {
        "window": course.window,
        "windows": _times(course.windows),
        "segments": course.segments,
        "metrics": [measure.packed() for measure in course.metrics],
        **{name: measure and measure.packed() for name, measure in measures.items()},
        "reference": course.reference,
        "reference_rows": course.reference_rows,
        "rules": rules,
        "confidence": course.confidence and f"{course.confidence * 100:g}%",
    }


def _times(windows: pl.Series) -> list[str]:
    """Windows as ISO 8601 strings, in local time of their time zone."""
    windows = dates(windows)
    if windows.dtype == pl.Date:
        return windows.dt.strftime("%Y-%m-%d").to_list()
    return windows.dt.replace_time_zone(None).dt.strftime("%Y-%m-%dT%H:%M:%S").to_list()


def _exponent(columns: NDArray[np.float64]) -> int:
    """Power of ten to which the values of a segment are rounded: a small part of its interval, 0 for integers."""
    value, lower, upper, ci_lower, ci_upper = np.where(np.isfinite(columns), columns, np.nan)
    known = value[~np.isnan(value)]
    if not known.size:
        return 0
    largest = np.nanmax(np.abs(columns[np.isfinite(columns)]))
    if not largest:
        return 0
    needed = np.floor(np.log10(largest)) - DIGITS
    spread = known.max() - known.min() or largest
    for levels, width in ((LEVELS, ci_upper - ci_lower), (LEVELS, upper - lower), (SPREAD, np.array([spread]))):
        if (width > 0).any():
            needed = max(needed, np.floor(np.log10(np.quantile(width[width > 0], 0.1) / levels)))
            break
    if (columns[np.isfinite(columns)] % 1 == 0).all():
        needed = 0
    return int(max(needed, np.ceil(np.log10(largest / LARGEST))))


def _filled(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Missing numbers replaced by the previous number, 0 at the start."""
    known = np.where(np.isnan(numbers), 0, np.arange(numbers.shape[1]))
    return np.nan_to_num(np.take_along_axis(numbers, np.maximum.accumulate(known, axis=1), axis=1))


def _integers(numbers: NDArray[np.float64]) -> NDArray[np.uint32]:
    return np.nan_to_num(numbers).astype(np.uint32)


def _signed(numbers: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Integers as unsigned ones, small near zero: 0, -1, 1, -2 become 0, 1, 2, 3."""
    whole = np.nan_to_num(numbers).astype(np.int64)
    return (2 * np.abs(whole) - (whole < 0)).astype(np.uint32)


def _planes(column: NDArray[np.uint32]) -> list[bytes]:
    """The lowest bytes of all integers, then the next ones, up to the last nonzero ones, which compresses better."""
    octets = column.astype("<u4").reshape(-1, 1).view(np.uint8)
    return [octets[:, i].tobytes() for i in range(4) if octets[:, i:].any()]

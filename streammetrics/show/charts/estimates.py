"""Estimates of a metric in charts: their groups, their intervals, and their axis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from streammetrics.base import ESTIMATE, bounds, hidden, interval, value_text
from streammetrics.show.charts.axes import extent
from streammetrics.show.charts.marks import Marks
from streammetrics.show.charts.series import PLACE

LOW, HIGH = hidden("low"), hidden("high")


def key_columns(rows: pl.DataFrame) -> list[str]:
    """The columns that identify the rows of a metric."""
    return [c for c in rows.columns if c not in ESTIMATE and rows[c].null_count() != rows.height]


def interval_columns(frame: pl.DataFrame, confidence: float | None) -> tuple[str, str, str]:
    """Return the columns of the interval to draw, and its name."""
    if confidence is not None and "ci_lower" in frame.columns and frame["ci_lower"].count():
        return "ci_lower", "ci_upper", f"{confidence * 100:g}% confidence interval"
    return "lower", "upper", "certified bounds" if (frame["lower"] != frame["upper"]).any() else ""


def reach(within: tuple[float, float], *columns: pl.Series) -> tuple[float, float]:
    """The ends of an axis: the values, within a range, such as that of a metric."""
    low, high = extent(*columns)
    least, most = within
    return max(low, least), min(high, most) if min(high, most) > max(low, least) else high


def interval_marks(frame: pl.DataFrame, lines: Iterable[float]) -> list[Marks]:
    """Return the dot and the interval of each row along an axis of names, with vertical lines at some places.

    ``frame`` has the columns ``x``, ``series``, ``text``, and those of `PLACE`, `LOW`, and `HIGH`.
    """
    ends = frame.select("series", x=pl.col(LOW), y=PLACE, x2=pl.col(HIGH)).drop_nulls()
    across: list[Marks] = [("reference", pl.DataFrame({"x": [line]})) for line in lines]
    return [*across, ("interval", ends), ("dot", frame.select("series", "x", "text", y=PLACE))]


def text_with_ends(low: str, high: str) -> pl.Expr:
    """The value as text with its interval, or with its certified bounds."""
    ends_of = bounds if (low, high) == ("lower", "upper") else interval

    def text(row: dict[str, Any]) -> str:
        value = value_text({"value": row["value"], "ci_lower": row[low], "ci_upper": row[high]})
        ends = "" if row[low] == row[high] else ends_of(row[low], row[high])
        return f"{value} ({ends})" if ends else value

    return pl.struct(*dict.fromkeys(("value", low, high))).map_elements(text, return_dtype=pl.String)

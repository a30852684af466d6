"""Histograms as outlines, which can be laid over one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from streammetrics.charts.picture import Axis, Layer, Picture
from streammetrics.charts.series import Source, series_of

BARS = 40
OUTSIDE = 0.005  # of the rows may lie beyond either end of the axis
DECADES = 2  # powers of ten from which on an axis is logarithmic


def outlines(source: Source, counts: pl.DataFrame, keys: Mapping[str, Any], title: str, what: str) -> Picture:
    """Histograms of the rows by value, a series for each group and class, each with the area of all its bars 1.

    Args:
        source: the report or frame, which knows how large groups are.
        counts: the keys, ``value`` and ``count``, ascending or not.
        keys: values of keys that rows must have.
        title: of the chart.
        what: the values are, with their unit.
    """
    counts = counts.filter(pl.col("count") > 0, pl.col("value").is_finite())
    series = series_of(source, counts, keys)
    axis, outside = _axis(series.frame, what)
    bars = _shares(series.frame, axis)
    high = bars["share"].max()
    y = Axis("Rows (share of each series)", 0.0, 1.05 * float(high if isinstance(high, float) else 1.0), percent=True)
    path = _outline(bars)
    layers = [Layer("band", path), Layer("line", path)]
    notes = [f"{outside:.1%} of rows lie beyond the ends"] if outside >= 5e-4 else []
    subtitle = "; ".join([*notes, *filter(None, [series.note])])
    width = "on the logarithmic axis " if axis.scale == "log" else ""
    caption = f"{BARS} bars of equal width {width}from end to end; the bars of a series add up to all of its rows."
    return Picture(title, axis, y, layers, series.names, series.legend, subtitle, caption)


def _axis(counts: pl.DataFrame, what: str) -> tuple[Axis, float]:
    """An axis that holds nearly all rows of each series, and the share of rows beyond its ends."""
    if counts.is_empty():
        return Axis(what), 0.0
    share = pl.col("count") / pl.col("count").sum().over("series")
    reached = counts.sort("value").with_columns(reached=share.cum_sum().over("series"), own=share)
    first = reached.filter(pl.col("reached") > OUTSIDE)["value"].to_numpy()
    last = reached.filter(pl.col("reached") - pl.col("own") < 1 - OUTSIDE)["value"].to_numpy()
    low, top = float(first.min()), float(last.max())
    if low == top:
        low, top = low - (abs(low) * 0.5 or 0.5), top + (abs(top) * 0.5 or 0.5)
    log = low > 0 and np.log10(top) - np.log10(low) > DECADES
    beyond = pl.col("count").filter(~pl.col("value").is_between(low, top)).sum() / pl.col("count").sum()
    return Axis(what, low, top, "log" if log else "linear"), counts.select(beyond).item()


def _shares(counts: pl.DataFrame, axis: Axis) -> pl.DataFrame:
    """The share of the rows of each series in each bar: series, bar, share, all bars of each."""
    place = pl.Series((axis.place(counts["value"]) * BARS).clip(-1, BARS + 1))
    inside = pl.col("place").is_between(0, BARS)
    found = (
        counts.select("series", "count", place=place)
        .with_columns(share=pl.col("count") / pl.col("count").sum().over("series"))
        .filter(inside)
        .group_by("series", bar=pl.col("place").floor().clip(0, BARS - 1).cast(pl.Int64))
        .agg(pl.sum("share"))
    )
    every = counts.select("series").unique(maintain_order=True).join(pl.DataFrame({"bar": range(BARS)}), how="cross")
    first, last = axis.transformed(np.array([axis.low, axis.high])).tolist()
    edges = np.linspace(first / 2, last / 2, BARS + 1) * 2  # halves don't overflow
    edges = 10**edges if axis.scale == "log" else edges
    return every.join(found, on=["series", "bar"], how="left", maintain_order="left").select(
        "series",
        "bar",
        pl.col("share").fill_null(0.0),
        start=pl.Series(edges).gather(every["bar"]),
        end=pl.Series(edges).gather(every["bar"] + 1),
    )


def _outline(bars: pl.DataFrame) -> pl.DataFrame:
    """A line around the bars of each series, from the bottom left to the bottom right."""
    parts = []
    for part in bars.partition_by("series", maintain_order=True):
        x = np.repeat(np.append(part["start"].to_numpy(), part["end"][-1]), 2)
        y = np.concatenate([[0.0], np.repeat(part["share"].to_numpy(), 2), [0.0]])
        parts.append(pl.DataFrame({"series": pl.repeat(part["series"][0], len(x), eager=True), "x": x, "y": y}))
    return pl.concat(parts) if parts else pl.DataFrame(schema={"series": pl.String, "x": pl.Float64, "y": pl.Float64})

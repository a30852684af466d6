"""Histograms as outlines, which can be overlaid."""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import percentage, require_free, text
from streammetrics.show.charts.picture import MOST, Axis, Layer, Picture, Places, Scale, lines_of
from streammetrics.show.charts.series import BY_CHARTS, CLASS, SIDES, Reports, filled, series_of
from streammetrics.show.charts.together import is_weighted, rows_or_weight

BARS = range(10, 41)  # of a chart: the square root of the number of rows in this range
CLASSES = ("negatives", "positives")
OUTSIDE = 0.005  # maximum share of the rows beyond either end of the axis
DECADES = 2  # minimum range of a logarithmic axis, in powers of ten
SCALES: tuple[Scale, ...] = ("linear", "log")
CROWDED = 0.1  # share of an axis at its end, where half of the rows of a series would be indistinguishable
TALLER = 3  # maximum height relative to the tallest bar of a chart: taller bars of other models would flatten it
ZEROS = 0.2  # share of the rows of a series that a logarithmic axis can lack because they are at 0


def outlines(report: Reports, kind: str, keys: Mapping[str, Any], title: str, what: str) -> Picture:
    """Return histograms of the rows by value, one series per group and class, each with a total bar area of 1.

    Of many groups, the largest are shown, each with all of its classes. ``kind`` is the curve with the bins, and
    ``what`` describes the values, with their unit.
    """
    require_free(report.by, ["count", CLASS], BY_CHARTS)
    every = report.curve(kind)
    shown = series_of(report, every, keys, most=MOST // max(1, sum(c in every.columns for c in CLASSES)))
    series = series_of(report, _by_class(shown.frame.drop("series")), {})
    bins = series.frame
    counted = rows_or_weight(report)
    title = ": ".join([title, *([", ".join(map(text.cell, keys.values()))] if keys else [])])
    alike = {key: value for key, value in keys.items() if key not in SIDES}  # charts of models have the same axes
    if alike != keys:
        bins = _by_class(every)
        bins = series_of(report, bins, alike, most=len(bins)).frame
    axis, outside = _axis(bins, what)
    count = BARS[-1] if is_weighted(report) else min(max(isqrt(int(series.frame["count"].sum())), BARS[0]), BARS[-1])
    bars = _shares(series.frame, axis, count)
    peaks, own = (
        _shares(of, axis, count).group_by("series").agg(pl.max("share"))["share"] for of in (bins, series.frame)
    )
    high = peaks.filter(peaks <= TALLER * float(own.max() or 0.0)).max()  # type: ignore[arg-type]
    top = 1.05 * float(high if isinstance(high, float) else 1.0)
    y = Axis(f"{counted.capitalize()} (share of each series)", 0.0, top, percent=True)
    path = lines_of(bars, _outline)
    layers = [*filled(path, series), Layer("line", path)]
    zeros = ", including those at 0" if axis.scale == "log" and (bins["lowest"] == 0).any() else ""
    beyond = f"{percentage(outside)} of {counted} lie outside this range{zeros}"
    notes = [beyond] if outside >= 5e-4 else []
    coarse = _in_wide_bins(series.frame, axis, count)
    if coarse > 0.05:
        notes.append(f"in bins wider than a bar, spread evenly: {percentage(coarse)} of the {counted}")
    subtitle = "; ".join([*notes, *filter(None, [shown.note])])
    scale = " on the logarithmic axis" if axis.scale == "log" else ""
    caption = f"Bars of each series total 100%. The {count} bars have equal width{scale}."
    return Picture(title, axis, y, layers, series.names, series.legend, subtitle, caption)


def _by_class(bins: pl.DataFrame) -> pl.DataFrame:
    """The nonempty bins with finite ends, per class: keys, ``lowest``, ``highest``, ``count``."""
    counts = [c for c in ("count", *CLASSES) if c in bins.columns]
    bins = bins.filter(pl.col("lowest").is_finite() & pl.col("highest").is_finite())
    if counts != ["count"]:
        index = [c for c in bins.columns if c not in counts]
        bins = bins.unpivot(counts, index=index, variable_name=CLASS, value_name="count")
        bins = bins.select(pl.exclude("lowest", "highest", "count"), "lowest", "highest", "count")
    return bins.filter(pl.col("count") > 0)


def _axis(bins: pl.DataFrame, what: str) -> tuple[Axis, float]:
    """An axis that covers nearly all rows of each series, and the share of rows beyond its ends."""
    if bins.is_empty():
        return Axis(what), 0.0
    share = pl.col("count") / pl.col("count").sum().over("series")
    reached = bins.sort("lowest").with_columns(reached=share.cum_sum().over("series"), own=share)
    first = reached.filter(pl.col("reached") > OUTSIDE)["lowest"].to_numpy()
    last = reached.filter(pl.col("reached") - pl.col("own") < 1 - OUTSIDE)["highest"].to_numpy()
    low, top = float(first.min()), float(last.max())
    if low == top:
        low, top = low - (abs(low) * 0.5 or 0.5), top + (abs(top) * 0.5 or 0.5)
    at_zero = reached.filter(pl.col("lowest") == 0).group_by("series").agg(pl.sum("own"))["own"]
    if low == 0 and at_zero.le(ZEROS).all():
        rest, _ = _axis(bins.filter(pl.col("lowest") > 0), what)
        low = rest.low if rest.scale == "log" else low
    half = reached.filter(pl.col("reached") - pl.col("own") < 0.5).group_by("series").agg(pl.max("lowest"))["lowest"]
    places = {scale: Axis(what, low, top, scale).place(half) for scale in SCALES}
    decades = np.log10(top) - np.log10(low) if low > 0 else 0.0
    log = decades > DECADES and (places["linear"] < CROWDED).any() and not (places["log"] > 1 - CROWDED).any()
    outside = (pl.col("highest") < low) | (pl.col("lowest") > top)
    beyond = pl.col("count").filter(outside).sum() / pl.col("count").sum()
    return Axis(what, low, top, "log" if log else "linear"), bins.select(beyond).item()


def _in_wide_bins(bins: pl.DataFrame, axis: Axis, count: int) -> float:
    """The share of rows in bins wider than a bar, whose shape cannot be shown."""
    wide = (axis.place(bins["highest"]) - axis.place(bins["lowest"])) * count > 1
    share: float | None = bins.select(pl.col("count").filter(pl.Series(wide)).sum() / pl.col("count").sum()).item()
    return share or 0.0


def _shares(bins: pl.DataFrame, axis: Axis, count: int) -> pl.DataFrame:
    """The share of the rows of each series in each bar: series, bar, share, with all bars.

    The rows of a bin that spans several bars are spread evenly.
    """
    first, last, bar = pl.col("first"), pl.col("last"), pl.col("bar")
    overlap = pl.min_horizontal(last, bar + 1) - pl.max_horizontal(first, bar)
    within = pl.when(first < last).then(overlap / (last - first)).otherwise(1.0)
    spanned = pl.int_ranges(*(end.floor().clip(0, count - 1).cast(pl.Int64) + i for i, end in enumerate((first, last))))
    found = (
        bins.select(
            "series",
            share=pl.col("count") / pl.col("count").sum().over("series"),
            first=pl.Series(axis.place(bins["lowest"]) * count),
            last=pl.Series(axis.place(bins["highest"]) * count),
        )
        .filter(last >= 0, first <= count)
        .with_columns(bar=spanned)
        .explode("bar")
        .group_by("series", "bar")
        .agg((pl.col("share") * within).sum())
    )
    every = bins.select("series").unique(maintain_order=True).join(pl.DataFrame({"bar": range(count)}), how="cross")
    ends = axis.transformed(np.array([axis.low, axis.high])).tolist()
    edges = np.linspace(ends[0] / 2, ends[1] / 2, count + 1) * 2  # halves don't overflow
    edges = 10**edges if axis.scale == "log" else edges
    return every.join(found, on=["series", "bar"], how="left", maintain_order="left").select(
        "series",
        "bar",
        pl.col("share").fill_null(0.0),
        start=pl.Series(edges).gather(every["bar"]),
        end=pl.Series(edges).gather(every["bar"] + 1),
    )


def _outline(bars: pl.DataFrame) -> tuple[Places, Places]:
    """A line around the bars of a series, from the bottom left to the bottom right."""
    x = np.repeat(np.append(bars["start"].to_numpy(), bars["end"][-1]), 2)
    return x, np.concatenate([[0.0], np.repeat(bars["share"].to_numpy(), 2), [0.0]])

"""Histograms as outlines, which can be overlaid."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import percentage, require_free, text
from streammetrics.show.charts.axes import Places, Scale, Spec, axis, place, transformed
from streammetrics.show.charts.marks import MAX_SERIES, bars, panel, titled
from streammetrics.show.charts.paths import lines_of
from streammetrics.show.charts.series import (
    BY_CHARTS,
    CLASS,
    SIDES,
    WHICH,
    Reports,
    Together,
    is_weighted,
    rows_or_weight,
    series_of,
)

BARS = range(10, 41)  # of a chart: the square root of the number of rows in this range
CLASSES = ("negatives", "positives")
OUTSIDE = 0.005  # maximum share of the rows beyond either end of the axis
DECADES = 2  # minimum range of a logarithmic axis, in powers of ten
SCALES: tuple[Scale, ...] = ("linear", "log")
EDGE = 1e-9  # of a bar
CROWDED = 0.1  # share of an axis at its end, where half of the rows of a series would be indistinguishable
TALLER = 3  # maximum height relative to the tallest bar of a chart: taller bars of other models would flatten it
ZEROS = 0.2  # share of the rows of a series that a logarithmic axis can lack because they are at 0


def outlines(report: Reports, kind: str, keys: Mapping[str, Any], title: str, what: str) -> Spec:
    """Return histograms of the rows by value, one series per group and class, each with a total bar area of 1.

    Of many groups, the largest are shown, each with all of its classes. ``kind`` is the curve with the bins, and
    ``what`` describes the values, with their unit.
    """
    require_free(report.by, ["count", CLASS], BY_CHARTS)
    curve = report.curve(kind)
    if isinstance(report, Together) and WHICH not in keys and {*CLASSES} <= {*curve.columns}:  # which would be hidden
        curve = curve.select(pl.exclude(CLASSES), count=pl.sum_horizontal(CLASSES))
    groups = series_of(report, curve, keys, most=MAX_SERIES // max(1, sum(c in curve.columns for c in CLASSES)))
    series = series_of(report, _classes(groups.frame.drop("series")), {})
    bins = series.frame
    counted = rows_or_weight(report)
    title = ": ".join([title, *([", ".join(map(text.cell, keys.values()))] if keys else [])])
    shared = {key: value for key, value in keys.items() if key not in SIDES}  # charts of models have the same axes
    if shared != keys:
        bins = _classes(curve)
        bins = series_of(report, bins, shared, most=len(bins)).frame
    x, outside = _value_axis(bins, what)
    count = BARS[-1] if is_weighted(report) else min(max(isqrt(int(series.frame["count"].sum())), BARS[0]), BARS[-1])
    outline = partial(_outline, x=x, count=count)
    path = lines_of(series.frame, outline)
    peaks = lines_of(bins, outline).group_by("series").agg(pl.max("y"))["y"]
    high = peaks.filter(peaks <= TALLER * float(path["y"].max() or 0.0)).max()  # type: ignore[arg-type]
    top = 1.05 * float(high if isinstance(high, float) else 1.0)
    y = axis(f"{counted.capitalize()} (share of each series)", 0.0, top, percent=True)
    is_log = x["scale"]["type"] == "log"
    zeros = ", including those at 0" if is_log and (bins["lowest"] == 0).any() else ""
    beyond = f"{percentage(outside)} of {counted} lie outside this range{zeros}" if outside >= 5e-4 else ""
    is_wide = pl.Series((place(x, series.frame["highest"]) - place(x, series.frame["lowest"])) * count > 1)
    coarse = series.frame.select(pl.col("count").filter(is_wide).sum() / pl.col("count").sum()).item() or 0.0
    wide = f"in bins wider than a bar, spread evenly: {percentage(coarse)} of the {counted}" if coarse > 0.05 else ""
    scale = " on the logarithmic axis" if is_log else ""
    caption = f"Bars of each series total 100%. The {count} bars have equal width{scale}."
    chart = panel(x, y, bars(path, series.names), series.names, series.legend)
    return titled(chart, title, [beyond, wide, groups.note], [caption])


def _classes(bins: pl.DataFrame) -> pl.DataFrame:
    """The nonempty bins with finite ends, per class: keys, ``lowest``, ``highest``, ``count``."""
    counts = [c for c in ("count", *CLASSES) if c in bins.columns]
    bins = bins.filter(pl.col("lowest").is_finite() & pl.col("highest").is_finite())
    if counts != ["count"]:
        index = [c for c in bins.columns if c not in counts]
        bins = bins.unpivot(counts, index=index, variable_name=CLASS, value_name="count")
        bins = bins.select(pl.exclude("lowest", "highest", "count"), "lowest", "highest", "count")
    return bins.filter(pl.col("count") > 0)


def _value_axis(bins: pl.DataFrame, what: str) -> tuple[Spec, float]:
    """An axis that covers nearly all rows of each series, and the share of rows beyond its ends."""
    if bins.is_empty():
        return axis(what), 0.0
    lowest, highest, share, before = map(pl.col, ("lowest", "highest", "share", "before"))
    shares = bins.sort("lowest").with_columns(share=pl.col("count") / pl.col("count").sum().over("series"))
    series = (
        shares.with_columns(before=(share.cum_sum() - share).over("series"))
        .group_by("series")
        .agg(
            low=lowest.filter(before + share > OUTSIDE).first(),
            median=lowest.filter(before < 0.5).last(),
            high=highest.filter(before < 1 - OUTSIDE).last(),
            zeros=share.filter(lowest == 0).sum(),
        )
    )
    low, top = float(series["low"].min()), float(series["high"].max())  # type: ignore[arg-type]
    if low == top:
        low, top = low - (abs(low) * 0.5 or 0.5), top + (abs(top) * 0.5 or 0.5)
    if low == 0 and (series["zeros"] <= ZEROS).all():
        positive = _value_axis(bins.filter(lowest > 0), what)[0]["scale"]
        low = positive["domain"][0] if positive["type"] == "log" else low
    linear, log = (place({"scale": {"type": kind, "domain": [low, top]}}, series["median"]) for kind in SCALES)
    decades = np.log10(top) - np.log10(low) if low > 0 else 0.0
    is_log = decades > DECADES and (linear < CROWDED).any() and not (log > 1 - CROWDED).any()
    beyond = pl.col("count").filter((highest < low) | (lowest > top)).sum() / pl.col("count").sum()
    return axis(what, low, top, "log" if is_log else "linear"), bins.select(beyond).item()


def _outline(bins: pl.DataFrame, x: Spec, count: int) -> tuple[Places, Places]:
    """A line around the bars of a series from the left to the right, whose heights are shares of its rows.

    The rows of a bin that spans several bars are spread evenly.
    """
    bins = bins.sort("lowest")
    rows = bins["count"].to_numpy() / bins["count"].sum()
    reached = rows.cumsum()
    ends = np.column_stack([place(x, bins[c]) for c in ("lowest", "highest")]).ravel() * count
    bars = np.arange(count + 1) - EDGE  # a value at an edge is in the bar after it
    bars[-1] = count + EDGE
    below = np.interp(bars, ends, np.column_stack([reached - rows, reached]).ravel(), 0.0, 1.0)
    low, high = transformed(x, np.array(x["scale"]["domain"])).tolist()
    edges = np.linspace(low / 2, high / 2, count + 1) * 2  # halves don't overflow
    edges = 10**edges if x["scale"]["type"] == "log" else edges
    return np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(np.diff(below), 2), [0.0]])

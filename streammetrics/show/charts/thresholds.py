"""Chart of metrics over the decision threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import cutoff
from streammetrics.errors import Argument, ReportError
from streammetrics.metrics import CELLS, Metric, better, find_metric, words
from streammetrics.show.charts.picture import (
    MOST,
    Axis,
    Layer,
    Picture,
    Places,
    between,
    extent,
    line,
    lines_of,
    numbers,
)
from streammetrics.show.charts.ranking import operating_points, scores
from streammetrics.show.charts.series import Reports, series_of
from streammetrics.show.charts.thinning import seen_apart, thinned

USUAL = ("precision", "recall", "f1")
FEW = 3  # thresholds in the title of an axis
SHARES = (0.0, 1.0)  # range of metrics on a common scale


def thresholds(
    report: Reports,
    /,
    metrics: str | Metric | Sequence[str | Metric] = USUAL,
    *,
    points: pl.DataFrame | None = None,
    **keys: Any,
) -> Picture:
    """Return confusion-count metrics over the threshold, with their certified bands and operating points.

    Several metrics are the lines of one group, and a single metric has a line per group. Metrics with a range other
    than 0 to 1, such as costs, have a scale of their own below.
    """
    asked = [metrics] if isinstance(metrics, str | Metric) else metrics
    found = list(dict.fromkeys(find_metric(metric, CELLS) for metric in asked))
    if not 0 < len(found) <= MOST:
        raise ReportError(Argument("metrics"), f" must be 1 to {MOST} metrics, got {len(found)}.")
    curves = {metric: series_of(report, report.curve(metric), keys) for metric in found}
    series, named = curves[found[0]], len(found) > 1
    if named:
        series.require_one("curves")
    points = operating_points(report, series, points)
    marked = [] if points is None else sorted({t for t in points["threshold"].drop_nulls() if math.isfinite(t)})
    x = scores(report, **keys).x
    x = replace(x, title=f"Threshold{_dotted(marked)}", low=min([x.low, *marked]), high=max([x.high, *marked]))
    names = tuple(map(words, found)) if named else series.names
    panels = list[Picture]()
    for shares in (True, False):
        own = {metric: curve.frame for metric, curve in curves.items() if (metric.range == SHARES) == shares}
        if own:
            layers, y = _panel(own, points, marked, x, named)
            panels.append(Picture("", x, y, layers, names, series.legend, strips=2))
    told = [] if named else [better(found[0])]
    told += (
        ["Shaded band: certified bounds."] if any(p.kind == "band" for panel in panels for p in panel.layers) else []
    )
    return replace(
        panels[0],
        title=f"{'Metrics' if named else words(found[0])} by threshold",
        subtitle=series.note,
        caption=" ".join(filter(None, told)),
        below=panels[1] if len(panels) > 1 else None,
    )


def _panel(
    curves: dict[Metric, pl.DataFrame], points: pl.DataFrame | None, marked: Sequence[float], x: Axis, named: bool
) -> tuple[list[Layer], Axis]:
    """The marks of metrics on one scale, from back to front, and this scale. Series are named after the metrics."""
    first, *others = curves
    y = Axis("Value" if others else words(first).partition(" (")[0], *_ends(curves, x))
    layers = [line((t, t), (y.low, y.high)) for t in marked]
    layers += _lines(pl.concat([_of(m, curve, named) for m, curve in curves.items()]), x, y)
    if points is None:
        return layers, y
    counts = points.filter(pl.col("threshold").is_finite()).with_columns(pl.col(CELLS).cast(pl.Float64))
    dots = pl.concat([_of(m, counts, named).select("series", x="threshold", y=m.expression()) for m in curves])
    text = pl.format("{} at threshold {}", pl.col("y").round_sig_figs(4), pl.col("x").round_sig_figs(6))
    return [*layers, Layer("dot", dots.filter(pl.col("y").is_finite()).with_columns(text=text))], y


def _of(metric: Metric, frame: pl.DataFrame, named: bool) -> pl.DataFrame:
    return frame.with_columns(series=pl.lit(words(metric))) if named else frame


def _ends(curves: dict[Metric, pl.DataFrame], x: Axis) -> tuple[float, float]:
    """The ends of the axis of some metrics: those of shares, or of their values at the thresholds of the chart."""
    if all(metric.range == SHARES for metric in curves):
        return SHARES
    inside = pl.col("threshold").is_between(x.low, x.high) & pl.col("value").is_finite()
    return extent(*(curve.filter(inside)["value"] for curve in curves.values()))


def _lines(frame: pl.DataFrame, x: Axis, y: Axis) -> list[Layer]:
    """The lines, behind them the area between their bounds if it is visible."""
    lower, upper, value = (
        thinned(lines_of(frame, partial(_steps, side=side, x=x)).filter(pl.col("y").is_finite()), x, y)
        for side in ("lower", "upper", "value")
    )
    bands = [between(upper, lower)] if seen_apart(lower, upper, x, y) else []
    return [*bands, Layer("line", value)]


def _steps(curve: pl.DataFrame, side: str, x: Axis) -> tuple[Places, Places]:
    """The path of a metric, or of one of its bounds, from one end of the axis to the other.

    Between two thresholds without scores, a metric is that of the higher one. Inside a bin, it lies between its bounds.
    """
    wide, before = (pl.col("lower") < pl.col("upper")).shift(fill_value=False), pl.col(side).shift()
    ends = pl.when(wide & (side != "value")).then(before).otherwise("value")
    path = curve.reverse().select("threshold", start=pl.when(wide).then(before).otherwise("value"), end=ends)
    edges = path["threshold"].to_numpy()[:-1]
    first, last = (int(np.searchsorted(edges, end, side="right")) for end in (x.low, x.high))
    across = np.concatenate([[x.low], np.repeat(edges[first:last], 2), [x.high]])
    return across, np.column_stack([numbers(path[c][first : last + 1]) for c in ("start", "end")]).ravel()


def _dotted(marked: Sequence[float]) -> str:
    """The marked thresholds, if they are few."""
    few = ", ".join(cutoff(t, 4) for t in marked[:FEW])
    return f" (dotted: {few}{', …' if len(marked) > FEW else ''})" if marked else ""

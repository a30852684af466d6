"""Chart of metrics over the decision threshold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import cutoff
from streammetrics.errors import Argument, ReportError
from streammetrics.metrics import CELLS, Metric, better, find_metric, words
from streammetrics.show.charts.axes import Places, Spec, axis, extent, inside, numbers
from streammetrics.show.charts.marks import MAX_SERIES, STRIP, Marks, panel, reference, stacked, titled
from streammetrics.show.charts.paths import bounded_line, lines_of, simplified
from streammetrics.show.charts.ranking import operating_points, scores
from streammetrics.show.charts.series import Reports, series_of

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
) -> Spec:
    """Return confusion-count metrics over the threshold, with their certified bands and operating points.

    Several metrics are the lines of one group, and a single metric has a line per group. Metrics with a range other
    than 0 to 1, such as costs, have a scale of their own below.
    """
    metrics = [metrics] if isinstance(metrics, str | Metric) else metrics
    counted = list(dict.fromkeys(find_metric(metric, CELLS) for metric in metrics))
    if not 0 < len(counted) <= MAX_SERIES:
        raise ReportError(Argument("metrics"), f" must be 1 to {MAX_SERIES} metrics, got {len(counted)}.")
    curves = {metric: series_of(report, report.curve(metric), keys) for metric in counted}
    series, named = curves[counted[0]], len(counted) > 1
    if named:
        series.require_one("curves")
    points = operating_points(report, series, points)
    marked = [] if points is None else finite(points["threshold"])
    x = threshold_axis(report, marked, **keys)
    names = tuple(map(words, counted)) if named else series.names
    in_words = {m: pl.lit(words(m)) if named else pl.col("series") for m in counted}
    panels, is_banded = [], False
    for group in ([m for m in counted if m.range == SHARES], [m for m in counted if m.range != SHARES]):
        if not group:
            continue
        curve = pl.concat([curves[m].frame.with_columns(series=in_words[m]) for m in group])
        values = curve.filter(inside(x, curve["threshold"]))["value"]
        title = "Value" if len(group) > 1 else words(group[0], with_options=False)
        y = axis(title, *(SHARES if group[0].range == SHARES else extent(values)))
        steps = (partial(_steps, side=side, ends=x["scale"]["domain"]) for side in ("value", "upper", "lower"))
        marks: list[Marks] = [reference((at, at), y["scale"]["domain"]) for at in marked]
        marks += bounded_line((lines_of(curve, step) for step in steps), x, y)
        if points is not None:
            counts = points.filter(pl.col("threshold").is_finite()).with_columns(pl.col(CELLS).cast(pl.Float64))
            rows = pl.concat([counts.select(x="threshold", y=m.expression(), series=in_words[m]) for m in group])
            text = pl.format("{} at threshold {}", pl.col("y").round_sig_figs(4), pl.col("x").round_sig_figs(6))
            marks.append(("dot", rows.with_columns(text=text)))
        is_banded = is_banded or "band" in dict(marks)
        panels.append(panel(x, y, marks, names, series.legend))
    chart = stacked(panels[0], panels[1] | {"height": 2 * STRIP}) if len(panels) > 1 else panels[0]
    title = f"{'Metrics' if named else words(counted[0])} by threshold"
    caption = ["" if named else better(counted[0]), "Shaded band: certified bounds." if is_banded else ""]
    return titled(chart, title, [series.note], caption)


def through(points: pl.DataFrame, x: Spec, marked: Sequence[float]) -> Spec:
    """Return precision, recall, and F1 as lines through confusion counts at some thresholds, with marked ones."""
    y = axis("Value", *SHARES)
    counts = points.filter(pl.col("threshold").is_finite()).with_columns(pl.col(CELLS).cast(pl.Float64))
    metrics = [find_metric(name, CELLS) for name in USUAL]
    lines = pl.concat(counts.select(pl.lit(words(m)).alias("series"), x="threshold", y=m.expression()) for m in metrics)
    lines = lines.filter(pl.col("y").is_finite() & inside(x, lines["x"]))
    marks: list[Marks] = [reference((at, at), SHARES) for at in marked]
    chart = panel(x, y, [*marks, ("line", simplified(lines, x, y))], tuple(map(words, metrics)))
    return titled(chart, "Metrics by threshold", [], [])


def threshold_axis(report: Reports, marked: Sequence[float], **keys: Any) -> Spec:
    """Return the axis of the scores of a group, model, and label, which also has the marked thresholds."""
    scale = scores(report, **keys)["encoding"]["x"]["scale"]
    few = ", ".join(cutoff(t, 4) for t in marked[:FEW]) + ", …" * (len(marked) > FEW)
    title = f"Threshold (dotted: {few})" if marked else "Threshold"
    low, high = scale["domain"]
    return axis(title, min([low, *marked]), max([high, *marked]), scale["type"])


def finite(thresholds: pl.Series) -> list[float]:
    """Return the distinct finite thresholds in ascending order.

    >>> finite(pl.Series([0.5, float("inf"), 0.2, None, 0.5]))
    [0.2, 0.5]
    """
    return thresholds.filter(thresholds.is_finite()).unique().sort().to_list()


def _steps(curve: pl.DataFrame, side: str, ends: Sequence[float]) -> tuple[Places, Places]:
    """The path of a metric, or of one of its bounds, from one end of the axis to the other.

    Between two thresholds without scores, a metric is that of the higher one. Inside a bin, it lies between its bounds.
    """
    wide, before = (pl.col("lower") < pl.col("upper")).shift(fill_value=False), pl.col(side).shift()
    end = pl.when(wide & (side != "value")).then(before).otherwise("value")
    path = curve.reverse().select("threshold", start=pl.when(wide).then(before).otherwise("value"), end=end)
    edges = path["threshold"].to_numpy()[:-1]
    first, last = (int(np.searchsorted(edges, end, side="right")) for end in ends)
    across = np.concatenate([ends[:1], np.repeat(edges[first:last], 2), ends[1:]])
    return across, np.column_stack([numbers(path[c][first : last + 1]) for c in ("start", "end")]).ravel()

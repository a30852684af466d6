"""Charts of errors: distribution function, REC curve, and histogram."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import value_texts
from streammetrics.errors import MetricError
from streammetrics.show.charts.axes import Places, Spec, axis, extent
from streammetrics.show.charts.histograms import outlines
from streammetrics.show.charts.marks import panel, reference, titled
from streammetrics.show.charts.paths import bounded_line, lines_of
from streammetrics.show.charts.series import Reports, Series, rows_or_weight, series_of

UNIT = "units of the target"
INSIDE = 0.99  # share of the rows within the ends of the axis


def error_cdf(report: Reports, /, **keys: Any) -> Spec:
    """Return the distribution function of errors per model and group, with certified bounds, and the two best."""
    title, what = "Distribution of errors", f"Error: prediction - true value ({UNIT})"
    caption = f"Share of the {rows_or_weight(report)} with an error of at most x. Steeper at 0 is better."
    return _steps(report, "error_cdf", "value", title, what, caption, keys)


def rec(report: Reports, /, **keys: Any) -> Spec:
    """Return the regression error characteristic (Bi and Bennett 2003) per model and group, and the two best."""
    title, what = "Regression error characteristic", f"Tolerance: absolute error ({UNIT})"
    caption = f"Share of the {rows_or_weight(report)} with an absolute error within the tolerance. Higher is better."
    return _steps(report, "rec", "tolerance", title, what, caption, keys)


def errors(report: Reports, /, **keys: Any) -> Spec:
    """Return the histogram of errors per model and group."""
    return outlines(report, "errors", keys, "Errors", f"Error: prediction - true value ({UNIT})")


def _steps(report: Reports, kind: str, along: str, title: str, what: str, caption: str, keys: dict[str, Any]) -> Spec:
    series = series_of(report, report.curve(kind), keys)
    low, high = _ends(series.frame, along, both=kind == "error_cdf")
    x, y = axis(what, low, high), axis(f"{rows_or_weight(report).capitalize()} up to x (share)")
    paths = (
        lines_of(series.frame, partial(_stairs, along=along, side=side, low=low, high=high))
        for side in ("share", "upper", "lower")
    )
    zero = [reference((0, 0), (0, 1))] if low < 0 < high else []
    marks = [*zero, *bounded_line(paths, x, y)]
    banded = "Shaded band: certified bounds." if "band" in dict(marks) else ""
    chart = panel(x, y, marks, series.names, series.legend)
    return titled(chart, title, [_best(report, series), series.note], [caption, banded])


def _ends(curve: pl.DataFrame, along: str, both: bool) -> tuple[float, float]:
    """Values between which nearly all rows of each series lie."""
    tail = (1 - INSIDE) / (2 if both else 1)
    inner = curve.filter(pl.col("share").is_between(tail, 1 - tail) & pl.col(along).is_finite())
    if inner.is_empty():
        inner = curve.filter(pl.col(along).is_finite())
    low, high = extent(inner[along])
    return (low, high) if both else (0.0, max(high, 0.0) or 1.0)


def _stairs(curve: pl.DataFrame, along: str, side: str, low: float, high: float) -> tuple[Places, Places]:
    """The steps of a series from one end of the axis to the other."""
    edges, shares = curve[along].to_numpy(), np.append(0.0, curve[side].to_numpy())
    inside = (edges > low) & (edges <= high)
    first = int(np.searchsorted(edges, low, side="right"))
    across = np.concatenate([[low], np.repeat(edges[inside], 2), [high]])
    return across, np.repeat(np.append(shares[first], shares[1:][inside]), 2)


def _best(report: Reports, series: Series) -> str:
    """The two series with the lowest median absolute errors, and whether the certified bounds prove which is lower."""
    if len(series.names) < 2:
        return ""
    try:
        rows = series.join(report.rows("median_absolute_error")).drop_nulls("value").sort("value")
    except MetricError:
        return ""
    if rows.height < 2:
        return ""
    first, second = (rows.row(i, named=True) for i in range(2))
    values = value_texts([first, second])
    medians = ", ".join(f"{value} ({row['series']})" for value, row in zip(values, (first, second), strict=True))
    which = "" if rows.height == 2 else ", the two lowest"
    order = "" if first["upper"] < rows["lower"].tail(-1).min() else ", order not certified"
    return f"median absolute error{which}{order}: {medians}"

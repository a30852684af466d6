"""Charts of calibration: observed rates over scores, in bins of equal width or of equal size."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from streammetrics.metrics import wilson_interval
from streammetrics.show.charts.axes import Places, Scale, Spec, axis, extent, place
from streammetrics.show.charts.marks import STRIP, Marks, bars, panel, reference, stacked, titled
from streammetrics.show.charts.paths import lines_of
from streammetrics.show.charts.series import Reports, Series, is_weighted, rows_or_weight, series_of, sized

DOT = 0.02  # radius of a dot, as a share of the height of a chart
LEGIBLE = 3  # series with intervals
RARE = 0.5  # largest rate or mean score of a chart whose axes end before 1
SCORE, RATE = "Mean score of the bin (probability)", "Observed rate (share of positives)"
DIAGONAL = "Dotted diagonal: perfect calibration. Above it, probabilities are too low; below it, too high."


def calibration(report: Reports, /, **keys: Any) -> Spec:
    """Return the reliability curve: the observed rate over the mean score of each bin, with the rows below.

    A report with a confidence level shows the Wilson interval of each rate, for unweighted rows.
    """
    series, bins = _bins(report, "calibration", keys)
    high = _end(bins["x"], bins["y"])
    upper, explained = _curve(report, series, bins, high)
    counted, most = rows_or_weight(report), float(bins["weight"].max() or 1)  # type: ignore[arg-type]
    x, y = axis("Score", 0.0, high), axis(counted.capitalize(), 0.0, most * 1.05, "sqrt")
    outlines = lines_of(bins, _outline).with_columns(pl.col("x").clip(0, high))
    lower = panel(x, y, bars(outlines, series.names), series.names, series.legend) | {"height": STRIP}
    caption = [DIAGONAL, explained, f"Lower chart: {counted} of each bin, on a square root axis."]
    return titled(stacked(upper, lower), "Calibration in bins of equal width", [series.note], caption)


def quantile_calibration(report: Reports, /, **keys: Any) -> Spec:
    """Return the reliability curve in bins of about equal size, with intervals as in `calibration`.

    If positives are rare, the axes are square root axes.
    """
    series, bins = _bins(report, "quantile_calibration", keys)
    high = _end(bins["x"], bins["y"], *bins.select(cs.by_name("upper", require_all=False)))
    chart, explained = _curve(report, series, bins, high, "linear" if high == 1 else "sqrt")
    size = "weight" if is_weighted(report) else "number of rows"
    bins_of = f"Each bin has about the same {size}{'' if high == 1 else '; square root axes'}."
    return titled(chart, "Calibration in bins of equal size", [series.note], [bins_of, DIAGONAL, explained])


def _bins(report: Reports, kind: str, keys: dict[str, Any]) -> tuple[Series, pl.DataFrame]:
    """The series, and their bins with rows as points, with ``lower`` and ``upper`` if their intervals are known."""
    series = series_of(report, report.curve(kind), keys)
    bins = series.frame.filter(pl.col("weight") > 0)
    bins = bins.select(cs.exclude("lower", "upper"), x="mean_score", y="observed_rate")  # those are bounds of x
    if report.confidence is not None and bins.schema["weight"].is_integer() and len(series.names) <= LEGIBLE:
        lower, upper = wilson_interval(bins["y"] * bins["weight"], bins["weight"], report.confidence)
        bins = bins.with_columns(pl.Series("lower", lower), pl.Series("upper", upper))
    return series, bins


def _end(*columns: pl.Series) -> float:
    """The end of both axes, beyond some values."""
    high = max(extent(*columns)[1], 0.0) if len(columns[0]) else 1.0
    return 1.0 if high > RARE else high


def _curve(
    report: Reports, series: Series, bins: pl.DataFrame, high: float, scale: Scale = "linear"
) -> tuple[Spec, str]:
    """A line with a dot for each bin, the diagonal, and the intervals if they are known, and what these are."""
    x, y = (axis(title, 0.0, high, scale) for title in (SCORE, RATE))
    size = sized("weight", weighted=bins.schema["weight"].is_float())
    score, rate = (pl.col(c).round_sig_figs(4).cast(pl.String) for c in "xy")
    points = bins.select("series", "x", "y", text=pl.format("{}, mean score {}, observed rate {}", size, score, rate))
    marks: list[Marks] = [reference((0.0, high), (0.0, high)), ("line", points.drop("text")), ("dot", points)]
    explained = ""
    if report.confidence is not None and "upper" in bins.columns:
        marks.insert(1, ("interval", bins.select("series", "x", y="lower", y2="upper")))
        level = f"{report.confidence * 100:g}% confidence intervals"
        middle, *ends = (place(y, bins[c]) for c in ("y", "lower", "upper"))
        cut = ", cut off at the end of the axis" if (bins["upper"] > high).any() else ""
        are_visible = any((np.abs(end - middle) > DOT).any() for end in ends)
        explained = f"Vertical lines: {level}{cut}." if are_visible else f"The {level} are smaller than the dots."
    return panel(x, y, marks, series.names, series.legend), explained


def _outline(bins: pl.DataFrame) -> tuple[Places, Places]:
    """A line around the bins of a series."""
    lowest, highest, weight = (bins[c].to_numpy().astype(np.float64) for c in ("lowest", "highest", "weight"))
    ends = np.column_stack([lowest, lowest, highest, highest]).ravel()
    return ends, np.column_stack([np.zeros(len(weight)), weight, weight, np.zeros(len(weight))]).ravel()

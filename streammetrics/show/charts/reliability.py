"""Charts of calibration: observed rates over scores, in bins of equal width or of equal size."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from streammetrics.metrics import wilson_interval
from streammetrics.show.charts.axes import Places, Scale, Spec, axis, extent, place
from streammetrics.show.charts.marks import STRIP, dots, intervals, layered, line, panel, reference
from streammetrics.show.charts.paths import lines_of
from streammetrics.show.charts.series import Reports, Series, filled, is_weighted, rows_or_weight, series_of, sized

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
    x, y = (axis(title, 0.0, high) for title in (SCORE, RATE))
    counted = rows_or_weight(report)
    layers, explained = _marks(report, bins, x, y)
    title, lower = "Calibration in bins of equal width", f"Lower chart: {counted} of each bin, on a square root axis."
    below, caption = _below(bins, high, series, counted), [DIAGONAL, explained, lower]
    return layered(title, x, y, layers, series.names, series.legend, [series.note], caption, below)


def quantile_calibration(report: Reports, /, **keys: Any) -> Spec:
    """Return the reliability curve in bins of about equal size, with intervals as in `calibration`.

    If positives are rare, the axes are square root axes.
    """
    series, bins = _bins(report, "quantile_calibration", keys)
    high = _end(bins["x"], bins["y"], *bins.select(cs.by_name("upper", require_all=False)))
    scale: Scale = "linear" if high == 1 else "sqrt"
    size = "weight" if is_weighted(report) else "number of rows"
    bins_of = f"Each bin has about the same {size}{'' if high == 1 else '; square root axes'}."
    x, y = (axis(title, 0.0, high, scale) for title in (SCORE, RATE))
    layers, explained = _marks(report, bins, x, y)
    title, caption = "Calibration in bins of equal size", [bins_of, DIAGONAL, explained]
    return layered(title, x, y, layers, series.names, series.legend, [series.note], caption)


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


def _marks(report: Reports, bins: pl.DataFrame, x: Spec, y: Spec) -> tuple[list[Spec], str]:
    """The diagonal, the intervals if they are known, and a line with a dot for each bin, and what the intervals are."""
    size = sized("weight", weighted=bins.schema["weight"].is_float())
    text = pl.format("{}, mean score {}, observed rate {}", size, _short("x"), _short("y"))
    diagonal, points = reference(x["scale"]["domain"], y["scale"]["domain"]), bins.select("series", "x", "y", text=text)
    layers = [diagonal, line(points.drop("text")), dots(points, x, y)]
    if report.confidence is None or "upper" not in bins.columns:
        return layers, ""
    layers.insert(1, intervals(bins.select("series", "x", y="lower", y2="upper")))
    level = f"{report.confidence * 100:g}% confidence intervals"
    rate, *ends = (place(y, bins[c]) for c in ("y", "lower", "upper"))
    if not any((np.abs(end - rate) > DOT).any() for end in ends):
        return layers, f"The {level} are smaller than the dots."
    cut = ", cut off at the end of the axis" if (bins["upper"] > y["scale"]["domain"][1]).any() else ""
    return layers, f"Vertical lines: {level}{cut}."


def _below(bins: pl.DataFrame, high: float, series: Series, counted: str) -> Spec:
    """The rows or the weight of each bin, on a square root axis, which starts at 0 and shows small counts too."""
    most = float(bins["weight"].max() or 1)  # type: ignore[arg-type]
    path = lines_of(bins, _outline).with_columns(pl.col("x").clip(0, high))
    x, y = axis("Score", 0.0, high), axis(counted.capitalize(), 0.0, most * 1.05, "sqrt")
    return panel(x, y, [*filled(path, series), line(path)], series.names, series.legend) | {"height": STRIP}


def _outline(bins: pl.DataFrame) -> tuple[Places, Places]:
    """A line around the bins of a series."""
    lowest, highest, weight = (bins[c].to_numpy().astype(np.float64) for c in ("lowest", "highest", "weight"))
    ends = np.column_stack([lowest, lowest, highest, highest]).ravel()
    return ends, np.column_stack([np.zeros(len(weight)), weight, weight, np.zeros(len(weight))]).ravel()


def _short(column: str) -> pl.Expr:
    return pl.col(column).round_sig_figs(4).cast(pl.String)

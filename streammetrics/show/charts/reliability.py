"""Charts of calibration: observed rates over scores, in bins of equal width or of equal size."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from streammetrics.metrics import wilson_interval
from streammetrics.show.charts.picture import Axis, Layer, Picture, Places, Scale, extent, line, lines_of
from streammetrics.show.charts.series import Reports, Series, filled, series_of
from streammetrics.show.charts.together import is_weighted, rows_or_weight, sized

DOT = 0.02  # radius of a dot, as a share of the height of a chart
LEGIBLE = 3  # series with intervals
RARE = 0.5  # largest rate or mean score of a chart whose axes end before 1
SCORE, RATE = "Mean score of the bin (probability)", "Observed rate (share of positives)"
DIAGONAL = "Dotted diagonal: perfect calibration. Above it, probabilities are too low; below it, too high."


def calibration(report: Reports, /, **keys: Any) -> Picture:
    """Return the reliability curve: the observed rate over the mean score of each bin, with the rows below.

    A report with a confidence level shows the Wilson interval of each rate, for unweighted rows.
    """
    series, bins = _bins(report, "calibration", keys)
    high = _end(bins["x"], bins["y"])
    x, y = (Axis(title, 0.0, high) for title in (SCORE, RATE))
    counted = rows_or_weight(report)
    below = _below(bins, x, series, counted)
    told = f"Lower chart: {counted} of each bin, on a square root axis."
    title, caption = "Calibration in bins of equal width", f"{DIAGONAL}{_told(report, bins, y)} {told}"
    return Picture(title, x, y, _layers(bins, high), series.names, series.legend, series.note, caption, below=below)


def quantile_calibration(report: Reports, /, **keys: Any) -> Picture:
    """Return the reliability curve in bins of about equal size, with intervals as in `calibration`.

    If positives are rare, the axes are square root axes.
    """
    series, bins = _bins(report, "quantile_calibration", keys)
    high = _end(bins["x"], bins["y"], *bins.select(cs.by_name("upper", require_all=False)))
    scale: Scale = "linear" if high == 1 else "root"
    said = "" if high == 1 else "; square root axes"
    size = "weight" if is_weighted(report) else "number of rows"
    x, y = (Axis(title, 0.0, high, scale) for title in (SCORE, RATE))
    title, caption = (
        "Calibration in bins of equal size",
        f"Each bin has about the same {size}{said}. {DIAGONAL}{_told(report, bins, y)}",
    )
    return Picture(title, x, y, _layers(bins, high), series.names, series.legend, series.note, caption)


def _bins(report: Reports, kind: str, keys: dict[str, Any]) -> tuple[Series, pl.DataFrame]:
    """The series, and their bins with rows as points, with ``lower`` and ``upper`` if their intervals are known."""
    series = series_of(report, report.curve(kind), keys)
    bins = series.frame.filter(pl.col("weight") > 0)
    bins = bins.select(cs.exclude("lower", "upper"), x="mean_score", y="observed_rate")  # those are bounds of x
    if report.confidence is not None and bins.schema["weight"].is_integer() and len(series.names) <= LEGIBLE:
        weight = pl.col("weight").cast(pl.Float64)
        lower, upper = wilson_interval(pl.col("y") * weight, weight, report.confidence)
        bins = bins.with_columns(lower=lower, upper=upper)
    return series, bins


def _end(*columns: pl.Series) -> float:
    """The end of both axes, beyond some values."""
    high = max(extent(*columns)[1], 0.0) if len(columns[0]) else 1.0
    return 1.0 if high > RARE else high


def _layers(bins: pl.DataFrame, high: float) -> list[Layer]:
    """The diagonal, the intervals if they are known, and a line with a dot for each bin."""
    size = sized("weight", weighted=bins.schema["weight"].is_float())
    text = pl.format("{}, mean score {}, observed rate {}", size, _short("x"), _short("y"))
    dots = bins.select("series", "x", "y", text=text)
    layers = [line((0, high), (0, high)), Layer("line", dots.select("series", "x", "y")), Layer("dot", dots)]
    if "upper" in bins.columns:
        layers.insert(1, Layer("interval", bins.select("series", "x", x2="x", y="lower", y2="upper")))
    return layers


def _told(report: Reports, bins: pl.DataFrame, y: Axis) -> str:
    """The explanation of the vertical lines: whether some are cut off, or all are hidden by their dots."""
    if report.confidence is None or "upper" not in bins.columns:
        return ""
    what = f"{report.confidence * 100:g}% confidence intervals"
    rate, *ends = (y.place(bins[c]) for c in ("y", "lower", "upper"))
    if not any((np.abs(end - rate) > DOT).any() for end in ends):
        return f" The {what} are smaller than the dots."
    cut = ", cut off at the end of the axis" if (bins["upper"] > y.high).any() else ""
    return f" Vertical lines: {what}{cut}."


def _below(bins: pl.DataFrame, x: Axis, series: Series, counted: str) -> Picture:
    """The rows or the weight of each bin, on a square root axis, which starts at 0 and shows small counts too."""
    most = float(bins["weight"].max() or 1)  # type: ignore[arg-type]
    path = lines_of(bins, _outline).with_columns(pl.col("x").clip(0, x.high))
    x, y = Axis("Score", x.low, x.high), Axis(counted.capitalize(), 0.0, most * 1.05, "root")
    layers = [*filled(path, series), Layer("line", path)]
    return Picture(f"{counted.capitalize()} of each bin", x, y, layers, series.names, series.legend)


def _outline(bins: pl.DataFrame) -> tuple[Places, Places]:
    """A line around the bins of a series."""
    lowest, highest, weight = (bins[c].to_numpy().astype(np.float64) for c in ("lowest", "highest", "weight"))
    ends = np.column_stack([lowest, lowest, highest, highest]).ravel()
    return ends, np.column_stack([np.zeros(len(weight)), weight, weight, np.zeros(len(weight))]).ravel()


def _short(column: str) -> pl.Expr:
    return pl.col(column).round_sig_figs(4).cast(pl.String)

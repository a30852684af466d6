"""Charts of calibration: observed rates over scores, in bins of equal width or of equal size."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from streammetrics.charts.picture import Axis, Layer, Picture, Places, Scale, extent, line, lines_of
from streammetrics.charts.series import Drawn, Series, count, filled, series_of
from streammetrics.uncertainty.proportions import wilson_interval

RARE = 0.5  # largest rate or mean score of a chart whose axes end before 1
SCORE, RATE = "Mean score of the bin (probability)", "Observed rate (share of positives)"
BELOW = "Lower chart: rows of each bin, on a square root axis."
DIAGONAL = "Dotted diagonal: perfect calibration. Above it, probabilities are too low; below it, too high."


def calibration(report: Drawn, /, **keys: Any) -> Picture:
    """Return the reliability curve: the observed rate over the mean score of each bin, with the rows below.

    A report with a confidence level shows the Wilson interval of each rate, for unweighted rows.
    """
    series, bins = _bins(report, "calibration", keys)
    high = _end(bins["x"], bins["y"])
    x, y = (Axis(title, 0.0, high) for title in (SCORE, RATE))
    below = _rows_of(bins, x, series)
    title, caption = "Calibration in bins of equal width", f"{DIAGONAL}{_told(report, bins, high)} {BELOW}"
    return Picture(title, x, y, _layers(bins, high), series.names, series.legend, series.note, caption, below=below)


def quantile_calibration(report: Drawn, /, **keys: Any) -> Picture:
    """Return the reliability curve in bins of about equal size, with intervals as in `calibration`.

    If positives are rare, the axes are square root axes.
    """
    series, bins = _bins(report, "quantile_calibration", keys)
    high = _end(bins["x"], bins["y"], *bins.select(cs.by_name("upper", require_all=False)))
    scale: Scale = "linear" if high == 1 else "root"
    said = "" if high == 1 else "; square root axes"
    x, y = (Axis(title, 0.0, high, scale) for title in (SCORE, RATE))
    title, caption = (
        "Calibration in bins of equal size",
        f"Each bin has about the same number of rows{said}. {DIAGONAL}{_told(report, bins, high)}",
    )
    return Picture(title, x, y, _layers(bins, high), series.names, series.legend, series.note, caption)


def _bins(report: Drawn, kind: str, keys: dict[str, Any]) -> tuple[Series, pl.DataFrame]:
    """The series, and their bins with rows as points, with ``lower`` and ``upper`` if their intervals are known."""
    series = series_of(report, report.curve(kind), keys)
    bins = series.frame.filter(pl.col("weight") > 0).with_columns(x="mean_score", y="observed_rate")
    if report.confidence is not None and bins.schema["weight"].is_integer():
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
    rows = pl.when(pl.col("weight") == 1).then(pl.lit("row")).otherwise(pl.lit("rows"))
    text = pl.format("{} {}, mean score {}, observed rate {}", count("weight"), rows, _short("x"), _short("y"))
    dots = bins.select("series", "x", "y", text=text)
    layers = [line((0, high), (0, high)), Layer("line", dots.select("series", "x", "y")), Layer("dot", dots)]
    if "upper" in bins.columns:
        layers.insert(1, Layer("interval", bins.select("series", "x", x2="x", y="lower", y2="upper")))
    return layers


def _told(report: Drawn, bins: pl.DataFrame, high: float) -> str:
    """The explanation of the vertical lines, and whether some are cut off at the end of an axis."""
    if report.confidence is None or "upper" not in bins.columns:
        return ""
    cut = ", cut off at the end of the axis" if (bins["upper"] > high).any() else ""
    return f" Vertical lines: {report.confidence * 100:g}% confidence intervals{cut}."


def _rows_of(bins: pl.DataFrame, x: Axis, series: Series) -> Picture:
    """The number of rows of each bin, on a square root axis, which starts at 0 and shows small counts too."""
    most = float(bins["weight"].max() or 1)  # type: ignore[arg-type]
    path = lines_of(bins, _outline).with_columns(pl.col("x").clip(0, x.high))
    x, y = Axis("Score", x.low, x.high), Axis("Rows", 0.0, most * 1.05, "root")
    layers = [*filled(path, series), Layer("line", path)]
    return Picture("Rows of each bin", x, y, layers, series.names, series.legend)


def _outline(bins: pl.DataFrame) -> tuple[Places, Places]:
    """A line around the bins of a series."""
    lowest, highest, weight = (bins[c].to_numpy().astype(np.float64) for c in ("lowest", "highest", "weight"))
    ends = np.column_stack([lowest, lowest, highest, highest]).ravel()
    return ends, np.column_stack([np.zeros(len(weight)), weight, weight, np.zeros(len(weight))]).ravel()


def _short(column: str) -> pl.Expr:
    return pl.col(column).round_sig_figs(4).cast(pl.String)

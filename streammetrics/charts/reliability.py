"""Charts of calibration: observed rates over scores, in bins of equal width or of equal size."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from streammetrics.charts.picture import Axis, Layer, Picture, Places, Scale, extent, line, lines_of
from streammetrics.charts.series import Series, Source, count, curve_of, series_of
from streammetrics.uncertainty.proportions import wilson_interval

RARE = 0.5  # the largest rate, or mean score, of a chart whose axes end before 1, for it to be visible
SCORE, RATE = "Mean score of the bin (probability)", "Observed rate (share of positives)"
DIAGONAL = "Dotted diagonal: perfect calibration. Above it, probabilities are too low; below it, too high."


def calibration(source: Source, **keys: Any) -> Picture:
    """Return the reliability curve: the observed rate over the mean score of each bin, with the rows below.

    A report with a confidence level shows the Wilson interval of each rate, for unweighted rows.
    """
    series, bins, high = _bins(source, "calibration", keys)
    x, y = (Axis(title, 0.0, high) for title in (SCORE, RATE))
    below = _rows_of(bins, x, series.names)
    layers = _layers(source, bins, high)
    title = "Calibration in bins of equal width"
    return Picture(title, x, y, layers, series.names, series.legend, series.note, DIAGONAL, below=below)


def quantile_calibration(source: Source, **keys: Any) -> Picture:
    """Return the reliability curve in bins of about equal size, with intervals as in `calibration`.

    If positives are rare, the axes are square root axes.
    """
    series, bins, high = _bins(source, "quantile_calibration", keys)
    scale: Scale = "linear" if high == 1 else "root"
    said = "" if high == 1 else "; square root axes"
    x, y = (Axis(title, 0.0, high, scale) for title in (SCORE, RATE))
    layers = _layers(source, bins, high)
    title, caption = (
        "Calibration in bins of equal size",
        f"Each bin has about the same number of rows{said}. {DIAGONAL}",
    )
    return Picture(title, x, y, layers, series.names, series.legend, series.note, caption)


def _bins(source: Source, kind: str, keys: dict[str, Any]) -> tuple[Series, pl.DataFrame, float]:
    """The series, their bins with rows as points, and the end of both axes."""
    series = series_of(source, curve_of(source, kind), keys)
    bins = series.frame.filter(pl.col("weight") > 0).with_columns(x="mean_score", y="observed_rate")
    high = max(extent(bins["x"], bins["y"])[1], 0.0) if bins.height else 1.0
    return series, bins, 1.0 if high > RARE else high


def _layers(source: Source, bins: pl.DataFrame, high: float) -> list[Layer]:
    """The diagonal, the intervals if they are known, and a line with a dot for each bin."""
    text = pl.format("{} rows, mean score {}, observed rate {}", count("weight"), _short("x"), _short("y"))
    dots = bins.select("series", "x", "y", text=text)
    layers = [line((0, high), (0, high)), Layer("line", dots.select("series", "x", "y")), Layer("dot", dots)]
    confidence = None if isinstance(source, pl.DataFrame) else source.confidence
    if confidence is not None and bins.schema["weight"].is_integer():
        layers.insert(1, Layer("interval", _intervals(bins, confidence)))
    return layers


def _intervals(bins: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """From the lower to the upper limit of each rate."""
    weight = pl.col("weight").cast(pl.Float64)
    lower, upper = wilson_interval(pl.col("y") * weight, weight, confidence)
    return bins.select("series", "x", x2="x", y=lower, y2=upper)


def _rows_of(bins: pl.DataFrame, x: Axis, names: tuple[str, ...]) -> Picture:
    """The number of rows of each bin, on a square root axis, which starts at 0 and shows small counts too."""
    most = float(bins["weight"].max() or 1)  # type: ignore[arg-type]
    path = lines_of(bins, _outline).with_columns(pl.col("x").clip(0, x.high))
    y = Axis("Rows (square root axis)", 0.0, most * 1.05, "root")
    return Picture("Rows of each bin", x, y, [Layer("band", path), Layer("line", path)], names)


def _outline(bins: pl.DataFrame) -> tuple[Places, Places]:
    """A line around the bins of a series."""
    lowest, highest, weight = (bins[c].to_numpy().astype(np.float64) for c in ("lowest", "highest", "weight"))
    ends = np.column_stack([lowest, lowest, highest, highest]).ravel()
    return ends, np.column_stack([np.zeros(len(weight)), weight, weight, np.zeros(len(weight))]).ravel()


def _short(column: str) -> pl.Expr:
    return pl.col(column).round_sig_figs(4).cast(pl.String)

"""Charts of ranking: ROC, PR, DET, gain, lift, and the scores of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.base import alike, bound, interval
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import CELLS, fnr, fpr, precision, predicted_positive_rate, prevalence, recall
from streammetrics.show.charts.histograms import outlines
from streammetrics.show.charts.picture import Axis, Layer, Picture, between, line
from streammetrics.show.charts.series import Reports, Series, series_of
from streammetrics.show.charts.thinning import seen_apart, thinned
from streammetrics.show.charts.together import rows_or_weight

BETWEEN = np.sort(np.append(np.arange(1, 12) / 12, 0.5 ** np.arange(4, 12)))
"""Relative positions of points between two distant thresholds: dense near the first, where precision bends most."""
TP, FP, FN, TN = (pl.col(c).cast(pl.Float64) for c in CELLS)
FPR, RECALL, PRECISION, FNR = fpr(FP, TN), recall(TP, FN), precision(TP, FP), fnr(TP, FN)
TARGETED = predicted_positive_rate(TP, FP, FN, TN)
LIFT = pl.when(TARGETED >= 1e-3).then(PRECISION / prevalence(TP, FP, FN, TN))  # at a smaller share, too few rows
LOW = 0.5  # highest precision of a chart whose axis ends before 1
WIDE = 80  # number of characters that fit above a chart
BAND = "shaded band: certified bounds of the curve"


def roc(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Picture:
    """Return the receiver operating characteristic, with its certified band and operating points."""
    series = _series(report, "roc", keys)
    x, y = Axis("False positive rate (share of negatives)"), Axis("Recall (share of positives)")
    layers = [line((0, 1), (0, 1)), *_layers(report, "roc", series, x, y, FPR, RECALL, points)]
    area = _area(report, series, "roc_auc", "AUC", keys)
    return _picture("ROC curve", series, x, y, layers, "dotted: random ranking", area)


def pr(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Picture:
    """Return precision over recall, with its certified band and operating points. Dotted line: prevalence.

    If precision is low, its axis ends before 1.
    """
    series = _series(report, "pr", keys)
    top = _highest(series, PRECISION)
    x = Axis("Recall (share of positives)")
    y = Axis("Precision (share of predicted positives)", 0.0, 1.0 if top > LOW else 1.1 * top)
    levels = series.frame.group_by("series", maintain_order=True).agg(prevalence(TP, FP, FN, TN).first().alias("y"))
    lines = [line((0, 1), (level, level)) for level in levels["y"].drop_nulls().unique(maintain_order=True)]
    layers = [*lines, *_layers(report, "pr", series, x, y, RECALL, PRECISION, points)]
    area = _area(report, series, "average_precision", "average precision", keys)
    return _picture("Precision-recall curve", series, x, y, layers, "dotted: random ranking (prevalence)", area)


def det(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Picture:
    """Return the detection error tradeoff on normal deviate axes (Martin et al. 1997), linear for normal scores.

    It is empty if no threshold has both false positives and false negatives.
    """
    series = _series(report, "det", keys)
    rates = series.frame.select(x=FPR, y=FNR).filter(pl.all_horizontal((pl.all() > 0) & (pl.all() < 1)))
    x = Axis("False positive rate (share of negatives)", *_probit_ends(rates["x"]), "probit", percent=True)
    y = Axis("False negative rate (share of positives)", *_probit_ends(rates["y"]), "probit", percent=True)
    layers = _layers(report, "det", series, x, y, FPR, FNR, points)
    area = _area(report, series, "equal_error_rate", "equal error rate", keys)
    if not _inside(layers, "line", x, y):
        layers, area = [], "no threshold has both false positives and false negatives"
    return _picture("Detection error tradeoff", series, x, y, layers, "lower and further left is better", area)


def gain(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Picture:
    """Return the cumulative gain: the share of positives found in the rows with the highest scores."""
    series = _series(report, "lift", keys)
    x, y = _targeted(report), Axis("Gain (share of positives)")
    layers = [line((0, 1), (0, 1)), *_layers(report, "lift", series, x, y, TARGETED, RECALL, points)]
    return _picture("Cumulative gain", series, x, y, layers, "dotted: random choice")


def lift(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Picture:
    """Return the lift: prevalence in the rows with the highest scores, divided by that in all rows."""
    series = _series(report, "lift", keys)
    x = _targeted(report)
    y = Axis("Lift (relative to the prevalence in all rows)", 0.0, max(2.0, 1.1 * _highest(series, LIFT)))
    layers = [line((0, 1), (1, 1)), *_layers(report, "lift", series, x, y, TARGETED, LIFT, points)]
    return _picture("Lift", series, x, y, layers, "dotted: random choice")


def scores(report: Reports, /, **keys: Any) -> Picture:
    """Return the distribution of scores: per class if labels are known, else of all rows.

    Bars have equal width on the axis, which is logarithmic if scores span several powers of ten. The area of each class
    is 1, so that rare classes are visible.
    """
    return outlines(report, "scores", keys, "Distribution of scores", "Score")


def _targeted(report: Reports) -> Axis:
    counted = rows_or_weight(report)
    return Axis(f"{counted.capitalize()} targeted, highest scores first (share of {counted})")


def _series(report: Reports, kind: str, keys: dict[str, Any]) -> Series:
    return series_of(report, report.curve(kind), keys)


def _layers(
    report: Reports, kind: str, series: Series, x: Axis, y: Axis, across: Expr, up: Expr, points: pl.DataFrame | None
) -> list[Layer]:
    """The band, the curve, and the operating points, from back to front."""
    layers = [_band(report, kind, series, x, y, across, up)]
    layers.append(Layer("line", thinned(_path(series.frame, across, up), x, y)))
    if (dots := operating_points(report, series, points)) is not None:
        shown = dots.select("series", x=across, y=up, text=_said(dots))
        layers.append(Layer("dot", shown.filter(pl.col("x").is_finite() & pl.col("y").is_finite())))
    return layers


def _picture(
    title: str, series: Series, x: Axis, y: Axis, layers: list[Layer], caption: str, area: str = ""
) -> Picture:
    dots = {text for layer in layers if layer.kind == "dot" for text in layer.frame["text"]}
    seen = {"dot": f"dot: {dots.pop()}" if len(dots) == 1 else "dots: thresholds", "band": BAND}
    caption = "; ".join([caption, *(said for kind, said in seen.items() if _inside(layers, kind, x, y))])
    subtitle = "; ".join(filter(None, (area, series.note)))
    return Picture(title, x, y, layers, series.names, series.legend, subtitle, f"{caption[:1].upper()}{caption[1:]}.")


def _path(curve: pl.DataFrame, across: Expr, up: Expr) -> pl.DataFrame:
    """The curve with points between thresholds, at which counts grow in proportion.

    Precision and lift are then interpolated as by Davis and Goadrich (2006).
    """
    parts = []
    for part in curve.select("series", *CELLS).partition_by("series", maintain_order=True):
        jump = np.nan_to_num(
            part.select(pl.max_horizontal(e.diff().abs() for e in (across, up))).to_series().to_numpy()
        )
        place = np.arange(part.height, dtype=np.float64)
        far = np.flatnonzero(jump > 1e-3)
        between = (far[:, None] - 1 + BETWEEN).ravel()
        # Just after zero rows, precision is that of the first rows.
        start = np.array([1e-9]) if part.height > 1 else np.zeros(0)
        at = np.sort(np.concatenate([place, between, start]))
        counts = {c: np.interp(at, place, part[c].to_numpy()) for c in CELLS}
        parts.append(pl.DataFrame({"series": pl.repeat(part["series"][0], len(at), eager=True), **counts}))
    dense = pl.concat(parts) if parts else curve.select("series", *CELLS)
    path = dense.select("series", x=across, y=up)
    return path.filter(pl.col("x").is_finite() & pl.col("y").is_finite())


def _highest(series: Series, up: Expr) -> float:
    """The highest point of the curves; 1 if there is none above 0."""
    return series.frame.select(up.filter(up.is_finite()).max()).item() or 1.0


def _inside(layers: list[Layer], kind: str, x: Axis, y: Axis) -> bool:
    """Return whether a mark of some kind has a point between the ends of both axes."""
    within = [pl.col(name).is_between(axis.low, axis.high) for name, axis in (("x", x), ("y", y))]
    return any(layer.frame.height and layer.frame.filter(*within).height for layer in layers if layer.kind == kind)


def _probit_ends(rates: pl.Series) -> tuple[float, float]:
    """The ends of an axis: 1% and 99%, or those of more extreme rates."""
    low, high = (float(r) if r is not None else 0.5 for r in (rates.min(), rates.max()))  # type: ignore[arg-type]
    return min(0.01, max(1e-5, low)), max(0.99, min(1 - 1e-5, high))


def _band(report: Reports, kind: str, series: Series, x: Axis, y: Axis, across: Expr, up: Expr) -> Layer:
    """The area between the curves of the best and of the worst order of rows within bins."""
    best, worst = (
        thinned(_path(series.of(report.curve(kind, order)), across, up), x, y) for order in ("best", "worst")
    )
    return between(best, worst) if seen_apart(best, worst, x, y) else Layer("band", best.clear())


def operating_points(report: Reports, series: Series, points: pl.DataFrame | None) -> pl.DataFrame | None:
    """Return the confusion counts of the operating points: those given, or at the thresholds of a report, if any."""
    if points is None:
        try:
            points = report.confusion_counts()
        except MetricError:
            return None
    if missing := [c for c in CELLS if c not in points.columns]:
        raise ReportError(Argument("points"), f" has no column {missing[0]!r}. Pass the result of operating_point().")
    if missing := [c for c in series.keys if c not in points.columns]:
        raise ReportError(Argument("points"), f" has no column {missing[0]!r}, which identifies the curve.")
    return series.of(points)


def _said(points: pl.DataFrame) -> Expr:
    """The tooltip of a point."""
    if "threshold" not in points.columns:
        return pl.lit("predicted labels")
    threshold = pl.col("threshold")
    known = pl.format("threshold {}", threshold.cast(pl.Float64).round_sig_figs(6))
    return pl.when(threshold.is_null()).then(pl.lit("predicted labels")).otherwise(known)


def _area(report: Reports, series: Series, metric: str, called: str, keys: dict[str, Any]) -> str:
    """The metric that summarizes the curve, for each series of a report if there is room."""
    if series.left_out:
        return ""
    rows = series.of(report.rows(metric, **keys)).drop_nulls("value").to_dicts()
    values = alike(rows)
    if len(series.names) == len(rows) == 1:
        [row] = rows
        sampled = interval(row.get("ci_lower"), row.get("ci_upper"))
        certain = bound(row["value"], row["lower"], row["upper"])
        certain = f"within {certain}" if " to " in certain else "(exact)" if certain == "exact" else certain
        confident = f"({sampled}, {report.confidence * 100:g}% CI)" if sampled and report.confidence else ""
        return f"{called} {values[0]} {confident or certain}"
    named = [f"{value} ({row['series']})" for value, row in zip(values, rows, strict=True)]
    area = f"{called} {', '.join(named)}"
    return area if len(rows) == len(series.names) and len(area) <= WIDE else ""

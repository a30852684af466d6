"""Charts of ranking: ROC, PR, DET, gain, lift, and the scores of each class."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.base import bound, interval, value_texts
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import (
    CELLS,
    fnr,
    fpr,
    normal_quantile,
    precision,
    predicted_positive_rate,
    prevalence,
    recall,
)
from streammetrics.show.charts.axes import Places, Spec, axis, extent, inside, probit_axis
from streammetrics.show.charts.histograms import outlines
from streammetrics.show.charts.marks import STRIP, Marks, panel, reference, stacked, titled
from streammetrics.show.charts.paths import bounded_line, lines_of
from streammetrics.show.charts.series import SIDES, Reports, Series, rows_or_weight, series_of

BETWEEN = np.sort(np.append(np.arange(1, 12) / 12, 0.5 ** np.arange(4, 12)))
"""Relative positions of points between two distant thresholds: dense near the first, where precision bends most."""
TP, FP, FN, TN = (pl.col(c).cast(pl.Float64) for c in CELLS)
FPR, RECALL, PRECISION, FNR = fpr(FP, TN), recall(TP, FN), precision(TP, FP), fnr(TP, FN)
TARGETED = predicted_positive_rate(TP, FP, FN, TN)
LIFT = pl.when(TARGETED >= 1e-3).then(PRECISION / prevalence(TP, FP, FN, TN))  # at a smaller share, too few rows
LOW = 0.5  # highest precision of a chart whose axis ends before 1
DIFFERENCES = 200  # points at which two curves are compared
WIDE = 80  # number of characters that fit above a chart


def roc(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Spec:
    """Return the receiver operating characteristic, with its certified band and operating points."""
    series = series_of(report, report.curve("roc"), keys)
    x, y = axis("False positive rate (share of negatives)"), axis("Recall (share of positives)")
    summary = _summary(report, series, "roc_auc", "AUC", keys)
    marks = _marks(report, "roc", series, x, y, FPR, RECALL, points)
    diagonal, difference = reference((0, 1), (0, 1)), _difference(series, x, FPR, RECALL)
    return _chart("ROC curve", series, x, y, [diagonal, *marks], "Dotted: random ranking", summary, difference)


def pr(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Spec:
    """Return precision over recall, with its certified band and operating points. Dotted line: prevalence.

    If precision is low, its axis ends before 1.
    """
    series = series_of(report, report.curve("pr"), keys)
    top = _highest(series, PRECISION)
    x = axis("Recall (share of positives)")
    y = axis("Precision (share of predicted positives)", 0.0, 1.0 if top > LOW else 1.1 * top)
    levels = series.frame.group_by("series", maintain_order=True).agg(y=prevalence(TP, FP, FN, TN).first())["y"]
    random = [reference((0, 1), (level, level)) for level in levels.drop_nulls().unique(maintain_order=True)]
    summary = _summary(report, series, "average_precision", "average precision", keys)
    marks = [*random, *_marks(report, "pr", series, x, y, RECALL, PRECISION, points)]
    caption, difference = "Dotted: random ranking (prevalence)", _difference(series, x, RECALL, PRECISION)
    return _chart("Precision-recall curve", series, x, y, marks, caption, summary, difference)


def det(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Spec:
    """Return the detection error tradeoff on normal deviate axes (Martin et al. 1997), linear for normal scores.

    It is empty if no threshold has both false positives and false negatives.
    """
    series = series_of(report, report.curve("det"), keys)
    both = series.frame.select(x=FPR, y=FNR).filter(pl.all_horizontal((pl.all() > 0) & (pl.all() < 1)))
    x = probit_axis("False positive rate (share of negatives)", *_probit_ends(both["x"]))
    y = probit_axis("False negative rate (share of positives)", *_probit_ends(both["y"]))
    if both.is_empty():
        marks, summary = [], "no threshold has both false positives and false negatives"
    else:
        marks = _marks(report, "det", series, x, y, _probit(FPR), _probit(FNR), points)
        summary = _summary(report, series, "equal_error_rate", "equal error rate", keys)
    return _chart("Detection error tradeoff", series, x, y, marks, "Lower and further left is better", summary)


def gain(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Spec:
    """Return the cumulative gain: the share of positives found in the rows with the highest scores."""
    series = series_of(report, report.curve("lift"), keys)
    x, y = _targeted(report), axis("Gain (share of positives)")
    marks = [reference((0, 1), (0, 1)), *_marks(report, "lift", series, x, y, TARGETED, RECALL, points)]
    return _chart("Cumulative gain", series, x, y, marks, "Dotted: random choice")


def lift(report: Reports, /, *, points: pl.DataFrame | None = None, **keys: Any) -> Spec:
    """Return the lift: prevalence in the rows with the highest scores, divided by that in all rows."""
    series = series_of(report, report.curve("lift"), keys)
    x = _targeted(report)
    y = axis("Lift (relative to the prevalence in all rows)", 0.0, max(2.0, 1.1 * _highest(series, LIFT)))
    marks = [reference((0, 1), (1, 1)), *_marks(report, "lift", series, x, y, TARGETED, LIFT, points)]
    return _chart("Lift", series, x, y, marks, "Dotted: random choice")


def scores(report: Reports, /, **keys: Any) -> Spec:
    """Return the distribution of scores: per class if labels are known, else of all rows.

    Bars have equal width on the axis, which is logarithmic if scores span several powers of ten. The area of each class
    is 1, so that rare classes are visible.
    """
    return outlines(report, "scores", keys, "Distribution of scores", "Score")


def _targeted(report: Reports) -> Spec:
    counted = rows_or_weight(report)
    return axis(f"{counted.capitalize()} targeted, highest scores first (share of {counted})")


def _marks(
    report: Reports, kind: str, series: Series, x: Spec, y: Spec, across: Expr, up: Expr, points: pl.DataFrame | None
) -> list[Marks]:
    """The certified band if it is visible, the curve, and the operating points."""
    path = partial(_path, across=across, up=up)
    frames = (series.frame, *(series.join(report.curve(kind, order)) for order in ("best", "worst")))
    marks = bounded_line((lines_of(frame, path) for frame in frames), x, y)
    points = operating_points(report, series, points)
    if points is not None:
        text = pl.lit("predicted labels")
        if "threshold" in points.columns:
            threshold = pl.format("threshold {}", pl.col("threshold").cast(pl.Float64).round_sig_figs(6))
            text = pl.when(pl.col("threshold").is_null()).then(text).otherwise(threshold)
        marks.append(("dot", points.select("series", x=across, y=up, text=text)))
    return marks


def _difference(series: Series, x: Spec, across: Expr, up: Expr) -> Spec | None:
    """A low panel with the second of two models or reports minus the first, at the same x."""
    if len(series.names) != 2 or not {*series.keys} <= {*SIDES}:
        return None
    lines = lines_of(series.frame, partial(_path, across=across, up=up))
    paths = [lines.filter(series=name).sort("x", maintain_order=True) for name in series.names]
    if any(path.is_empty() for path in paths):
        return None
    places = np.linspace(max(path["x"][0] for path in paths), 1, DIFFERENCES)
    one, other = (np.interp(places, path["x"], path["y"]) for path in paths)
    line = pl.DataFrame({"series": "difference", "x": places, "y": other - one})
    y = axis("Difference", *extent(line["y"], pl.Series([0.0])))
    y["axis"] |= {"tickCount": 3}
    unlabeled = x | {"title": None, "axis": x["axis"] | {"labels": False}}
    zero = reference((0, 1), (0, 0))
    return panel(unlabeled, y, [zero, ("line", line)], ["difference"], grey="difference") | {"height": STRIP}


def _chart(
    title: str,
    series: Series,
    x: Spec,
    y: Spec,
    marks: list[Marks],
    caption: str,
    summary: str = "",
    difference: Spec | None = None,
) -> Spec:
    points = [rows.filter(inside(x, rows["x"]) & inside(y, rows["y"])) for style, rows in marks if style == "dot"]
    texts = {text for rows in points for text in rows["text"]}
    dotted = f"dot: {min(texts)}" if len(texts) == 1 else "dots: thresholds" if texts else ""
    banded = "shaded band: certified bounds of the curve" if "band" in dict(marks) else ""
    compared = f"below: {series.names[1]} minus {series.names[0]}" if difference else ""
    sentence = f"{'; '.join(filter(None, (caption, dotted, banded, compared)))}."
    chart = panel(x, y, marks, series.names, series.legend)
    chart = stacked(chart, difference) if difference else chart
    return titled(chart, title, [summary, series.note], [sentence])


def _path(curve: pl.DataFrame, across: Expr, up: Expr) -> tuple[Places, Places]:
    """The curve of a series with points between thresholds, at which counts grow in proportion.

    Precision and lift are then interpolated as by Davis and Goadrich (2006).
    """
    step = curve.select(pl.max_horizontal(e.diff().abs() for e in (across, up))).to_series().fill_null(0.0)
    place = np.arange(curve.height, dtype=np.float64)
    far = np.flatnonzero(np.nan_to_num(step.to_numpy()) > 1e-3)
    start = [1e-9] if curve.height > 1 else []  # just after zero rows, precision is that of the first rows
    at = np.sort(np.concatenate([place, (far[:, None] - 1 + BETWEEN).ravel(), start]))
    path = pl.select(**{c: np.interp(at, place, curve[c].to_numpy()) for c in CELLS}).select(x=across, y=up)
    return path["x"].to_numpy(), path["y"].to_numpy()


def _probit(share: Expr) -> Expr:
    return share.clip(1e-12, 1 - 1e-12).map_elements(normal_quantile, return_dtype=pl.Float64)


def _highest(series: Series, up: Expr) -> float:
    """The highest point of the curves; 1 if there is none above 0."""
    return series.frame.select(up.filter(up.is_finite()).max()).item() or 1.0


def _probit_ends(rates: pl.Series) -> tuple[float, float]:
    """The ends of an axis: 1% and 99%, or those of more extreme rates."""
    low, high = (float(r) if r is not None else 0.5 for r in (rates.min(), rates.max()))  # type: ignore[arg-type]
    return min(0.01, max(1e-5, low)), max(0.99, min(1 - 1e-5, high))


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
    return series.join(points)


def _summary(report: Reports, series: Series, metric: str, called: str, keys: dict[str, Any]) -> str:
    """The metric that summarizes the curve, for each series of a report if there is room."""
    if series.left_out:
        return ""
    rows = series.join(report.rows(metric, **keys)).drop_nulls("value").to_dicts()
    values = value_texts(rows)
    if len(series.names) == len(rows) == 1:
        [row] = rows
        sampled = interval(row.get("ci_lower"), row.get("ci_upper"))
        certain = bound(row["value"], row["lower"], row["upper"])
        certain = f"within {certain}" if " to " in certain else "(exact)" if certain == "exact" else certain
        confident = f"({sampled}, {report.confidence * 100:g}% CI)" if sampled and report.confidence else ""
        return f"{called} {values[0]} {confident or certain}"
    of_series = [f"{value} ({row['series']})" for value, row in zip(values, rows, strict=True)]
    summary = f"{called} {', '.join(of_series)}"
    return summary if len(rows) == len(series.names) and len(summary) <= WIDE else ""

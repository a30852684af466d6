"""Curves as scikit-learn displays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from streammetrics.charts.matrix import one_matrix
from streammetrics.charts.series import Drawn, series_of
from streammetrics.errors import MetricError, ReportError, SpecificationError


def to_display(report: Drawn, /, kind: str, **keys: Any) -> Any:
    """Return the curve of one group as a scikit-learn display. See `Report.to_display`."""
    if kind not in DISPLAYS:
        raise ReportError(f"Unknown display {kind!r}. Displays: {', '.join(DISPLAYS)}.")
    return DISPLAYS[kind](report, keys)


def _sklearn() -> tuple[Any, Any]:
    try:
        from sklearn import calibration, metrics
    except ImportError as error:
        raise SpecificationError(
            "Displays require scikit-learn. Install it with: pip install scikit-learn matplotlib"
        ) from error
    return metrics, calibration


def _roc(report: Drawn, keys: dict[str, Any]) -> Any:
    curve, name = _one(report, "roc", keys)
    fpr, recall = _columns(curve.drop_nulls(["fpr", "recall"]), "fpr", "recall")
    return _sklearn()[0].RocCurveDisplay(fpr=fpr, tpr=recall, roc_auc=_value(report, "roc_auc", keys), name=name)


def _pr(report: Drawn, keys: dict[str, Any]) -> Any:
    """In ascending order of threshold, with a precision of 1 for no rows, as in scikit-learn."""
    curve, name = _one(report, "pr", keys)
    recall, precision = _columns(
        curve.with_columns(pl.col("precision").fill_null(1.0)).reverse(), "recall", "precision"
    )
    last = curve.row(-1, named=True)
    return _sklearn()[0].PrecisionRecallDisplay(
        precision=precision,
        recall=recall,
        average_precision=_value(report, "average_precision", keys),
        name=name,
        prevalence_pos_label=last["precision"],
    )


def _det(report: Drawn, keys: dict[str, Any]) -> Any:
    curve, name = _one(report, "det", keys)
    fpr, fnr = _columns(curve.drop_nulls(["fpr", "fnr"]), "fpr", "fnr")
    return _sklearn()[0].DetCurveDisplay(fpr=fpr, fnr=fnr, estimator_name=name)


def _calibration(report: Drawn, keys: dict[str, Any]) -> Any:
    """The probabilities of the display are the mean scores of the bins, since rows are not stored."""
    curve, name = _one(report, "calibration", keys)
    rate, score = _columns(curve, "observed_rate", "mean_score")
    return _sklearn()[1].CalibrationDisplay(prob_true=rate, prob_pred=score, y_prob=score, estimator_name=name)


def _confusion(report: Drawn, keys: dict[str, Any]) -> Any:
    cells = one_matrix(report, keys)[1].frame.select("actual", "predicted", "count")
    labels = pl.concat([cells[c] for c in ("actual", "predicted")]).unique().sort().to_list()
    place = {label: i for i, label in enumerate(labels)}
    matrix = np.zeros((len(labels), len(labels)), dtype=cells["count"].to_numpy().dtype)
    for actual, predicted, count in cells.iter_rows():
        matrix[place[actual], place[predicted]] = count
    return _sklearn()[0].ConfusionMatrixDisplay(matrix, display_labels=labels)


DISPLAYS: dict[str, Callable[[Drawn, dict[str, Any]], Any]] = {
    "roc": _roc,
    "pr": _pr,
    "det": _det,
    "calibration": _calibration,
    "confusion": _confusion,
}


def _one(report: Drawn, kind: str, keys: dict[str, Any]) -> tuple[pl.DataFrame, str | None]:
    """The curve with these keys, and its name."""
    series = series_of(report, report.curve(kind), keys)
    if series.frame.is_empty():
        raise ReportError("No curve: the report has no rows.")
    series.require_one("curves")
    name = series.names[0]
    return series.frame, None if name == "all rows" else name


def _columns(frame: pl.DataFrame, *names: str) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    return [frame[name].cast(pl.Float64).to_numpy() for name in names]


def _value(report: Drawn, metric: str, keys: dict[str, Any]) -> float | None:
    try:
        found = report.rows(metric, **keys)["value"]
    except (MetricError, ReportError):
        return None
    return found[0] if len(found) == 1 else None

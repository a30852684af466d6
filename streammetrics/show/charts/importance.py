"""The metrics of a report, the most important first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from streammetrics.metrics import Metric

if TYPE_CHECKING:
    from streammetrics.report import Report

COUNTS = ("rows", "dropped")
FIRST = (
    *("roc_auc", "roc_auc(average=macro)", "average_precision", "log_loss_skill", "calibration_ratio"),
    *("precision", "recall", "accuracy", "f1(average=macro)", "f1(average=micro)", "subset_accuracy"),
    *("kappa(weights=quadratic)", "f1", "mcc", "balanced_accuracy"),
    *("r2", "rmse", "mae", "bias", "median_absolute_error", "absolute_error_quantile(q=0.99)"),
)
"""Metrics of which none repeats another. Other metrics of a report follow if there are fewer."""
BASELINES = ("majority_accuracy", "prevalence")


def ranked_metrics(total: Report) -> Iterator[Metric]:
    """Yield the metrics of a report, the most important first, with the calibration of those that measure it."""
    metrics = {metric.name: metric for metric in total.metrics if metric.name not in COUNTS}
    if "ece" in metrics:
        metrics["calibration_ratio"] = total.find("calibration_ratio")
    names = dict.fromkeys((*FIRST, *(name for name in metrics if name not in BASELINES), *BASELINES))
    yield from (metrics[name] for name in names if name in metrics)

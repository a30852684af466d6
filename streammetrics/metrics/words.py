"""Metrics in words: their names and preferred directions."""

from __future__ import annotations

from streammetrics.metrics.metric import Metric

NAMES = {
    "roc_auc": "ROC AUC",
    "pr_auc": "PR AUC",
    "ks": "KS distance",
    "ece": "Expected calibration error",
    "mce": "Maximum calibration error",
    "npv": "Negative predictive value",
    "fpr": "False positive rate",
    "fnr": "False negative rate",
    "f1": "F1 score",
    "mcc": "Matthews correlation",
    "kappa": "Cohen's kappa",
    "youden_j": "Youden's J",
    "mae": "Mean absolute error",
    "mse": "Mean squared error",
    "rmse": "Root mean squared error",
    "error_sd": "Standard deviation of errors",
    "r2": "R²",
    "pearson_r": "Correlation",
    "concordance": "Concordance correlation",
    "mape": "Mean absolute percentage error",
    "smape": "Symmetric percentage error",
    "mad": "Median absolute deviation of errors",
}


def words(metric: Metric) -> str:
    """The name of a metric in words, with its options.

    >>> from streammetrics.metrics import f1, log_loss, roc_auc
    >>> words(roc_auc), words(log_loss), words(f1.with_average("macro"))
    ('ROC AUC', 'Log loss', 'F1 score (average=macro)')
    """
    name = metric.__name__
    options = metric.name.removeprefix(name)
    said = NAMES.get(name) or name.replace("_", " ").capitalize()
    return f"{said} {options}" if options else said


def better(metric: Metric) -> str:
    """Return the preferred direction of a metric as a sentence; empty without one."""
    return {"high": "Higher is better.", "low": "Lower is better."}.get(metric.better or "", "")

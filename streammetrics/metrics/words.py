"""Metrics in words: their names and preferred directions."""

from __future__ import annotations

from collections.abc import Iterable

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


def unsaid(metric: Metric) -> str:
    """The options in the summary of a metric that its name does not have, with their defaults.

    >>> from streammetrics.metrics import recall_at_fpr
    >>> unsaid(recall_at_fpr), unsaid(recall_at_fpr.with_options(fpr=0.1))
    ('fpr=0.01', '')
    """
    options = metric.options.items()
    return ", ".join(f"{k}={v}" for k, v in options if f"``{k}``" in metric.summary and f"{k}=" not in metric.name)


def with_defaults(metrics: Iterable[Metric]) -> list[str]:
    """The metrics with options that their names do not have, with these.

    >>> from streammetrics.metrics import recall_at_fpr, roc_auc
    >>> with_defaults([roc_auc, recall_at_fpr])
    ['recall_at_fpr(fpr=0.01)']
    """
    return [f"{metric.name}({options})" for metric in metrics if (options := unsaid(metric))]

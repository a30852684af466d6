"""Metrics in words: their names and preferred directions."""

from __future__ import annotations

from collections.abc import Iterable

from streammetrics.metrics.metric import Metric

NAMES = {
    "roc_auc": "ROC AUC",
    "pr_auc": "PR AUC",
    "ks": "KS distance",
    "ece": "Expected calibration error",
    "ecce": "Cumulative calibration error",
    "expected_ecce": "Expected cumulative calibration error",
    "ecce_p_value": "P-value of the calibration",
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

PROPER = ("Matthews", "Cohen's", "Youden's", "Brier", "Gini", "Jaccard", "Poisson", "Tweedie")  # first words

BEST = {"bias": 0, "median_error": 0, "calibration_in_the_large": 0, "calibration_ratio": 1}  # between worse values


def words(metric: Metric, with_options: bool = True) -> str:
    """The name of a metric in words, with its options.

    >>> from streammetrics.metrics import f1, log_loss, roc_auc
    >>> words(roc_auc), words(log_loss), words(f1.with_average("macro"))
    ('ROC AUC', 'Log loss', 'F1 score (average=macro)')
    """
    name = metric.__name__
    options = metric.name.removeprefix(name) if with_options else ""
    text = NAMES.get(name) or name.replace("_", " ").capitalize()
    return f"{text} {options}" if options else text


def in_a_sentence(metric: Metric) -> str:
    """The name of a metric in words within a sentence.

    >>> from streammetrics.metrics import brier_score, log_loss, roc_auc
    >>> in_a_sentence(log_loss), in_a_sentence(roc_auc), in_a_sentence(brier_score)
    ('log loss', 'ROC AUC', 'Brier score')
    """
    text = words(metric)
    is_proper = not text[1:2].islower() or text.startswith(PROPER)
    return text if is_proper else text[0].lower() + text[1:]


def direction(metric: Metric) -> str | None:
    """Return whether a ``"high"`` or a ``"low"`` value is better, or a low distance from the best one; None if neither.

    >>> from streammetrics.metrics import bias, mean_actual, roc_auc
    >>> direction(roc_auc), direction(bias), direction(mean_actual)
    ('high', 'low', None)
    """
    return "low" if metric.__name__ in BEST else metric.better


def better(metric: Metric) -> str:
    """Return the preferred direction, or the best value, of a metric as a sentence; empty without one.

    >>> from streammetrics.metrics import bias, mae, mean_actual
    >>> better(mae), better(bias), better(mean_actual)
    ('Lower is better.', 'Nearer 0 is better.', '')
    """
    if metric.__name__ in BEST:
        return f"Nearer {BEST[metric.__name__]} is better."
    return {"high": "Higher is better.", "low": "Lower is better."}.get(metric.better or "", "")


def unsaid(metric: Metric) -> str:
    """The options that the summary of a metric mentions and its name does not have, with their defaults.

    >>> from streammetrics.metrics import recall_at_fpr
    >>> unsaid(recall_at_fpr), unsaid(recall_at_fpr.with_options(fpr=0.1))
    ('fpr=0.01', '')
    """
    options = metric.options.items()
    return ", ".join(f"{k}={v}" for k, v in options if f"``{k}``" in metric.summary and f"{k}=" not in metric.name)


def with_defaults(metrics: Iterable[Metric]) -> list[str]:
    """The names of metrics whose summary mentions unset options, with the defaults of these options.

    >>> from streammetrics.metrics import cost, recall_at_fpr, roc_auc
    >>> with_defaults([roc_auc, recall_at_fpr, cost.with_options(fn=20)])
    ['recall_at_fpr(fpr=0.01)', 'cost(fn=20, tp=0, fp=1, tn=0)']
    """
    pairs = [(metric.name, options) for metric in metrics if (options := unsaid(metric))]
    return [f"{name[:-1]}, {options})" if name.endswith(")") else f"{name}({options})" for name, options in pairs]

"""Cards: the metrics that say most about a model, each with what to compare it with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from string import Formatter
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import (
    Row,
    bound,
    cutoff,
    interval,
    markup,
    minus,
    of_labels_once,
    percentage,
    readable,
    rows,
    typical_decimals,
    value_text,
    value_texts,
)
from streammetrics.metrics import Metric, better, unsaid, words

if TYPE_CHECKING:
    from streammetrics.report import Report

CARDS = 6
LINES = 4  # values of a model on a card
VOLUME = ("rows", "dropped")
FIRST = (
    *("roc_auc", "roc_auc(average=macro)", "average_precision", "log_loss_skill", "calibration_ratio"),
    *("precision", "recall", "accuracy", "f1(average=macro)", "f1(average=micro)", "subset_accuracy"),
    *("kappa(weights=quadratic)", "f1", "mcc", "balanced_accuracy"),
    *("r2", "rmse", "mae", "bias", "median_absolute_error", "absolute_error_quantile(q=0.99)"),
)
"""Metrics of which none repeats another. Other metrics of a report follow if there are fewer."""
BESIDE = {
    "roc_auc": "random ranking: 0.5",
    "roc_auc(average=macro)": "random ranking: 0.5",
    "average_precision": "random ranking: {prevalence}",
    "log_loss_skill": "best constant score: 0",
    "calibration_ratio": "predicted {mean_score}, observed {observed_rate}",
    "accuracy": "always the most frequent label: {majority_accuracy}",
}
"""What to compare a metric with, by other metrics."""
BASELINES = ("majority_accuracy", "prevalence")
LOWEST = "recall"  # the metric of which the lowest of all labels is shown


def cards(total: Report) -> str:
    """Return cards of the most important metrics of all rows, and what they mean, folded."""
    frame, made = of_labels_once(total.frame), dict[Metric, str]()
    typical = typical_decimals(rows(frame))
    for metric in in_order(total):
        found = of_labels_once(total.rows(metric))
        if is_lowest := metric.name == LOWEST and "label" in found.columns and found["label"].count() > 0:
            found = _lowest(found, total.by)
        elif "label" in found.columns and found["label"].count():
            continue
        if not found["value"].is_finite().any() or found.height > LINES * total.state.groups.height:
            continue
        thresholds = found["threshold"].drop_nulls().unique().to_list() if "threshold" in found.columns else []
        at = f" at threshold {cutoff(thresholds[0])}" if len(thresholds) == 1 else ""
        keys = [*total.by, *["threshold"] * (len(thresholds) > 1), *["label"] * is_lowest]
        of_card = list(rows(found))
        beside = [_beside(total, metric, row) for row in of_card]
        if len({*beside}) == 1:  # once for all models
            beside = [""] * (len(beside) - 1) + beside[:1]
        parts = zip(of_card, value_texts(of_card, typical), beside, strict=True)
        shown = "".join(_value(row, value, keys) + compared for row, value, compared in parts)
        name = f"Lowest {words(metric).lower()} of a label" if is_lowest else f"{words(metric)}{at}"
        made[metric] = f'<section class="card"><h3>{markup(name)}</h3>{shown}</section>'
        if len(made) == CARDS:
            break
    of_cards = "".join(made.values())
    return f'<div class="cards">{of_cards}</div>{_explained(total, [*made], of_cards)}' if made else ""


def prose(metric: Metric) -> str:
    """The summary of a metric, without references to other functions, and with defaults of the options it mentions.

    >>> from streammetrics.metrics import recall_at_fpr
    >>> prose(recall_at_fpr)
    'Recall at the false positive rate fpr on the linearly interpolated ROC curve. Default: fpr=0.01.'
    >>> prose(recall_at_fpr.with_options(fpr=0.1))
    'Recall at the false positive rate fpr on the linearly interpolated ROC curve.'
    """
    told = re.sub(r" See `\w+`\.", "", metric.summary)
    options = unsaid(metric)
    return told.replace("`", "") + (f" Default: {options}." if options else "")


def in_order(total: Report) -> Iterator[Metric]:
    """Yield the metrics of a report, the most important first, with the calibration of those that measure it."""
    shown = {metric.name: metric for metric in total.metrics if metric.name not in VOLUME}
    if "ece" in shown:
        shown["calibration_ratio"] = total.find("calibration_ratio")
    ordered = dict.fromkeys((*FIRST, *(name for name in shown if name not in BASELINES), *BASELINES))
    yield from (shown[name] for name in ordered if name in shown)


def _lowest(found: pl.DataFrame, models: list[str]) -> pl.DataFrame:
    """Of each model, the label whose metric is lowest by the better end of its interval: others can be so by chance."""
    end = pl.coalesce("ci_upper", "value") if "ci_upper" in found.columns else pl.col("value")
    named = found.with_columns(label=readable(found["label"])).sort(end, nulls_last=True, maintain_order=True)
    return named.group_by(models, maintain_order=True).first() if models else named.head(1)


def _value(row: Row, value: str, keys: list[str]) -> str:
    """A value as text with its keys, its interval, and certified bounds unless it is exact."""
    of = ", ".join(f"{key} {row[key]}" if key in ("label", "threshold") else f"{row[key]}" for key in keys)
    name = f'<span class="of">{markup(of)}</span> ' if of else ""
    certain = bound(row["value"], row["lower"], row["upper"], value).replace("exact", "")
    note = row["note"] or ("undefined" if row["value"] is None else "")
    told = [
        interval(row.get("ci_lower"), row.get("ci_upper"), value),
        f"certified {certain}" if certain else "",
        "" if note.startswith("no interval") else note,
    ]
    lines = "".join(f'<span class="sure">{markup(minus(line))}</span>' for line in told if line)
    return f'<p class="value">{name}<b>{minus(value)}</b>{lines}</p>'


def _beside(total: Report, metric: Metric, row: Row) -> str:
    """What to compare a value with, if it is known."""
    model = {key: row[key] for key in total.by}
    told = BESIDE.get(metric.name, "")
    for name in [name for _, name, _, _ in Formatter().parse(told) if name]:
        known = total.rows(name, **model)["value"].drop_nulls() if total.readable(name) else pl.Series()
        if known.is_empty():
            return ""
        told = told.replace(f"{{{name}}}", percentage(known[0]))
    if metric.name == "rmse" and total.readable("r2"):
        r2 = total.rows("r2", **model)["value"].item()
        of_the_mean = row["value"] / math.sqrt(1 - r2) if r2 is not None and r2 < 1 else None
        told = "" if of_the_mean is None else f"always the mean: {value_text({'value': float(f'{of_the_mean:.4g}')})}"
    return f'<p class="sure">{markup(told)}</p>' if told else ""


def _explained(total: Report, shown: list[Metric], of_cards: str) -> str:
    """The definitions of metrics, folded, after what the small print below the values is."""
    sampled = f"Below each value: its {total.confidence * 100:g}% confidence interval. " if total.confidence else ""
    below = sampled + "Certified: bounds for exactly these rows, without sampling error." * ("certified" in of_cards)
    meant = "".join(
        f"<li><b>{markup(words(metric))}</b> <code>{markup(metric.name)}</code>: "
        f"{markup(' '.join(filter(None, (_meaning(metric), better(metric)))))}</li>"
        for metric in shown
    )
    told = f"<p>{below}</p>" if below else ""
    return f"{told}<details><summary>What these metrics mean</summary><ul>{meant}</ul></details>"


def _meaning(metric: Metric) -> str:
    """The summary of a metric without its name."""
    told = prose(metric).removeprefix(f"{words(metric, with_options=False)}: ")
    return told[:1].upper() + told[1:]

"""Cards: the metrics that say most about a model, each with what to compare it with."""

from __future__ import annotations

import math
import re
from string import Formatter
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import (
    Row,
    bound,
    capitalized,
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
from streammetrics.show.charts.importance import ranked_metrics
from streammetrics.show.tables.estimates import note
from streammetrics.show.tables.notes import with_note

if TYPE_CHECKING:
    from streammetrics.report import Report

CARDS = 6
LINES = 4  # values of a model on a card
BESIDE = {
    "roc_auc": "random ranking: 0.5",
    "roc_auc(average=macro)": "random ranking: 0.5",
    "average_precision": "random ranking: {prevalence}",
    "log_loss_skill": "best constant score: 0",
    "calibration_ratio": "predicted {mean_score}, observed {observed_rate}",
    "accuracy": "always the most frequent label: {majority_accuracy}",
}
"""What to compare a metric with, by other metrics."""
LOWEST = "recall"  # the metric of which the lowest of all labels is shown


def cards(total: Report) -> str:
    """Return cards of the most important metrics of all rows, and what they mean, folded."""
    frame, html = of_labels_once(total.frame), dict[Metric, str]()
    typical = typical_decimals(rows(frame))
    for metric in ranked_metrics(total):
        estimates = of_labels_once(with_note(total._sampled_rows(metric), [metric], intervals=False))
        columns = estimates.columns
        has_labels = "label" in columns and estimates["label"].count() > 0
        if has_labels and metric.name != LOWEST:
            continue
        if has_labels:
            estimates = _lowest(estimates, total.by)
        if not estimates["value"].is_finite().any() or estimates.height > LINES * total.state.groups.height:
            continue
        thresholds = estimates["threshold"].drop_nulls().unique().to_list() if "threshold" in columns else []
        keys = [*total.by, *["threshold"] * (len(thresholds) > 1), *["label"] * has_labels]
        lines = list(rows(estimates))
        baselines = [_baseline(total, metric, row) for row in lines]
        if len({*baselines}) == 1:  # once for all models
            baselines = [""] * (len(baselines) - 1) + baselines[:1]
        parts = zip(lines, value_texts(lines, typical), baselines, strict=True)
        values = "".join(_value(row, value, keys) + baseline for row, value, baseline in parts)
        at = f" at threshold {cutoff(thresholds[0])}" if len(thresholds) == 1 else ""
        name = f"Lowest {words(metric).lower()} of a label" if has_labels else f"{words(metric)}{at}"
        html[metric] = f'<section class="card"><h3>{markup(name)}</h3>{values}</section>'
        if len(html) == CARDS:
            break
    content = "".join(html.values())
    return f'<div class="cards">{content}</div>{_explained(total, [*html], content)}' if html else ""


def prose(metric: Metric) -> str:
    """The summary of a metric, without references to other functions, and with defaults of the options it mentions.

    >>> from streammetrics.metrics import recall_at_fpr
    >>> prose(recall_at_fpr)
    'Recall at the false positive rate fpr on the linearly interpolated ROC curve. Default: fpr=0.01.'
    >>> prose(recall_at_fpr.with_options(fpr=0.1))
    'Recall at the false positive rate fpr on the linearly interpolated ROC curve.'
    """
    summary, options = re.sub(r" See `\w+`\.", "", metric.summary), unsaid(metric)
    return summary.replace("`", "") + (f" Default: {options}." if options else "")


def _lowest(estimates: pl.DataFrame, models: list[str]) -> pl.DataFrame:
    """Of each model, the label whose metric is lowest by the better end of its interval: others can be so by chance."""
    end = pl.coalesce("ci_upper", "value") if "ci_upper" in estimates.columns else pl.col("value")
    named = estimates.with_columns(label=readable(estimates["label"])).sort(end, nulls_last=True, maintain_order=True)
    return named.group_by(models, maintain_order=True).first() if models else named.head(1)


def _value(row: Row, value: str, keys: list[str]) -> str:
    """A value as text with its keys, its interval, and certified bounds unless it is exact."""
    of = ", ".join(f"{key} {row[key]}" if key in ("label", "threshold") else f"{row[key]}" for key in keys)
    name = f'<span class="of">{markup(of)}</span> ' if of else ""
    certain = bound(row["value"], row["lower"], row["upper"], value).replace("exact", "")
    lines = [
        interval(row.get("ci_lower"), row.get("ci_upper"), value),
        f"certified {certain}" if certain else "",
        note(row),
    ]
    small = "".join(f'<span class="sure">{markup(minus(line))}</span>' for line in lines if line)
    return f'<p class="value">{name}<b>{minus(value)}</b>{small}</p>'


def _baseline(total: Report, metric: Metric, row: Row) -> str:
    """What to compare a value with, if it is known."""
    model = {key: row[key] for key in total.by}
    text = BESIDE.get(metric.name, "")
    for name in [name for _, name, _, _ in Formatter().parse(text) if name]:
        values = total.rows(name, **model)["value"].drop_nulls() if total.readable(name) else pl.Series()
        if values.is_empty():
            return ""
        text = text.replace(f"{{{name}}}", percentage(values[0]))
    if metric.name == "rmse" and total.readable("r2"):
        r2 = total.rows("r2", **model)["value"].item()
        if r2 is not None and r2 < 1:
            mean = row["value"] / math.sqrt(1 - r2)
            text = f"always the mean: {value_text({'value': float(f'{mean:.4g}')})}"
    return f'<p class="sure">{markup(text)}</p>' if text else ""


def _explained(total: Report, metrics: list[Metric], of_cards: str) -> str:
    """The definitions of metrics without their names, folded, after what the small print below the values is."""
    sampled = f"Below each value: its {total.confidence * 100:g}% confidence interval. " if total.confidence else ""
    below = sampled + "Certified: bounds for exactly these rows, without sampling error." * ("certified" in of_cards)
    items = ""
    for metric in metrics:
        meaning = prose(metric).removeprefix(f"{words(metric, with_options=False)}: ")
        sentences = f"{capitalized(meaning)} {better(metric)}".strip()
        items += f"<li><b>{markup(words(metric))}</b> <code>{markup(metric.name)}</code>: {markup(sentences)}</li>"
    small = f"<p>{below}</p>" if below else ""
    return f"{small}<details><summary>What these metrics mean</summary><ul>{items}</ul></details>"

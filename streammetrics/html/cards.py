"""Cards of the first metrics, with names in words, bounds, and intervals."""

from __future__ import annotations

import re

import polars as pl

from streammetrics.frame import of_labels_once
from streammetrics.metrics import Metric
from streammetrics.metrics.words import better, unsaid, words
from streammetrics.present.estimates import only_threshold
from streammetrics.reading.readings import Readings
from streammetrics.text import rows
from streammetrics.text.decimals import Row, alike, bound, interval, typical_of
from streammetrics.text.markup import markup

CARDS = 8
LINES = 4  # values of a model on a card
VOLUME = ("rows", "dropped")


def cards(total: Readings) -> str:
    """Return cards of the first metrics of all rows, each with its bounds and its interval."""
    frame, made = of_labels_once(total.frame), dict[str, str]()
    confidence = f"{total.confidence * 100:g}% confidence" if total.confidence else ""
    typical = typical_of(rows(frame))
    for metric in total.metrics:
        found = frame.filter(pl.col("metric") == metric.name)
        if metric.name in VOLUME or ("label" in found.columns and found["label"].count()):
            continue
        if not found["value"].is_finite().any() or found.height > LINES * total.state.groups.height:
            continue
        keys = [c for c in (*total.by, "threshold") if c in found.columns and found[c].drop_nulls().n_unique() > 1]
        of_card = list(rows(found))
        shown = zip(of_card, alike(of_card, typical), strict=True)
        made[metric.name] = _card(metric, [_value(row, value, keys, confidence) for row, value in shown])
    names = list(made)[:CARDS]
    thresholds = only_threshold(frame.filter(pl.col("metric").is_in(names)))
    told = "".join(f"<p>{markup(sentence)}</p>" for sentence in thresholds)
    return f'<div class="cards">{"".join(made[name] for name in names)}</div>{told}' if made else ""


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


def _card(metric: Metric, values: list[str]) -> str:
    name = words(metric)
    what = prose(metric).removeprefix(f"{name.partition(' (')[0]}: ")
    told = " ".join(filter(None, (what[:1].upper() + what[1:], better(metric))))
    return (
        f'<section class="card"><h3>{markup(name)} <code>{markup(metric.name)}</code></h3>{"".join(values)}'
        f'<p class="what">{markup(told)}</p></section>'
    )


def _value(row: Row, value: str, keys: list[str], confidence: str) -> str:
    """A value as text with its keys, certified bounds, and interval."""
    of = ", ".join(str(row[k]) for k in keys if row[k] is not None)
    name = f'<span class="of">{markup(of)}</span> ' if of else ""
    sampled = interval(row.get("ci_lower"), row.get("ci_upper"), value)
    certain = bound(row["value"], row["lower"], row["upper"], value)
    certain = f"{'' if certain == 'exact' else 'certified '}{certain} for these rows"
    told = [f"{sampled} ({confidence})"] if sampled else []
    told += [certain] if row["value"] is not None else []
    told += [row["note"] or "undefined"] if row["value"] is None or row["note"] else []
    lines = "".join(f'<span class="sure">{markup(line)}</span>' for line in told)
    return f'<p class="value">{name}<b>{value}</b>{lines}</p>'

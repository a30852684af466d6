"""Decisions: confusion counts and rates at thresholds, or of predicted labels, and confusions of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import amount, markup, percentage, readable, rows
from streammetrics.errors import MetricError
from streammetrics.metrics import CELLS, find_metric
from streammetrics.show.charts.series import sized
from streammetrics.show.pages.evaluated import weight_of
from streammetrics.show.tables.html import scrolled
from streammetrics.show.tables.table import Cell, Table, columns, key_cell
from streammetrics.show.tables.thresholds import threshold_cell
from streammetrics.statistics import ConfusionMatrix

if TYPE_CHECKING:
    from streammetrics.report import Report

COUNTS = ("true positives", "false positives", "false negatives", "true negatives")
RATES = {"predicted positive": "predicted_positive_rate", "precision": "precision", "recall": "recall", "F1": "f1"}
MOST = 200  # rows of a table
DIGITS = 4  # of a threshold: more would be chance
CONFUSED = 8  # pairs of labels


def threshold_counts(total: Report) -> str:
    """Return the confusion counts at each threshold, with shares of all rows."""
    try:
        counts = total.confusion_counts()
    except MetricError:
        return ""
    keys = [c for c in counts.columns if c not in CELLS and counts[c].null_count() < counts.height]
    if counts.is_empty():
        return ""
    title = "Decisions at each threshold" if "threshold" in keys else "Confusion counts"
    note = "Below each count: its share of all rows."
    if total.state.weighted:
        note = f"Sums of the weights in {weight_of(total)}. Below each: its share of the total weight."
    return f'<h3 class="over">{title}</h3>{decisions_table(title, keys, counts, note, has_shares=True)}'


def most_confused(total: Report) -> str:
    """Return the most frequent confusions of labels in words, of each model."""
    try:
        pairs = total.most_confused(CONFUSED)
    except MetricError:
        return ""
    if pairs.is_empty():
        return ""
    names = [readable(pairs[c]).fill_null("null") for c in ("actual", "predicted")]
    lines = []
    for row in rows(pairs.with_columns(*names, size=sized("count", total.state.weighted))):
        model = "".join(f"{row[c]}: " for c in total.by)
        pair = f"{markup(model)}<b>{markup(row['actual'])}</b> taken for <b>{markup(row['predicted'])}</b>"
        lines.append(f"<li>{pair}: {row['size']}, {percentage(row['share_of_actual'])} of this label</li>")
    return f"<h3>Most confused</h3><ul>{''.join(lines)}</ul>"


def is_argmax(total: Report) -> bool:
    """Whether the label with the highest score is predicted, so that there are no thresholds to choose."""
    return any(isinstance(statistic, ConfusionMatrix) for statistic in total.state.statistics)


def decisions_table(title: str, keys: Sequence[str], points: pl.DataFrame, note: str, has_shares: bool = False) -> str:
    """Return points as a table below a note: their keys, of which the first names the rows, rates, and counts.

    Below the counts, there can be their shares of all rows.
    """
    metrics = RATES | {"prevalence": "prevalence"}
    rates = [find_metric(name, CELLS).expression().fill_nan(None).alias(column) for column, name in metrics.items()]
    lift = (pl.col("precision") / pl.col("prevalence")).fill_nan(None)
    rated = points.head(MOST).with_columns(pl.col(CELLS).cast(pl.Float64)).with_columns(rates).with_columns(lift=lift)
    lines = []
    for row in rows(rated):
        size = sum(row[c] for c in CELLS) if has_shares else 0
        names = [threshold_cell(row[key], DIGITS) if key == "threshold" else key_cell(row[key]) for key in keys]
        shares = [Cell("–" if row[c] is None else percentage(row[c]), row[c]) for c in RATES]
        shares.append(Cell("–" if row["lift"] is None else f"{row['lift']:.2f}", row["lift"]))
        counts = [Cell(amount(row[c]), row[c], percentage(row[c] / size) if size else "") for c in CELLS]
        lines.append([*names, *shares, *counts])
    named = [*columns(*keys[:1], kind="head"), *columns(*keys[1:], *RATES, "lift", *COUNTS)]
    if points.height > MOST:
        note = f"{note} Only the first {MOST} of {points.height:,} rows are listed.".strip()
    table = Table(named, lines, title)
    return f"<p>{note}</p>{scrolled(table, title.lower())}"

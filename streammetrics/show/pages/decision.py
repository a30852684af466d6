"""Decisions: counts and shares at thresholds, the highest scores, and the best thresholds under cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import VALUE, amount, at_most, markup, percentage, readable, rows
from streammetrics.errors import MetricError
from streammetrics.metrics import CELLS, precision, predicted_positive_rate, recall
from streammetrics.show.charts.series import sized
from streammetrics.show.pages.evaluated import weight_of
from streammetrics.show.tables.html import scrolled
from streammetrics.show.tables.table import Cell, Table, columns, key_cell
from streammetrics.show.tables.thresholds import threshold_cell
from streammetrics.statistics import ConfusionMatrix

if TYPE_CHECKING:
    from streammetrics.report import Report

COUNTS = ("true positives", "false positives", "false negatives", "true negatives")
RATES = ("predicted positive", "precision", "recall")
TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
TOP, COST, COSTS = "highest scores", "cost of a false negative", (1, 3, 10, 30, 100)
MOST = 200  # rows of a table
DIGITS = 4  # of a threshold, and of the lowest cost: more would be chance
CONFUSED = 8  # pairs of labels
CHOSEN = "The thresholds are chosen on these rows. Check them on other rows, where their cost is usually higher."


def threshold_counts(total: Report) -> str:
    """Return the confusion counts at each threshold, with shares of all rows."""
    try:
        counts = total.confusion_counts()
    except MetricError:
        return ""
    keys = [c for c in counts.columns if c not in CELLS and counts[c].null_count() < counts.height]
    cells = []
    for row in rows(counts.head(MOST)):
        size = sum(row[c] for c in CELLS)
        counted = [Cell(amount(row[c]), row[c], percentage(row[c] / size) if size else "") for c in CELLS]
        cells.append([*(key_cell(row[key]) for key in keys), *counted])
    title = "Decisions at each threshold" if "threshold" in keys else "Confusion counts"
    note = "Below each count: its share of all rows."
    if total.state.weighted:
        note = f"Sums of the weights in {weight_of(total)}. Below each: its share of the total weight."
    return _table(title, [*keys, *COUNTS], counts, cells, note)


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
        pair = f"{markup(model)}<b>{markup(row['actual'])}</b> read as <b>{markup(row['predicted'])}</b>"
        lines.append(f"<li>{pair}: {row['size']}, {percentage(row['share_of_actual'])} of this label</li>")
    return f"<h3>Most confused</h3><ul>{''.join(lines)}</ul>"


def highest_scores(total: Report) -> str:
    """Return what is found if only the highest scores count as positive: a gains table."""
    if is_argmax(total):
        return ""
    try:
        curve = total.curve("lift").filter(pl.col("threshold").is_finite())
    except MetricError:
        return ""
    keys = [c for c in curve.columns if c not in (*CELLS, "threshold", "targeted", "gain", "lift")]
    parts = [
        curve.filter(at_most(pl.col("targeted"), top))
        .group_by(keys, maintain_order=True)
        .last()
        .with_columns(pl.lit(f"{top:.0%}").alias(TOP))
        for top in TOPS
    ]
    points = pl.concat(parts).drop_nulls("threshold")
    cells = [
        [*(key_cell(row[key]) for key in (TOP, *keys)), threshold_cell(row["threshold"], DIGITS)]
        for row in rows(points.head(MOST))
    ]
    note = f"All shares are weighted by {weight_of(total)}." if total.state.weighted else ""
    return _table("Results among the highest scores", [TOP, *keys, "threshold"], points, cells, note)


def best_thresholds(total: Report) -> str:
    """Return the threshold with the lowest cost, for several costs of a false negative."""
    if is_argmax(total):
        return ""
    parts = []
    for fn in COSTS:
        try:
            point = total.operating_point(minimize=f"cost(fp=1, fn={fn})")
        except MetricError:
            return ""
        parts.append(point.drop_nulls("threshold").select(pl.lit(fn).alias(COST), pl.all()))
    points = pl.concat(parts)
    keys = [c for c in points.columns if c not in (*CELLS, "threshold", *VALUE)]
    best = points.unique([*(key for key in keys if key != COST), "threshold"], keep="first", maintain_order=True)
    lowest = min((abs(cost) for cost in best["value"].head(MOST) if cost), default=1.0)
    decimals, cells = max(0, min(12, DIGITS - 1 - math.floor(math.log10(lowest)))), []
    for row in rows(best.head(MOST)):
        cost = Cell(f"{row['value']:,.{decimals}f}", row["value"])
        cells.append([*(key_cell(row[key]) for key in keys), threshold_cell(row["threshold"], DIGITS), cost])
    header = [*keys, "best threshold", "weighted mean cost" if total.state.weighted else "cost per row"]
    same = " Higher costs with the same threshold are omitted." if best.height < points.height else ""
    return _table("Best thresholds, if a false positive costs 1", header, best, cells, CHOSEN + same)


def is_argmax(total: Report) -> bool:
    """Whether the label with the highest score is predicted, so that there are no thresholds to choose."""
    return any(isinstance(statistic, ConfusionMatrix) for statistic in total.state.statistics)


def _table(title: str, header: Sequence[str], points: pl.DataFrame, cells: list[list[Cell]], note: str) -> str:
    """The first points as a table under its title, with their rates after some cells; empty without points."""
    if points.is_empty():
        return ""
    tp, fp, fn, tn = (pl.col(c).cast(pl.Float64) for c in CELLS)
    rates = (predicted_positive_rate(tp, fp, fn, tn), precision(tp, fp), recall(tp, fn))
    rated = points.head(MOST).with_columns(rate.fill_nan(None).alias(c) for c, rate in zip(RATES, rates, strict=True))
    lines = []
    for first, row in zip(cells, rows(rated), strict=True):
        shares = [Cell("–" if row[c] is None else percentage(row[c]), row[c]) for c in RATES]
        lines.append([*first, *shares])
        if "lift" in row:
            lines[-1].append(Cell("–" if row["lift"] is None else f"{row['lift']:.2f}", row["lift"]))
    named = [*columns(*header[:1], kind="head"), *columns(*header[1:], *RATES)]
    if "lift" in rated.columns:
        named += columns("lift")
    table = Table(named, lines, title)
    if points.height > MOST:
        note = f"{note} Only the first {MOST} of {points.height:,} rows are listed.".strip()
    sentences = f"<p>{note}</p>" if note else ""
    return f'<h3 class="over">{title}</h3>{sentences}{scrolled(table, title.lower())}'

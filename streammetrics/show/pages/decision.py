"""Decisions: counts and shares at thresholds, the highest scores, and the best thresholds under cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.base import amount, at_most, cutoff, markup, percentage, readable, rows
from streammetrics.errors import MetricError
from streammetrics.metrics import precision, predicted_positive_rate, recall
from streammetrics.show.charts.together import sized
from streammetrics.show.pages.evaluated import weight_of
from streammetrics.show.tables.html import scrolled
from streammetrics.show.tables.table import Cell, Table, columns, key_cell
from streammetrics.statistics import ConfusionMatrix

if TYPE_CHECKING:
    from streammetrics.report import Report

COUNTS = ("tp", "fp", "fn", "tn")
CALLED = ("true positives", "false positives", "false negatives", "true negatives")
RATES = ("predicted positive", "precision", "recall")
OF_CURVES, OF_POINTS = ("threshold", "targeted", "gain", "lift"), ("value", "lower", "upper")
TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
COST, COSTS = "cost of a false negative", (1, 3, 10, 30, 100)
MOST = 200  # rows of a table
DIGITS = 4  # of a threshold
CONFUSED = 8  # pairs of labels
CHOSEN = "The thresholds are chosen on these rows. Check them on other rows, where their cost is usually higher."


def at_thresholds(total: Report) -> str:
    """Return the confusion counts at each threshold, with shares of all rows."""
    try:
        counts = total.confusion_counts()
    except MetricError:
        return ""
    keys = [c for c in counts.columns if c not in COUNTS and counts[c].null_count() < counts.height]
    listed = [[*_keys(row, keys), *_counts(row), *_rates(row)] for row in rows(_rated(counts).head(MOST))]
    header = [*keys, *CALLED, *RATES]
    title = "Decisions at each threshold" if "threshold" in keys else "Confusion counts"
    note = "Below each count: its share of all rows."
    if total.state.weighted:
        note = f"Sums of the weights in {weight_of(total)}. Below each: its share of the total weight."
    return _titled(title, header, listed, f"{note}{_cut(counts)}")


def most_confused(total: Report) -> str:
    """Return the most frequent confusions of labels in words, of each model."""
    try:
        found = total.most_confused(CONFUSED)
    except MetricError:
        return ""
    if found.is_empty():
        return ""
    named = [readable(found[c]).fill_null("null") for c in ("actual", "predicted")]
    lines = []
    for row in rows(found.with_columns(*named, size=sized("count", total.state.weighted))):
        model = "".join(f"{row[c]}: " for c in total.by)
        pair = f"{markup(model)}<b>{markup(row['actual'])}</b> read as <b>{markup(row['predicted'])}</b>"
        lines.append(f"<li>{pair}: {row['size']}, {percentage(row['share_of_actual'])} of this label</li>")
    return f"<h3>Most confused</h3><ul>{''.join(lines)}</ul>"


def highest_scores(total: Report) -> str:
    """Return what is found if only the highest scores count as positive: a gains table."""
    if is_argmax(total):
        return ""
    try:
        curve = total.curve("lift")
    except MetricError:
        return ""
    curve = curve.filter(pl.col("threshold").is_finite())
    keys = _keys_of(curve)
    parts = [
        curve.filter(at_most(pl.col("targeted"), top))
        .group_by(keys, maintain_order=True)
        .last()
        .select(pl.lit(f"{top:.0%}").alias("highest scores"), pl.all())
        for top in TOPS
    ]
    every = pl.concat(parts).drop_nulls("threshold")
    listed = []
    for row in rows(_rated(every.head(MOST))):
        lift = Cell("–" if row["lift"] is None else f"{row['lift']:.2f}", row["lift"])
        listed.append([*_keys(row, ["highest scores", *keys]), _threshold(row), *_rates(row), lift])
    header = ["highest scores", *keys, "threshold", *RATES, "lift"]
    note = f"All shares are weighted by {weight_of(total)}." if total.state.weighted else ""
    return _titled("Results among the highest scores", header, listed, f"{note}{_cut(every)}")


def best_thresholds(total: Report) -> str:
    """Return the threshold with the lowest cost, for several costs of a false negative."""
    parts = []
    for fn in () if is_argmax(total) else COSTS:
        try:
            found = total.operating_point(minimize=f"cost(fp=1, fn={fn})")
        except MetricError:
            return ""
        parts.append(found.drop_nulls("threshold").select(pl.lit(fn).alias(COST), pl.all()))
    if not parts:
        return ""
    every = _rated(pl.concat(parts))
    keys = _keys_of(every)
    best = every.unique([*(key for key in keys if key != COST), "threshold"], keep="first", maintain_order=True)
    points = list(rows(best.head(MOST)))
    numbers = zip(points, _costs(points), strict=True)
    listed = [[*_keys(row, keys), _threshold(row), own, *_rates(row)] for row, own in numbers]
    cost = "weighted mean cost" if total.state.weighted else "cost per row"
    header = [*keys, "best threshold", cost, *RATES]
    same = " Higher costs with the same threshold are omitted." if best.height < every.height else ""
    return _titled("Best thresholds, if a false positive costs 1", header, listed, CHOSEN + same + _cut(best))


def is_argmax(total: Report) -> bool:
    """Whether the label with the highest score is predicted, so that there are no thresholds to choose."""
    return any(isinstance(statistic, ConfusionMatrix) for statistic in total.state.statistics)


def _cut(every: pl.DataFrame) -> str:
    """A note if a table does not show all rows."""
    return f" Only the first {MOST} of {every.height:,} rows are listed." if every.height > MOST else ""


def _keys_of(points: pl.DataFrame) -> list[str]:
    return [c for c in points.columns if c not in (*COUNTS, *OF_CURVES, *OF_POINTS, *RATES)]


def _rated(counts: pl.DataFrame) -> pl.DataFrame:
    tp, fp, fn, tn = (pl.col(c).cast(pl.Float64) for c in COUNTS)
    rates = (predicted_positive_rate(tp, fp, fn, tn), precision(tp, fp), recall(tp, fn))
    return counts.with_columns(rate.fill_nan(None).alias(name) for name, rate in zip(RATES, rates, strict=True))


def _keys(row: dict[str, Any], keys: list[str]) -> list[Cell]:
    return [key_cell(row[k]) for k in keys]


def _counts(row: dict[str, Any]) -> list[Cell]:
    every = sum(row[c] for c in COUNTS)
    return [Cell(amount(row[c]), row[c], percentage(row[c] / every) if every else "") for c in COUNTS]


def _rates(row: dict[str, Any]) -> list[Cell]:
    return [Cell("–" if row[c] is None else percentage(row[c]), row[c]) for c in RATES]


def _threshold(row: dict[str, Any]) -> Cell:
    """A threshold, which is infinite if the cost is lowest without predicted positives."""
    at = float(row["threshold"])
    return Cell("none positive" if math.isinf(at) else cutoff(at, DIGITS), at)


def _costs(points: list[dict[str, Any]]) -> list[Cell]:
    """Costs per row, with four digits of the lowest: more would be chance."""
    lowest = min((cost for point in points if (cost := abs(point["value"]))), default=1.0)
    decimals = max(0, min(12, 3 - math.floor(math.log10(lowest))))
    return [Cell(f"{point['value']:,.{decimals}f}", point["value"]) for point in points]


def _titled(title: str, header: Sequence[str], listed: list[list[Cell]], note: str = "") -> str:
    """A table under its title; empty without rows."""
    if not listed:
        return ""
    told = f"<p>{note.strip()}</p>" if note else ""
    made = Table([*columns(*header[:1], kind="head"), *columns(*header[1:])], listed, title)
    return f'<h3 class="over">{title}</h3>{told}{scrolled(made, title.lower())}'

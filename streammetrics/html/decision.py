"""Decisions: counts and shares at thresholds, and the best thresholds under cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.errors import MetricError
from streammetrics.html.sections import scrolled
from streammetrics.html.tables import Cell, key_cell, table
from streammetrics.metrics.ratios import precision, predicted_positive_rate, recall
from streammetrics.text import number, rows

if TYPE_CHECKING:
    from streammetrics.report.report import Report

COUNTS = ("tp", "fp", "fn", "tn")
CALLED = ("true positives", "false positives", "false negatives", "true negatives")
COSTS = (1, 3, 10, 30, 100)
MOST = 60  # rows of a table


def at_thresholds(total: Report) -> str:
    """Return the confusion counts at each threshold, with shares of all rows."""
    try:
        counts = total.confusion_counts()
    except MetricError:
        return ""
    keys = [c for c in counts.columns if c not in COUNTS and counts[c].null_count() < counts.height]
    listed = [[*_keys(row, keys), *_counts(row), *_ratios(row)] for row in rows(_rated(counts).head(MOST))]
    header = [*keys, *CALLED, "predicted positive", "precision", "recall"]
    return _titled("Decisions at each threshold", scrolled(table(header, listed, "Counts at each threshold"), "counts"))


def best_thresholds(total: Report) -> str:
    """Return the threshold with the lowest cost, for several costs of a false negative."""
    parts = []
    for fn in COSTS:
        try:
            found = total.operating_point(minimize=f"cost(fp=1, fn={fn})")
        except MetricError:
            return ""
        parts.append(found.drop_nulls("threshold").select(pl.lit(fn).alias("cost of a false negative"), pl.all()))
    best = _rated(pl.concat(parts))
    keys = [c for c in best.columns if c not in (*COUNTS, "threshold", "value", "lower", "upper", *RATED)]
    listed = [
        [
            *_keys(row, keys),
            Cell(number(row["threshold"], None, None), row["threshold"]),
            Cell(number(row["value"], None, None), row["value"]),
            *_ratios(row),
        ]
        for row in rows(best.head(MOST))
    ]
    header = [*keys, "best threshold", "cost per row", "predicted positive", "precision", "recall"]
    made = scrolled(table(header, listed, "Best thresholds under cost"), "best thresholds")
    return _titled("Best thresholds, if a false positive costs 1", made) if listed else ""


RATED = ("positive_rate", "precise", "recalled")


def _rated(counts: pl.DataFrame) -> pl.DataFrame:
    tp, fp, fn, tn = (pl.col(c).cast(pl.Float64) for c in COUNTS)
    rates = (predicted_positive_rate(tp, fp, fn, tn), precision(tp, fp), recall(tp, fn))
    return counts.with_columns(rate.fill_nan(None).alias(name) for name, rate in zip(RATED, rates, strict=True))


def _keys(row: dict[str, Any], keys: list[str]) -> list[Cell]:
    return [key_cell(row[k], head=not i) for i, k in enumerate(keys)]


def _counts(row: dict[str, Any]) -> list[Cell]:
    every = sum(row[c] for c in COUNTS)
    return [Cell(f"{row[c]:,.10g}", row[c], f"{row[c] / every:.2%}" if every else "") for c in COUNTS]


def _ratios(row: dict[str, Any]) -> list[Cell]:
    return [Cell("–" if row[c] is None else f"{row[c]:.2%}", row[c]) for c in RATED]


def _titled(title: str, made: str) -> str:
    return f'<h3 class="over">{title}</h3>{made}'

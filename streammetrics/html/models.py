"""Section of the page on differences between models on the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from streammetrics.html.sections import scrolled
from streammetrics.html.tables import Cell, key_cell, table
from streammetrics.statistics.paired import pairs_kept
from streammetrics.text import beside, interval, markup, rows

if TYPE_CHECKING:
    from streammetrics.report.report import Report

MOST = 6  # pairs of models
CONFIDENCE = 0.95  # default
KEYS = ("threshold",)


def compared_models(total: Report) -> str:
    """Return the differences of each stored pair of models; empty without pairs."""
    pairs = [pair for pair in pairs_kept(total.state.statistics) if {*pair} <= {*_names(total)}]
    confidence = total.confidence or CONFIDENCE
    tables = "".join(_pair(total, *pair, confidence) for pair in pairs[:MOST])
    if not tables:
        return ""
    return (
        f"<p>Differences of models on the same rows, with paired {confidence * 100:g}% confidence intervals. A model "
        f"is called better only if the bounds prove it and the interval excludes 0.</p>{tables}"
    )


def _names(total: Report) -> list[Any]:
    return total.frame["model"].unique().to_list() if "model" in total.by else []


def _pair(total: Report, a: str, b: str, confidence: float) -> str:
    frame = total.compare(a, b, confidence=confidence).frame.filter(pl.col("ci_lower").is_not_null())
    if frame.is_empty():
        return ""
    keys = [k for k in KEYS if k in frame.columns and frame[k].drop_nulls().n_unique() > 1]
    header = ("metric", *keys, a, b, f"{b} - {a}", "interval", "better", "note")
    names = {"a": a, "b": b}
    listed = [
        [
            Cell(row["metric"], head=True),
            *(Cell("") if row[k] is None else key_cell(row[k]) for k in keys),
            *(Cell(beside(row[c], row["ci_lower"], row["ci_upper"]), row[c]) for c in ("a", "b", "difference")),
            Cell(interval(row["ci_lower"], row["ci_upper"])),
            Cell(names.get(row["better"] or "", row["better"] or "")),
            Cell("could be chance" if row["note"] else ""),
        ]
        for row in rows(frame)
    ]
    made = table(header, listed, f"Differences of {b} from {a}", sortable=True)
    shown = scrolled(made, f"differences of {b} from {a}")
    return f'<h3 class="over">{markup(b)} compared with {markup(a)}</h3>{shown}'

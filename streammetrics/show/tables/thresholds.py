"""The best threshold of each group as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from streammetrics.base import VALUE, amount, cutoff, rows, value_texts
from streammetrics.metrics import CELLS, Metric
from streammetrics.show.tables.table import Cell, Column, Table, columns, key_cell

DECIMALS = 4  # of a metric at least
COUNTED = ("threshold", *CELLS, *VALUE, "note")


def thresholds_table(
    points: pl.DataFrame, metrics: Sequence[Metric], notes: Sequence[str] = (), width: int | None = None
) -> Table:
    """Return operating points as a table: keys, threshold, the metrics at it, and why a group has none.

    The confusion counts follow if a line of that width has room for them.
    """
    keys = [c for c in points.columns if c not in COUNTED]
    counts = points.with_columns(pl.col(CELLS).cast(pl.Float64))
    values = [counts.select(metric.expression()).to_series().to_list() for metric in metrics]
    texts = [value_texts([{"value": v, "lower": None, "upper": None} for v in column], DECIMALS) for column in values]
    cells = [
        [
            *(key_cell(row[k]) for k in keys),
            threshold_cell(row["threshold"]),
            *(Cell(text[i], value[i]) for text, value in zip(texts, values, strict=True)),
            *(Cell("–" if row[c] is None else amount(row[c]), row[c]) for c in CELLS),
            Cell(row.get("note") or ""),
        ]
        for i, row in enumerate(rows(points))
    ]
    numbers = columns("threshold", *(metric.name for metric in metrics), *CELLS, kind="number")
    named = [*columns(*keys, kind="head"), *numbers, Column("note", optional=True)]
    table = Table(named, cells, notes=notes).without_empty
    if width is None or table.fitting(width) == len(table.columns):
        return table
    return table.select(i for i, column in enumerate(table.columns) if column.name not in CELLS)


def threshold_cell(at: float | None, digits: int = 6) -> Cell:
    """A threshold, which is infinite if no row is predicted positive."""
    if at is None:
        return Cell("–")
    return Cell("none positive" if at == math.inf else cutoff(at, digits), float(at))

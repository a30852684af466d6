"""Slices in which a model fails as a table."""

from __future__ import annotations

import polars as pl

from streammetrics.base import interval, percentage, rows, shown_of, value_texts
from streammetrics.show.tables.table import Cell, Column, Table, columns, interval_column

NUMBERS = ("value", "rest", "difference")


def slices_table(
    frame: pl.DataFrame, confidence: float, most: int | None = None, name: str = "slice", caption: str = ""
) -> Table:
    """Return the frame of slices as a table: one row per slice. ``name`` is that of their column."""
    first = frame.head(shown_of(frame.height) if most is None else most)
    lines = list(rows(first))
    texts = [value_texts([row | {"value": row[c], "lower": None, "upper": None} for row in lines]) for c in NUMBERS]
    cells = [
        [
            Cell(row["slice"]),
            *(Cell(text, row[c]) for text, c in zip(values, NUMBERS, strict=True)),
            Cell(interval(row["ci_lower"], row["ci_upper"], values[-1])),
            Cell(f"{row['rows']:,}", row["rows"]),
            *(Cell("" if row[c] is None else percentage(row[c]), row[c]) for c in ("share_of_rows", "excess_loss")),
        ]
        for row, *values in zip(lines, *texts, strict=True)
    ]
    left_out = frame.height - first.height
    last = columns("rows", "share of rows", "excess loss", kind="number")
    named = [Column(name, "head"), *columns(*NUMBERS, kind="number"), interval_column(confidence), *last]
    return Table(named, cells, caption, [f"… and {left_out:,} more slices"] if left_out else [])

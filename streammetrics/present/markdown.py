"""Tables as Markdown."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from streammetrics.present.table import Cell, Column, Table
from streammetrics.text import cell, escaped, rows

SPECIAL = re.compile(r"[\\`*\[\]<>|&~#]|(?<![^\W_])_|_(?![^\W_])")  # an underscore within a word is not markup


def as_markdown(table: Table) -> str:
    """Return a table as Markdown, with numbers aligned right.

    Rows are not wrapped, since Markdown renderers wrap them.
    """
    shown = table.shown
    ruler = ["---:" if column.kind == "number" else ":---" for column in shown.columns]
    texts = [[f"{c.text} ({c.below})" if c.below else c.text for c in row] for row in shown.rows]
    lines = [[_safe(column.name) for column in shown.columns], ruler, *([_safe(text) for text in row] for row in texts)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def markdown(frame: pl.DataFrame) -> str:
    """Return a frame as a Markdown table, without columns of nulls only.

    >>> print(markdown(pl.DataFrame({"metric": ["roc_auc"], "value": [0.8541234567], "note": [None]})))
    | metric | value |
    | :--- | ---: |
    | roc_auc | 0.854123 |
    """
    shown = frame.select(c for c in frame.get_columns() if frame.is_empty() or c.null_count() < frame.height)
    named = [Column(name, "number" if dtype.is_numeric() else "text") for name, dtype in shown.schema.items()]
    return as_markdown(Table(named, [[Cell(_shown(value)) for value in row.values()] for row in rows(shown)]))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return cell(value)


def _safe(text: str) -> str:
    return SPECIAL.sub(r"\\\g<0>", escaped(text))

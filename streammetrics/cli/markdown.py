"""Frames as Markdown tables."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics import text

SUMMARY = "GITHUB_STEP_SUMMARY"  # path of the summary file
SPECIAL = re.compile(r"[\\`*\[\]<>|&~#]|(?<![^\W_])_|_(?![^\W_])")  # an underscore within a word is not markup


def markdown(frame: pl.DataFrame) -> str:
    """Return a frame as a Markdown table, without columns of nulls only, with numbers aligned right.

    Rows are not wrapped, since Markdown renderers wrap them.

    >>> print(markdown(pl.DataFrame({"metric": ["roc_auc"], "value": [0.8541234567], "note": [None]})))
    | metric | value |
    | :--- | ---: |
    | roc_auc | 0.854123 |
    """
    shown = frame.select(c for c in frame.get_columns() if frame.is_empty() or c.null_count() < frame.height)
    ruler = ["---:" if dtype.is_numeric() else ":---" for dtype in shown.dtypes]
    rows = [[_cell(value) for value in row.values()] for row in text.rows(shown)]
    lines = [[*map(_cell, shown.columns)], ruler, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def add_to_summary(table: str) -> None:
    """Add a table to the summary of a step of GitHub Actions, if it is one."""
    if summary := os.environ.get(SUMMARY):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{table}\n\n")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return SPECIAL.sub(r"\\\g<0>", text.cell(value))

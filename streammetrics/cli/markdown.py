"""Frames as Markdown tables."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics import text

SUMMARY = "GITHUB_STEP_SUMMARY"  # path of the summary file
SHORTEST = 24  # characters to which the cells of a column are cut
WHOLE = ("metric", "slice")  # columns whose cells are not cut
SPECIAL = re.compile(r"[\\`*\[\]<>|&~#]|(?<![^\W_])_|_(?![^\W_])")  # within a word an underscore is only itself


def markdown(frame: pl.DataFrame, width: int | None = None) -> str:
    """Return a frame as a Markdown table, without columns of nulls only, with numbers aligned right.

    If lines exceed the width, columns with the longest texts are cut, and then columns are omitted.

    >>> print(markdown(pl.DataFrame({"metric": ["roc_auc"], "value": [0.8541234567], "note": [None]})))
    | metric | value |
    | :--- | ---: |
    | roc_auc | 0.854123 |
    """
    shown = frame.select(c for c in frame.get_columns() if frame.is_empty() or c.null_count() < frame.height)
    ruler = ["---:" if dtype.is_numeric() else ":---" for dtype in shown.dtypes]
    rows = [[_cell(value) for value in row.values()] for row in text.rows(shown)]
    lines = [[*map(_cell, shown.columns)], ruler, *rows]
    lines, left_out = (lines, 0) if width is None else _within(lines, width)
    more = f"\n\n… and {left_out} more columns: {', '.join(map(_cell, shown.columns[-left_out:]))}" if left_out else ""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + more


def _within(lines: list[list[str]], width: int) -> tuple[list[list[str]], int]:
    """The cells of lines that are short enough, and the number of omitted columns."""
    every = shown = len(lines[0])
    while shown and max(map(_size, lines)) > width:
        longest = [max(len(line[i]) for line in lines) * (lines[0][i] not in WHOLE) for i in range(shown)]
        widest = longest.index(max(longest))
        most = max(SHORTEST, longest[widest] - max(map(_size, lines)) + width)
        if most < longest[widest]:
            lines = [[_cut(c, most) if i == widest else c for i, c in enumerate(line)] for line in lines]
        else:
            shown -= 1
            lines = [line[:shown] for line in lines]
    return lines, every - shown


def _cut(cell: str, most: int) -> str:
    return cell if len(cell) <= most else cell[: most - 1].rstrip("\\") + "…"


def _size(cells: list[str]) -> int:
    return sum(map(len, cells)) + 3 * len(cells) + 1


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
    return SPECIAL.sub(r"\\\g<0>", text.escaped(str(value)))

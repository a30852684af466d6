"""Tables and sentences in lines of at most ``width`` characters."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator

from streammetrics.present.aligned import NO_BREAK, aligned
from streammetrics.present.table import Cell, Table
from streammetrics.text import escaped

PIPED = 120  # characters of a line in files and pipes


def terminal_width() -> int | None:
    """Return the number of characters in a line of the terminal, or None if text goes to a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def as_text(*tables: Table, width: int | None = None) -> str:
    """Return tables as text with their notes, and with control characters escaped. See `aligned`.

    >>> from streammetrics.present.table import Column
    >>> print(as_text(Table([Column("day"), Column("rows", "number")], [[Cell("Monday"), Cell("12,000")]])))
    day       rows
    ──────  ──────
    Monday  12,000
    """
    return "\n\n".join("\n".join(_lines(table.shown, width)) for table in tables)


def _lines(shown: Table, width: int | None) -> Iterator[str]:
    if shown.caption:
        yield f"{escaped(shown.caption)}:\n"
    left = [i for i, column in enumerate(shown.columns) if column.kind != "number"]
    in_lines = width is None or shown.fitting(width) == len(shown.columns)
    cells = [[_lines_of(cell, in_lines) for cell in row] for row in shown.rows]
    if shown.columns:
        yield from aligned([escaped(column.name) for column in shown.columns], cells, left, width)
    for note in map(escaped, shown.notes):
        yield note if width is None else textwrap.fill(note, width, break_on_hyphens=False)


def _lines_of(cell: Cell, in_lines: bool) -> str:
    if not cell.below:
        return escaped(cell.text)
    return escaped(cell.line) if in_lines else f"{escaped(cell.text)}\n{escaped(cell.below).replace(' ', NO_BREAK)}"

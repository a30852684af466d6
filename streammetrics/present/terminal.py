"""Tables and sentences in lines of at most ``width`` characters."""

from __future__ import annotations

import itertools
import shutil
import sys
import textwrap

import polars as pl

from streammetrics.present.aligned import NO_BREAK, aligned
from streammetrics.present.table import Cell, Column, Table
from streammetrics.text import cell, escaped, rows

PIPED = 120  # characters of a line in files and pipes


def terminal_width() -> int | None:
    """Return the number of characters in a line of the terminal, or None if text goes to a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def filled(sentence: str, width: int | None) -> str:
    """Return a sentence in lines of at most a width."""
    return sentence if width is None else textwrap.fill(sentence, width, break_on_hyphens=False)


def as_text(table: Table, width: int | None = None) -> str:
    """Return a table as text with its notes, and with control characters escaped. See `aligned`.

    >>> print(as_text(Table([Column("day"), Column("rows", "number")], [[Cell("Monday"), Cell("12,000")]])))
    day       rows
    ──────  ──────
    Monday  12,000
    """
    shown = table.shown
    left = [i for i, column in enumerate(shown.columns) if column.kind != "number"]
    cells = [[escaped(_in_a_line(cell)) for cell in row] for row in shown.rows]
    lines = aligned([escaped(column.name) for column in shown.columns], cells, left, width)
    return "\n".join([*lines, *(filled(note, width) for note in table.notes)])


def _in_a_line(shown: Cell) -> str:
    return f"{shown.text} ({shown.below})".replace(" to ", f"{NO_BREAK}to{NO_BREAK}") if shown.below else shown.text


def columns_within(width: int, table: Table) -> int:
    """Return how many columns of a table fit in a line."""
    lines = [[escaped(column.name) for column in table.columns], *([_in_a_line(c) for c in row] for row in table.rows)]
    ends = itertools.accumulate(max(map(len, column)) + 2 for column in zip(*lines, strict=True))
    return sum(end - 2 <= width for end in ends)


def of_frame(frame: pl.DataFrame) -> Table:
    """Return a frame as a table, with integers aligned right."""
    kinds = ["number" if dtype.is_integer() else "text" for dtype in frame.dtypes]

    def shown(value: object) -> Cell:
        return Cell(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else cell(value))

    named = [Column(name, kind) for name, kind in zip(frame.columns, kinds, strict=True)]  # type: ignore[arg-type]
    return Table(named, [[shown(value) for value in row.values()] for row in rows(frame)])

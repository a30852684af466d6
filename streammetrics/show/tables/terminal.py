"""Tables and sentences in lines of at most ``width`` characters."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from streammetrics.errors import escaped
from streammetrics.show.tables.table import Cell, Table

PIPED = 120  # characters of a line in files and pipes
GAP = "  "
NO_BREAK = "\u00a0"  # a space at which no line is broken
BEFORE_A_NUMBER = re.compile(r"(±|<|\bto) (?=-?\d)")  # stays with the number


def terminal_width() -> int | None:
    """Return the number of characters in a line of the terminal, or None if text goes to a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def as_text(*tables: Table, width: int | None = None) -> str:
    """Return tables as text with their notes, and with control characters escaped. See `aligned`.

    >>> from streammetrics.show.tables.table import Column
    >>> print(as_text(Table([Column("day"), Column("rows", "number")], [[Cell("Monday"), Cell("12,000")]])))
    day       rows
    ──────  ──────
    Monday  12,000
    """
    return "\n\n".join("\n".join(_lines(table.without_empty, width)) for table in tables)


def _lines(table: Table, width: int | None) -> Iterator[str]:
    if table.caption:
        yield f"{escaped(table.caption)}:\n"
    left = [i for i, column in enumerate(table.columns) if column.kind != "number"]
    in_lines = width is None or table.fitting(width) == len(table.columns)
    cells = [[_lines_of(cell, in_lines) for cell in row] for row in table.rows]
    if table.columns:
        yield from aligned([escaped(column.name) for column in table.columns], cells, left, width)
    for note in map(escaped, table.notes):
        yield note if width is None else textwrap.fill(note, width, break_on_hyphens=False)


def _lines_of(cell: Cell, in_lines: bool) -> str:
    if not cell.below:
        return escaped(cell.text)
    return escaped(cell.line) if in_lines else f"{escaped(cell.text)}\n{escaped(cell.below).replace(' ', NO_BREAK)}"


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int], width: int | None = None
) -> list[str]:
    """Return a table as lines. Columns whose numbers are in ``left`` are left-aligned, all others right-aligned.

    Cells can have several lines. If lines are too wide, cells are broken at spaces, into as few lines as possible. If
    that is not enough, each cell has a line of its own.

    >>> print(*aligned(["metric", "note"], [["ece", "no interval: biased"]], left=[0, 1], width=20), sep="\\n")
    metric  note
    ──────  ────────────
    ece     no interval:
            biased
    >>> wide = ["metric", "value", "note"], [["ece", "0.0144", "no interval: biased"]], [0, 2]
    >>> print(*aligned(*wide, width=20), sep="\\n")
    metric  ece
    value   0.0144
    note    no interval:
            biased
    """
    header = [name.replace(" - ", f"{NO_BREAK}- ") for name in header]
    rows = [[BEFORE_A_NUMBER.sub(rf"\1{NO_BREAK}", cell) for cell in row] for row in rows]
    columns = list(zip(header, *rows, strict=True))
    widths = [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]
    if width is not None:
        least = [max(len(word) for cell in column for word in re.split("[ \n]", cell)) for column in columns]
        if sum(least) + len(GAP) * (len(least) - 1) > width:
            return _below_each_other(header, rows, width)
        _narrow(widths, least, columns, width)
    lines = []
    for cells in (header, ["─" * w for w in widths], *rows):
        broken = [_broken(cell, w) for cell, w in zip(cells, widths, strict=True)]
        for place in range(max(map(len, broken))):
            parts = [part[place] if place < len(part) else "" for part in broken]
            padded = (
                p.ljust(w) if i in left else p.rjust(w) for i, (p, w) in enumerate(zip(parts, widths, strict=True))
            )
            lines.append(GAP.join(padded).rstrip().replace(NO_BREAK, " "))
    return lines


def _narrow(widths: list[int], least: list[int], columns: Sequence[Sequence[str]], width: int) -> None:
    """Narrow columns until they fit, each time the one that adds the fewest lines, and of several the widest."""

    @cache
    def heights(column: int, width: int) -> list[int]:
        return [len(_broken(cell, width)) for cell in columns[column]]

    def height(narrowed: int) -> int:
        of_columns = [heights(i, w - (i == narrowed)) for i, w in enumerate(widths)]
        return sum(map(max, zip(*of_columns, strict=True)))

    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        free = [i for i, w in enumerate(widths) if w > least[i]]
        widths[min(free, key=lambda i: (height(i), -widths[i]))] -= 1


def _below_each_other(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows as blocks of lines, with a line for each cell that is not empty."""
    name = max(map(len, header))
    lines = []
    for row in rows:
        for column, cell in zip(header, row, strict=True):
            lines += _broken(cell, width, column.ljust(name) + GAP, " " * name + GAP) if cell else []
        lines.append("")
    return [line.replace(NO_BREAK, " ") for line in lines[:-1]]


def _broken(cell: str, width: int, first: str = "", others: str = "") -> list[str]:
    lines = list[str]()
    for line in cell.split("\n"):
        start = others if lines else first
        if len(start + line) <= width:
            lines.append(start + line)
        else:
            wrapped = textwrap.wrap(line, width, initial_indent=start, subsequent_indent=others, break_on_hyphens=False)
            lines += wrapped or [""]
    return lines

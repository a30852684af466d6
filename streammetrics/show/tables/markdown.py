"""Tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streammetrics.errors import escaped
from streammetrics.show.tables.table import Table

SPECIAL = re.compile(r"[\\`*\[\]<>|&~#]|(?<![^\W_])_|_(?![^\W_])")  # an underscore within a word is not markup


def as_markdown(*tables: Table, width: int | None = None) -> str:
    """Return tables as Markdown with their notes, and with numbers aligned right.

    Those that are wider than a width are several tables. Cells are not wrapped, since Markdown renderers wrap them.

    >>> from streammetrics.show.tables.table import Cell, Column
    >>> print(as_markdown(Table([Column("metric"), Column("value", "number")], [[Cell("roc_auc"), Cell("0.854")]])))
    | metric | value |
    | :--- | ---: |
    | roc_auc | 0.854 |
    """
    parts = [table.without_empty for table in tables]
    if width is not None:
        parts = [part for table in parts for part in table.parts(width - len("|  |"), len(" | "))]
    return "\n\n".join("\n".join(_lines(table)) for table in parts)


def _lines(table: Table) -> Iterator[str]:
    if table.caption:
        yield f"**{_safe(table.caption)}**\n"
    ruler = ["---:" if column.kind == "number" else ":---" for column in table.columns]
    header, *lines = [[c.name for c in table.columns], *([cell.line for cell in row] for row in table.rows)]
    for cells in (map(_safe, header), ruler, *(map(_safe, line) for line in lines)):
        yield f"| {' | '.join(cells)} |"
    for note in table.notes:
        yield f"\n{_safe(note)}"


def _safe(text: str) -> str:
    return SPECIAL.sub(r"\\\g<0>", escaped(text))

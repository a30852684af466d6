"""Tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streammetrics.present.table import Cell, Table
from streammetrics.text import escaped

SPECIAL = re.compile(r"[\\`*\[\]<>|&~#]|(?<![^\W_])_|_(?![^\W_])")  # an underscore within a word is not markup


def as_markdown(*tables: Table) -> str:
    """Return tables as Markdown with their notes, and with numbers aligned right.

    Rows are not wrapped, since Markdown renderers wrap them.

    >>> from streammetrics.present.table import Column
    >>> print(as_markdown(Table([Column("metric"), Column("value", "number")], [[Cell("roc_auc"), Cell("0.854")]])))
    | metric | value |
    | :--- | ---: |
    | roc_auc | 0.854 |
    """
    return "\n\n".join("\n".join(_lines(table.shown)) for table in tables)


def _lines(shown: Table) -> Iterator[str]:
    if shown.caption:
        yield f"**{_safe(shown.caption)}**\n"
    ruler = ["---:" if column.kind == "number" else ":---" for column in shown.columns]
    for cells in ([column.name for column in shown.columns], ruler, *(map(_text, row) for row in shown.rows)):
        yield f"| {' | '.join(cells if cells is ruler else map(_safe, cells))} |"
    for note in shown.notes:
        yield f"\n{_safe(note)}"


def _text(cell: Cell) -> str:
    return f"{cell.text} ({cell.below})" if cell.below else cell.text


def _safe(text: str) -> str:
    return SPECIAL.sub(r"\\\g<0>", escaped(text))

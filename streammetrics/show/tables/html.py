"""Tables as HTML. Everything that comes from data is escaped."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from streammetrics.base import markup, minus
from streammetrics.errors import escaped
from streammetrics.show.tables.page import embedded
from streammetrics.show.tables.table import Cell, Column, Table

AT_ONCE = 200  # rows in the document; a script shows further ones when visible
SORT = ' aria-sort="none"'
WIDE = 12  # columns that fit a printed page, as in page.css
LARGEST = 1e300
UNSTYLED = '<br><small style="white-space: nowrap">'
NUMERIC, UNDEFINED = ' class="n"', "–"
INTERVAL = re.compile(r"[-\d.,∞?]+ to [-\d.,∞?]+%?")
PROSE = 34  # characters from which a text can be wrapped


def as_html(table: Table, sortable: bool = False, styled: bool = True) -> str:
    """Return a table with its caption. If it can be sorted, headers are buttons, and a script adds rows in sight.

    A styled table is on a page with a style sheet, also for paper.
    """
    table = table.without_empty
    names = [markup(column.name) for column in table.columns]
    heads = [f'<button type="button">{name}</button>' for name in names] if sortable else names
    right = [""] * len(names)
    for i, column in enumerate(table.columns):  # names of rows are aligned to the left
        has_numbers = any(row[i].number is not None or row[i].text == UNDEFINED for row in table.rows)
        if styled and column.kind != "head" and has_numbers:
            right[i] = NUMERIC
    head = "".join(
        f'<th scope="col"{SORT if sortable else ""}{kind}>{name}</th>' for name, kind in zip(heads, right, strict=True)
    )
    at_once, later = (table.rows[:AT_ONCE], table.rows[AT_ONCE:]) if sortable else (table.rows, [])
    marked = (map(_cell, table.columns, row, itertools.repeat(styled)) for row in at_once)
    body = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in marked)
    wide = styled and len(names) > WIDE
    kinds = ["sortable"] * sortable + ["wide"] * wide
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    return (
        f"<table{kind}><caption>{markup(table.caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + (_later(table, later) if later else "")
        + (f'<p class="printed">Printed: the first {WIDE} of {len(names)} columns.</p>' if wide else "")
    )


def _cell(column: Column, cell: Cell, styled: bool) -> str:
    """A cell as HTML; heads of rows are headers. Without a style sheet, it breaks the line itself."""
    tag = 'th scope="row"' if column.kind == "head" else "td"
    number = "" if cell.number is None else f' data-v="{_order(cell):.6g}"'
    number += f' class="{cell.level}"' if cell.level else ""
    number += ' class="prose"' if len(cell.text) > PROSE else NUMERIC if cell.text == UNDEFINED and styled else ""
    small = f"{'<small>' if styled else UNSTYLED}{markup(minus(cell.below))}</small>" if cell.below else ""
    return f"<{tag}{number}>{markup(_text(cell))}{small}</{tag.split()[0]}>"


def _text(cell: Cell) -> str:
    """The text of a cell, with a minus sign in numbers."""
    return cell.text if cell.number is None and not INTERVAL.fullmatch(cell.text) else minus(cell.text)


def _order(cell: Cell) -> float | None:
    """The number to sort by as scripts read it, in JSON, which has no infinity."""
    return None if cell.number is None else float(f"{max(-LARGEST, min(cell.number, LARGEST)):.10g}")


def _later(table: Table, rows: Sequence[Sequence[Cell]]) -> str:
    """Rows that a script adds to the table when they become visible, as JSON that cannot end its element."""
    heads = [column.kind == "head" for column in table.columns]
    cells = [
        [[escaped(_text(c)), _order(c), escaped(minus(c.below)), head] for head, c in zip(heads, row, strict=True)]
        for row in rows
    ]
    return (
        f'<script type="application/json">{embedded(cells)}</script>'
        f"<noscript><p>{len(rows):,} more rows need scripts.</p></noscript>"
    )


def scrolled(table: Table, what: str, sortable: bool = False) -> str:
    """Return a table in a scrollable box, with its notes below."""
    content, notes = as_html(table, sortable), "".join(f"<p>{markup(note)}</p>" for note in table.notes)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="table of {markup(what)}">{content}</div>{notes}'


def filtered(table: Table, what: str) -> str:
    """Return a table that can be sorted in a box, with a field that filters its rows."""
    return (
        f'<div class="filter" hidden><label for="f-{what}">Filter {what}</label> <input id="f-{what}" type="search" '
        f'autocomplete="off"> <output for="f-{what}" aria-live="polite"></output></div>{scrolled(table, what, True)}'
    )

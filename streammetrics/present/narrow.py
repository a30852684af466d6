"""A table of groups in lines of a terminal: long keys yield first, then what says least, then the last metrics."""

from __future__ import annotations

from dataclasses import replace

from streammetrics.present.table import Cell, Column, Table, columns
from streammetrics.present.terminal import PIPED
from streammetrics.text import shortened

BESIDE = 4  # groups that can be columns
LEAST = 12  # characters of a key
TWINS = {"pr_auc": "average_precision"}  # metrics with nearly the value of another one


def narrowed(table: Table, by: int, width: int | None) -> list[Table]:
    """Return a table whose first columns are ``by`` keys, in lines of at most ``width`` characters.

    Without a width, as in files, all metrics are shown, in several tables.
    """
    room = width or PIPED
    short = _with_short_keys(table, by, room)
    for whole in (table, short):
        if whole.fitting(room) == len(whole.columns):
            return [whole]
    if turned := _turned(short, by, room):
        return [turned]
    if width is None:
        return table.parts(room)
    short = _without_constants(_twins_last(short), by)
    shown = short.of(range(max(by + 1, short.fitting(width, in_lines=False))))
    left_out = [column.name for column in short.columns[len(shown.columns) :]]
    what = "metrics" if len(left_out) > 1 else "metric"
    more = [f"… and {len(left_out)} more {what}: {', '.join(left_out)}"] if left_out else []
    return [replace(shown, notes=[*shown.notes, *more])]


def _with_short_keys(table: Table, by: int, room: int) -> Table:
    """The table with keys that take at most a third of the room, so that it is for metrics."""
    most = max(LEAST, room // 3 // by)
    keys = [shortened([row[i].text for row in table.rows], most) for i in range(by)]
    heads = shortened([column.name for column in table.columns[:by]], most)
    rows = [
        [*(replace(cell, text=text) for cell, text in zip(row[:by], texts, strict=True)), *row[by:]]
        for row, texts in zip(table.rows, zip(*keys, strict=True), strict=True)
    ]
    named = [replace(column, name=name) for column, name in zip(table.columns[:by], heads, strict=True)]
    return replace(table, columns=[*named, *table.columns[by:]], rows=rows)


def _twins_last(table: Table) -> Table:
    """The table with metrics at its end that say what another one says."""
    names = {column.name for column in table.columns}
    last = [i for i, column in enumerate(table.columns) if TWINS.get(column.name) in names]
    return table.of([*(i for i in range(len(table.columns)) if i not in last), *last])


def _without_constants(table: Table, by: int) -> Table:
    """The table with a note in place of metrics that have the same value in all rows."""
    same = {
        i: table.rows[0][i].line
        for i in range(by, len(table.columns))
        if table.rows[0][i].number is not None and len({row[i].line for row in table.rows}) == 1
    }
    if len(table.rows) == 1 or not same or len(same) == len(table.columns) - by:
        return table
    listed = ", ".join(f"{table.columns[i].name} {value}" for i, value in same.items())
    varying = table.of(i for i in range(len(table.columns)) if i not in same)
    return replace(varying, notes=[*table.notes, f"The same in all groups: {listed}."])


def _turned(table: Table, by: int, room: int) -> Table | None:
    """The table with few groups as columns and metrics as rows, if all of them fit."""
    if len(table.rows) > BESIDE:
        return None
    groups = [", ".join(cell.text for cell in row[:by]) for row in table.rows]
    head = ", ".join(column.name for column in table.columns[:by])
    cells = [[Cell(column.name), *(row[i] for row in table.rows)] for i, column in enumerate(table.columns) if i >= by]
    turned = Table([Column(head, "head"), *columns(*groups, kind="number")], cells)
    return turned if turned.fitting(room, in_lines=False) == len(turned.columns) else None

"""A board of verdicts: rules by groups."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from streammetrics.base import in_units, rows, value_text
from streammetrics.show.tables.table import Cell, Column, Level, Table, badness, columns

MOST: Final = 20  # groups in the rows of a board
OPEN: Final = ("open", "too few rows")  # undecided verdicts


def board(frame: pl.DataFrame, column: str | None, key: str, width: int) -> Table | None:
    """Return the verdicts on several rules in several groups as a table of both, or None if there are no several.

    Groups are rows, or columns if the rules do not fit the width. Those that fail are first, and the others are only
    counted if there are too many. ``column`` is the only group column, if it is one, and ``key`` that of all rules that
    have one, which is omitted.
    """
    cells = dict[str, dict[str, Cell]]()  # by group and rule
    for row in rows(frame):
        rule = with_key(row.get("name") or row["rule"], row, key)
        cells.setdefault(group_of(row, column), {})[rule] = _cell(row)
    rules = list(dict.fromkeys(itertools.chain(*cells.values())))
    if len(cells) < 2 or len(rules) < 2:
        return None
    groups = sorted(cells, key=lambda group: badness(cells[group].values()))
    lines = [[Cell(group), *(cells[group].get(rule, Cell("")) for rule in rules)] for group in groups]
    table = Table([Column(column or "group", "head"), *columns(*rules)], lines[:MOST])
    size = len(table.rows)
    if table.fitting(width, in_lines=False) < len(table.columns):
        across = zip(rules, zip(*(line[1:] for line in lines), strict=True), strict=True)
        turned = [[Cell(rule), *line] for rule, line in sorted(across, key=lambda pair: badness(pair[1]))]
        every = Table([Column("rule", "head"), *columns(*groups)], turned)
        size = max(1, every.with_short_keys(1, width // 3).fitting(width, in_lines=False) - 1)  # rules are broken
        table = every.select(range(size + 1))
    others = [any(cell.level for cell in cells[group].values()) for group in groups[size:]]
    return table if not others else Table(table.columns, table.rows, notes=[_count(len(others), sum(others))])


def group_of(row: Mapping[str, Any], column: str | None) -> str:
    """Return the group of a verdict, without the name of the only group column."""
    group: str = row["group"]
    return group.removeprefix(f"{column} ") if column else group


def with_key(text: str, row: Mapping[str, Any], key: str) -> str:
    """Return a text and the key of a verdict, such as its threshold, unless it is that of all verdicts."""
    return ", ".join(filter(None, (text, row["key"] if row["key"] != key else "")))


def level(row: Mapping[str, Any]) -> Level | None:
    """Return how bad a verdict is: an error if it fails the check, a notice if it is undecided, a warning else."""
    if not row["passes"]:
        return "error"
    return "notice" if row["verdict"] in OPEN else None if row["verdict"] == "holds" else "warning"


def _cell(row: Mapping[str, Any]) -> Cell:
    """The symbol and the verdict, above the value."""
    scaled, unit = in_units(row)
    value = "" if row["value"] is None else f"{value_text(scaled)}{unit}"
    return Cell.judged(row["verdict"], level(row), below=value)


def _count(groups: int, undecided: int) -> str:
    """The number of groups that are not shown.

    >>> _count(12, 0), _count(1, 1)
    ('… and 12 more groups, in which all rules hold.', '… and 1 more group, of which 1 has rules that do not hold.')
    """
    what = f"… and {groups:,} more group{'s' * (groups > 1)}"
    if not undecided:
        return f"{what}, in which all rules hold."
    return f"{what}, of which {undecided:,} {'has' if undecided == 1 else 'have'} rules that do not hold."

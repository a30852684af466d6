"""Differences between two evaluations, or two models, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from streammetrics.frame import told_apart
from streammetrics.present.estimates import ESTIMATE, estimate
from streammetrics.present.table import Cell, Table, columns, key_cell
from streammetrics.reading.differences import AHEAD, AHEAD_WITHIN_BOUNDS, UNTESTED
from streammetrics.text import rows
from streammetrics.text.decimals import Row, compared

IN_PARENTHESES = (
    "In parentheses: the side that is ahead on these rows, not significantly or without a confidence interval."
)


def differences_table(
    frame: pl.DataFrame, names: Sequence[str], by: Sequence[str] = (), caption: str = "", of_one_metric: bool = False
) -> Table:
    """Return the frame of a comparison as a table: one row per group and metric, with the names of both sides.

    Group columns come first. If all rows are ``of_one_metric``, its name is omitted.
    """
    metric = [] if of_one_metric else ["metric"]
    keys = [c for c in told_apart(frame) if c not in by]
    named = [
        *columns(*by[:1], kind="head" if of_one_metric else "text"),
        *columns(*by[1:]),
        *columns(*metric, kind="head"),
        *columns(*keys),
        *columns(*names, kind="number"),
        *(replace(ESTIMATE[0], name="{1} - {0}".format(*names)), *ESTIMATE[1:]),
        *columns("better", "note", optional=True),
    ]
    cells = []
    for row in rows(frame):
        a, b, difference = compared(row)
        cells.append(
            [
                *(key_cell(row[k]) for k in by),
                *(Cell(row[c]) for c in metric),
                *(Cell("") if row[k] is None else key_cell(row[k]) for k in keys),
                *(Cell(a, row["a"]), Cell(b, row["b"]), *estimate({**row, "value": row["difference"]}, difference)),
                *_verdict(row, names),
            ]
        )
    notes = [IN_PARENTHESES] if any(row[-2].text.startswith("(") for row in cells) else []
    return Table(named, cells, caption, notes)


def _verdict(row: Row, names: Sequence[str]) -> tuple[Cell, Cell]:
    """The better side, in parentheses if it is only ahead, and the note on other rows."""
    note = row.get("note") or ""
    ahead = next((n for n in names if note in (f"{n} {why}" for why in (AHEAD, AHEAD_WITHIN_BOUNDS, UNTESTED))), None)
    return (Cell(row["better"] or ""), Cell(note)) if ahead is None else (Cell(f"({ahead})"), Cell(""))


def decided(frame: pl.DataFrame, names: Sequence[str], by: Sequence[str], most: int) -> tuple[pl.DataFrame, int]:
    """Return the rows of some groups, those with a better side first, and the number of groups without them."""
    groups = frame.group_by(by, maintain_order=True).agg(pl.col("better").is_in(names).any())
    foremost = groups.sort("better", descending=True, maintain_order=True).head(most)
    shown = frame.join(foremost, on=by, how="semi", nulls_equal=True, maintain_order="left")
    return shown, groups.height - foremost.height

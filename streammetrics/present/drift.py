"""The measures of a drift as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from streammetrics.present.estimates import ESTIMATE, estimate, listed
from streammetrics.present.table import Cell, Column, Table, columns, key_cell
from streammetrics.text import rows, shown_of


def drift_table(frame: pl.DataFrame, note: str | None = None) -> Table:
    """Return the frame of a drift as a table: one row per group and distribution, one column per measure."""
    keys = frame.columns[: frame.columns.index("measure")]
    measures = frame["measure"].unique(maintain_order=True).to_list()
    every = frame.height // (len(measures) or 1)
    shown = frame.head(shown_of(every) * len(measures))
    values = [listed(list(rows(shown.filter(measure=measure)))) for measure in measures]
    groups = rows(shown.select(keys).unique(maintain_order=True))
    cells = [[*map(key_cell, group.values()), *own] for group, *own in zip(groups, *values, strict=True)]
    notes = [f"… and {every - len(cells):,} more rows"] if every > len(cells) else []
    named = [*columns(*keys), *columns(*measures, kind="number")]
    return Table(named, cells, notes=[*notes, *([note] if note else [])])


def measures_table(frame: pl.DataFrame, by: Sequence[str] | None = None, caption: str = "") -> Table:
    """Return one row per group, distribution, and measure. Group columns are all those of the frame, if None."""
    by = frame.columns[: frame.columns.index("of")] if by is None else list(by)
    measure = ["measure"] if frame["measure"].n_unique() > 1 else []
    named = columns(*by, "distribution", *measure)
    cells = [
        [*(key_cell(row[k]) for k in (*by, "of", *measure)), *estimate(row), Cell(row["note"] or "")]
        for row in rows(frame)
    ]
    head = replace(named[0], kind="head")
    return Table([head, *named[1:], *ESTIMATE, Column("note", optional=True)], cells, caption)

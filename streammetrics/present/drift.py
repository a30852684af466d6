"""The measures of a drift as a table."""

from __future__ import annotations

import polars as pl

from streammetrics.present.estimates import listed
from streammetrics.present.table import Table, columns, key_cell
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

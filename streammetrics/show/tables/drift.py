"""The measures of a drift as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from streammetrics.base import LIMITS, VERDICT, Row, rows, shown_of
from streammetrics.show.tables.estimates import certified, estimate, listed, note
from streammetrics.show.tables.table import Cell, Column, Table, columns, interval_column, key_cell

DECIMALS = {"psi": 3, "ks": 3, "js": 4}  # of measures without a unit, that matter


def drift_table(frame: pl.DataFrame, confidence: float | None, note: str | None = None) -> Table:
    """Return a drift as a table: one row per group and distribution, one column per measure.

    The frame is that of a `Drift`, with its verdicts. ``confidence`` is the level of its intervals.
    """
    keys = frame.columns[: frame.columns.index("measure")]
    measures = frame["measure"].unique(maintain_order=True).to_list()
    every = frame.height // (len(measures) or 1)
    frame = frame.head(shown_of(every) * len(measures))
    parts = [list(rows(frame.filter(measure=measure))) for measure in measures]
    values = [_column(measure, part) for measure, part in zip(measures, parts, strict=True)]
    verdicts = [Cell(row.get(VERDICT) or "") for row in parts[0]] if parts else []
    groups = rows(frame.select(keys).unique(maintain_order=True))
    cells = [[*map(key_cell, group.values()), *line] for group, *line in zip(groups, verdicts, *values, strict=True)]
    notes = [f"… and {every - len(cells):,} more rows"] if every > len(cells) else []
    named = [*columns(*keys), Column("verdict", optional=True), *columns(*measures, kind="number")]
    level = "" if confidence is None else f"In parentheses: {interval_column(confidence).name}s."
    return Table(named, cells, notes=[*notes, *filter(None, (level, note))]).without_empty


def measures_table(
    frame: pl.DataFrame, confidence: float | None, by: Sequence[str] | None = None, caption: str = ""
) -> Table:
    """Return one row per group, distribution, and measure. Group columns are all those of the frame, if None."""
    by = frame.columns[: frame.columns.index("of")] if by is None else list(by)
    measure = ["measure"] if frame["measure"].n_unique() > 1 else []
    head, *others = columns(*by, "distribution", *measure)
    cells = [
        [
            *map(key_cell, (row[k] for k in (*by, "of", *measure))),
            Cell((row.get(VERDICT) or "") if row["measure"] == "psi" else ""),
            *_cells(row),
            Cell(note(row)),
        ]
        for row in rows(frame)
    ]
    named = [replace(head, kind="head"), *others, Column("verdict", optional=True), Column("value", "number")]
    named += [Column("bound", optional=True), interval_column(confidence), Column("note", optional=True)]
    return Table(named, cells, caption)


def _column(measure: str, estimates: Sequence[Row]) -> list[Cell]:
    """The values of a measure, with their intervals below."""
    if measure not in DECIMALS:
        return listed(estimates)
    return [Cell(value.text, value.number, sampled.text) for value, _, sampled in map(_cells, estimates)]


def _cells(row: Row) -> list[Cell]:
    places, ends = DECIMALS.get(row["measure"]), [row.get(end) for end in LIMITS]
    if places is None or row["value"] is None:
        number, _, sampled = estimate(row)
        return [number, Cell(certified(row)), sampled]
    span = "" if None in ends else " to ".join(f"{end:.{places}f}" for end in ends)
    least = 10**-places
    value = f"< {least:.{places}f}" if 0 < row["value"] < least else f"{row['value']:.{places}f}"
    return [Cell(value, row["value"]), Cell(certified(row)), Cell(span)]

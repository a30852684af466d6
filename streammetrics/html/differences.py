"""Tables of differences between two evaluations, or two models."""

from __future__ import annotations

import polars as pl

from streammetrics.decimals import bound, compared, interval
from streammetrics.html.tables import Cell, key_cell, table
from streammetrics.text import rows

VALUES = ("metric", "a", "b", "difference", "lower", "upper", "ci_lower", "ci_upper", "better", "note")


def differences(frame: pl.DataFrame, a: str, b: str, caption: str, by: tuple[str, ...] = ()) -> str:
    """Return the frame of a comparison as a table, with the names of both sides; group columns come first."""
    keys = [c for c in frame.columns if c not in (*VALUES, *by) and frame[c].drop_nulls().n_unique() > 1]
    header = [*by, "metric", *keys, a, b, f"{b} - {a}", "bounds", "interval", "better", "note"]
    names = {"a": a, "b": b}
    listed = []
    for row in rows(frame):
        ends = row.get("ci_lower"), row.get("ci_upper")
        listed.append(
            [
                *(key_cell(row[k], head=not i) for i, k in enumerate(by)),
                Cell(row["metric"], head=not by),
                *(Cell("") if row[k] is None else key_cell(row[k]) for k in keys),
                *(Cell(value, row[c]) for c, value in zip(("a", "b", "difference"), compared(row), strict=True)),
                Cell(bound(row["difference"], row["lower"], row["upper"])),
                Cell(interval(*ends)),
                Cell(names.get(row["better"] or "", row["better"] or "")),
                Cell(_noted(row.get("note"), names)),
            ]
        )
    return table(header, listed, caption, sortable=True)


def _noted(note: str | None, names: dict[str, str]) -> str:
    """A note on a side by its name."""
    side, _, rest = (note or "").partition(" ")
    return f"{names[side]} {rest}" if side in names else note or ""

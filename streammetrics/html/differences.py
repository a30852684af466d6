"""Tables of differences between two evaluations, or two models."""

from __future__ import annotations

import polars as pl

from streammetrics.frame import told_apart
from streammetrics.html.tables import Cell, key_cell, table
from streammetrics.text import FEW, named, rows, shown_of
from streammetrics.text.decimals import bound, compared, interval
from streammetrics.text.markup import markup


def differences(frame: pl.DataFrame, a: str, b: str, caption: str, by: tuple[str, ...] = ()) -> str:
    """Return the frame of a comparison as a table, with the names of both sides; group columns come first."""
    keys = [c for c in told_apart(frame) if c not in by]
    metric = [] if by else ["metric"]  # a table of groups shows one metric
    header = [*by, *metric, *keys, a, b, f"{b} - {a}", "bounds", "interval", "better", "note"]
    listed = []
    for row in rows(frame):
        ends, shown = (row.get("ci_lower"), row.get("ci_upper")), compared(row)
        listed.append(
            [
                *(key_cell(row[k], head=not i) for i, k in enumerate(by)),
                *(Cell(row[c], head=True) for c in metric),
                *(Cell("") if row[k] is None else key_cell(row[k]) for k in keys),
                *(Cell(value, row[c]) for c, value in zip(("a", "b", "difference"), shown, strict=True)),
                Cell(bound(row["difference"], row["lower"], row["upper"], shown[-1])),
                Cell(interval(*ends)),
                Cell(row["better"] or ""),
                Cell(row.get("note") or ""),
            ]
        )
    return table(header, listed, caption, sortable=True)


def sides(frame: pl.DataFrame, names: tuple[str, str]) -> str:
    """Return the metrics that are better on each side, in words."""
    if not frame["better"].is_in(names).any():
        if "ci_lower" in frame and frame["ci_lower"].is_null().all():
            return "Which side is better is open, because the differences have no confidence intervals"
        return "Neither side is better in any metric"
    return ". ".join(f"<b>{markup(name)}</b> is better in {_won(frame, name)}" for name in names)


def _won(frame: pl.DataFrame, side: str) -> str:
    """The first metrics that are better on a side; of metrics with the same difference, such as recall and fnr, one."""
    keys = told_apart(frame)
    found = frame.filter(better=side).unique(pl.col("difference").abs().round_sig_figs(9), maintain_order=True)
    names = [markup(named(row, keys)) for row in rows(found)]
    shown = shown_of(len(names), FEW)
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more or "no metric"

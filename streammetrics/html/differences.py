"""Which of two evaluations, or models, is better, in words."""

from __future__ import annotations

import polars as pl

from streammetrics.frame import told_apart
from streammetrics.text import FEW, named, rows, shown_of
from streammetrics.text.markup import markup


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

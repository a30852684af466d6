"""The tables of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from streammetrics.base import LONGEST, shown_of
from streammetrics.data import MODEL
from streammetrics.reading import Differences
from streammetrics.show import Table, as_text, decided, differences_table, only_threshold, sizes, with_notes

LONG = 20  # maximum number of characters of a name in a header
LETTERS = ("a", "b")
METRICS_OF_A_GROUP = 5  # maximum number of metrics in the table of each group


def comparison_tables(found: Differences, width: int | None, more: str, noted: bool = True) -> list[Table]:
    """Return a comparison as tables. For many metrics by group: all for the total, and the first for each group.

    The names of both sides are headers. If they are long, or double the lines, the headers are a and b, and a note
    explains them. ``more`` is advice on the other metrics of each group. With ``noted``, the last note is that of the
    comparison.
    """
    note = [found.note] if noted and found.note else []
    sides = ["a is {}, b is {}.".format(*found.names)] if found.names != LETTERS else []
    named = with_notes(_tables(found, more, found.names), *note)
    lettered = with_notes(_tables(found, more, LETTERS), " ".join([*sides, *note]))
    lines, fewest = (as_text(*tables, width=width).count("\n") for tables in (named, lettered))
    return named if max(map(len, found.names)) <= LONG and lines < 2 * fewest else lettered


def _tables(found: Differences, more: str, names: tuple[str, str]) -> list[Table]:
    by, metrics = found.b.by, found._metrics
    frame, total = ((own._lettered if names == LETTERS else own.frame) for own in (found, found.total))
    rows = [*sizes(total, names), *_detectable(found)]
    if frame.height <= LONGEST or len(metrics) <= METRICS_OF_A_GROUP or {*by} <= {MODEL}:
        return with_notes([_table(frame, names, by)], *rows)
    first = next((m for m in metrics if m.better), metrics[0]).name
    groups = _table(frame.filter(metric=first), names, by, f"Each group, {first}")
    others = f"… and {len(metrics) - 1} more metrics of each group. {more}"
    together = with_notes([_table(total, names, found.total.b.by, "All groups together")], *rows)
    return with_notes([*together, groups], others)


def _detectable(found: Differences) -> list[str]:
    """A sentence on the smallest difference of the primary metric that the rows find."""
    if found.primary is None or not found.detectable:
        return []
    return [f"These rows find a difference of {found.detectable:.2g} in {found.primary.name} with 80% power."]


def _table(frame: pl.DataFrame, names: tuple[str, str], by: Sequence[str], caption: str = "") -> Table:
    """A table of all groups, or of those with a better side if they are many."""
    more = 0
    if by:
        frame, more = decided(frame, names, by, shown_of(frame.n_unique(by)))
    notes = [f"… and {more:,} more groups"] if more else []
    made = differences_table(frame, names, by, caption)
    return replace(made, notes=[*notes, *made.notes, *only_threshold(frame)])

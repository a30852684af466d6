"""The text of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from streammetrics import text
from streammetrics.present.differences import decided, differences_table
from streammetrics.present.estimates import only_threshold
from streammetrics.present.terminal import as_text, filled
from streammetrics.reading.differences import Differences
from streammetrics.rows.roles import MODEL

LONG = 20  # maximum number of characters of a name in a header
LETTERS = ("a", "b")
FEW = 5  # maximum number of metrics in the text of each group


def comparison_text(found: Differences, width: int | None, more: str) -> str:
    """Return a comparison as text. For many metrics by group: all for the total, and the first for each group.

    The names of both sides are headers. If they are long, or double the lines, the headers are a and b, and a line
    below explains them. ``more`` is advice on the other metrics of each group.
    """
    sides = "a is {}, b is {}.".format(*map(text.escaped, found.names)) if found.names != LETTERS else None
    named = _tables(found, width, more, found.names, found.note)
    lettered = _tables(found, width, more, LETTERS, " ".join(filter(None, (sides, found.note))))
    fits = max(map(len, found.names)) <= LONG and named.count("\n") < 2 * lettered.count("\n")
    return named if fits else lettered


def with_names(found: Differences) -> pl.DataFrame:
    """Return the frame with the names of both sides, unless these are names of other columns."""
    headers = dict(zip(("a", "b", "difference"), (*found.names, "{1} - {0}".format(*found.names)), strict=True))
    taken = {*headers.values()} & ({*found.frame.columns} - {*headers})
    return found.frame if taken else found.frame.rename(headers)


def _tables(found: Differences, width: int | None, more: str, names: tuple[str, str], note: str | None) -> str:
    by, metrics = found.b.by, found._metrics
    frame, total = ((own._lettered if names == LETTERS else own.frame) for own in (found, found.total))
    if frame.height <= text.LONGEST or len(metrics) <= FEW or {*by} <= {MODEL}:
        return _table(frame, names, by, note, width)
    first = next((m for m in metrics if m.better), metrics[0]).name
    others = f"… and {len(metrics) - 1} more metrics of each group. {more}"
    parts = [
        *("All groups together:\n", _table(total, names, found.total.b.by, None, width)),
        *(f"\nEach group, {first}:\n", _table(frame.filter(metric=first), names, by, others, width)),
    ]
    return "\n".join([*parts, *([filled(note, width)] if note else [])])


def _table(frame: pl.DataFrame, names: tuple[str, str], by: Sequence[str], note: str | None, width: int | None) -> str:
    """A table of all groups, or of those with a better side if they are many."""
    more = 0
    if by:
        frame, more = decided(frame, names, by, text.shown_of(frame.n_unique(by)))
    notes = [f"… and {more:,} more groups"] if more else []
    notes += [*only_threshold(frame), *([note] if note else [])]
    return as_text(replace(differences_table(frame, names, by), notes=notes), width)

"""The text of a comparison."""

from __future__ import annotations

import polars as pl

from streammetrics import text
from streammetrics.reading.differences import Differences
from streammetrics.rows.roles import MODEL

LONG = 20  # maximum number of characters of a name in a header
FEW = 5  # maximum number of metrics in the text of each group


def as_text(found: Differences, width: int | None, more: str) -> str:
    """Return a comparison as text. For many metrics by group: all for the total, and the first for each group.

    The names of both sides are headers. If they are long, or double the lines, the headers are a and b, and a line
    below explains them. ``more`` is advice on the other metrics of each group.
    """
    letters, names = ("a", "b"), found.names
    named = _tables(found, width, more, names, found.note)
    sides = "a is {}, b is {}.".format(*map(text.escaped, names)) if names != letters else None
    lettered = _tables(found, width, more, letters, " ".join(filter(None, (sides, found.note))))
    fits = max(map(len, names)) <= LONG and named.count("\n") < 2 * lettered.count("\n")
    return named if fits else lettered


def with_names(found: Differences) -> pl.DataFrame:
    """Return the frame with the names of both sides, unless these are names of other columns."""
    headers = dict(zip(("a", "b", "difference"), (*found.names, "{1} - {0}".format(*found.names)), strict=True))
    taken = {*headers.values()} & ({*found.frame.columns} - {*headers})
    return found.frame if taken else found.frame.rename(headers)


def _tables(found: Differences, width: int | None, more: str, names: tuple[str, str], note: str | None) -> str:
    by, metrics = found.b.by, found._metrics
    if found._lettered.height <= text.LONGEST or len(metrics) <= FEW or {*by} <= {MODEL}:
        return text.differences(found._lettered, by, note, width, names)
    first = next((m for m in metrics if m.better), metrics[0]).name
    others = f"… and {len(metrics) - 1} more metrics of each group. {more}"
    parts = [
        "All groups together:\n",
        text.differences(found.total._lettered, found.total.b.by, None, width, names),
        f"\nEach group, {first}:\n",
        text.differences(found._lettered.filter(metric=first), by, others, width, names),
    ]
    return "\n".join([*parts, *([text.filled(note, width)] if note else [])])

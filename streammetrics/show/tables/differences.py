"""Differences between two evaluations, or two models, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import AHEAD, LONGEST, STATUS, amount, compared, rows, shown_of, told_apart
from streammetrics.data import MODEL
from streammetrics.metrics import BEST
from streammetrics.show.tables.estimates import estimate, estimate_columns, only_threshold, with_notes
from streammetrics.show.tables.notes import FEW_EFFECTIVE, with_names
from streammetrics.show.tables.table import Cell, Column, Table, columns, key_cell

if TYPE_CHECKING:
    from streammetrics.report import Comparison

LONG_NAME, LETTERS = 20, ("a", "b")  # characters of a name in a header, and what stands for longer ones
METRICS_OF_A_GROUP = 5  # maximum number of metrics in the table of each group
LONG = 15  # characters of a header that names the difference by both sides
SIZES = ("rows", "dropped")  # metrics that are not compared, but told
IN_PARENTHESES = (
    "In parentheses: the side that is ahead on these rows, not significantly or without a confidence interval."
)


def comparison_tables(comparison: Comparison, more: str, noted: bool = True) -> list[Table]:
    """Return a comparison as tables. For many metrics by group: all for the total, and the first for each group.

    The names of both sides are headers. If they are long, the headers are a and b, and a note explains them, unless
    a side has such a name. ``more``
    is advice on the other metrics of each group. With ``noted``, the last note is that of the comparison.
    """
    is_clear = max(map(len, comparison.names)) <= LONG_NAME or {*comparison.names} & {*LETTERS}
    names = comparison.names if is_clear else LETTERS
    sides = "" if names == comparison.names else "a is {}, b is {}.".format(*comparison.names)
    note = comparison.note if noted else None
    return with_notes(_tables(comparison, more, names), " ".join(filter(None, (sides, note))))


def _tables(comparison: Comparison, more: str, names: tuple[str, str]) -> list[Table]:
    by, all_groups = comparison.b.by, comparison.total
    frame, total = comparison._judged, all_groups._judged
    metrics = [m for m in comparison.a.metrics if m.name in frame["metric"]]
    notes = sizes(total, names)
    if comparison.primary is not None and comparison.detectable:
        difference = f"{comparison.detectable:.2g} in {comparison.primary.name}"
        notes.append(f"These rows find a difference of {difference} with 80% power.")
    if frame.height <= LONGEST or len(metrics) <= METRICS_OF_A_GROUP or {*by} <= {MODEL}:
        return with_notes([_table(frame, names, comparison.confidence, by)], *notes)
    first = next((m for m in metrics if m.better), metrics[0]).name
    groups = _table(frame.filter(metric=first), names, comparison.confidence, by, f"Each group, {first}")
    others = f"… and {len(metrics) - 1} more metrics of each group. {more}"
    together = with_notes([_table(total, names, comparison.confidence, all_groups.b.by, "All groups together")], *notes)
    return with_notes([*together, groups], others)


def _table(
    frame: pl.DataFrame, names: tuple[str, str], confidence: float | None, by: Sequence[str], caption: str = ""
) -> Table:
    """A table of all groups, or of those with a better side first if they are many."""
    notes = []
    if by:
        groups = frame.group_by(by, maintain_order=True).agg(pl.col("better").is_in(LETTERS).any())
        groups = groups.sort("better", descending=True, maintain_order=True)
        size = shown_of(groups.height)
        frame = frame.join(groups.head(size), on=by, how="semi", nulls_equal=True, maintain_order="left")
        notes = [f"… and {groups.height - size:,} more groups"] if groups.height > size else []
    table = differences_table(frame, names, confidence, by, caption)
    return replace(table, notes=[*notes, *table.notes, *only_threshold(frame)])


def differences_table(
    frame: pl.DataFrame,
    names: tuple[str, str],
    confidence: float | None,
    by: Sequence[str] = (),
    caption: str = "",
    of_one_metric: bool = False,
) -> Table:
    """Return judged differences as a table: one row per group and metric, with the names of both sides.

    Group columns come first. If all rows are ``of_one_metric``, its name is omitted. Numbers of rows are only in
    `sizes`, unless there is nothing else.
    """
    judged = frame.filter(~pl.col("metric").is_in(SIZES))
    frame = with_names(frame if judged.is_empty() else judged, names)
    metric, header = [] if of_one_metric else ["metric"], "{1} - {0}".format(*names)
    keys = [c for c in told_apart(frame) if c not in by]
    number, *limits = estimate_columns(confidence)
    named = [
        *columns(*by[:1], kind="head" if of_one_metric else "text"),
        *columns(*by[1:]),
        *columns(*metric, kind="head"),
        *columns(*keys),
        Column("better", optional=True),
        *columns(*names, kind="number"),
        *(replace(number, name=header if len(header) <= LONG else "difference"), *limits),
        Column("note", optional=True),
    ]
    cells, notes = [], list[str]()
    for row in rows(frame):
        better, note = row["better"] or "", row.get("note") or ""
        if row.get(AHEAD) and row[STATUS] not in FEW_EFFECTIVE:
            better, note, notes = f"({row[AHEAD]})", "", [IN_PARENTHESES]
        a, b, difference = compared(row)
        cells.append(
            [
                *(key_cell(row[k]) for k in by),
                *(Cell(row[c]) for c in metric),
                *(Cell("") if row[k] is None else key_cell(row[k]) for k in keys),
                *(Cell(better), Cell(a, row["a"]), Cell(b, row["b"])),
                *(*estimate({**row, "value": row["difference"]}, difference), Cell(note)),
            ]
        )
    metrics = [name.partition("(")[0] for name in frame["metric"].unique(maintain_order=True)]
    for value in dict.fromkeys(BEST[name] for name in metrics if name in BEST):  # between worse values
        nearer = ", ".join(name for name in metrics if BEST.get(name) == value)
        notes.append(f"Nearer to {value} is better: {nearer}.")
    return Table(named, cells, caption, notes)


def sizes(frame: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return a sentence on the rows of both sides, and one on dropped rows if there are any.

    >>> frame = pl.DataFrame({"metric": ["rows", "dropped"], "a": [200.0, 0.0], "b": [200.0, 4.0]})
    >>> sizes(frame, ("old", "new"))
    ['Rows: 200 on both sides.', 'Dropped: old 0, new 4.']
    """
    sentences = []
    for metric in SIZES:
        for a, b in frame.filter(metric=metric).select("a", "b").drop_nulls().head(1).rows():
            numbers = f"{amount(a)} on both sides" if a == b else f"{names[0]} {amount(a)}, {names[1]} {amount(b)}"
            if a or b or metric == "rows":
                sentences.append(f"{metric.capitalize()}: {numbers}.")
    return sentences

"""Comparisons, drifts, and slices as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from streammetrics.frame import (
    keys_of,
    told_apart,
)
from streammetrics.text.cells import cell, rows, shown_of
from streammetrics.text.decimals import beside, bound, compared, interval, listed, percentage
from streammetrics.text.lines import filled, table
from streammetrics.text.reports import only_threshold

WHOLE = "\u00a0to\u00a0"  # between the ends of an interval that is not broken


def differences(
    frame: pl.DataFrame,
    by: Sequence[str] = (),
    note: str | None = None,
    width: int | None = None,
    names: tuple[str, str] = ("a", "b"),
) -> str:
    """Return the frame of a comparison as text: one row per group and metric; of many groups, those with a better side.

    ``names`` are those of both sides. The note is below the table.
    """
    more = 0
    if by:
        groups = frame.group_by(by, maintain_order=True).agg(pl.col("better").is_in(["a", "b"]).any())
        foremost = groups.sort("better", descending=True, maintain_order=True).head(shown_of(groups.height))
        more = groups.height - foremost.height
        frame = frame.join(foremost, on=by, how="semi", nulls_equal=True, maintain_order="left")
    apart = told_apart(frame)
    keys = tuple(c for c in keys_of(frame) if c in by or c in apart)
    sides = dict(zip(("a", "b"), names, strict=True))
    header = (*keys, "metric", *names, "{1} - {0}".format(*names), "bound", "interval", "better", "note")
    cells = [
        (
            *("" if r[k] is None and k not in by else cell(r[k]) for k in keys),
            r["metric"],
            *(values := compared(r)),
            bound(r["difference"], r["lower"], r["upper"], values[-1]),
            interval(r.get("ci_lower"), r.get("ci_upper")),
            sides.get(r["better"], r["better"] or ""),
            noted(r.get("note"), sides),
        )
        for r in rows(frame)
    ]
    shown = [i for i in range(len(header)) if i < len(header) - 3 or any(row[i] for row in cells)]
    left = tuple(place for place, i in enumerate(shown) if i <= len(keys) or i > len(keys) + 3)
    shown_cells = [tuple(row[i] for i in shown) for row in (header, *cells)]
    lines = table(shown_cells[0], shown_cells[1:], left, width)
    lines += [f"… and {more:,} more groups"] if more else []
    return "\n".join([*lines, *only_threshold(frame, width), *([filled(note, width)] if note else [])])


def noted(note: str | None, names: Mapping[str, str]) -> str:
    """Return a note of a comparison with the name of its side.

    >>> noted("b on these rows; could be chance", {"a": "old", "b": "new"})
    'new on these rows; could be chance'
    """
    side, _, rest = (note or "").partition(" ")
    return f"{names[side]} {rest}" if side in names else note or ""


def drifts(frame: pl.DataFrame, note: str | None = None, width: int | None = None) -> str:
    """Return the frame of a drift as text: one row per group and distribution, one column per measure.

    Intervals follow the values in brackets, and are not broken.
    """
    keys = frame.columns[: frame.columns.index("measure")]
    measures = frame["measure"].unique(maintain_order=True).to_list()
    every = frame.height // (len(measures) or 1)
    shown = frame.head(shown_of(every) * len(measures))
    columns = [listed(list(rows(shown.filter(measure=measure)))) for measure in measures]
    groups = rows(shown.select(keys).unique(maintain_order=True))
    cells = [
        (*map(cell, group.values()), *(value.replace(" to ", WHOLE) for value in values))
        for group, *values in zip(groups, *columns, strict=True)
    ]
    lines = [line.replace(WHOLE, " to ") for line in table((*keys, *measures), cells, tuple(range(len(keys))), width)]
    if every > len(cells):
        lines.append(f"… and {every - len(cells):,} more rows")
    lines += [filled(note, width)] if note else []
    return "\n".join(lines)


def slices(frame: pl.DataFrame, width: int | None = None) -> str:
    """Return the frame of slices as text: one row per slice, with its excess loss."""
    header = ("slice", "value", "rest", "difference", "interval", "rows", "share of rows", "excess loss")
    cells = [
        (
            r["slice"],
            *(beside(r[c], r["ci_lower"], r["ci_upper"]) for c in ("value", "rest", "difference")),
            interval(r["ci_lower"], r["ci_upper"]),
            *(f"{r['rows']:,}", percentage(r["share_of_rows"])),
            "" if r["excess_loss"] is None else percentage(r["excess_loss"]),
        )
        for r in rows(frame.head(shown_of(frame.height)))
    ]
    more = [f"… and {frame.height - len(cells):,} more slices"] if frame.height > len(cells) else []
    return "\n".join([*table(header, cells, (0, 4), width), *more])

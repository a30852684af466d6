"""Reports as text: one metric per line, or one row per group, threshold, or label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from streammetrics.frame import (
    of_labels_once,
    told_apart,
)
from streammetrics.text.cells import FEW, cell, escaped, named, rows, shown_of
from streammetrics.text.decimals import bound, interval, listed, said
from streammetrics.text.lines import PIPED, columns_within, filled, table

Shown: TypeAlias = tuple[str, list[str]]  # a text, and the notes of undefined values in its tables
BESIDE = 4  # groups that can be columns


def render(
    frame: pl.DataFrame, by: list[str], width: int | None = None, defaults: Sequence[str] = (), more: str = ""
) -> str:
    """Return a report's frame as text: one metric per line, or one row per group, threshold, or label.

    Args:
        frame: The frame of a report.
        by: Its group columns.
        width: Maximum line length. If metrics do not fit, few groups become columns. Otherwise, metrics follow in
            further tables, or with groups are only named. Defaults to no limit, as in files.
        defaults: Names of metrics with default options that their names in the frame do not mention.
        more: How to see the groups that the text omits.
    """
    frame = of_labels_once(frame)
    several = [c for c in told_apart(frame) if c not in by]
    shown, notes = _segments(frame, by, several, width, more) if by else _by_key(frame, several, width)
    options = [filled(f"Default options: {', '.join(defaults)}.", width)] if defaults else []
    return "\n".join([shown, *_undefined(notes, width), *only_threshold(frame, width), *options])


def _undefined(notes: Sequence[str], width: int | None) -> Iterator[str]:
    """A sentence on why values of tables without notes are undefined."""
    reasons = list(dict.fromkeys(why for note in notes for why in note.removeprefix("undefined: ").split("; ")))
    if reasons:
        most = shown_of(len(reasons), FEW)
        more = [f"and {len(reasons) - most:,} more reasons"] if len(reasons) > most else []
        told = "; ".join([*reasons[:most], *more])
        yield filled(escaped(f"Undefined values (–): {told}."), width)


def only_threshold(frame: pl.DataFrame, width: int | None = None) -> list[str]:
    """Return a sentence that names the threshold of a frame, if there is only one."""
    thresholds = frame["threshold"].drop_nulls().unique().to_list() if "threshold" in frame.columns else []
    return [filled(f"Scores of at least {t:g} count as positive.", width) for t in thresholds if len(thresholds) == 1]


def _by_key(frame: pl.DataFrame, keys: list[str], width: int | None) -> Shown:
    """A list of the metrics that have one value, and a table of those that have one per threshold or label."""
    if not keys:
        return _list(frame, width), []
    parts: list[Shown] = []
    for known, part in frame.group_by([pl.col(key).is_not_null() for key in keys], maintain_order=True):
        of_part = [key for key, own in zip(keys, known, strict=True) if own]
        parts.append(_segments(part, of_part, [], width) if of_part else (_list(part, width), []))
    return "\n\n".join(text for text, _ in parts), [note for _, notes in parts for note in notes]


def _list(frame: pl.DataFrame, width: int | None) -> str:
    header = ("metric", "value", "bound", "interval", "note")
    columns = [column for column in header if column != "interval" or "ci_lower" in frame.columns]
    cells = []
    for r in rows(frame):
        told = {"metric": r["metric"], "value": (value := said(r))}
        told |= {"bound": bound(r["value"], r["lower"], r["upper"], value)}
        told |= {"interval": interval(r.get("ci_lower"), r.get("ci_upper")), "note": r["note"] or ""}
        cells.append(tuple(told[column] for column in columns))
    return "\n".join(table(tuple(columns), cells, (0, *range(2, len(columns))), width))


def _segments(frame: pl.DataFrame, by: list[str], keys: list[str], width: int | None, more: str | None = None) -> Shown:
    """The frame as a table of groups, or of thresholds or labels if ``more`` is None."""
    groups = more is not None
    metrics: dict[str, dict[str, list[dict[str, Any]]]] = {}  # rows by keys, which can differ between groups
    numbers: dict[tuple[object, ...], dict[str, str]] = {}
    every = frame.select(by).unique(maintain_order=True)
    whole = every.head(shown_of(every.height))
    for r in rows(frame.join(whole, on=by, how="semi", nulls_equal=True, maintain_order="left")):
        metrics.setdefault(r["metric"], {}).setdefault(named(r, keys), []).append(r)
        numbers.setdefault(tuple(r[c] for c in by), {})
    columns = {name: found for of_metric in metrics.values() for name, found in of_metric.items()}
    for name, found in columns.items():
        for r, value in zip(found, listed(found), strict=True):
            numbers[tuple(r[c] for c in by)][name] = value
    cells = [
        (*map(cell, group), *(of_group.get(column, "") for column in columns)) for group, of_group in numbers.items()
    ]
    header = (*map(escaped, by), *columns)
    if groups and (beside := _beside(header, cells, len(by), width)):
        return "\n".join(beside), _notes(columns.values())
    left = tuple(range(len(by)))
    tables: list[str] = []
    start = len(by)
    while not tables or (start < len(header) and (width is None or not groups)):
        rest = [(*row[: len(by)], *row[start:]) for row in (header, *cells)]
        fitting = max(len(by) + 1, columns_within(width or PIPED, rest))
        first, *others = (row[:fitting] for row in rest)
        tables.append("\n".join(table(first, others, left, width)))
        start += fitting - len(by)
    lines = ["\n\n".join(tables)]
    if every.height > len(cells):
        omitted = f"… and {every.height - len(cells):,} more {'groups' if groups else 'rows'}"
        lines.append(filled(f"{omitted}. {more}" if more else omitted, width))
    if len(header) > start:
        names = header[start:]
        lines.append(
            filled(f"… and {len(names)} more metric{'s' if len(names) > 1 else ''}: {', '.join(names)}", width)
        )
    return "\n".join(lines), _notes(columns[name] for name in header[len(by) : start])


def _notes(columns: Iterable[Sequence[Mapping[str, Any]]]) -> list[str]:
    """The notes of the undefined values of some columns."""
    return [r["note"] for column in columns for r in column if r["value"] is None and r["note"]]


def _beside(header: tuple[str, ...], cells: list[tuple[str, ...]], by: int, width: int | None) -> list[str]:
    """Few groups as columns and metrics as rows, if only this fits; otherwise empty."""
    whole, lines = [header, *cells], list(zip(header, *cells, strict=True))
    turned = [tuple(map(", ".join, zip(*lines[:by], strict=True))), *lines[by:]]
    fitting = [columns_within(width or PIPED, table) == len(table[0]) for table in (whole, turned)]
    return table(turned[0], turned[1:], (0,), width) if len(cells) <= BESIDE and fitting == [False, True] else []

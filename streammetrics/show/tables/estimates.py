"""Estimates of a report as tables: one metric per line, or one row per group, threshold, or label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from streammetrics.base import (
    FEW,
    KEPT,
    Row,
    bound,
    bounds,
    cutoff,
    interval,
    named,
    of_labels_once,
    rows,
    shortened,
    shown_of,
    told_apart,
    typical_decimals,
    uncertainty,
    value_text,
    value_texts,
)
from streammetrics.show.tables.table import Cell, Column, Table, columns, key_cell
from streammetrics.show.tables.terminal import PIPED

CERTIFIED = "± or “certified”"  # marks of bounds below a value
ESTIMATE = (Column("value", "number"), Column("bound"), Column("interval", optional=True))
BESIDE = 4  # groups that can be columns
LEAST = 12  # characters of a key
TWINS = {"pr_auc": "average_precision"}  # metrics with nearly the value of another one


def report_tables(
    frame: pl.DataFrame, by: list[str], width: int | None = None, defaults: Sequence[str] = (), more: str = ""
) -> list[Table]:
    """Return a report's frame as tables: one metric per row, or one row per group, threshold, or label.

    If metrics do not fit the width, few groups become columns. Otherwise, metrics follow in further tables, or with
    groups are only named. Notes list ``defaults``, options that names of metrics omit, and say how to see ``more``.
    """
    frame = of_labels_once(frame)
    keys = [c for c in told_apart(frame) if c not in by]
    tables = _of_segments(frame, by, keys, width, more) if by else _by_key(frame, keys, width)
    options = [f"Default options: {', '.join(defaults)}."] if defaults else []
    return with_notes(tables, *only_threshold(frame), *options)


def with_notes(tables: Sequence[Table], *notes: str) -> list[Table]:
    """Return tables with notes below the last."""
    *others, last = tables
    return [*others, replace(last, notes=[*last.notes, *filter(None, notes)])]


def only_threshold(frame: pl.DataFrame) -> list[str]:
    """Return a sentence that names the threshold of a frame, if there is only one."""
    thresholds = frame["threshold"].drop_nulls().unique().to_list() if "threshold" in frame.columns else []
    return [f"Scores of at least {cutoff(t)} count as positive." for t in thresholds if len(thresholds) == 1]


def _by_key(frame: pl.DataFrame, keys: list[str], width: int | None) -> list[Table]:
    """A list of the metrics that have one value, and a table of those that have one per threshold or label."""
    if not keys:
        return [metrics_table(frame)]
    tables: list[Table] = []
    for known, part in frame.group_by([pl.col(key).is_not_null() for key in keys], maintain_order=True):
        of_part = [key for key, own in zip(keys, known, strict=True) if own]
        tables += _of_segments(part, of_part, [], width) if of_part else [metrics_table(part)]
    return tables


def estimate(row: Row, value: str = "") -> list[Cell]:
    """Return a value with its bounds and its interval, for the columns `ESTIMATE`."""
    value = value or value_text(row)
    certain = bound(row["value"], row["lower"], row["upper"], value)
    return [Cell(value, row["value"]), Cell(certain), Cell(interval(row.get("ci_lower"), row.get("ci_upper"), value))]


def _of_segments(
    frame: pl.DataFrame, by: list[str], keys: list[str], width: int | None, more: str | None = None
) -> list[Table]:
    """The frame as tables of groups, or of thresholds or labels if ``more`` is None."""
    groups = more is not None
    every = frame.select(by).unique(maintain_order=True)
    whole = every.head(shown_of(every.height))
    frame = frame.join(whole, on=by, how="semi", nulls_equal=True, maintain_order="left")
    found = _by_name(frame, keys)
    table = _of_groups(found, frame, by)
    notes = list[str]()
    if every.height > whole.height:
        omitted = f"… and {every.height - whole.height:,} more {'groups' if groups else 'rows'}"
        notes.append(f"{omitted}. {more}" if more else omitted)
    tables = narrowed(table, len(by), width) if groups else table.parts(width or PIPED)
    shown = [found[column.name] for part in tables for column in part.columns if column.name in found]
    return with_notes(tables, *notes, *_undefined(shown or found.values()))


def _undefined(found: Iterable[Sequence[Row]]) -> Iterator[str]:
    """A sentence on why values in the columns of a table are undefined."""
    notes = [r["note"] for own in found for r in own if r["value"] is None and r["note"]]
    reasons = list(dict.fromkeys(why for note in notes for why in note.removeprefix("undefined: ").split("; ")))
    if reasons:
        most = shown_of(len(reasons), FEW)
        more = [f"and {len(reasons) - most:,} more reasons"] if len(reasons) > most else []
        yield f"Undefined values (–): {'; '.join([*reasons[:most], *more])}."


def _by_name(frame: pl.DataFrame, keys: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each metric with its keys, which can differ between groups."""
    metrics = dict[str, dict[str, list[Row]]]()
    for row in rows(frame):
        metrics.setdefault(row["metric"], {}).setdefault(named(row, keys), []).append(row)
    return {name: own for of_metric in metrics.values() for name, own in of_metric.items()}


def _of_groups(found: Mapping[str, list[Row]], frame: pl.DataFrame, by: Sequence[str], bounded: bool = False) -> Table:
    """A row per group and a column per metric."""
    typical = typical_decimals(rows(frame))
    groups: dict[tuple[object, ...], dict[str, Cell]] = {tuple(row.values()): {} for row in rows(frame.select(by))}
    for name, own in found.items():
        for row, cell in zip(own, listed(own, typical, bounded), strict=True):
            groups[tuple(row[c] for c in by)][name] = cell
    missing = Cell("–" if bounded else "")
    cells = [[*map(key_cell, group), *(own.get(name, missing) for name in found)] for group, own in groups.items()]
    return Table([*columns(*by[:1], kind="head"), *columns(*by[1:]), *columns(*found, kind="number")], cells)


def listed(found: Sequence[Row], typical: int | None = None, bounded: bool = False) -> list[Cell]:
    """Return the values of a column with their intervals below.

    ``bounded`` ones have certified bounds below if they have no interval, and decimals of their own.

    >>> exact = {"lower": None, "upper": None}
    >>> [cell.text for cell in listed([{"value": 0.091007, **exact}, {"value": 0.07571, **exact}])]
    ['0.091007', '0.075710']
    """
    cells = []
    for row, common in zip(found, value_texts(found, typical), strict=True):
        value = value_text(row) if bounded and uncertainty(row) else common
        ends = row.get("ci_lower"), row.get("ci_upper")
        is_bound = ends == (row["lower"], row["upper"]) and ends[0] != ends[1]  # by odds, before labels
        sampled = (bounds if is_bound else interval)(*ends, value)
        cells.append(Cell(value, row["value"], sampled or (certified(row) if bounded else "")))
    return cells


def metrics_table(
    frame: pl.DataFrame, by: Sequence[str] = (), caption: str = "", meaning: Mapping[str, str] | None = None
) -> Table:
    """Return one row per group and metric, with its keys, bounds, and note, which is below its ``meaning``, if any."""
    frame = of_labels_once(frame)
    keys, typical = [c for c in told_apart(frame) if c not in by], typical_decimals(rows(frame))
    values = {name: iter(value_texts(own, typical)) for name, own in _by_name(frame, ()).items()}
    cells = [
        [
            *(*(key_cell(row[c]) for c in by), Cell(row["metric"])),
            *(Cell("") if row[k] is None and k in KEPT else key_cell(row[k]) for k in keys),
            *estimate(row, next(values[row["metric"]])),
            *(
                [Cell(meaning.get(row["metric"], ""), below=row["note"] or "")]
                if meaning
                else [Cell(row["note"] or "")]
            ),
        ]
        for row in rows(frame)
    ]
    named = [*columns(*by), *columns("metric", kind="head"), *columns(*keys), *ESTIMATE]
    return Table([*named, Column("what it is" if meaning else "note", optional=True)], cells, caption)


def groups_table(frame: pl.DataFrame, by: Sequence[str], caption: str) -> Table:
    """Return one row per group and one column per metric, with bounds or interval below the value."""
    frame = of_labels_once(frame)
    found = _by_name(frame, [k for k in told_apart(frame) if k not in by])
    return replace(_of_groups(found, frame, by, bounded=True), caption=caption)


def certified(row: Row) -> str:
    """Return certified bounds as text that cannot be mistaken for a confidence interval; empty if exact.

    >>> [certified({"value": value, "lower": 0.4, "upper": 0.6}) for value in (0.5, 0.4)]
    ['± 0.1', 'certified 0.40 to 0.60']
    """
    shown = bound(row["value"], row["lower"], row["upper"]).replace("exact", "")
    return f"certified {shown}" if " to " in shown else shown


def narrowed(table: Table, by: int, width: int | None) -> list[Table]:
    """Return a table whose first columns are ``by`` keys, in lines of at most ``width`` characters.

    Without a width, as in files, all metrics are shown, in several tables.
    """
    room = width or PIPED
    short = _with_short_keys(table, by, room)
    for whole in (table, short):
        if whole.fitting(room) == len(whole.columns):
            return [whole]
    if turned := _turned(short, by, room):
        return [turned]
    if width is None:
        return table.parts(room)
    short = _without_constants(_twins_last(short), by)
    shown = short.of(range(max(by + 1, short.fitting(width, in_lines=False))))
    left_out = [column.name for column in short.columns[len(shown.columns) :]]
    what = "metrics" if len(left_out) > 1 else "metric"
    more = [f"… and {len(left_out)} more {what}: {', '.join(left_out)}"] if left_out else []
    return [replace(shown, notes=[*shown.notes, *more])]


def _with_short_keys(table: Table, by: int, room: int) -> Table:
    """The table with keys that take at most a third of the room, so that it is for metrics."""
    most = max(LEAST, room // 3 // by)
    keys = [shortened([row[i].text for row in table.rows], most) for i in range(by)]
    heads = shortened([column.name for column in table.columns[:by]], most)
    rows = [
        [*(replace(cell, text=text) for cell, text in zip(row[:by], texts, strict=True)), *row[by:]]
        for row, texts in zip(table.rows, zip(*keys, strict=True), strict=True)
    ]
    named = [replace(column, name=name) for column, name in zip(table.columns[:by], heads, strict=True)]
    return replace(table, columns=[*named, *table.columns[by:]], rows=rows)


def _twins_last(table: Table) -> Table:
    """The table with metrics at its end that say what another one says."""
    names = {column.name for column in table.columns}
    last = [i for i, column in enumerate(table.columns) if TWINS.get(column.name) in names]
    return table.of([*(i for i in range(len(table.columns)) if i not in last), *last])


def _without_constants(table: Table, by: int) -> Table:
    """The table with a note in place of metrics that have the same value in all rows."""
    same = {
        i: table.rows[0][i].line
        for i in range(by, len(table.columns))
        if table.rows[0][i].number is not None and len({row[i].line for row in table.rows}) == 1
    }
    if len(table.rows) == 1 or not same or len(same) == len(table.columns) - by:
        return table
    listed = ", ".join(f"{table.columns[i].name} {value}" for i, value in same.items())
    varying = table.of(i for i in range(len(table.columns)) if i not in same)
    return replace(varying, notes=[*table.notes, f"The same in all groups: {listed}."])


def _turned(table: Table, by: int, room: int) -> Table | None:
    """The table with few groups as columns and metrics as rows, if all of them fit."""
    if len(table.rows) > BESIDE:
        return None
    groups = [", ".join(cell.text for cell in row[:by]) for row in table.rows]
    head = ", ".join(column.name for column in table.columns[:by])
    cells = [[Cell(column.name), *(row[i] for row in table.rows)] for i, column in enumerate(table.columns) if i >= by]
    turned = Table([Column(head, "head"), *columns(*groups, kind="number")], cells)
    return turned if turned.fitting(room, in_lines=False) == len(turned.columns) else None

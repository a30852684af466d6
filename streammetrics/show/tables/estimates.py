"""Estimates of a report as tables: one metric per line, or one row per group, threshold, or label."""

from __future__ import annotations

import itertools
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
    shown_of,
    told_apart,
    typical_decimals,
    uncertainty,
    value_text,
    value_texts,
)
from streammetrics.show.tables.table import Cell, Column, Table, columns, interval_column, key_cell
from streammetrics.show.tables.terminal import PIPED

CERTIFIED = "± or “certified”"  # marks of bounds below a value
BESIDE = 4  # groups that can be columns
LEAST = 12  # characters of a key
TWINS = {"pr_auc": "average_precision"}  # metrics with nearly the value of another one


def report_tables(
    frame: pl.DataFrame,
    by: list[str],
    width: int | None = None,
    defaults: Sequence[str] = (),
    more: str = "",
    confidence: float | None = None,
) -> list[Table]:
    """Return a report's frame as tables: one metric per row, or one row per group, threshold, or label.

    If metrics do not fit the width, few groups become columns. Otherwise, metrics follow in further tables, or with
    groups are only named. Notes list ``defaults``, options that names of metrics omit, and say how to see ``more``.
    ``confidence`` is the level of the intervals.
    """
    frame = of_labels_once(frame)
    keys = [c for c in told_apart(frame) if c not in by]
    is_listed = bool(by or keys) and confidence is not None and frame["ci_lower"].count()
    if by:
        tables = _segment_tables(frame, by, keys, width, more)
    elif keys:  # metrics with one value, and those with one per threshold or label
        tables = []
        for has_keys, part in frame.group_by([pl.col(key).is_not_null() for key in keys], maintain_order=True):
            by = list(itertools.compress(keys, has_keys))
            tables += _segment_tables(part, by, [], width) if by else [metrics_table(part, confidence)]
    else:
        tables = [metrics_table(frame, confidence)]
    level = f"In parentheses: {interval_column(confidence).name}s." if is_listed else ""
    options = [f"Default options: {', '.join(defaults)}."] if defaults else []
    return with_notes(tables, level, *only_threshold(frame), *options)


def with_notes(tables: Sequence[Table], *notes: str) -> list[Table]:
    """Return tables with notes below the last."""
    *others, last = tables
    return [*others, replace(last, notes=[*last.notes, *filter(None, notes)])]


def only_threshold(frame: pl.DataFrame) -> list[str]:
    """Return a sentence that names the threshold of a frame, if there is only one."""
    thresholds = frame["threshold"].drop_nulls().unique().to_list() if "threshold" in frame.columns else []
    return [f"Scores of at least {cutoff(t)} count as positive." for t in thresholds if len(thresholds) == 1]


def estimate_columns(confidence: float | None) -> list[Column]:
    """Return the columns of a value with its bounds and its interval, of this level."""
    return [Column("value", "number"), Column("bound"), interval_column(confidence)]


def estimate(row: Row, value: str = "") -> list[Cell]:
    """Return a value with its bounds and its interval, for `estimate_columns`."""
    value = value or value_text(row)
    certain = bound(row["value"], row["lower"], row["upper"], value)
    return [Cell(value, row["value"]), Cell(certain), Cell(interval(row.get("ci_lower"), row.get("ci_upper"), value))]


def note(row: Row) -> str:
    """Return the note of an estimate, after ``undefined`` if it has no value.

    >>> note({"value": None, "note": "0/0"}), note({"value": 0.4, "note": "below 0.5"})
    ('undefined: 0/0', 'below 0.5')
    """
    text = row["note"] or ""
    return f"undefined: {text}" if text and row["value"] is None else text


def estimate_table(row: Row) -> Table:
    """Return a single estimate as a table."""
    named = [*estimate_columns(row["confidence"]), Column("note", optional=True)]
    return Table(named, [[*estimate(row), Cell(note(row))]])


def _segment_tables(
    frame: pl.DataFrame, by: list[str], keys: list[str], width: int | None, more: str | None = None
) -> list[Table]:
    """The frame as tables of groups, or of thresholds or labels if ``more`` is None."""
    segments = frame.select(by).unique(maintain_order=True)
    size = shown_of(segments.height)
    frame = frame.join(segments.head(size), on=by, how="semi", nulls_equal=True, maintain_order="left")
    estimates = _rows_by_name(frame, keys)
    table, notes = _groups_table(estimates, frame, by), list[str]()
    if segments.height > size:
        omitted = f"… and {segments.height - size:,} more {'rows' if more is None else 'groups'}"
        notes.append(f"{omitted}. {more}" if more else omitted)
    tables = table.parts(width or PIPED) if more is None else narrowed(table, len(by), width)
    names = [column.name for part in tables for column in part.columns if column.name in estimates]
    return with_notes(tables, *notes, *_undefined([estimates[name] for name in names or estimates]))


def _undefined(columns: Iterable[Sequence[Row]]) -> Iterator[str]:
    """A sentence on why values in the columns of a table are undefined."""
    reasons = list(dict.fromkeys(r["note"] for rows in columns for r in rows if r["value"] is None and r["note"]))
    if reasons:
        most = shown_of(len(reasons), FEW)
        more = [f"and {len(reasons) - most:,} more reasons"] if len(reasons) > most else []
        yield f"Undefined values (–): {'; '.join([*reasons[:most], *more])}."


def _rows_by_name(frame: pl.DataFrame, keys: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each metric with its keys, which can differ between groups."""
    metrics = dict[str, dict[str, list[Row]]]()
    for row in rows(frame):
        metrics.setdefault(row["metric"], {}).setdefault(named(row, keys), []).append(row)
    return {name: group for metric in metrics.values() for name, group in metric.items()}


def _groups_table(
    estimates: Mapping[str, list[Row]], frame: pl.DataFrame, by: Sequence[str], bounded: bool = False
) -> Table:
    """A row per group and a column per metric."""
    typical = typical_decimals(rows(frame))
    groups: dict[tuple[object, ...], dict[str, Cell]] = {tuple(row.values()): {} for row in rows(frame.select(by))}
    for name, column in estimates.items():
        for row, cell in zip(column, listed(column, typical, bounded), strict=True):
            groups[tuple(row[c] for c in by)][name] = cell
    missing = Cell("–" if bounded else "")
    lines = [
        [*map(key_cell, keys), *(cells.get(name, missing) for name in estimates)] for keys, cells in groups.items()
    ]
    return Table([*columns(*by[:1], kind="head"), *columns(*by[1:]), *columns(*estimates, kind="number")], lines)


def listed(estimates: Sequence[Row], typical: int | None = None, bounded: bool = False) -> list[Cell]:
    """Return the values of a column with their intervals below.

    ``bounded`` ones have certified bounds below if they have no interval, and decimals of their own.

    >>> exact = {"lower": None, "upper": None}
    >>> [cell.text for cell in listed([{"value": 0.091007, **exact}, {"value": 0.07571, **exact}])]
    ['0.091007', '0.075710']
    """
    cells = []
    for row, common in zip(estimates, value_texts(estimates, typical), strict=True):
        value = value_text(row) if bounded and uncertainty(row) else common
        ends = row.get("ci_lower"), row.get("ci_upper")
        is_bound = ends == (row["lower"], row["upper"]) and ends[0] != ends[1]  # by odds, before labels
        sampled = (bounds if is_bound else interval)(*ends, value)
        cells.append(Cell(value, row["value"], sampled or (certified(row) if bounded else "")))
    return cells


def metrics_table(
    frame: pl.DataFrame,
    confidence: float | None,
    by: Sequence[str] = (),
    caption: str = "",
    meaning: Mapping[str, str] | None = None,
) -> Table:
    """Return one row per group and metric, with its keys, bounds, and note, which is below its ``meaning``, if any."""
    frame = of_labels_once(frame)
    keys, typical = [c for c in told_apart(frame) if c not in by], typical_decimals(rows(frame))
    values = {name: iter(value_texts(group, typical)) for name, group in _rows_by_name(frame, ()).items()}
    lines = []
    for row in rows(frame):
        remark = note(row)
        lines.append(
            [
                *(key_cell(row[c]) for c in by),
                Cell(row["metric"]),
                *(Cell("") if row[k] is None and k in KEPT else key_cell(row[k]) for k in keys),
                *estimate(row, next(values[row["metric"]])),
                Cell(meaning.get(row["metric"], ""), below=remark) if meaning else Cell(remark),
            ]
        )
    headers = [*columns(*by), *columns("metric", kind="head"), *columns(*keys), *estimate_columns(confidence)]
    return Table([*headers, Column("what it is" if meaning else "note", optional=True)], lines, caption)


def groups_table(frame: pl.DataFrame, by: Sequence[str], caption: str) -> Table:
    """Return one row per group and one column per metric, with bounds or interval below the value."""
    frame = of_labels_once(frame)
    estimates = _rows_by_name(frame, [k for k in told_apart(frame) if k not in by])
    return replace(_groups_table(estimates, frame, by, bounded=True), caption=caption)


def certified(row: Row) -> str:
    """Return certified bounds as text that cannot be mistaken for a confidence interval; empty if exact.

    >>> [certified({"value": value, "lower": 0.4, "upper": 0.6}) for value in (0.5, 0.4)]
    ['± 0.1', 'certified 0.40 to 0.60']
    """
    text = bound(row["value"], row["lower"], row["upper"]).replace("exact", "")
    return f"certified {text}" if " to " in text else text


def narrowed(table: Table, by: int, width: int | None) -> list[Table]:
    """Return a table whose first columns are ``by`` keys, in lines of at most ``width`` characters.

    Keys are shortened, then few groups become columns. Without a width, as in files, all metrics are shown, in several
    tables.
    """
    room = width or PIPED
    if table.fitting(room) == len(table.columns):
        return [table]
    short = table.with_short_keys(by, max(LEAST, room // 3 // by))
    if short.fitting(room) == len(short.columns):
        return [short]
    if turned := _turned(short, by, room):
        return [turned]
    if width is None:
        return table.parts(room)
    short = _without_constants(_twins_last(short), by)
    size = max(by + 1, short.fitting(width, in_lines=False))
    others = [column.name for column in short.columns[size:]]
    what = "metrics" if len(others) > 1 else "metric"
    notes = [f"… and {len(others)} more {what}: {', '.join(others)}"] if others else []
    return with_notes([short.select(range(min(size, len(short.columns))))], *notes)


def _twins_last(table: Table) -> Table:
    """The table with metrics at its end that say what another one says."""
    names = {column.name for column in table.columns}
    last = [i for i, column in enumerate(table.columns) if TWINS.get(column.name) in names]
    return table.select([*(i for i in range(len(table.columns)) if i not in last), *last])


def _without_constants(table: Table, by: int) -> Table:
    """The table with a note in place of metrics that have the same value in all rows."""
    same = {
        i: table.rows[0][i].line
        for i in range(by, len(table.columns))
        if table.rows[0][i].number is not None and len({row[i].line for row in table.rows}) == 1
    }
    if len(table.rows) == 1 or not same or len(same) == len(table.columns) - by:
        return table
    values = ", ".join(f"{table.columns[i].name} {value}" for i, value in same.items())
    varying = table.select(i for i in range(len(table.columns)) if i not in same)
    return with_notes([varying], f"The same in all groups: {values}.")[0]


def _turned(table: Table, by: int, room: int) -> Table | None:
    """The table with few groups as columns and metrics as rows, if all of them fit."""
    if len(table.rows) > BESIDE:
        return None
    groups = [", ".join(cell.text for cell in row[:by]) for row in table.rows]
    head = ", ".join(column.name for column in table.columns[:by])
    metrics = zip(table.columns[by:], zip(*(row[by:] for row in table.rows), strict=True), strict=True)
    lines = [[Cell(metric.name), *cells] for metric, cells in metrics]
    turned = Table([Column(head, "head"), *columns(*groups, kind="number")], lines)
    return turned if turned.fitting(room, in_lines=False) == len(turned.columns) else None

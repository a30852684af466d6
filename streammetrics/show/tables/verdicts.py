"""Verdicts as a table, and in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from streammetrics.base import (
    LIMITS,
    LONGEST,
    bounds,
    in_units,
    interval,
    rows,
    shown_of,
    value_text,
)
from streammetrics.reading import arrived
from streammetrics.show.tables.board import MOST, OPEN, board, group_of, level, with_key
from streammetrics.show.tables.estimates import estimate, estimate_columns, with_notes
from streammetrics.show.tables.table import Cell, Column, Outcome, Table, columns
from streammetrics.show.tables.terminal import PIPED

EFFECTIVE = " (about {effective_rows:.0f} effective rows; {effective_rows_needed:.0f} decide)"
WORDS = {  # of reasons
    "few_rows_of_class": "too few rows of a class",
    "no_interval": "no interval of the difference",
    "false_discovery_rate": "breached alone",
    "wide_bounds": "no number of rows decides it, with these bounds",
    "at_limit": "no number of rows decides a value at the limit",
    "few_rows": f"too few rows{EFFECTIVE}",
    "few_rows_differ": f"too few rows differ{EFFECTIVE}",
    "short_history": "the history is shorter than the period",
    "few_labels": "",  # of which `arrived` says how many
    "no_window": "no window starts in this period",
    "bounds_only": "on these rows",
    "before_labels": "",
    "incomplete_period": "",
}
REMARKS = {  # below verdicts, by the reason for one of them
    "incomplete_period": "Rules with an alarm check complete periods. Newer windows count when theirs is complete.",
    "no_window": "To include a window, set over to at least its length, and end the period where a window ends.",
}


def verdict_tables(frame: pl.DataFrame, by: Collection[str] = (), width: int | None = None) -> list[Table]:
    """Return verdicts as tables: a board of rules by groups, if there are several of both, and verdicts with numbers.

    The latter are all if there is no board and they fit, or else those that do not hold. Failures are first. The frame
    is that of `streammetrics.check`, or the verdicts on the requirements of a report.
    """
    column, key = _only_column(frame["group"].to_list(), by), _only(filter(None, frame["key"]))
    overview = board(frame.filter(pl.col("group") != ""), column, key, width or PIPED)
    holds, most = pl.col("verdict") == "holds", LONGEST if overview is None else MOST
    if overview is not None:
        listed = frame.filter(~holds | (pl.col("group") == ""))
    else:
        listed = frame if shown_of(frame.height) == frame.height else frame.filter(~holds)
    first = listed.sort("passes", holds, maintain_order=True).head(shown_of(listed.height, most))
    more = f"… and {listed.height - first.height:,} more that do not hold" if first.height < listed.height else ""
    reasons = {*first["reasons"].explode()}
    remarks = [remark for reason, remark in REMARKS.items() if reason in reasons]
    table = _without_constants(_table(first, column, key)) if first.height else overview or Table([], [])
    periods = _periods(frame) if "windows" in frame.columns else []
    at_key = [f"At {key}."] if key else []
    explained = replace(table, notes=[*filter(None, [more]), *_counts(frame), *table.notes, *at_key, *periods])
    return with_notes([overview, explained] if overview and first.height else [explained], _level(first), *remarks)


def every_verdict(frame: pl.DataFrame) -> Table:
    """Return all verdicts as a table: one row per requirement and group, with counts below."""
    head, *numbers = [Column("rule", "head"), *estimate_columns(_two_sided(frame)), Column("verdict")]
    cells = [
        [Cell(rule(row)), Cell(row.get("windows") or ""), Cell(row["where"]), *_numbers(row), Cell(verdict(row))]
        for row in rows(frame)
    ]
    return Table([head, *columns("windows", "where", optional=True), *numbers], cells, notes=[*_counts(frame)])


def _table(frame: pl.DataFrame, column: str | None, key: str) -> Table:
    """Verdicts with symbols, without the key that all rules have, and the group column if it is the only one."""
    head, *numbers = [Column("rule", "head"), *estimate_columns(_two_sided(frame)), Column("verdict")]
    cells, total = [], "all rows" if any(frame["group"]) else ""
    for row in rows(frame):
        where = with_key(group_of(row, column) or total, row, key)
        cells.append([Cell(rule(row)), Cell(where), *_numbers(row), Cell.judged(verdict(row), level(row))])
    return Table([head, *columns(column or "where", optional=True), *numbers], cells).without_empty


def _periods(frame: pl.DataFrame) -> Iterator[str]:
    """The windows that rules check."""
    rules = pl.coalesce("name", "rule").unique(maintain_order=True)
    periods = frame.group_by("windows", maintain_order=True).agg(rules.alias("rules"))
    for windows, names in periods.drop_nulls().iter_rows():
        yield f"Windows {windows}" + (f": {'; '.join(names)}." if periods.height > 1 else ".")


def _without_constants(table: Table) -> Table:
    """The table with a note in place of rules or groups, and of bounds, that all rows share."""
    heads = next(i for i, column in enumerate(table.columns) if column.kind == "number")
    same = {i: _only(row[i].text for row in table.rows) for i in (*range(heads), heads + 1)}
    dropped = [i for i, text in same.items() if text]
    if len(table.rows) == 1 or not dropped or dropped[:heads] == [*range(heads)]:
        return table
    shared = ", ".join(f"{table.columns[i].name} {same[i]}" for i in dropped)
    varying = table.select(i for i in range(len(table.columns)) if i not in dropped)
    return with_notes([varying], f"In every line: {shared}.")[0]


def _only(texts: Iterable[str]) -> str:
    """The text of all, or an empty one."""
    different = {*texts}
    return different.pop() if len(different) == 1 else ""


def _two_sided(frame: pl.DataFrame) -> float | None:
    """The level of the intervals of verdicts, if all have the same."""
    levels = frame["confidence"].drop_nulls().unique()
    return 2 * levels.item() - 1 if len(levels) == 1 else None


def _level(frame: pl.DataFrame) -> str:
    """Why the level of intervals is not that of the verdicts, which compare one end with a limit."""
    level = _two_sided(frame.filter(pl.any_horizontal(pl.col(LIMITS).is_not_null())))
    if level is None:
        return ""
    two_sided, one_sided = (f"{100 * confidence:.6g}%" for confidence in (level, (1 + level) / 2))
    return f"A verdict at {one_sided} confidence compares one end of the {two_sided} interval with the limit."


def _counts(frame: pl.DataFrame) -> Iterator[str]:
    """Return how many verdicts fail, and how many pass although they do not hold, or that all hold."""
    failing, holding = ~frame["passes"], frame["verdict"] == "holds"
    undecided = (failing & frame["verdict"].is_in(OPEN)).sum()
    some = "" if not undecided else ", open" if undecided == failing.sum() else f", of which {undecided:,} open"
    for what, selected, more in (("Failing", failing, some), ("Undecided, allowed", ~failing & ~holding, "")):
        if selected.any() and frame.height > 1:
            yield f"{what}: {selected.sum():,} of {frame.height:,}{more}"
    if frame.height > 1 and holding.all():
        yield f"All {frame.height:,} hold."


def outcomes(frame: pl.DataFrame) -> Iterator[Outcome]:
    """Return the outcome of each verdict: an error if it fails the check, a notice if it is undecided."""
    for row in rows(frame):
        yield Outcome(rule(row), row["where"], level(row), row["verdict"], sentence(row))


def _only_column(groups: Sequence[str], by: Collection[str]) -> str | None:
    """The group column of all groups, if they have the same one and no other.

    >>> _only_column(["day 3", "day 4"], ["day"]), _only_column(["day 3", "day 4, hour 5"], ["day", "hour"])
    ('day', None)
    """
    alone = not any(f", {c} " in group for group in groups for c in by)
    return next((c for c in by if alone and all(group.startswith(f"{c} ") for group in groups if group)), None)


def _numbers(row: Mapping[str, Any]) -> list[Cell]:
    """The value, bound, and interval."""
    scaled, unit = in_units(row)
    cells = estimate(scaled)
    return [replace(cell, text=f"{cell.text}{unit}") if cell.text[-1:].isdigit() else cell for cell in cells]


def rule(row: Mapping[str, Any]) -> str:
    """Return the rule of a verdict, after its name if it has one."""
    return f"{row['name']}: {row['rule']}" if row.get("name") else str(row["rule"])


def _ranges(row: Mapping[str, Any]) -> Iterator[str]:
    """Return the certified bounds and the confidence interval of a verdict in words, if it has any.

    >>> list(_ranges({"lower": 0.25, "upper": 0.75, "ci_lower": 0.2, "ci_upper": 0.8}))
    ['bounds 0.25 to 0.75', 'interval 0.20 to 0.80']
    """
    if row["lower"] != row["upper"]:
        text = value_text(row) if row.get("value") is not None else ""
        yield f"bounds {bounds(row['lower'], row['upper'], text)}"
    if sampled := interval(row.get("ci_lower"), row.get("ci_upper")):
        yield f"interval {sampled}"


def verdict(row: Mapping[str, Any]) -> str:
    """Return a verdict with its severity, if it is only a warning, and its remarks.

    >>> verdict({"verdict": "undefined", "value": None, "note": "no rows", "reasons": []})
    'undefined: no rows'
    >>> verdict({"verdict": "open", "value": 0.5, "note": None, "reasons": ["no_interval"]})
    'open: no interval of the difference'
    """
    warns = " (severity warn)" * (row.get("severity") == "warn" and row["verdict"] != "holds")
    return ": ".join([row["verdict"] + warns, *filter(None, [", ".join(_remarks(row))])])


def _remarks(row: Mapping[str, Any]) -> Iterator[str]:
    """Remarks after a verdict: both ends of a change, start and evidence of an alarm, the note or the reasons."""
    if row.get("reference") is not None and row["value"] is not None:
        ends = (row["reference"], row["reference"] + row["value"])
        yield "from " + " to ".join(value_text({**row, "value": end}) for end in ends)
    if row.get("since") is not None:
        yield f"evidence since {row['since']}, e-value {evidence(row['e_value'])}"
    labels = arrived(row)
    if labels:
        yield labels
    elif row["note"] and (row["value"] is None or row["verdict"] == "undefined"):
        yield row["note"]
    if row["verdict"] != "too few rows":
        yield from (WORDS[reason].format_map(row) for reason in row["reasons"] if WORDS[reason])
    if row["verdict"] == "open" and row.get("rows_needed"):
        yield f"about {row['rows_needed']:,} rows would decide{_duration(row.get('days_needed'))}"


def _duration(days: float | None) -> str:
    """The time of so many rows, in brackets.

    >>> _duration(12.0), _duration(1.0), _duration(0.5), _duration(None)
    (' (12 days)', ' (1 day)', ' (12 hours)', '')
    """
    if not days:
        return ""
    number, unit = (days, "day") if days >= 1 else (24 * days, "hour")
    return f" ({number:,.0f} {unit}{'s' * (round(number) != 1)})"


def evidence(e_value: float) -> str:
    """Return an e-value with two digits.

    >>> evidence(4123.4), evidence(0.123), evidence(1.2e30)
    ('4,100', '0.12', '1.2e+30')
    """
    return f"{float(f'{e_value:.2g}'):,.0f}" if 10 <= e_value < 1e7 else f"{e_value:.2g}"


def sentence(row: Mapping[str, Any]) -> str:
    """Return the group, the verdict, and the numbers in words."""
    parts = [verdict(row)]
    if row["value"] is not None:
        scaled, unit = in_units(row)
        parts += [f"{number}{unit}" for number in (f"value {value_text(scaled)}", *_ranges(scaled))]
    if "no_interval" in row["reasons"]:
        parts.append(row["note"])
    if row.get("description"):
        parts.append(row["description"])
    place = ", ".join(filter(None, (row["where"], row.get("windows"))))
    return f"{place}: {'; '.join(parts)}" if place else "; ".join(parts)

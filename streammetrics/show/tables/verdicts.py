"""Verdicts as a table, and in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from streammetrics.base import (
    KEPT,
    bounds,
    in_units,
    interval,
    rows,
    shown_of,
    value_text,
)
from streammetrics.reading import arrived
from streammetrics.show.tables.estimates import ESTIMATE, estimate
from streammetrics.show.tables.table import Cell, Column, Level, Outcome, Table, columns

OPEN = ("open", "too few rows")  # undecided verdicts
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


def verdicts_table(frame: pl.DataFrame, by: Collection[str] = ()) -> Table:
    """Return verdicts as a table with counts below; of many, only those that do not hold, failures first.

    The frame is that of `streammetrics.check`, or the verdicts on the requirements of a report.
    """
    failing, holding = frame, frame.clear()  # if all rows fit
    if shown_of(frame.height) < frame.height:
        failing, holding = frame.filter(pl.col("verdict") != "holds"), frame.filter(verdict="holds")
        failing = failing.sort("passes", maintain_order=True)
    parts = [failing.head(shown_of(failing.height)), holding.head(shown_of(holding.height, most=0))]
    first = pl.concat(parts)
    if first.is_empty():
        return Table([], [], notes=[f"All {frame.height:,} hold."])
    left_out = [every.height - part.height for every, part in zip((failing, holding), parts, strict=True)]
    more = [f"… and {n:,} more that {what}" for n, what in zip(left_out, ("do not hold", "hold"), strict=True) if n]
    reasons = {*frame["reasons"].explode()}
    remarks = [remark for reason, remark in REMARKS.items() if reason in reasons]
    return replace(every_verdict(first, by), notes=[*more, *remarks, *counts(frame)])


def every_verdict(frame: pl.DataFrame, by: Collection[str] = ()) -> Table:
    """Return all verdicts as a table: one row per requirement and group.

    If all rows have the same single group column of ``by``, its name is the header of their places.
    """
    column = _only_column(frame["where"].to_list(), by)
    named = [
        *columns("rule", kind="head"),
        *columns("windows", column or "where", optional=True),
        *(*ESTIMATE, Column("verdict")),
    ]
    cells = [
        [
            *(Cell(rule(row)), Cell(row.get("windows") or "")),
            Cell(row["where"].removeprefix(f"{column} ") if column else row["where"]),
            *(*_numbers(row), Cell(verdict(row))),
        ]
        for row in rows(frame)
    ]
    return Table(named, cells)


def counts(frame: pl.DataFrame) -> Iterator[str]:
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
        level: Level | None = "notice" if row["verdict"] in OPEN else None if row["verdict"] == "holds" else "warning"
        yield Outcome(rule(row), row["where"], level if row["passes"] else "error", row["verdict"], sentence(row))


def _only_column(places: Sequence[str], by: Collection[str]) -> str | None:
    """The group column of all places, if they have the same one and no other key.

    >>> _only_column(["day 3", "day 4"], ["day"]), _only_column(["day 3", "day 4, threshold 0.5"], ["day"])
    ('day', None)
    """
    others = tuple(f", {key} " for key in (*by, *KEPT))
    alone = not any(other in place for place in places for other in others)
    return next((c for c in by if alone and all(place.startswith(f"{c} ") for place in places)), None)


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

"""Reports as short aligned text for a terminal, in lines of at most ``width`` characters."""

from __future__ import annotations

import itertools
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from streammetrics.aligned import aligned
from streammetrics.decimals import beside, bound, bounds, compared, interval, listed, percentage, said
from streammetrics.frame import (
    FEW_OF_A_CLASS,
    INCOMPLETE,
    KEPT,
    ON_THESE_ROWS,
    TOO_SHORT,
    keys_of,
    of_labels_once,
    told_apart,
)
from streammetrics.values import NO_TEXT, dates, supported

LONGEST = 40  # groups, or rows of a metric
BESIDE = 4  # groups that can be columns
PIPED = 120  # characters of a line in files and pipes
FEW = 5  # values in a sentence
REMARKS = {  # below verdicts, by the note of one of them
    INCOMPLETE: "Rules with an alarm check complete periods. Newer windows count once their period is complete.",
    TOO_SHORT: "The windows of the history are longer than the period of a rule. Set over, such as over = '1mo'.",
}
WHOLE = "\u00a0to\u00a0"  # between the ends of an interval that is not broken
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a terminal, change the direction of text, or cannot be encoded."""


def escaped(text: str) -> str:
    r"""Return a text with control characters escaped.

    >>> print(escaped("a\x1b[2Jb\r\u202ec"))
    a\x1b[2Jb\r\u202ec
    """
    return UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)


def terminal_width() -> int | None:
    """Return the number of characters in a line of the terminal, or None if text goes to a pipe or a file."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def rows(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Return the rows of a frame to show, with dates instead of datetimes if all of a column are at midnight.

    >>> list(rows(pl.select(day=pl.datetime(2026, 4, 1))))
    [{'day': datetime.date(2026, 4, 1)}]
    """
    return supported(frame.with_columns(map(dates, frame.get_columns()))).iter_rows(named=True)


def cell(value: object) -> str:
    """Return a value as text for a table.

    >>> cell(None), cell(0.5), cell("a\\tb"), cell("")
    ('null', '0.5', 'a\\\\tb', "''")
    """
    return "null" if value is None else escaped(str(value)) or NO_TEXT


def few(values: Iterable[object]) -> str:
    """Return the first of some values, and the number of further ones.

    >>> few("abc"), few(range(100)), few(range(6))
    ("'a', 'b', 'c'", '0, 1, 2, 3, 4 and 95 more', '0, 1, 2, 3, 4, 5')
    """
    shown = [repr(value) for value in values]
    most = shown_of(len(shown), FEW)
    return ", ".join(shown[:most]) + (f" and {len(shown) - most:,} more" if len(shown) > most else "")


def shown_of(size: int, most: int = LONGEST) -> int:
    """Return how many of some rows to show: never all but one, since that row takes no more room than a note.

    >>> shown_of(40), shown_of(41), shown_of(42)
    (40, 41, 40)
    """
    return size if size <= most + 1 else most


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
    shown = _segments(frame, by, several, width, more) if by else "\n\n".join(_by_key(frame, several, width))
    options = [filled(f"Default options: {', '.join(defaults)}.", width)] if defaults else []
    return "\n".join([shown, *_undefined(frame, several, by, width), *only_threshold(frame, width), *options])


def _undefined(frame: pl.DataFrame, several: Sequence[str], by: Sequence[str], width: int | None) -> Iterator[str]:
    """A sentence on why values of tables without notes are undefined."""
    tables = frame if by else frame.filter(pl.any_horizontal(pl.col(several).is_not_null()) if several else False)
    notes = tables.filter(pl.col("value").is_null())["note"].cast(pl.String).str.strip_prefix("undefined: ")
    reasons = notes.drop_nulls().str.split("; ").explode().unique(maintain_order=True).to_list()
    if reasons:
        most = shown_of(len(reasons), FEW)
        more = [f"and {len(reasons) - most:,} more reasons"] if len(reasons) > most else []
        told = "; ".join([*reasons[:most], *more])
        yield filled(escaped(f"Undefined values (–): {told}."), width)


def only_threshold(frame: pl.DataFrame, width: int | None = None) -> list[str]:
    """Return a sentence that names the threshold of a frame, if there is only one."""
    thresholds = frame["threshold"].drop_nulls().unique().to_list() if "threshold" in frame.columns else []
    return [filled(f"Scores of at least {t:g} count as positive.", width) for t in thresholds if len(thresholds) == 1]


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
    lines = _align(shown_cells[0], shown_cells[1:], left, width)
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
    lines = [line.replace(WHOLE, " to ") for line in _align((*keys, *measures), cells, tuple(range(len(keys))), width)]
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
    return "\n".join([*_align(header, cells, (0, 4), width), *more])


def plain(frame: pl.DataFrame, width: int | None = None) -> str:
    """Return a frame as text, with numbers aligned right.

    >>> print(plain(pl.DataFrame({"day": ["Monday"], "rows": [12000]})))
    day       rows
    ──────  ──────
    Monday  12,000
    """
    numbers = [dtype.is_integer() for dtype in frame.dtypes]
    cells = [
        tuple(f"{x:,}" if number and x is not None else cell(x) for x, number in zip(r.values(), numbers, strict=True))
        for r in rows(frame)
    ]
    left = tuple(i for i, number in enumerate(numbers) if not number)
    return "\n".join(_align(tuple(frame.columns), cells, left, width))


def findings(frame: pl.DataFrame, width: int | None = None, by: Collection[str] = ()) -> str:
    """Return verdicts as text: one row per requirement and group; of many, only those that do not hold, failures first.

    The frame is that of `streammetrics.check`, or the verdicts on the requirements of a report. If all rows have the
    same single group column of ``by``, its name is the header of their places.
    """
    header = ("rule", "windows", "where", "value", "bound", "interval", "verdict")
    failing, holding = frame, frame.clear()  # if all rows fit
    if shown_of(frame.height) < frame.height:
        failing, holding = frame.filter(pl.col("verdict") != "holds"), frame.filter(verdict="holds")
        failing = failing.sort("passes", maintain_order=True)
    parts = [failing.head(shown_of(failing.height)), holding.head(shown_of(holding.height, most=0))]
    told = [
        (
            rule(r),
            *(r.get("windows") or "", r["where"]),
            *(said(r), bound(r["value"], r["lower"], r["upper"], said(r)), interval(r["ci_lower"], r["ci_upper"])),
            verdict(r),
        )
        for r in rows(pl.concat(parts))
    ]
    empty = {"where": not frame["where"].str.len_chars().sum(), "interval": not any(row[5] for row in told)}
    empty["windows"] = "windows" not in frame.columns
    shown = [i for i, name in enumerate(header) if not empty.get(name)]
    left = tuple(place for place, i in enumerate(shown) if header[i] != "value")
    if not told:
        return f"All {frame.height:,} hold."
    column = _only_column([row[2] for row in told], by)
    named_header = (*header[:2], column or "where", *header[3:])
    told = [(*row[:2], row[2].removeprefix(f"{column} ") if column else row[2], *row[3:]) for row in told]
    cells = [tuple(row[i] for i in shown) for row in (named_header, *told)]
    lines = _align(cells[0], cells[1:], left, width)
    for every, part, what in zip((failing, holding), parts, ("do not hold", "hold"), strict=True):
        if every.height > part.height:
            lines.append(f"… and {every.height - part.height:,} more that {what}")
    notes = frame["note"].str
    lines += [filled(remark, width) for note, remark in REMARKS.items() if notes.contains(note, literal=True).any()]
    return "\n".join([*lines, *_counts(frame)])


def _counts(frame: pl.DataFrame) -> Iterator[str]:
    """The number of verdicts that fail, and of those that pass although they do not hold."""
    failing, passing = ~frame["passes"], frame["passes"] & (frame["verdict"] != "holds")
    for what, found in (("Failing", failing), ("Passing without holding", passing)):
        if found.any() and frame.height > 1:
            yield f"{what}: {found.sum():,} of {frame.height:,}"


def _only_column(places: Sequence[str], by: Collection[str]) -> str | None:
    """The group column of all places, if they have the same one and no other key.

    >>> _only_column(["day 3", "day 4"], ["day"]), _only_column(["day 3", "day 4, threshold 0.5"], ["day"])
    ('day', None)
    """
    others = tuple(f", {key} " for key in (*by, *KEPT))
    alone = not any(other in place for place in places for other in others)
    return next((c for c in by if alone and all(place.startswith(f"{c} ") for place in places)), None)


def rule(row: Mapping[str, Any]) -> str:
    """Return the rule of a verdict, after its name if it has one."""
    return f"{row['name']}: {row['rule']}" if row.get("name") else str(row["rule"])


def ranges(row: Mapping[str, Any]) -> Iterator[str]:
    """Return the certified bounds and the confidence interval of a verdict in words, if it has any.

    >>> list(ranges({"lower": 0.25, "upper": 0.75, "ci_lower": 0.2, "ci_upper": 0.8}))
    ['bounds 0.25 to 0.75', 'interval 0.20 to 0.80']
    """
    if row["lower"] != row["upper"]:
        shown = said(row) if row.get("value") is not None else ""
        yield f"bounds {bounds(row['lower'], row['upper'], shown)}"
    if sampled := interval(row.get("ci_lower"), row.get("ci_upper")):
        yield f"interval {sampled}"


def verdict(row: Mapping[str, Any]) -> str:
    """Return a verdict with its severity, if it is only a warning, and its remarks.

    >>> verdict({"verdict": "undefined", "value": None, "note": "undefined: no rows"})
    'undefined: no rows'
    >>> verdict({"verdict": "too few rows", "value": 0.5, "note": "no interval: biased; on these rows"})
    'too few rows'
    """
    warns = " (severity warn)" * (row.get("severity") == "warn" and row["verdict"] != "holds")
    return ": ".join([row["verdict"] + warns, *filter(None, [", ".join(_remarks(row))])])


def _remarks(row: Mapping[str, Any]) -> Iterator[str]:
    """Remarks after a verdict: both ends of a change, start and evidence of an alarm, the note."""
    if row.get("reference") is not None and row["value"] is not None:
        ends = row.get("ci_lower"), row.get("ci_upper")
        yield "from " + " to ".join(beside(x, *ends) for x in (row["reference"], row["reference"] + row["value"]))
    if row.get("since") is not None:
        yield f"evidence since {row['since']}, e-value {evidence(row['e_value'])}"
    if row["note"] and (row["value"] is None or row["verdict"] == "undefined"):
        yield row["note"].removeprefix("undefined: ")
    if on_these_rows(row) and row["verdict"] != "too few rows":
        yield ON_THESE_ROWS
    if undecided(row):
        yield FEW_OF_A_CLASS


def on_these_rows(row: Mapping[str, Any]) -> bool:
    """Whether a verdict ignores sampling, because its metric has no interval."""
    return ON_THESE_ROWS in (row["note"] or "")


def undecided(row: Mapping[str, Any]) -> bool:
    """Whether a verdict is open because a class has too few rows for an interval."""
    return row["verdict"] == "open" and FEW_OF_A_CLASS in (row["note"] or "")


def evidence(e_value: float) -> str:
    """Return an e-value with two digits.

    >>> evidence(4123.4), evidence(0.123), evidence(1.2e30)
    ('4,100', '0.12', '1.2e+30')
    """
    return f"{float(f'{e_value:.2g}'):,.0f}" if 10 <= e_value < 1e7 else f"{e_value:.2g}"


def _by_key(frame: pl.DataFrame, keys: list[str], width: int | None) -> Iterator[str]:
    """A list of the metrics that have one value, and a table of those that have one per threshold or label."""
    if not keys:
        yield _list(frame, width)
        return
    for known, part in frame.group_by([pl.col(key).is_not_null() for key in keys], maintain_order=True):
        of_part = [key for key, own in zip(keys, known, strict=True) if own]
        yield _segments(part, of_part, [], width) if of_part else _list(part, width)


def _list(frame: pl.DataFrame, width: int | None) -> str:
    header = ("metric", "value", "bound", "interval", "note")
    columns = [column for column in header if column != "interval" or "ci_lower" in frame.columns]
    cells = []
    for r in rows(frame):
        told = {"metric": r["metric"], "value": (value := said(r))}
        told |= {"bound": bound(r["value"], r["lower"], r["upper"], value)}
        told |= {"interval": interval(r.get("ci_lower"), r.get("ci_upper")), "note": r["note"] or ""}
        cells.append(tuple(told[column] for column in columns))
    return "\n".join(_align(tuple(columns), cells, (0, *range(2, len(columns))), width))


def _segments(frame: pl.DataFrame, by: list[str], keys: list[str], width: int | None, more: str | None = None) -> str:
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
        return "\n".join(beside)
    left = tuple(range(len(by)))
    tables: list[str] = []
    start = len(by)
    while not tables or (start < len(header) and (width is None or not groups)):
        rest = [(*row[: len(by)], *row[start:]) for row in (header, *cells)]
        fitting = max(len(by) + 1, _columns_within(width or PIPED, rest))
        first, *others = (row[:fitting] for row in rest)
        tables.append("\n".join(_align(first, others, left, width)))
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
    return "\n".join(lines)


def _beside(header: tuple[str, ...], cells: list[tuple[str, ...]], by: int, width: int | None) -> list[str]:
    """Few groups as columns and metrics as rows, if only this fits; otherwise empty."""
    whole, lines = [header, *cells], list(zip(header, *cells, strict=True))
    turned = [tuple(map(", ".join, zip(*lines[:by], strict=True))), *lines[by:]]
    fitting = [_columns_within(width or PIPED, table) == len(table[0]) for table in (whole, turned)]
    return _align(turned[0], turned[1:], (0,), width) if len(cells) <= BESIDE and fitting == [False, True] else []


def named(row: Mapping[str, object], keys: Sequence[str]) -> str:
    """Return the name of a metric with the values of its keys.

    >>> named({"metric": "recall", "threshold": 0.5, "label": None}, ["threshold", "label"])
    'recall @ 0.5'
    """
    return str(row["metric"]) + "".join(f" @ {cell(row[key])}" for key in keys if row[key] is not None)


def _columns_within(width: int, rows: Sequence[tuple[str, ...]]) -> int:
    ends = itertools.accumulate(max(map(len, column)) + 2 for column in zip(*rows, strict=True))
    return sum(end - 2 <= width for end in ends)


def _align(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: tuple[int, ...], width: int | None
) -> list[str]:
    header, *rows = (tuple(map(escaped, cells)) for cells in (header, *rows))
    return aligned(header, rows, left, width)


def filled(sentence: str, width: int | None) -> str:
    """Return a sentence in lines of at most a width."""
    return sentence if width is None else textwrap.fill(sentence, width, break_on_hyphens=False)

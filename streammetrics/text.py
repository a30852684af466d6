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
import polars.selectors as cs

from streammetrics.aligned import aligned
from streammetrics.decimals import beside, bound, bounds, compared, interval, listed, said
from streammetrics.frame import ESTIMATE, KEPT

LONGEST = 40  # groups, or rows of a metric
BESIDE = 4  # groups that can be columns
PIPED = 120  # characters of a line in files and pipes
FEW = 5  # values in a sentence
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
    """Return the rows of a frame to show, with text for times that Python does not support, beyond the year 9999.

    >>> list(rows(pl.select(day=pl.lit(4_000_000).cast(pl.Date))))
    [{'day': '+12921-08-18'}]
    """
    foreign = [_times(c) for c in frame.get_columns() if c.dtype in (pl.Date, pl.Datetime) and beyond_python(c)]
    return frame.with_columns(foreign).iter_rows(named=True)


def beyond_python(times: pl.Series) -> bool:
    """Return whether a date or time is outside the years 1 to 9999, in its time zone or in UTC."""
    zone = getattr(times.dtype, "time_zone", None)
    known = [t.dt.year().is_between(1, 9999) for t in (times, times.dt.convert_time_zone("UTC") if zone else times)]
    return any((~year.fill_null(False) & times.is_not_null()).any() for year in known)


def _times(times: pl.Series) -> pl.Series:
    """Times as text; those that Polars cannot format, as numbers."""
    writable = times.zip_with(times.dt.year().is_not_null(), pl.Series([None], dtype=times.dtype))
    return writable.dt.to_string().fill_null(times.to_physical().cast(pl.String))


def cell(value: object) -> str:
    """Return a value as text for a table.

    >>> cell(None), cell(0.5), cell("a\\tb")
    ('null', '0.5', 'a\\\\tb')
    """
    return "null" if value is None else escaped(str(value))


def few(values: Iterable[object]) -> str:
    """Return the first of some values, and the number of further ones.

    >>> few("abc"), few(range(100)), few(range(6))
    ("'a', 'b', 'c'", '0, 1, 2, 3, 4 and 95 more', '0, 1, 2, 3, 4, 5')
    """
    shown = [repr(value) for value in values]
    most = shown_of(len(shown), FEW)
    return ", ".join(shown[:most]) + (f" and {len(shown) - most:,} more" if len(shown) > most else "")


def shown_of(size: int, most: int = LONGEST) -> int:
    """Return how many of some rows to show: never all but one, since a line would say that one more follows.

    >>> shown_of(40), shown_of(41), shown_of(42)
    (40, 41, 40)
    """
    return size if size <= most + 1 else most


def without_awkward(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with text in place of bytes and durations, for which CSV and JSON have no form.

    >>> without_awkward(pl.DataFrame({"country": [b"DE"], "rows": [2]})).row(0)
    ("b'DE'", 2)
    """
    return frame.with_columns(written(frame[name]) for name in cs.expand_selector(frame, cs.binary() | cs.duration()))


def written(values: pl.Series) -> pl.Series:
    """Return values as text, including types that Polars does not cast.

    >>> written(pl.Series([b"DE", None])).to_list()
    ["b'DE'", None]
    """
    if isinstance(values.dtype, (pl.Date, pl.Datetime)):
        return _times(values)
    if isinstance(values.dtype, (pl.Duration, pl.Binary)):
        return pl.Series(values.name, [None if value is None else str(value) for value in values], pl.String)
    return values.cast(pl.String)


def where(keys: pl.DataFrame, by: Sequence[str]) -> pl.Expr:
    """Return the group of each row, and keys such as the threshold, in words.

    >>> frame = pl.DataFrame({"source": ["app", None], "threshold": [0.5, None]})
    >>> frame.select(where(frame, by=["source"])).to_series().to_list()
    ['source app, threshold 0.5', 'source null']
    """
    values = {k: written(keys[k]) for k in keys.columns}
    texts = [pl.lit(f"{k} ") + (v.fill_null("null") if k in by else v) for k, v in values.items()]
    return pl.concat_str(texts, separator=", ", ignore_nulls=True) if texts else pl.lit("")


def render(frame: pl.DataFrame, by: list[str], width: int | None = None, defaults: Sequence[str] = ()) -> str:
    """Return a report's frame as text: one metric per line, or one row per group, threshold, or label.

    Args:
        frame: The frame of a report.
        by: Its group columns.
        width: The most characters of a line. If metrics do not fit, few groups become columns. Otherwise metrics follow
            in further tables. With groups, they are only named, but not without a limit, as in files.
        defaults: Metrics with the options that their names in the frame do not have.
    """
    kept = [c for c in frame.columns if c not in (*by, *ESTIMATE)]
    several = [c for c in kept if frame[c].drop_nulls().n_unique() > 1]
    shown = _segments(frame, by, several, width) if by else "\n\n".join(_by_key(frame, several, width))
    options = [filled(f"Default options: {', '.join(defaults)}.", width)] if defaults else []
    return "\n".join([shown, *only_threshold(frame, width), *options])


def only_threshold(frame: pl.DataFrame, width: int | None = None) -> list[str]:
    """Return a sentence with the only threshold of a frame, which no column says; none for several thresholds."""
    thresholds = frame["threshold"].drop_nulls().unique().to_list() if "threshold" in frame.columns else []
    return [filled(f"Scores of at least {t:g} count as positive.", width) for t in thresholds if len(thresholds) == 1]


def differences(frame: pl.DataFrame, by: Sequence[str] = (), note: str | None = None, width: int | None = None) -> str:
    """Return the frame of a comparison as text: one row per group and metric; of many groups, those with a better side.

    The note is below the table.
    """
    more = 0
    if by:
        groups = frame.group_by(by, maintain_order=True).agg(pl.col("better").is_in(["a", "b"]).any())
        foremost = groups.sort("better", descending=True, maintain_order=True).head(shown_of(groups.height))
        more = groups.height - foremost.height
        frame = frame.join(foremost, on=by, how="semi", nulls_equal=True, maintain_order="left")
    columns = ("metric", "a", "b", "difference", "lower", "upper", "ci_lower", "ci_upper", "better", "note")
    kept = [c for c in frame.columns if c not in columns]
    keys = tuple(c for c in kept if c in by or frame[c].drop_nulls().n_unique() > 1)
    header = (*keys, "metric", "a", "b", "b - a", "bound", "interval", "better", "note")
    cells = [
        (
            *("" if r[k] is None and k not in by else cell(r[k]) for k in keys),
            r["metric"],
            *compared(r),
            bound(r["difference"], r["lower"], r["upper"]),
            interval(r.get("ci_lower"), r.get("ci_upper")),
            r["better"] or "",
            r.get("note") or "",
        )
        for r in rows(frame)
    ]
    shown = [i for i, name in enumerate(header) if name not in header[-3:] or any(row[i] for row in cells)]
    left = tuple(place for place, i in enumerate(shown) if i <= len(keys) or i > len(keys) + 3)
    shown_cells = [tuple(row[i] for i in shown) for row in (header, *cells)]
    lines = _align(shown_cells[0], shown_cells[1:], left, width)
    lines += [f"… and {more:,} more groups"] if more else []
    return "\n".join([*lines, *only_threshold(frame, width), *([filled(note, width)] if note else [])])


def drifts(frame: pl.DataFrame, note: str | None = None, width: int | None = None) -> str:
    """Return the frame of a drift as text: one row per group and distribution, one column per measure.

    Intervals follow the values in brackets.

    Args:
        frame: The frame of a drift.
        note: Sentences below the table.
        width: The most characters of a line.
    """
    keys = frame.columns[: frame.columns.index("measure")]
    measures = frame["measure"].unique(maintain_order=True).to_list()
    every = frame.height // (len(measures) or 1)
    shown = frame.head(shown_of(every) * len(measures))
    columns = [listed(list(rows(shown.filter(measure=measure)))) for measure in measures]
    groups = rows(shown.select(keys).unique(maintain_order=True))
    cells = [(*map(cell, group.values()), *values) for group, *values in zip(groups, *columns, strict=True)]
    lines = _align((*keys, *measures), cells, tuple(range(len(keys))), width)
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
            *(f"{r['rows']:,}", f"{r['share_of_rows']:.1%}"),
            "" if r["excess_loss"] is None else f"{r['excess_loss']:.1%}",
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

    The frame is that of `streammetrics.check`, or the verdicts on the requirements of a report. If all rows have only
    one and the same of the group columns ``by``, it is the header of its values.
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
            *(said(r), bound(r["value"], r["lower"], r["upper"]), interval(r["ci_lower"], r["ci_upper"])),
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
    return "\n".join(lines)


def _only_column(places: Sequence[str], by: Collection[str]) -> str | None:
    """The group column of all places in words, if they have the same one and no other key.

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
        yield f"bounds {bounds(row['lower'], row['upper'])}"
    if sampled := interval(row.get("ci_lower"), row.get("ci_upper")):
        yield f"interval {sampled}"


def verdict(row: Mapping[str, Any]) -> str:
    """Return a verdict with its remarks.

    >>> verdict({"verdict": "undefined", "value": None, "note": "undefined: no rows"})
    'undefined: no rows'
    >>> verdict({"verdict": "too few rows", "value": 0.5, "note": "no interval: biased; on these rows"})
    'too few rows'
    """
    return ": ".join([row["verdict"], *filter(None, [", ".join(_remarks(row))])])


def _remarks(row: Mapping[str, Any]) -> Iterator[str]:
    """Remarks after a verdict: both ends of a change, start and evidence of an alarm, the note, if only a warning."""
    if row.get("reference") is not None and row["value"] is not None:
        ends = row.get("ci_lower"), row.get("ci_upper")
        yield "from " + " to ".join(beside(x, *ends) for x in (row["reference"], row["reference"] + row["value"]))
    if row.get("since") is not None:
        yield f"since {row['since']}, e-value {evidence(row['e_value'])}"
    if row["note"] and (row["value"] is None or row["verdict"] == "undefined"):
        yield row["note"].removeprefix("undefined: ")
    if on_these_rows(row) and row["verdict"] != "too few rows":
        yield "on these rows"
    if few := too_few(row):
        yield few
    if row.get("severity") == "warn" and row["verdict"] != "holds":
        yield "a warning"


def on_these_rows(row: Mapping[str, Any]) -> bool:
    """Whether a verdict ignores sampling, because its metric has no interval; not of counts, which need none.

    >>> on_these_rows({"note": "no interval: biased; on these rows"}), on_these_rows({"note": None})
    (True, False)
    """
    note = row["note"] or ""
    return note.endswith("on these rows") and "a count" not in note


def too_few(row: Mapping[str, Any]) -> str:
    """Why a verdict is open although there is no interval; empty if it is open for another reason.

    >>> too_few({"verdict": "open", "note": "no interval: too few rows of a class"})
    'too few rows of a class'
    """
    without, _, why = (row["note"] or "").partition("no interval: ")
    return why if row["verdict"] == "open" and not without and not on_these_rows(row) else ""


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
        yield _segments(part, of_part, [], width, groups=False) if of_part else _list(part, width)


def _list(frame: pl.DataFrame, width: int | None) -> str:
    header = ("metric", "value", "bound", "interval", "note")
    columns = [column for column in header if column != "interval" or "ci_lower" in frame.columns]
    cells = []
    for r in rows(frame):
        told = {"metric": r["metric"], "value": said(r), "bound": bound(r["value"], r["lower"], r["upper"])}
        told |= {"interval": interval(r.get("ci_lower"), r.get("ci_upper")), "note": r["note"] or ""}
        cells.append(tuple(told[column] for column in columns))
    return "\n".join(_align(tuple(columns), cells, (0, *range(2, len(columns))), width))


def _segments(frame: pl.DataFrame, by: list[str], keys: list[str], width: int | None, groups: bool = True) -> str:
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
        lines.append(f"… and {every.height - len(cells):,} more {'groups' if groups else 'rows'}")
    if len(header) > start:
        more = len(header) - start
        lines.append(filled(f"… and {more} more metric{'s' if more > 1 else ''}: {', '.join(header[start:])}", width))
    return "\n".join(lines)


def _beside(header: tuple[str, ...], cells: list[tuple[str, ...]], by: int, width: int | None) -> list[str]:
    """Few groups as columns and metrics as rows, if only these fit; otherwise empty."""
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

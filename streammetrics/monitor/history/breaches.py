"""Rules over time: their verdicts at the end of each window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from streammetrics.base import LIMITS, METRIC, VALUE, ends, keys_of
from streammetrics.monitor.history.alarms import SOUND, blocks, courses
from streammetrics.monitor.history.estimates import beginning, has_few_labels, judged, judged_at_each, require_scores
from streammetrics.monitor.history.rules import Rule
from streammetrics.monitor.history.windows import AT_ONCE, Windows, clock
from streammetrics.report import COVERAGE, NEEDED, VERDICT

NUMBERS = (*VALUE, *LIMITS)
SCHEMA = pl.Schema(
    {METRIC: pl.String(), **dict.fromkeys((*NUMBERS, COVERAGE), pl.Float64()), VERDICT: pl.String()}
    | {NEEDED: pl.Int64()}
)
COLUMNS = (*SCHEMA,)
RECENT = 8  # cached query results: rules often use the same ones


def looks(
    labels: Windows, rules: Sequence[Rule], windows: pl.Series, scores: Windows | None = None
) -> list[pl.DataFrame]:
    """Return the value and the verdict of each rule in the segments, at the end of each of some windows.

    A rule with an alarm is evaluated once over the whole history, and has the values of the newest complete period. Any
    other rule is checked after each window.
    """
    require_scores(rules, scores)
    labels, early = (own.upto(windows.max()).remembering(RECENT) for own in (labels, scores or labels))
    found = []
    for rule in rules:
        own, reference = (side.of_model(rule.model) for side in (early if rule.before_labels else labels, labels))
        window, at = own.starts.name, own.starts.is_in(windows.implode()).arg_true()
        none = pl.DataFrame(schema={window: own.starts.dtype, **SCHEMA})
        if rule.alarm:
            parts = _in_alarm(own, rule)
        elif rule.always or rule.before_labels:
            parts = _one_by_one(own, rule, at, reference)
        else:
            parts = (judged_at_each(own, rule, at[i : i + AT_ONCE]) for i in range(0, len(at), AT_ONCE))
        parts = (_tidy(part, window) for part in parts)
        frame = pl.concat([_tidy(none, window), *parts], how="diagonal_relaxed")  # windows without rows have no keys
        keys = [c for c in frame.columns if c not in COLUMNS]
        found.append(frame.select(*keys, *COLUMNS).filter(pl.col(window).is_in(windows.implode())))
    return found


def _tidy(found: pl.DataFrame, window: str) -> pl.DataFrame:
    """The keys, the window, and `COLUMNS`."""
    keys = [c for c in keys_of(found) if c != window]
    return found.select(*keys, window, *COLUMNS)


def _one_by_one(own: Windows, rule: Rule, looks: pl.Series, labels: Windows) -> Iterator[pl.DataFrame]:
    """Check each window by itself, for rules whose period grows and would not fit in memory by window."""
    for i in looks:
        end = own.times[i : i + 1].dt.offset_by("1us")
        found = judged(own, rule, beginning(own, rule, end), end, labels)
        start = pl.lit(own.starts[i], own.starts.dtype).alias(own.starts.name)
        yield found.select(start, pl.all())


def _in_alarm(own: Windows, rule: Rule) -> Iterator[pl.DataFrame]:
    starts, days = blocks(own.starts, rule.over, own.times.dt.offset_by("1us")[-1])
    if starts.is_empty():
        return
    groups, course, found = courses(own, rule, starts, days)
    window, segments = own.starts.name, groups.drop(SOUND)
    estimates = found.select(pl.col(window).cast(own.starts.dtype), *segments.columns, *NUMBERS, COVERAGE)
    for after, name in zip(_blocks_before_the_end(own.times, starts, rule.over), own.starts, strict=True):
        if after > 0:
            verdict = pl.when(pl.Series(course.alarm[after - 1])).then(pl.lit("breached")).otherwise(pl.lit("holds"))
            judged = segments.with_columns(verdict.alias(VERDICT))
            values = estimates.filter(pl.col(window) == starts[after - 1]).drop(window)
            both = judged.join(values, on=segments.columns, how="left", nulls_equal=True, maintain_order="left")
            waits = has_few_labels(rule) & (pl.col(VERDICT) != "breached")
            yield both.with_columns(
                pl.lit(name, own.starts.dtype).alias(window),
                pl.when(waits).then(pl.lit("open")).otherwise(VERDICT).alias(VERDICT),
                pl.lit(None, SCHEMA[NEEDED]).alias(NEEDED),
            )


def _blocks_before_the_end(times: pl.Series, starts: pl.Series, over: str) -> Iterable[int]:
    """Number of complete blocks of windows at the end of each window."""
    if len(starts) == len(times):
        return range(1, len(times) + 1)
    until = ends(clock(starts), over)
    whole: list[int] = until.search_sorted(times + times.diff().median(), side="right").to_list()
    return whole

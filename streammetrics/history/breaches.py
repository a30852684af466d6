"""Breaches of rules over time: the windows at whose end a check finds a breach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from streammetrics.frame import KEPT, keys_of
from streammetrics.history.alarms import blocks, courses
from streammetrics.history.estimates import beginning, judged, judged_at_each, require_scores
from streammetrics.history.rules import Rule
from streammetrics.history.windows import AT_ONCE, Windows, clock
from streammetrics.report.verdicts import VERDICT
from streammetrics.times import ends

RECENT = 8  # cached query results: rules often use the same ones


def breaches(
    labels: Windows, rules: Sequence[Rule], windows: pl.Series, scores: Windows | None = None
) -> list[pl.DataFrame]:
    """Return the segments and windows in which each rule was breached.

    A rule with an alarm is evaluated once over the whole history. Any other rule is checked after each of some windows.
    """
    require_scores(rules, scores)
    labels, early = (own.upto(windows.max()).remembering(RECENT) for own in (labels, scores or labels))
    found = []
    for rule in rules:
        own, reference = (side.of_model(rule.model) for side in (early if rule.before_labels else labels, labels))
        window, looks = own.starts.name, own.starts.is_in(windows.implode()).arg_true()
        none = pl.DataFrame(schema={window: own.starts.dtype})
        if rule.alarm:
            parts = _in_alarm(own, rule)
        elif rule.always or rule.before_labels:
            parts = _one_by_one(own, rule, looks, reference)
        else:
            parts = _at_once(own, rule, looks)
        frame = pl.concat([none, *parts], how="diagonal_relaxed")  # windows without rows of the model have no keys
        found.append(frame.select(pl.exclude(*KEPT)).unique().filter(pl.col(window).is_in(windows.implode())))
    return found


def _at_once(own: Windows, rule: Rule, looks: pl.Series) -> Iterator[pl.DataFrame]:
    for i in range(0, len(looks), AT_ONCE):
        found = judged_at_each(own, rule, looks[i : i + AT_ONCE])
        yield found.filter(pl.col(VERDICT) == "breached").select(keys_of(found))


def _one_by_one(own: Windows, rule: Rule, looks: pl.Series, labels: Windows) -> Iterator[pl.DataFrame]:
    """Check each window by itself, for rules whose period grows and would not fit in memory by window."""
    for i in looks:
        end = own.times[i : i + 1].dt.offset_by("1us")
        found = judged(own, rule, beginning(own, rule, end), end, labels)
        breached = found.filter(pl.col(VERDICT) == "breached").select(keys_of(found))
        yield breached.with_columns(pl.lit(own.starts[i], own.starts.dtype).alias(own.starts.name))


def _in_alarm(own: Windows, rule: Rule) -> Iterator[pl.DataFrame]:
    starts, days = blocks(own.starts, rule.over, own.times.dt.offset_by("1us")[-1])
    if starts.is_empty():
        return
    groups, course = courses(own.ask, rule, starts, days)
    keys = groups.select(keys_of(groups))
    for after, window in zip(_blocks_before_the_end(own.times, starts, rule.over), own.starts, strict=True):
        if after > 0:
            alarm = pl.Series(course.alarm[after - 1])
            yield keys.filter(alarm).with_columns(pl.lit(window, own.starts.dtype).alias(own.starts.name))


def _blocks_before_the_end(times: pl.Series, starts: pl.Series, over: str) -> Iterable[int]:
    """Number of complete blocks of windows at the end of each window."""
    if len(starts) == len(times):
        return range(1, len(times) + 1)
    until = ends(clock(starts), over)
    whole: list[int] = until.search_sorted(times + times.diff().median(), side="right").to_list()
    return whole

"""Breaches of rules over time: in which windows a check at their end would have found one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import polars as pl

from streammetrics.errors import Argument, SpecificationError
from streammetrics.frame import keys_of
from streammetrics.history.alarms import Ask, blocks, courses
from streammetrics.history.checks import VERDICT, beginning, judged
from streammetrics.history.rules import Rule, clock
from streammetrics.history.store import MetricStore
from streammetrics.rows.roles import FOLD, LABEL

KEPT = ("threshold", LABEL, FOLD)
RECENT = 8  # answers of a history that are kept: rules often ask the same


def breaches(
    store: MetricStore, rules: Sequence[Rule], windows: pl.Series, scores: MetricStore | None = None
) -> list[pl.DataFrame]:
    """For each rule, the segments and windows in which it was breached.

    A rule with an alarm is followed once through the whole history. Any other is looked at after each window.

    Args:
        store: The history.
        rules: The rules.
        windows: The windows to look at, in order.
        scores: The history of scores, for rules with ``before_labels``.

    Returns:
        For each rule a frame: the columns of its segments, and the window.
    """
    labels = _asking(store)
    sides: dict[bool, tuple[Ask, pl.Series]] = {False: (labels, _windows(store))}
    if any(rule.before_labels for rule in rules):
        if scores is None:
            raise SpecificationError(
                "Rules with 'before_labels' need the history of scores. Pass ", Argument("scores"), "."
            )
        sides[True] = _asking(scores), _windows(scores)
    return [_breaches(*sides[rule.before_labels], rule, windows, labels) for rule in rules]


def _breaches(ask: Ask, own: pl.Series, rule: Rule, windows: pl.Series, labels: Ask) -> pl.DataFrame:
    found = list(_in_alarm(ask, own, rule) if rule.alarm else _looked_at(ask, own, rule, windows, labels))
    if not found:
        return pl.DataFrame(schema={own.name: own.dtype})
    frame = pl.concat(found, how="vertical_relaxed")
    return frame.select(pl.exclude(*KEPT)).unique().filter(pl.col(own.name).is_in(windows.implode()))


def _looked_at(ask: Ask, own: pl.Series, rule: Rule, windows: pl.Series, labels: Ask) -> Iterator[pl.DataFrame]:
    times = clock(own)
    for window in own.filter(own.is_in(windows.implode())):
        end = clock(pl.Series([window], dtype=own.dtype)).dt.offset_by("1us")
        found = judged(ask, rule, beginning(rule, end, times), end, times[0], labels)
        breached = found.filter(pl.col(VERDICT) == "breached").select(keys_of(found))
        yield breached.with_columns(pl.lit(window, own.dtype).alias(own.name))


def _in_alarm(ask: Ask, own: pl.Series, rule: Rule) -> Iterator[pl.DataFrame]:
    starts, days = blocks(own, rule.over, clock(own).dt.offset_by("1us")[-1])
    if starts.is_empty():
        return
    groups, course = courses(ask, rule, starts, days)
    keys = groups.select(keys_of(groups))
    for after, window in zip(_blocks_before_the_end(own, starts, rule.over), own, strict=True):
        if after > 0:
            alarm = pl.Series(course.alarm[after - 1])
            yield keys.filter(alarm).with_columns(pl.lit(window, own.dtype).alias(own.name))


def _blocks_before_the_end(windows: pl.Series, starts: pl.Series, over: str) -> Iterable[int]:
    """How many blocks of windows are whole at the end of each window."""
    if len(starts) == len(windows):
        return range(1, len(windows) + 1)
    times, ends = clock(windows), clock(starts).dt.offset_by(over)
    whole: list[int] = ends.search_sorted(times + times.diff().median(), side="right").to_list()
    return whole


def _windows(store: MetricStore) -> pl.Series:
    return store.windows().to_series(0).drop_nulls().sort()


def _asking(store: MetricStore) -> Ask:
    return lru_cache(RECENT)(lambda since, until, by, every: store.query(since, until, by=by, every=every))

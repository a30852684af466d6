"""Rules over time: their verdicts at the end of each window, as a check at that time gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from streammetrics.base import LIMITS, METRIC, VALUE, ends, hidden, keys_of
from streammetrics.monitor.history.alarms import ALARM, SOUND, blocks, courses, with_alarms
from streammetrics.monitor.history.estimates import beginning, judged, judged_at_each, require_scores
from streammetrics.monitor.history.history import AT_ONCE, History
from streammetrics.monitor.history.rules import Rule
from streammetrics.monitor.history.window import clock
from streammetrics.report import COVERAGE, NEEDED, VERDICT

NUMBERS = (*VALUE, *LIMITS)
SCHEMA = pl.Schema(
    {METRIC: pl.String(), **dict.fromkeys((*NUMBERS, COVERAGE), pl.Float64()), VERDICT: pl.String()}
    | {NEEDED: pl.Int64()}
)
COLUMNS = (*SCHEMA,)
PERIOD = hidden("period")


def looks(
    labels: History, rules: Sequence[Rule], windows: pl.Series, scores: History | None = None
) -> list[pl.DataFrame]:
    """Return the value and the verdict of each rule in the segments, at the end of each of some windows.

    They are those of a check at that time. The evidence of an alarm is computed once over the whole history.
    """
    require_scores(rules, scores)
    early = scores or labels
    found = []
    for rule in rules:
        own, reference = early if rule.before_labels else labels, labels
        window, at = own.starts.name, own.starts.is_in(windows.implode()).arg_true()
        none = pl.DataFrame(schema={window: own.starts.dtype, **SCHEMA})
        if rule.alarm:
            parts = _with_alarms(own, rule, at)
        elif rule.always or rule.before_labels:
            parts = _one_by_one(own, rule, at, reference)
        else:
            parts = _at_each(own, rule, at)
        parts = (_tidy(part, window) for part in parts)
        frame = pl.concat([_tidy(none, window), *parts], how="diagonal_relaxed")  # windows without rows have no keys
        keys = [c for c in frame.columns if c not in COLUMNS]
        found.append(frame.select(*keys, *COLUMNS).filter(pl.col(window).is_in(windows.implode())))
    return found


def _tidy(found: pl.DataFrame, window: str) -> pl.DataFrame:
    """The keys, the window, and `COLUMNS`."""
    keys = [c for c in keys_of(found) if c != window]
    return found.select(*keys, window, *COLUMNS)


def _one_by_one(own: History, rule: Rule, looks: pl.Series, labels: History) -> Iterator[pl.DataFrame]:
    """Check each window by itself, for rules whose period grows and would not fit in memory by window."""
    for i in looks:
        end = own.times[i : i + 1].dt.offset_by("1us")
        found = judged(own, rule, beginning(own, rule, end), end, labels)
        start = pl.lit(own.starts[i], own.starts.dtype).alias(own.starts.name)
        yield found.select(start, pl.all())


def _at_each(own: History, rule: Rule, looks: pl.Series) -> Iterator[pl.DataFrame]:
    """Check a few windows at a time."""
    for i in range(0, len(looks), AT_ONCE):
        some = looks[i : i + AT_ONCE]
        until = own.times[some].dt.offset_by("1us")
        yield judged_at_each(own, rule, own.starts[some], beginning(own, rule, until), until)


def _with_alarms(own: History, rule: Rule, looks: pl.Series) -> Iterator[pl.DataFrame]:
    """Check the newest complete period at the end of each window. Before the first one, no alarm can be raised."""
    if looks.is_empty():
        return
    window, seen = own.starts.name, own.times.head(looks[-1] + 1)
    starts, days = blocks(own.starts, rule.over, seen.dt.offset_by("1us")[-1])
    complete = _complete_periods(seen, starts, rule.over)[looks]
    for estimates in _at_each(own, rule, looks.filter(complete == 0)):
        yield with_alarms(estimates, rule, None)
    newest = complete.filter(complete > 0) - 1
    if newest.is_empty():
        return
    names = pl.DataFrame({PERIOD: starts[newest], window: own.starts[looks.filter(complete > 0)]})
    groups, course, sound = courses(own, rule, starts, days)
    periods = newest.unique().sort()
    size = max(1, AT_ONCE * len(starts) // len(own.starts))  # of about as many windows as are read together
    for i in range(0, len(periods), size):
        some = periods[i : i + size]
        estimates = judged_at_each(own, rule, starts[some], clock(starts[some]), ends(clock(starts[some]), rule.over))
        raised = pl.concat(
            groups.with_columns(
                pl.lit(starts[n], starts.dtype).alias(window),
                pl.Series(ALARM, course.alarm[n]),
                pl.Series(SOUND, sound[n]),
            )
            for n in some
        )
        found = with_alarms(estimates, rule, raised).rename({window: PERIOD})
        yield found.join(names, on=PERIOD, maintain_order="left").drop(PERIOD)


def _complete_periods(times: pl.Series, starts: pl.Series, over: str) -> pl.Series:
    """Return the number of complete periods at the end of each window."""
    if len(starts) == len(times):
        return pl.int_range(1, len(times) + 1, eager=True)
    return ends(clock(starts), over).search_sorted(times + times.diff().median(), side="right").cast(pl.Int64)

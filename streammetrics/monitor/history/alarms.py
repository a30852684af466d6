"""Alarms: sequential evidence over the windows of a history, with a limited rate of false alarms.

The Shiryaev-Roberts e-detector (Shin, Ramdas & Rinaldo 2022) updates ``M = (M + 1) * e`` with the e-value of each
window and raises an alarm at ``M >= 1 / rate``. The average number of windows between false alarms is then at least
``1 / rate``. It is recomputed from the stored windows at each check, so late rows and backfills are handled correctly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import LIMITS, RIGHT, dates, ends, hidden, joined, keys_of, truncated
from streammetrics.comparison import drift_over
from streammetrics.errors import SpecificationError
from streammetrics.metrics import Values, e_discoveries, log_e_value, log_e_value_of_share, normal_quantile
from streammetrics.monitor.history.estimates import (
    BOUNDS,
    COLUMNS,
    has_few_labels,
    of_change,
    of_measure,
    of_metric,
    with_coverage,
)
from streammetrics.monitor.history.history import AT_ONCE, History
from streammetrics.monitor.history.rules import Rule
from streammetrics.monitor.history.window import before, clock
from streammetrics.reading import ROWS, TOTAL
from streammetrics.report import VERDICT

LARGEST = 700.0  # largest logarithm of an e-value that fits a float
DAY = 86_400e6  # in microseconds
PLACE = hidden("segment")
SOUND, ALARM, SINCE, E_VALUE = hidden("sound"), hidden("alarm"), hidden("since"), hidden("e-value")


@dataclass(frozen=True)
class Course:
    """State of a detector for some segments."""

    alarm: NDArray[np.bool_]  # whether a segment is in alarm after a window: shape (windows, segments)
    since: NDArray[np.int64]  # window in which the evidence of each segment began to grow
    log_e: Values  # logarithm of the evidence against each segment after the last window


def detect(breach: Values, recovery: Values, rate: float, fdr: float | None = None) -> Course:
    """Accumulate the evidence of some segments over time.

    An alarm ends when the evidence for the opposite is as large. Until then, no other alarm is raised. ``breach`` and
    ``recovery`` are logarithms of e-values for a breach of the limit and for none, NaN without a value: shape (windows,
    segments). ``rate`` is the acceptable number of false alarms per window, ``fdr`` the acceptable false discovery rate
    among segments in alarm at a look within the first ``1 / rate`` windows; without it, segments have separate alarms.

    >>> e = np.log([[0.5], [4], [8], [0.5], [0.1]])
    >>> course = detect(e, -e, rate=1 / 30)
    >>> course.alarm[:, 0].tolist(), course.since.tolist()
    ([False, False, True, True, True], [1])
    """
    needed, segments = -math.log(rate), breach.shape[1]
    evidence, relief = (np.full(segments, -np.inf) for _ in range(2))
    excursion, since = np.zeros(segments), np.zeros(segments, dtype=np.int64)
    alarm, seen = (np.zeros(segments, dtype=np.bool_) for _ in range(2))
    course = np.zeros(breach.shape, dtype=np.bool_)
    for window, (worse, better) in enumerate(zip(breach, recovery, strict=True)):
        known = ~np.isnan(worse)
        seen |= known
        since[known & ~alarm & (excursion <= 0)] = window
        excursion = np.where(known, np.maximum(excursion, 0) + worse, excursion)
        evidence = np.where(known, np.logaddexp(evidence, 0) + worse, evidence)
        relief = np.where(known & alarm, np.logaddexp(relief, 0) + better, relief)
        ended = alarm & (relief >= needed)
        enough = evidence >= needed
        if fdr is not None:
            enough = np.zeros_like(seen)
            enough[seen] = e_discoveries(evidence[seen] - needed, fdr)
        alarm = (alarm & ~ended) | (known & ~alarm & enough)
        evidence[ended], excursion[ended], relief[~alarm] = -np.inf, 0, -np.inf
        course[window] = alarm
    return Course(course, since, evidence)


def blocks(windows: pl.Series, over: str, end: datetime) -> tuple[pl.Series, float]:
    """Return the starts of the complete periods before an end, and the number of days between two starts.

    The newest period is omitted as long as it can receive more windows. ``over`` is the length of a period.

    >>> hours = pl.datetime_range(datetime(2026, 1, 1), datetime(2026, 1, 3, 12), "1h", eager=True)
    >>> found, days = blocks(hours, "1d", datetime(2027, 1, 1))
    >>> found.dt.day().to_list(), days
    ([1, 2], 1.0)
    """
    seen = windows.filter(clock(windows) < end)
    zone = getattr(seen.dtype, "time_zone", None)
    starts = seen.to_frame().select(truncated(pl.col(seen.name), over, zone)).to_series().unique().sort()
    if starts.is_empty():
        return starts, 1.0
    times, until = clock(seen), ends(clock(starts), over)
    gaps = clock(starts).diff().drop_nulls() if len(starts) > 1 else until - clock(starts)
    days = float(gaps.to_physical().median()) / DAY  # type: ignore[arg-type]
    if len(starts) < len(seen):
        starts = starts.filter(until <= times[-1] + times.diff().drop_nulls().median())
    return starts, days


def alarms(windows: History, rule: Rule, end: datetime) -> tuple[pl.Series, pl.DataFrame] | None:
    """Return the start of the newest complete period before an end, and the alarms at its end; None without a period.

    Alarms have a row for each segment, as `courses` returns them, with the state of its detector: whether it is in
    alarm, and then the window in which the evidence began to grow; and the evidence.
    """
    starts, days = blocks(windows.starts, rule.over, end)
    if starts.is_empty():
        return None
    groups, course, sound = courses(windows, rule, starts, days)
    named = dates(starts)
    since = pl.Series(SINCE, [str(named[i]) for i in course.since.tolist()], dtype=pl.String)
    e_value = pl.Series(E_VALUE, np.exp(np.minimum(course.log_e, LARGEST)))
    states = pl.Series(ALARM, course.alarm[-1]), pl.Series(SOUND, sound[-1])
    found = groups.with_columns(*states, since, e_value)
    return clock(starts.tail(1)), found.with_columns(pl.when(ALARM).then(SINCE).alias(SINCE))


def with_alarms(found: pl.DataFrame, rule: Rule, raised: pl.DataFrame | None) -> pl.DataFrame:
    """Return judged estimates of which only segments in alarm are breached, including those without rows.

    The columns `SINCE` and `E_VALUE` are added, null if no period is complete.
    """
    if raised is None:
        none = pl.lit(None)
        return found.with_columns(none.alias(SINCE), none.alias(E_VALUE), pl.col(VERDICT).replace("breached", "open"))
    keys = [*keys_of(found), "metric"]
    both = found.join(
        raised.cast(found.select(keys).schema), on=keys, how="full", coalesce=True, nulls_equal=True, suffix=RIGHT,
        maintain_order="left_right",
    )  # fmt: skip
    no_rows = pl.col(VERDICT).is_null()
    no_interval = pl.col("value").is_not_null() & ~pl.col(SOUND) & ~has_few_labels(rule)
    verdict = (
        pl.when(ALARM)
        .then(pl.lit("breached"))
        .when(no_interval)
        .then(pl.lit("undefined"))
        .otherwise(pl.col(VERDICT).replace("breached", "open"))
    )
    note = (
        pl.when(no_rows)
        .then(pl.lit("no rows"))
        .when(no_interval)
        .then(pl.lit("no confidence interval, so no alarm"))
        .otherwise("note")
    )
    return both.filter(pl.col(ALARM) | ~no_rows).with_columns(verdict.alias(VERDICT), note.alias("note"))


def courses(
    windows: History, rule: Rule, starts: pl.Series, days: float
) -> tuple[pl.DataFrame, Course, NDArray[np.bool_]]:
    """Return the segments with their metric, their course, and whether any window so far has a confidence interval.

    Windows add no evidence as long as labels are missing.
    """
    rate = (rule.alarms_per_day or 0) * days
    if rate >= 1:
        raise SpecificationError(
            f"Rule field 'alarm' must be rarer than one per window ({days:g} days), got {rule.alarm!r}."
        )
    found = pl.concat(_by_window(windows, rule, starts), how="vertical_relaxed")
    window, *keys = [c for c in found.columns if c not in COLUMNS]
    since = clock(starts)
    reference = None if rule.against is None else (before(since, rule.against), since)
    found = with_coverage(found, rule, windows, (since, ends(since, rule.over)), reference, starts)
    groups = found.select(keys).unique(maintain_order=True).with_row_index(PLACE)
    column = joined(found.select(keys), groups, keys)[PLACE]
    place = starts.search_sorted(found[window].cast(starts.dtype)).to_numpy(), column.to_numpy()
    enough = found.select((pl.col(ROWS) >= rule.min_rows).fill_null(False) & ~has_few_labels(rule)).to_series()
    breach, recovery = (np.full((len(starts), groups.height), np.nan) for _ in range(2))
    for matrix, values in zip((breach, recovery), log_e_values(rule, found), strict=True):
        matrix[place] = np.where(enough.to_numpy(), values, np.nan)
    sound = np.zeros(breach.shape, dtype=np.bool_)
    sound[place] = found.select(pl.any_horizontal(pl.col(LIMITS).is_not_null())).to_series()
    return groups.drop(PLACE), detect(breach, recovery, rate, rule.fdr), np.logical_or.accumulate(sound)


def _by_window(windows: History, rule: Rule, starts: pl.Series) -> Iterator[pl.DataFrame]:
    """Estimates of all windows, a few at a time: the window, keys, metric, and the columns of `evidence`."""
    confidence, (measure, options) = rule.two_sided, rule.measure or (None, {})
    metrics = ["rows"] if measure else [rule.required.metric]
    for i in range(0, len(starts), AT_ONCE):
        part = starts[i : i + AT_ONCE]
        since, until = clock(part.head(1)), ends(clock(part.tail(1)), rule.over).item()
        if rule.against is None:
            acc = windows.ask(since.item(), until, rule.by, rule.over, rule.model)
            yield of_metric(rule, acc.finalize(metrics, confidence=confidence))
            continue
        report = windows.ask(before(since, rule.against).item(), until, rule.by, rule.over, rule.model).finalize(
            metrics
        )
        window = report.by[0]
        drifted = drift_over(report, window, reference=rule.against, confidence=confidence, **options)
        moved = of_measure(drifted, measure) if measure else of_change(drifted.metrics)
        yield moved.filter(pl.col(window).cast(starts.dtype).is_in(part.implode()))


def log_e_values(rule: Rule, found: pl.DataFrame) -> tuple[Values, Values]:
    """Return the evidence that the limit is breached, and that it is not; NaN without a value.

    Evidence is computed from the less favorable certified bound. A window without a confidence interval adds no
    evidence, and resets it if its value is on the other side.
    """
    limit, high = rule.required.limit, rule.required.wants_high
    value, lower, upper, ci_lower, ci_upper, total = found.select(*BOUNDS, TOTAL).to_numpy().T
    error = np.where(value < limit, ci_upper - value, value - ci_lower) / normal_quantile(rule.confidence)

    def beyond(above: bool) -> Values:
        bound = lower if above else upper
        gap = bound - limit if above else limit - bound
        sound = error > 0
        normal = log_e_value(np.where(sound, gap, 0) / np.where(sound, error, 1))
        by_error = np.where(sound, normal, np.where(gap > 0, 0.0, -np.inf))
        shares = (total > 0) & sound & (0 < limit < 1)
        if shares.any():
            successes = np.round(bound * total)[shares]
            by_error[shares] = log_e_value_of_share(successes, total[shares], limit, above=above)
        return np.where(np.isnan(gap), np.nan, by_error)

    return beyond(above=not high), beyond(above=high)

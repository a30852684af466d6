"""Alarms: sequential evidence over the windows of a history, with a limited rate of false alarms.

The Shiryaev-Roberts e-detector (Shin, Ramdas & Rinaldo 2022) updates ``M = (M + 1) * e`` with the e-value of each
window and raises an alarm at ``M >= 1 / rate``. The average number of windows between false alarms is then at least
``1 / rate``. It is recomputed from the stored windows at each check, so late rows and backfills are handled correctly.
"""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import (
    LIMITS,
    METRIC,
    ROWS,
    ROWS_OF_SHARE,
    STATUS,
    VALUE,
    VERDICT,
    Status,
    dates,
    ends,
    hidden,
    joined,
    keys_of,
    truncated,
)
from streammetrics.core import Floats
from streammetrics.errors import SpecificationError
from streammetrics.metrics import e_discoveries, log_e_value, log_e_value_of_share, normal_quantile
from streammetrics.monitor.history.rules import Rule, has_few_labels
from streammetrics.monitor.history.window import Windows, clock
from streammetrics.show import with_note

LARGEST = 700.0  # largest logarithm of an e-value that fits a float
DAY = 86_400e6  # in microseconds
EVIDENCE, RELIEF = hidden("evidence of a breach"), hidden("evidence of none")  # logarithms of e-values
HAS_INTERVAL, ALARM, SINCE, E_VALUE = hidden("interval"), hidden("alarm"), hidden("since"), hidden("e-value")


def detect(
    breach: Floats, recovery: Floats, rate: float, fdr: float | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.int64], Floats]:
    """Accumulate the evidence of some segments over time.

    An alarm ends when the evidence for the opposite is as large. Until then, no other alarm is raised. ``breach`` and
    ``recovery`` are logarithms of e-values for a breach of the limit and for none, NaN without a value: shape (windows,
    segments). ``rate`` is the acceptable number of false alarms per window, ``fdr`` the acceptable false discovery rate
    among segments in alarm at a look within the first ``1 / rate`` windows; without it, segments have separate alarms.

    Returns, for each segment after each window, whether it is in alarm, the window in which its evidence began to grow,
    and the logarithm of the evidence.

    >>> e = np.log([[0.5], [4], [8], [0.5], [0.1]])
    >>> alarm, since, _ = detect(e, -e, rate=1 / 30)
    >>> alarm[:, 0].tolist(), since[:, 0].tolist()
    ([False, False, True, True, True], [0, 1, 1, 1, 1])
    """
    needed, shape = -math.log(rate), breach.shape
    alarms, begins, log_e = np.zeros(shape, np.bool_), np.zeros(shape, np.int64), np.zeros(shape)
    evidence, relief = np.full((2, shape[1]), -np.inf)
    excursion, since = np.zeros(shape[1]), np.zeros(shape[1], np.int64)
    alarm, seen = np.zeros((2, shape[1]), np.bool_)
    for window, (worse, better) in enumerate(zip(breach, recovery, strict=True)):
        has_value = ~np.isnan(worse)
        seen |= has_value
        since[has_value & ~alarm & (excursion <= 0)] = window
        excursion = np.where(has_value, np.maximum(excursion, 0) + worse, excursion)
        evidence = np.where(has_value, np.logaddexp(evidence, 0) + worse, evidence)
        relief = np.where(has_value & alarm, np.logaddexp(relief, 0) + better, relief)
        ended = alarm & (relief >= needed)
        enough = evidence >= needed
        if fdr is not None:
            enough = np.zeros_like(seen)
            enough[seen] = e_discoveries(evidence[seen] - needed, fdr)
        alarm = (alarm & ~ended) | (has_value & ~alarm & enough)
        evidence[ended], excursion[ended], relief[~alarm] = -np.inf, 0, -np.inf
        alarms[window], begins[window], log_e[window] = alarm, since, evidence
    return alarms, begins, log_e


def complete_windows(windows: pl.Series, over: str, end: datetime) -> tuple[Windows, float]:
    """Return the complete periods before an end, and the number of days between two starts.

    The newest period is omitted as long as it can receive more windows. ``over`` is the length of a period.

    >>> hours = pl.datetime_range(datetime(2026, 1, 1), datetime(2026, 1, 3, 12), "1h", eager=True)
    >>> complete, days = complete_windows(hours, "1d", datetime(2027, 1, 1))
    >>> complete.starts.dt.day().to_list(), days
    ([1, 2], 1.0)
    """
    seen = windows.filter(clock(windows) < end)
    zone = getattr(seen.dtype, "time_zone", None)
    names = seen.to_frame().select(truncated(pl.col(seen.name), over, zone)).to_series().unique().sort()
    starts = clock(names)
    if names.is_empty():
        return Windows(starts, starts, names), 1.0
    until = ends(starts, over)
    gaps = starts.diff().drop_nulls() if len(names) > 1 else until - starts
    days = float(gaps.to_physical().median()) / DAY  # type: ignore[arg-type]
    complete = Windows(starts, until, names)
    if len(names) < len(seen):
        times = clock(seen)
        complete = complete[: int((until <= times[-1] + times.diff().drop_nulls().median()).sum())]
    return complete, days


def with_evidence(verdicts: pl.DataFrame, estimates: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Add whether there is an interval, and the evidence of estimates of the same segments."""
    keys = [*keys_of(estimates), METRIC]
    has_interval = pl.any_horizontal(pl.col(LIMITS).is_not_null()).alias(HAS_INTERVAL)
    return joined(verdicts, estimates.select(*keys, has_interval, *log_e_values(rule, estimates)), keys)


def without_alarm(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts before the first complete period, when none can be breached."""
    none = pl.lit(None)
    return verdicts.with_columns(none.alias(SINCE), none.alias(E_VALUE), pl.col(VERDICT).replace("breached", "open"))


def followed(verdicts: pl.DataFrame, rule: Rule, windows: pl.Series, days: float) -> pl.DataFrame:
    """Return verdicts of which only segments in alarm are breached, including those without rows in a window.

    The columns `SINCE` and `E_VALUE` are added. Windows add no evidence as long as labels are missing.
    """
    rate = (rule.alarms_per_day or 0) * days
    if rate >= 1:
        raise SpecificationError(
            f"Rule field 'alarm' must be rarer than one per window ({days:g} days), got {rule.alarm!r}."
        )
    keys = [*(c for c in keys_of(verdicts) if c != windows.name), METRIC]
    segments = verdicts.select(keys).unique(maintain_order=True)
    every = pl.DataFrame({windows.name: windows}).join(segments, how="cross", maintain_order="left_right")
    both = joined(every, verdicts.cast({windows.name: windows.dtype}), every.columns)
    enough = (pl.col(ROWS) >= rule.min_rows) & ~has_few_labels(rule)
    evidence = both.select(pl.when(enough).then(column).fill_null(np.nan) for column in (EVIDENCE, RELIEF))
    shape = len(windows), segments.height
    breach, recovery = (column.to_numpy().reshape(shape) for column in evidence)
    alarm, since, log_e = (state.ravel() for state in detect(breach, recovery, rate, rule.fdr))
    both = both.with_columns(
        pl.Series(ALARM, alarm),
        dates(windows).gather(since).alias(SINCE),
        pl.Series(E_VALUE, np.exp(np.minimum(log_e, LARGEST))),
    )
    had_interval = pl.col(HAS_INTERVAL).fill_null(False).cum_max().over(keys)  # in any window so far
    no_rows = pl.col(VERDICT).is_null()
    no_interval = pl.col("value").is_not_null() & ~had_interval & ~has_few_labels(rule)
    status = pl.when(no_rows).then(pl.lit("no_rows", Status)).when(no_interval).then(pl.lit("no_alarm", Status))
    verdict = (
        pl.when(ALARM)
        .then(pl.lit("breached"))
        .when(no_interval)
        .then(pl.lit("undefined"))
        .otherwise(pl.col(VERDICT).replace("breached", "open"))
    )
    note = pl.coalesce(with_note(both.with_columns(status.alias(STATUS)))["note"], "note")
    both = both.with_columns(
        verdict.alias(VERDICT), pl.coalesce(status, STATUS).alias(STATUS), pl.when(ALARM).then(SINCE).alias(SINCE), note
    )
    return both.filter(pl.col(ALARM) | ~no_rows)


def log_e_values(rule: Rule, estimates: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Return the evidence that the limit is breached, and that it is not; NaN without a value.

    Evidence is computed from the less favorable certified bound. A window without a confidence interval adds no
    evidence, and resets it if its value is on the other side.
    """
    limit, high = rule.required.limit, rule.required.wants_high
    value, lower, upper, ci_lower, ci_upper, total = estimates.select(*VALUE, *LIMITS, ROWS_OF_SHARE).to_numpy().T
    error = np.where(value < limit, ci_upper - value, value - ci_lower) / normal_quantile(rule.confidence)

    def beyond(above: bool) -> Floats:
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

    return pl.Series(EVIDENCE, beyond(above=not high)), pl.Series(RELIEF, beyond(above=high))

"""Verdicts of a rule: its metric, its change or expectation, or a measure of drift, read over windows of a history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from streammetrics.base import (
    EFFECTIVE_ROWS,
    EXPLAINED,
    LIMITS,
    METRIC,
    NEEDED,
    REASONS,
    ROWS,
    ROWS_OF_SHARE,
    STATUS,
    VALUE,
    VERDICT,
    Status,
    because,
    few_effective,
    hidden,
    keys_of,
)
from streammetrics.comparison import Comparison, compare, drift
from streammetrics.metrics import (
    EVERYWHERE,
    metrics_of_name,
    rows_to_decide,
    rows_to_decide_at_looks,
    with_limits_at_looks,
)
from streammetrics.monitor.history.alarms import (
    complete_windows,
    followed,
    with_evidence,
    without_alarm,
)
from streammetrics.monitor.history.history import AT_ONCE, History
from streammetrics.monitor.history.rules import COVERAGE, Rule, has_few_labels, limits_total
from streammetrics.monitor.history.window import Windows, before
from streammetrics.reading import differences_of, with_row_count, with_total
from streammetrics.report import (
    Report,
    judged,
    nonempty,
)
from streammetrics.show import with_note

CURRENT_ROWS, OTHER_ROWS = hidden("rows of the checked windows"), hidden("rows of the reference")
REFERENCE = hidden("value of the reference")
AT_LOOKS = hidden("rows to decide at every look")
BOUNDS = (*VALUE, *LIMITS)
COUNTS = (ROWS, CURRENT_ROWS, OTHER_ROWS, ROWS_OF_SHARE, EFFECTIVE_ROWS)
NUMBERS = pl.Schema(dict.fromkeys((*BOUNDS, *COUNTS, REFERENCE), pl.Float64()))
PERIOD = hidden("period")
SCHEMA = pl.Schema(
    {METRIC: pl.String(), **dict.fromkeys((*BOUNDS, COVERAGE), pl.Float64()), VERDICT: pl.String()}
    | {NEEDED: pl.Int64()}
)  # of verdicts at each window


def verdicts_now(history: History, rule: Rule, end: pl.Series, labels: History) -> tuple[Windows, pl.DataFrame]:
    """Return the windows that a rule checks at a time, and its verdicts. ``labels`` has the reference before labels."""
    look = Windows(_beginning(history, rule, end), end)
    if not rule.alarm:
        return look, verdicts(history, rule, look, labels)
    complete, newest, rows = _alarms(history, rule, end)
    if newest.item() >= 0:
        period = complete[newest.item() :][:1]
        look = Windows(period.starts, period.ends)
        rows = rows.filter(pl.col(period.names.name) == period.names.item()).drop(period.names.name)
    return look, rows if rows.height else without_alarm(verdicts(history, rule, look, labels))


def verdicts_by_window(history: History, rule: Rule, windows: pl.Series, labels: History) -> pl.DataFrame:
    """Return the value and verdict of a rule in each segment, as a check at the end of each of some windows gives them.

    The evidence of an alarm is computed once over the whole history.
    """
    name, looked_at = history.starts.name, history.starts.is_in(windows.implode())
    end = history.times.filter(looked_at).dt.offset_by("1us")
    looks = Windows(_beginning(history, rule, end), end, history.starts.filter(looked_at))
    if rule.alarm:
        parts = _alarms_by_window(history, rule, looks)
    elif rule.always or rule.before_labels:
        parts = _one_by_one(history, rule, looks, labels)
    else:
        parts = _chunks(history, rule, looks, AT_ONCE)
    none = pl.DataFrame(schema={name: history.starts.dtype, **SCHEMA})
    tidy = [none, *(part.select(*keys_of(part.drop(name)), name, *SCHEMA) for part in parts)]
    rows = pl.concat(tidy, how="diagonal_relaxed")  # windows without rows have no keys
    return rows.select(*(c for c in rows.columns if c not in SCHEMA), *SCHEMA)


def _one_by_one(history: History, rule: Rule, looks: Windows, labels: History) -> Iterator[pl.DataFrame]:
    """Check each window by itself, for rules whose period grows and would not fit in memory by window."""
    for i, window in enumerate(looks.names):
        rows = verdicts(history, rule, Windows(looks.starts[i : i + 1], looks.ends[i : i + 1]), labels)
        yield rows.select(pl.lit(window, looks.names.dtype).alias(looks.names.name), pl.all())


def _chunks(history: History, rule: Rule, windows: Windows, size: int) -> Iterator[pl.DataFrame]:
    for i in range(0, len(windows), size):
        yield verdicts(history, rule, windows[i : i + size], history)


def _alarms_by_window(history: History, rule: Rule, looks: Windows) -> Iterator[pl.DataFrame]:
    """Check the newest complete period at the end of each window. Before the first one, no alarm can be raised."""
    if not len(looks):
        return
    complete, newest, rows = _alarms(history, rule, looks.ends)
    early = int((newest < 0).sum())
    yield from map(without_alarm, _chunks(history, rule, looks[:early], AT_ONCE))
    if early < len(looks):
        name = looks.names.name
        names = pl.DataFrame({PERIOD: complete.names[newest[early:]], name: looks.names[early:]})
        both = names.join(rows.rename({name: PERIOD}), on=PERIOD, maintain_order="left_right")
        yield both.select(name, pl.exclude(name, PERIOD))


def _alarms(history: History, rule: Rule, ends: pl.Series) -> tuple[Windows, pl.Series, pl.DataFrame]:
    """The complete periods, the number of the newest one at each of some times, or -1, and the verdicts in all periods.

    Only segments in alarm are breached.
    """
    complete, days = complete_windows(history.starts, rule.over, ends[-1])
    newest = history.times.search_sorted(ends).cast(pl.Int64) - 1
    if not len(complete):
        return complete, newest.clip(upper_bound=-1), pl.DataFrame()
    if len(complete) <= newest[-1]:
        seen = history.times[: newest[-1] + 1]
        newest = complete.ends.search_sorted(seen[newest] + seen.diff().median(), side="right").cast(pl.Int64) - 1
    size = max(1, AT_ONCE * len(complete) // len(history.starts))  # of about as many windows as are read together
    parts = _chunks(history, rule, complete, size)
    return complete, newest, followed(pl.concat(parts, how="diagonal_relaxed"), rule, complete.names, days)


def _beginning(history: History, rule: Rule, ends: pl.Series) -> pl.Series:
    """The start of the windows that a rule checks at each of some times."""
    first = history.times[0]
    return history.times.new_from_index(0, len(ends)) if rule.always else before(ends, rule.over).clip(first)


def verdicts(history: History, rule: Rule, windows: Windows, labels: History) -> pl.DataFrame:
    """Return the estimates of a rule in some windows, with its verdicts but without the evidence of an alarm.

    A single window without a name is read as a whole. ``labels`` is the history with labels, of the reference.
    """
    earliest = None if rule.before_labels else history.times[0]
    reference = windows.before(rule.against, earliest) if rule.against or rule.before_labels else None
    current, other = _reports(history, rule, windows, reference, labels)
    estimates = _estimates(rule, current, other)
    judged = _judged(nonempty(estimates) if windows.names.is_empty() else estimates, rule, current)
    if limits_total(rule) and rule.required.wants_high:
        judged = _opened(judged, _is_short(history, rule, windows) & (pl.col(VERDICT) == "breached"), "short_history")
    judged = judged.with_columns(_coverage(judged, rule, labels, windows, reference).alias(COVERAGE))
    waits = has_few_labels(rule)
    if limits_total(rule) and all(
        m.interval.is_count for m in metrics_of_name(rule.required.metric)
    ):  # which no label can lower
        certain = pl.lit("holds" if rule.required.wants_high else "breached")
        waits &= (pl.col(VERDICT) != certain).fill_null(True)
    others = [hidden(code) for code in REASONS if hidden(code) in judged.columns]
    judged = judged.with_columns(pl.when(~waits).then(NEEDED).alias(NEEDED), *(pl.col(c) & ~waits for c in others))
    return _opened(judged, waits, "few_labels")


def _reports(
    history: History, rule: Rule, windows: Windows, reference: Windows | None, labels: History
) -> tuple[Report, Report | None]:
    """The reports of some windows, and of the periods of reference before them."""
    if windows.names.is_empty():
        other = None if reference is None else _read(labels, rule, reference, rule.by)
        return _read(history, rule, windows, rule.by), other
    since = windows.starts if reference is None else reference.starts
    report = _read(history, rule, replace(windows, starts=since), (windows.names.name, *rule.by))
    return _merged(report, windows), None if reference is None else _merged(report, reference)


def _merged(report: Report, windows: Windows) -> Report:
    """The report of some windows of a report by windows of the history."""
    names = windows.names
    return report._with_states(lambda state: state.periods(names.name, names, windows.starts, windows.ends))


def _read(history: History, rule: Rule, windows: Windows, by: tuple[str, ...]) -> Report:
    """The report of the metric of a rule, or of the rows to measure its drift or to estimate it before labels."""
    acc = history.ask(windows.starts[0], windows.ends[-1], by, rule.model)
    metric = "rows" if rule.measure or rule.before_labels else rule.required.metric
    return acc.finalize([metric], confidence=rule.two_sided)


def _estimates(rule: Rule, current: Report, reference: Report | None) -> pl.DataFrame:
    """The measure of drift, the metric, or its change: keys, metric, and `NUMBERS`, or null.

    Each endpoint of an interval has the confidence level of the rule. ``reference`` has the rows of the reference
    period, for ``against``, or those with labels, for ``before_labels``.
    """
    if rule.measure and reference is not None:
        return _drift(rule, current, reference, *rule.measure)
    if reference is None:
        estimates = _metric(rule, current)
    elif rule.before_labels:
        estimates = _before_labels(rule, current, reference)
    else:
        estimates = _change(rule, current, reference)
    return with_evidence(estimates, estimates, rule) if rule.alarm else estimates


def _metric(rule: Rule, report: Report) -> pl.DataFrame:
    (metric,) = report.metrics
    rule.required.require_within(*metric.range)
    estimates = with_row_count(report._sampled_frame, report.state, ROWS).with_columns(pl.col(ROWS).alias(CURRENT_ROWS))
    if report.unit is None and (rule.alarm or rule.always):
        estimates = with_total(estimates, report.state, metric)
    estimates = _with_every_column(estimates)
    if not rule.always:
        return estimates
    needed = rows_to_decide_at_looks(estimates, rule.required.limit, rule.confidence, rule.always).alias(AT_LOOKS)
    sequences = with_limits_at_looks(estimates, metric.range, rule.confidence, rule.always, one_sided=True)
    return sequences.with_columns(needed)


def _before_labels(rule: Rule, scores: Report, reference: Report) -> pl.DataFrame:
    from streammetrics.monitor.before_labels.expectation import expect  # when they are needed
    from streammetrics.monitor.before_labels.filled import METRICS

    metric = rule.required.metric
    expected = expect(scores, reference, odds=rule.odds, metrics=metric, confidence=rule.two_sided)
    whole_range = (pl.col(c).fill_null(end) for c, end in zip(LIMITS, METRICS[metric].range, strict=True))
    frame = expected.frame.with_columns(pl.when(pl.col("value").is_not_null()).then(end) for end in whole_range)
    return _with_every_column(with_row_count(with_row_count(frame, reference.state, OTHER_ROWS), scores.state, ROWS))


def _change(rule: Rule, current: Report, reference: Report) -> pl.DataFrame:
    """The change of a metric, and its value in the reference."""
    sides = compare(reference, current, metrics=[rule.required.metric], confidence=rule.two_sided, independent=True)
    change = with_row_count(differences_of(sides), reference.state, OTHER_ROWS)
    new = pl.col("a").is_null() | (pl.col("a") == 0) & (pl.col(OTHER_ROWS) == 0)  # not a count that rises from 0
    change = change.with_columns(pl.when(~new).then(c).alias(c) for c in ("a", *BOUNDS))
    status = (
        pl.when(pl.col("a").is_null())
        .then(pl.lit("no_value_in_reference", Status))
        .when(pl.col("b").is_null())
        .then(pl.lit("value_only_in_reference", Status))
        .otherwise(STATUS)
    )
    keys, value = [*keys_of(change), METRIC], pl.col("a").alias(REFERENCE)
    return _with_rows(change.select(*keys, *BOUNDS, EFFECTIVE_ROWS, value, status=status), sides)


def _drift(rule: Rule, current: Report, reference: Report, measure: str, options: dict[str, Any]) -> pl.DataFrame:
    """A measure of drift. Its evidence has no bias of small samples."""
    moved = drift(reference, current, **options, confidence=rule.two_sided)
    estimates = _with_rows(moved.frame.filter(measure=measure), moved.metrics)
    if not rule.alarm:
        return estimates
    return with_evidence(estimates, _with_rows(moved.without_bias(measure), moved.metrics), rule)


def _with_rows(frame: pl.DataFrame, sides: Comparison) -> pl.DataFrame:
    """Estimates of a comparison with the rows of each side, and the fewer of them."""
    frame = frame.drop("of", strict=False).rename({"measure": METRIC}, strict=False)
    for report, name in ((sides.a, OTHER_ROWS), (sides.b, CURRENT_ROWS)):
        frame = with_row_count(frame, report.state, name)
    return _with_every_column(frame.with_columns(pl.min_horizontal(CURRENT_ROWS, OTHER_ROWS).alias(ROWS)))


def _with_every_column(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [pl.lit(None, pl.Float64).alias(c) for c in NUMBERS if c not in frame.columns]
    missing += [pl.lit(None, kind).alias(name) for name, kind in EXPLAINED.items() if name not in frame.columns]
    columns = (*NUMBERS, *EXPLAINED)
    return frame.with_columns(missing).cast(NUMBERS).select(pl.exclude(*columns, "note"), *columns)


def _judged(estimates: pl.DataFrame, rule: Rule, current: Report) -> pl.DataFrame:
    """Estimates with verdicts, and the rows that would decide open ones. Sequences and alarms need no minimum."""
    no_rows = pl.col("value").is_null() & (pl.col(ROWS) == 0) & (rule.against is None)
    status = pl.when(no_rows).then(pl.lit("no_rows", Status)).otherwise(STATUS).alias(STATUS)
    estimates = with_note(estimates.with_columns(status), current.metrics)
    required, least, sampled, units = rule.required, rule.min_rows, not limits_total(rule), current.folds is not None
    undecided = {} if rule.always or rule.alarm or rule.before_labels else {"few_rows": few_effective(units=units)}
    if rule.alarm or rule.before_labels or rule.measure:  # it depends on more than the number of rows
        needed = None
    elif rule.always:
        needed = pl.col(AT_LOOKS)
    else:
        range = EVERYWHERE if rule.against else current.metrics[0].range
        needed = rows_to_decide(required.limit, range, units=units)
    return judged(
        estimates,
        required,
        least,
        sampled=sampled,
        units=units,
        bounded=rule.before_labels,
        undecided=undecided,
        needed=needed,
    )


def _opened(verdicts: pl.DataFrame, condition: pl.Expr, reason: str) -> pl.DataFrame:
    """Verdicts that are open under a condition, which is their reason."""
    verdict = pl.when(condition).then(pl.lit("open")).otherwise(VERDICT).alias(VERDICT)
    return verdicts.with_columns(verdict, *because(**{reason: condition}))


def _is_short(history: History, rule: Rule, windows: Windows) -> pl.Expr:
    """Whether the history begins after a period of the rule, or more than one window after the period does."""
    first, step = history.times[0], history.times.diff().median()
    short = windows.ends <= first
    if step is not None and not rule.always:
        short |= first - before(windows.ends, rule.over) > step
    if windows.names.is_empty():
        return pl.lit(short.item())
    return pl.col(windows.names.name).is_in(windows.names.filter(short).implode())


def _coverage(
    estimates: pl.DataFrame, rule: Rule, labels: History, windows: Windows, reference: Windows | None
) -> pl.Series | pl.Expr:
    """The share of labels that have arrived, of the period with fewer; null without a joiner."""
    coverage = labels.labels if rule.coverage else None
    if coverage is None:
        return pl.lit(None, pl.Float64)
    sides = [] if rule.before_labels else [(CURRENT_ROWS, windows)]
    sides += [] if reference is None else [(OTHER_ROWS, reference)]
    shares = [coverage.share(estimates, rows, rule.by, periods) for rows, periods in sides]
    return estimates.select(pl.min_horizontal(shares)).to_series()

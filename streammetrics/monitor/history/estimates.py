"""Estimates that rules limit, with their verdicts: a metric, its change or expectation, or a measure of drift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import EFFECTIVE_ROWS, FEW_OF_A_CLASS, LIMITS, METRIC, REASONS, because, hidden, keys_of
from streammetrics.comparison import Drift, compare, drift
from streammetrics.errors import Argument, SpecificationError
from streammetrics.metrics import EVERYWHERE, rows_to_decide
from streammetrics.monitor.before_labels.expect import expect
from streammetrics.monitor.before_labels.filled import METRICS as EXPECTED
from streammetrics.monitor.history.history import History
from streammetrics.monitor.history.rules import Rule, is_growing, of_count, of_total
from streammetrics.monitor.history.window import before
from streammetrics.reading import (
    ROWS,
    TOTAL,
    differences_of,
    rows_to_decide_at_looks,
    widened,
    with_row_count,
    with_total,
)
from streammetrics.report import (
    COVERAGE,
    NEEDED,
    VERDICT,
    Comparison,
    Report,
    at_least_one,
    judged_of_sample,
    with_rows_needed,
)
from streammetrics.report import judged as with_verdicts
from streammetrics.statistics import periods

CURRENT_ROWS, OTHER_ROWS = hidden("rows of the checked windows"), hidden("rows of the reference")
REFERENCE = hidden("value of the reference")
AT_LOOKS = hidden("rows to decide at every look")
BOUNDS = ("value", "lower", "upper", *LIMITS)
COUNTS = (ROWS, CURRENT_ROWS, OTHER_ROWS, TOTAL, EFFECTIVE_ROWS)
COLUMNS = (*BOUNDS, REFERENCE, "note", FEW_OF_A_CLASS, *COUNTS)
Period: TypeAlias = tuple[pl.Series | None, pl.Series]
Names: TypeAlias = pl.Series | None
NUMBERS = pl.Schema(dict.fromkeys((*BOUNDS, *COUNTS), pl.Float64()))


def require_scores(rules: Sequence[Rule], scores: object) -> None:
    """Reject rules before labels without a history of scores."""
    if scores is None and any(rule.before_labels for rule in rules):
        raise SpecificationError(
            "Rules with 'before_labels' require the history of scores. Pass ", Argument("scores"), "."
        )


def beginning(windows: History, rule: Rule, end: pl.Series) -> pl.Series:
    """Return the start of the windows that a rule checks."""
    times = windows.times
    return times.head(1) if rule.always else before(end, rule.over).clip(times[0])


def judged(windows: History, rule: Rule, start: pl.Series, end: pl.Series, labels: History) -> pl.DataFrame:
    """Return the estimates of a rule in a time range, with its verdicts but without the evidence of an alarm.

    The reference is computed from the history with labels.
    """
    earliest = None if rule.before_labels else windows.times[0]
    earlier = None if rule.against is None else before(start, rule.against).clip(earliest).item()
    reference = labels.ask(earlier, start.item(), rule.by, None, rule.model) if earlier or rule.before_labels else None
    current = reported(rule, windows.ask(start.item(), end.item(), rule.by, None, rule.model))
    found = estimated(rule, current, None if reference is None else reported(rule, reference))
    found = _with_verdicts(at_least_one(found), rule, current)
    if is_growing(rule):
        found = _open_while_rows_come(found, pl.lit(bool(_is_too_short(windows, rule.over, end).any())))
    since = None if earlier is None else pl.Series([earlier])
    found = with_coverage(found, rule, labels, (start, end), None if reference is None else (since, start))
    return _open_before_labels_arrive(found, rule)


def with_coverage(
    found: pl.DataFrame, rule: Rule, labels: History, checked: Period, reference: Period | None, names: Names = None
) -> pl.DataFrame:
    """Add `COVERAGE`, the share of labels that have arrived, of the period with fewer; null without a joiner.

    ``checked`` and ``reference`` are starts and ends of one or several periods, which ``names`` are of.
    """
    coverage = labels.labels
    if not rule.coverage or not coverage.is_known:
        return found.with_columns(pl.lit(None, pl.Float64).alias(COVERAGE))
    sides = [] if rule.before_labels else [(CURRENT_ROWS, checked)]
    sides += [] if reference is None else [(OTHER_ROWS, reference)]
    shares = [coverage.share(found, rows, rule.by, *period, names) for rows, period in sides]
    return found.with_columns(pl.min_horizontal(shares).alias(COVERAGE))


def _open_before_labels_arrive(found: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Return verdicts that are open as long as labels are missing, except those on counts that no label can change."""
    certain = pl.lit("holds" if rule.required.wants_high else "breached") if of_count(rule) else pl.lit(None)
    waits = has_few_labels(rule) & (pl.col(VERDICT) != certain).fill_null(True)
    others = [pl.col(name) & ~waits for name in map(hidden, REASONS) if name in found.columns]
    return found.with_columns(
        pl.when(waits).then(pl.lit("open")).otherwise(VERDICT).alias(VERDICT),
        pl.when(~waits).then(NEEDED).alias(NEEDED),
        *others,
        *because(few_labels=waits),
    )


def has_few_labels(rule: Rule) -> pl.Expr:
    """Whether fewer labels have arrived than a rule requires."""
    return (pl.col(COVERAGE) < rule.coverage).fill_null(False)


def _rows_to_decide(rule: Rule, current: Report) -> pl.Expr:
    """The number of checked rows that would decide an open verdict; null if it depends on more than their number."""
    if rule.alarm or rule.before_labels or rule.measure:
        return pl.lit(None, pl.Float64)
    if rule.always:
        return pl.col(AT_LOOKS)
    range, units = EVERYWHERE if rule.against else current.metrics[0].range, current.folds is not None
    return rows_to_decide(rule.required.limit, range, ROWS, pl.col(EFFECTIVE_ROWS), units=units)


def judged_at_each(windows: History, rule: Rule, names: pl.Series, starts: pl.Series, ends: pl.Series) -> pl.DataFrame:
    """Return the estimates of a rule in each of some time ranges, as `judged` does, with their names as windows."""
    earlier = starts if rule.against is None else before(starts, rule.against).clip(windows.times[0])
    report = reported(rule, windows.ask(earlier[0], ends[-1], (names.name, *rule.by), None, rule.model))
    reference = None if rule.against is None else _of_periods(report, names, earlier, starts)
    found = _with_verdicts(estimated(rule, _of_periods(report, names, starts, ends), reference), rule, report)
    if is_growing(rule):
        early = names.filter(_is_too_short(windows, rule.over, ends))
        found = _open_while_rows_come(found, pl.col(names.name).is_in(early.implode()))
    found = with_coverage(found, rule, windows, (starts, ends), None if reference is None else (earlier, starts), names)
    return _open_before_labels_arrive(found, rule)


def _of_periods(report: Report, names: pl.Series, since: pl.Series, until: pl.Series) -> Report:
    """The report of some periods of a report by windows, the group column that ``names`` is named after."""
    return report._with_states(lambda state: periods(state, names.name, names, since, until))


def _open_while_rows_come(found: pl.DataFrame, early: pl.Expr) -> pl.DataFrame:
    """Return verdicts of a minimum that are open instead of breached where the history is shorter than the period."""
    waits = early & (pl.col(VERDICT) == "breached")
    opened = pl.when(waits).then(pl.lit("open")).otherwise(VERDICT).alias(VERDICT)
    return found.with_columns(opened, *because(short_history=waits))


def _with_verdicts(found: pl.DataFrame, rule: Rule, current: Report) -> pl.DataFrame:
    """Estimates with verdicts, and the rows that would decide open ones. Sequences and alarms need no minimum."""
    without = pl.col("value").is_null() & (pl.col(ROWS) == 0) & (rule.against is None)
    found = found.with_columns(note=pl.when(without).then(pl.lit("no rows")).otherwise("note"))
    required, least, sampled = rule.required, rule.min_rows, not of_total(rule)
    if rule.always or rule.alarm or rule.before_labels:
        found = with_verdicts(found, required, least, sampled=sampled, bounded=rule.before_labels)
    else:
        found = judged_of_sample(found, required, least, sampled=sampled, units=current.folds is not None)
    return with_rows_needed(found, _rows_to_decide(rule, current))


def _is_too_short(windows: History, over: str, ends: pl.Series) -> pl.Series:
    """Whether a history begins more than one window after the start of each period."""
    late, step = windows.times[0] - before(ends, over), windows.times.diff().median()
    return late > step if step is not None else pl.repeat(False, len(ends), eager=True)


def reported(rule: Rule, acc: Accumulator) -> Report:
    """The report of the metric of a rule, or of the rows to measure its drift or to estimate it before labels."""
    metric = "rows" if rule.measure or rule.before_labels else rule.required.metric
    return acc.finalize([metric], confidence=rule.two_sided)


def estimated(rule: Rule, current: Report, reference: Report | None) -> pl.DataFrame:
    """Return the measure of drift, the metric, or its change: keys, metric, and `COLUMNS`, or null.

    Each endpoint of an interval has the confidence level of the rule. ``reference`` has the rows of the reference
    period, for ``against``, or those with labels, for ``before_labels``.
    """
    if reference is not None and rule.before_labels:
        metric, confidence = rule.required.metric, rule.two_sided
        expected = expect(current, reference, odds=rule.odds, metrics=metric, confidence=confidence)
        ends = (pl.col(c).fill_null(end) for c, end in zip(LIMITS, EXPECTED[metric].range, strict=True))
        frame = expected.frame.with_columns(pl.when(pl.col("value").is_not_null()).then(end) for end in ends)
        frame = with_row_count(frame, reference.state, OTHER_ROWS)
        return _whole(with_row_count(frame, expected.scores.state, ROWS))
    if reference is None:
        return of_metric(rule, current)
    if rule.measure is None:
        metrics = [rule.required.metric]
        return of_change(compare(reference, current, metrics=metrics, confidence=rule.two_sided, independent=True))
    name, options = rule.measure
    moved = drift(reference, current, **options, confidence=rule.two_sided)
    found = moved.frame.filter(measure=name).drop("of").rename({"measure": "metric"})
    return _whole(_with_rows(found, moved.metrics))


def of_metric(rule: Rule, report: Report) -> pl.DataFrame:
    """Return estimates of the metric of a rule, the only one in the report."""
    (metric,) = report.metrics
    if rule.against is None:
        rule.required.require_within(*metric.range)
    found = with_row_count(report._sampled_frame, report.state, ROWS).with_columns(pl.col(ROWS).alias(CURRENT_ROWS))
    if report.unit is None and (rule.alarm or rule.always):
        found = with_total(found, report.state, metric)
    found = _whole(found)
    if not rule.always:
        return found
    needed = rows_to_decide_at_looks(found, rule.required.limit, rule.confidence, rule.always).alias(AT_LOOKS)
    found = widened(found, metric.range, rule.confidence, rule.always, one_sided=True)
    return found.with_columns(needed)


def of_change(sides: Comparison) -> pl.DataFrame:
    """Return estimates of the change of a metric, the only one compared, and its value in the reference."""
    note = (
        pl.when(pl.col("a").is_null())
        .then(pl.lit("undefined: no value in the reference"))
        .when(pl.col("b").is_null())
        .then(pl.lit("undefined: value only in the reference"))
    )
    change = differences_of(sides)
    keys, reference = [*keys_of(change), METRIC], pl.col("a").alias(REFERENCE)
    return _whole(_with_rows(change.select(*keys, *BOUNDS, EFFECTIVE_ROWS, reference, note=note), sides))


def of_measure(moved: Drift, measure: str) -> pl.DataFrame:
    """Return estimates of a measure of drift, without the bias of small samples."""
    found = moved.without_bias(measure).drop("of").rename({"measure": "metric"})
    return _whole(_with_rows(found, moved.metrics))


def _with_rows(frame: pl.DataFrame, sides: Comparison) -> pl.DataFrame:
    for report, name in ((sides.a, OTHER_ROWS), (sides.b, CURRENT_ROWS)):
        frame = with_row_count(frame, report.state, name)
    return frame.with_columns(pl.min_horizontal(CURRENT_ROWS, OTHER_ROWS).alias(ROWS))


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [pl.lit(None, pl.Float64).alias(c) for c in (*NUMBERS, REFERENCE) if c not in frame.columns]
    missing += [pl.lit(False).alias(FEW_OF_A_CLASS)] * (FEW_OF_A_CLASS not in frame.columns)
    return frame.with_columns(missing).cast(NUMBERS).select(pl.exclude(COLUMNS), *COLUMNS)

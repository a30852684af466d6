"""Estimates of rules with intervals, and their evidence for a breach."""

from __future__ import annotations

import numpy as np
import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.before_labels.expectation import expect
from streammetrics.before_labels.filled import METRICS as EXPECTED
from streammetrics.differences.drift import Drift, drift
from streammetrics.differences.evaluations import compare
from streammetrics.frame import LIMITS, hidden
from streammetrics.history.rules import Rule
from streammetrics.reading.looks import ROWS, TOTAL, widened, with_count, with_total
from streammetrics.report.report import Comparison, Report
from streammetrics.uncertainty.beta import Values
from streammetrics.uncertainty.distributions import normal_quantile
from streammetrics.uncertainty.evalues import log_e_value, log_e_value_of_share

OTHER_ROWS, REFERENCE = hidden("rows of the reference"), hidden("value of the reference")
BOUNDS = ("value", "lower", "upper", *LIMITS)
COLUMNS = (*BOUNDS, REFERENCE, "note", ROWS, TOTAL)
NUMBERS = pl.Schema(dict.fromkeys((*BOUNDS, ROWS, TOTAL), pl.Float64()))


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
        return _whole(with_count(frame, expected.scores.state, "rows", ROWS))
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
    found = with_count(report.frame, report.state, "rows", ROWS)
    if report.unit is None and (rule.alarm or rule.always):
        found = with_total(found, report.state, metric)
    found = _whole(found)
    return widened(found, metric.range, rule.confidence, rule.always, one_sided=True) if rule.always else found


def of_change(sides: Comparison) -> pl.DataFrame:
    """Return estimates of the change of a metric, the only one compared, and its value in the reference."""
    note = (
        pl.when(pl.col("a").is_null())
        .then(pl.lit("undefined: no value in the reference"))
        .when(pl.col("b").is_null())
        .then(pl.lit("undefined: value only in the reference"))
    )
    found = sides.frame.with_columns(note=note).drop("b", "better").rename({"difference": "value", "a": REFERENCE})
    return _whole(_with_rows(found, sides))


def of_measure(moved: Drift, measure: str) -> pl.DataFrame:
    """Return estimates of a measure of drift, without the bias of small samples."""
    found = moved.without_bias(measure).drop("of").rename({"measure": "metric"})
    return _whole(_with_rows(found, moved.metrics))


def log_e_values(rule: Rule, found: pl.DataFrame) -> tuple[Values, Values]:
    """Return the evidence that the limit is breached, and that it is not; NaN without a value.

    Evidence is computed from the less favorable certified bound. A window without a confidence interval adds no
    evidence, and resets it if its value is on the other side.
    """
    limit, high = rule.required.limit, rule.required.wants_high
    value, lower, upper, ci_lower, ci_upper, _, total = found.select(NUMBERS.names()).to_numpy().T
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


def _with_rows(frame: pl.DataFrame, sides: Comparison) -> pl.DataFrame:
    """The number of rows of each group on the smaller side."""
    for report, name in ((sides.a, OTHER_ROWS), (sides.b, ROWS)):
        frame = with_count(frame, report.state, "rows", name)
    return frame.with_columns(pl.min_horizontal(ROWS, OTHER_ROWS).alias(ROWS)).drop(OTHER_ROWS)


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with all columns."""
    missing = [pl.lit(None, pl.Float64).alias(c) for c in (*NUMBERS, REFERENCE) if c not in frame.columns]
    return frame.with_columns(missing).cast(NUMBERS).select(pl.exclude(COLUMNS), *COLUMNS)

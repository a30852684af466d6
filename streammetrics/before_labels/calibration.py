"""Estimates at the positive rates of a reference, with bounds if odds can differ, and the odds that labels show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp, inf, isnan, log, nan

from streammetrics.before_labels.bounds import Positives, bounds
from streammetrics.before_labels.estimates import Row, available, estimated
from streammetrics.before_labels.filled import METRICS, Wanted, is_readable, read, read_off
from streammetrics.before_labels.groups import Group, groups, labels_of
from streammetrics.before_labels.noise import standard_errors
from streammetrics.intervals.distributions import normal_quantile
from streammetrics.metrics import Metric
from streammetrics.report.report import Report
from streammetrics.rounding import SUM_ROUNDING

MOST_ODDS = 1e6  # the largest factor that the search tries
HALVINGS = 25  # steps of the bisection on the logarithm


def calibrated(
    scores: Report, reference: Report, metrics: Mapping[str, Metric], odds: float, level: float | None, *, strict: bool
) -> Iterator[Row]:
    """Yield the estimates of each group, with an upper ``level`` also their intervals."""
    why = _no_interval(scores, reference)
    for group, values in _expected(scores, reference, metrics, strict=strict):
        if group.undefined:
            yield from ((group, one, {"note": f"undefined: {group.undefined}"}) for one in values)
            continue
        errors = standard_errors(group, [*values]) if level and not why else {}
        positives = Positives.of(group, odds)
        for one, value in values.items():
            if isnan(value):
                yield group, one, {"note": "undefined: no predicted positives"}
                continue
            low, high = bounds(positives, *one)
            reach = normal_quantile(level) * errors.get(one, 0) if level else None
            ends = min(low, value), max(high, value)
            yield group, one, estimated(METRICS[one[0]], value, ends, reach, group.note, why or "too few rows")


def needed(labeled: Report, reference: Report, metrics: Mapping[str, Metric], *, strict: bool) -> Iterator[Row]:
    """Yield the values that labels show, the expected ones, and the smallest odds whose bounds contain the values."""
    labels_of(labeled.state, "The scores must have labels for needed_odds")
    shown = read_off(labeled.state, [m for m in metrics.values() if is_readable(m, labeled.state.statistics)])
    for number, (group, values) in enumerate(_expected(labeled, reference, metrics, strict=strict)):
        for one, estimate in values.items():
            value = float(shown[one][number]) if one in shown else nan
            found = {} if isnan(value) else {"value": value}
            if found and not group.undefined:
                found |= {"expected": estimate, "needed_odds": _needed_odds(group, one, value)}
            yield group, one, found


def _expected(
    scores: Report, reference: Report, metrics: Mapping[str, Metric], *, strict: bool
) -> Iterator[tuple[Group, dict[Wanted, float]]]:
    """The groups of a report with their reference and the available metrics at its rates, NaN if undefined."""
    for block in groups(reference.state, scores.state):
        wanted = available(metrics, block[0], strict=strict)
        values = read([(group.bins, (group.rows * group.rates)[None]) for group in block], wanted)
        for number, group in enumerate(block):
            yield group, {one: float(values[one][number]) for one in wanted}


def _no_interval(scores: Report, reference: Report) -> str | None:
    if scores.unit is not None or reference.unit is not None:
        return "the rows of a unit are correlated"
    weighted = scores.state.weighted or reference.state.weighted
    return "weights do not give the number of rows" if weighted else None


def _needed_odds(group: Group, one: Wanted, value: float) -> float:
    """Return the smallest odds whose bounds contain the observed value of a metric."""

    def suffices(odds: float) -> bool:
        low, high = bounds(Positives.of(group, odds), *one)
        return low - SUM_ROUNDING * abs(low) <= value <= high + SUM_ROUNDING * abs(high)

    if suffices(1.0):
        return 1.0
    if not suffices(MOST_ODDS):
        return inf
    too_small, enough = 0.0, log(MOST_ODDS)
    for _ in range(HALVINGS):
        middle = (too_small + enough) / 2
        too_small, enough = (too_small, middle) if suffices(exp(middle)) else (middle, enough)
    return exp(enough)

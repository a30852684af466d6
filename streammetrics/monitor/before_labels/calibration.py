"""Estimates at the positive rates of a reference, with bounds if odds can differ, and the odds that labels show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, inf, isnan, log, nan

import numpy as np

from streammetrics.base import STATUS, SUM_ROUNDING
from streammetrics.core import Floats
from streammetrics.metrics import Metric, normal_quantile
from streammetrics.monitor.before_labels.bounds import Positives, bounds
from streammetrics.monitor.before_labels.estimates import Row, available, estimated
from streammetrics.monitor.before_labels.filled import METRICS, Bins, Reading, bounded, is_readable, read
from streammetrics.monitor.before_labels.groups import Group, groups, labels_of
from streammetrics.monitor.before_labels.rates import cells, isotonic
from streammetrics.report import Report

MOST_ODDS = 1e6  # the largest factor that the search tries
HALVINGS = 25  # steps of the bisection on the logarithm
DRAWS = 200
PAIRS = 1 << 22  # maximum number of pairs of slices, over all draws, that are processed together


def calibrated(
    scores: Report, reference: Report, metrics: Mapping[str, Metric], odds: float, level: float | None, *, strict: bool
) -> Iterator[Row]:
    """Yield the estimates of each group, with an upper ``level`` also their intervals."""
    sides, why = (scores, reference), None
    if any(side.state.weighted for side in sides):
        why = "weighted_rows"
    if any(side.unit is not None for side in sides):
        why = "dependent_rows"
    for group, values in _expected(scores, reference, metrics, strict=strict):
        if group.undefined:
            yield from ((group, one, {STATUS: group.undefined}) for one in values)
            continue
        errors = standard_errors(group, [*values]) if level and not why else {}
        positives = Positives.within(group, odds)
        for one, value in values.items():
            if isnan(value):
                yield group, one, {STATUS: "no_predicted_positives"}
                continue
            low, high = bounds(positives, *one)
            reach = normal_quantile(level) * errors.get(one, 0) if level else None
            ends = min(low, value), max(high, value)
            yield group, one, estimated(METRICS[one[0]], value, ends, reach, group.note, why or "few_rows")


def needed(labeled: Report, reference: Report, metrics: Mapping[str, Metric], *, strict: bool) -> Iterator[Row]:
    """Yield the values that labels show, the expected ones, and the smallest odds whose bounds contain the values."""
    labels_of(labeled.state, "The scores must have labels for the needed odds")
    readable = [m for m in metrics.values() if is_readable(m, labeled.state.statistics)]
    observed = bounded(labeled.state, readable)
    for number, (group, values) in enumerate(_expected(labeled, reference, metrics, strict=strict)):
        for one, estimate in values.items():
            value = float(observed[one][number, 0]) if one in observed else nan
            numbers = {} if isnan(value) else {"value": value}
            if numbers and not group.undefined:
                numbers |= {"expected": estimate, "needed_odds": _needed_odds(group, one, value)}
            yield group, one, numbers


def _expected(
    scores: Report, reference: Report, metrics: Mapping[str, Metric], *, strict: bool
) -> Iterator[tuple[Group, dict[Reading, float]]]:
    """The groups of a report with their reference and the available metrics at its rates, NaN if undefined."""
    for block in groups(reference.state, scores.state):
        readings = available(metrics, block[0], strict=strict)
        values = read([(group.bins, (group.rows * group.rates)[None]) for group in block], readings)
        for number, group in enumerate(block):
            yield group, {one: float(values[one][number, 0]) for one in readings}


def _needed_odds(group: Group, one: Reading, value: float) -> float:
    """Return the smallest odds whose bounds contain the observed value of a metric."""

    def suffices(odds: float) -> bool:
        low, high = bounds(Positives.within(group, odds), *one)
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


def standard_errors(group: Group, readings: Sequence[Reading]) -> dict[Reading, float]:
    """The standard error of each metric, from draws with a fixed seed, NaN if it is undefined in most draws.

    A parametric bootstrap: each draw resamples the labels of the reference and the future labels with the fitted rates.
    The error is the metric of the future labels minus the metric expected with rates refitted to the reference. Rows
    are assumed to be independent.
    """
    bins, reference, rates = _slices(group)
    random = np.random.default_rng(0)
    labels = _draws(random, bins.rows, rates)
    labeled = np.flatnonzero(reference)
    size = reference[labeled]
    positives = _draws(random, size, rates[labeled])
    refitted = np.stack([np.interp(np.arange(rates.size), labeled, r) for r in _refitted(size, positives)])
    values = read([(bins, labels), (bins, bins.rows * refitted)], readings)
    errors = {}
    for one in readings:
        error = values[one][:DRAWS, 0] - values[one][DRAWS:, 0]
        defined = error[np.isfinite(error)]
        errors[one] = float(defined.std()) if defined.size > DRAWS / 2 else np.nan
    return errors


def _refitted(size: Floats, positives: Floats) -> Iterator[Floats]:
    """Isotonic rates of each draw, computed for a few draws at a time because memory grows with pairs of slices."""
    for part in np.array_split(positives, min(DRAWS, DRAWS * size.size**2 // PAIRS + 1)):
        yield from isotonic(size - part, part)


def _slices(group: Group) -> tuple[Bins, Floats, Floats]:
    """A group in few bins, with their rows in the reference and their rates.

    These bins are the cells of the isotonic regression, cut at the thresholds.
    """
    reference = group.labeled
    occupied = np.flatnonzero(reference)
    cell = np.floor(np.interp(np.arange(group.rows.size), occupied, cells(group.neg[occupied], group.pos[occupied])))
    sides = [cell, *(np.ceil(above) for above in group.bins.above.values())]
    starts = np.flatnonzero(np.any([np.diff(side, prepend=-1) for side in sides], axis=0))

    def total(values: Floats) -> Floats:
        sums: Floats = np.add.reduceat(values, starts, axis=-1)
        return sums

    def mean(values: Floats, rows: Floats) -> Floats:
        return total(values * rows) / np.where(total(rows) > 0, total(rows), 1)

    above = {at: mean(share, group.rows) for at, share in group.bins.above.items()}
    losses = {metric: mean(loss, group.rows) for metric, loss in group.bins.losses.items()}
    return Bins(total(group.rows), above, losses), total(reference), mean(group.rates, group.rows + reference)


def _draws(random: np.random.Generator, rows: Floats, rates: Floats) -> Floats:
    return random.binomial(rows.astype(np.int64), rates, (DRAWS, rows.size)).astype(np.float64)

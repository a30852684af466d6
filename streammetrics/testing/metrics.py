"""Checks of a metric: its names, range, preferred direction, bounds, and interval."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from math import inf
from typing import Any

import numpy as np
import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.core.moments import FAMILIES
from streammetrics.errors import SpecificationError
from streammetrics.metrics import Metric, find_metric
from streammetrics.report.estimate import Estimate
from streammetrics.rounding import SUM_ROUNDING
from streammetrics.rows.roles import Roles
from streammetrics.statistics import STATISTICS, ErrorMoments, Statistic
from streammetrics.statistics.cases import order_cases
from streammetrics.testing.check import Check, require
from streammetrics.testing.rankings import all_rankings, random_bins, table_of
from streammetrics.testing.rows import MakeRows, rows_of, task_of

SIZES = (0, 1, 2, 3, 10, 200)
SEEDS = 5
HISTOGRAMS = 25
COARSE, FINE = 8, 100_000  # capacities of a histogram
CONFIDENCE = 0.9

Improve = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class Case:
    """A metric, a statistic that has its columns, and rows for that."""

    metric: Metric
    statistic: Statistic
    make_rows: MakeRows | None
    improve: Improve | None

    @cached_property
    def acc(self) -> Accumulator:
        """An accumulator of the statistic."""
        return task_of(self.statistic)

    def rows(self, size: int, seed: int = 0) -> pl.DataFrame:
        """Return this many rows."""
        return (self.make_rows or rows_of(self.acc))(size, np.random.default_rng(seed))

    def estimates(self, data: pl.DataFrame, statistic: Statistic | None = None, **options: Any) -> list[Estimate]:
        """Return the metric of rows, for each label and threshold."""
        acc = self.acc if statistic is None else task_of(statistic)
        frame = acc.empty().update(data).finalize([self.metric], **options).frame
        names = [field.name for field in fields(Estimate)]
        return [Estimate(**row) for row in frame.select(c for c in names if c in frame.columns).iter_rows(named=True)]


def of_metric(
    metric: Metric, statistic: Statistic | None, rows: MakeRows | None, improve: Improve | None
) -> Iterator[Check]:
    """Return the checks of a metric."""
    case = Case(metric, statistic or statistic_of(metric), rows, improve)
    yield from (Check(law.__name__.replace("_", " "), partial(law, case)) for law in LAWS)


def statistic_of(metric: Metric) -> Statistic:
    """Return the first statistic with the columns of a metric."""
    kept: list[Statistic] = [kind() for kind in STATISTICS.values()]
    for statistic in (*kept, ErrorMoments(tuple(FAMILIES))):
        if any(metric.with_average(None).readable(view.columns) for view in statistic.views()):
            return statistic
    raise SpecificationError(f"Pass statistic=, a statistic with the columns {', '.join(metric.columns)}.")


def it_is_found_by_its_names(case: Case) -> None:
    """By name, by alias, and after pickling. It has a docstring."""
    metric = case.metric
    for name in (metric.name, *metric.aliases):
        found = find_metric(name, {*metric.columns, "label"})
        require(found.columns == metric.columns, f"{name!r} is another metric")
    require(pickle.loads(pickle.dumps(metric)) == metric, "a pickled metric is loaded as another one")
    require(bool(metric.summary), "it has no docstring")
    require(metric.range[0] < metric.range[1], f"its range is empty: {metric.range}")


def values_lie_within_bounds_and_range(case: Case) -> None:
    """Also for no rows and for few rows: a value is null or a number, and 0/0 is null."""
    low, high = case.metric.range
    for size in SIZES:
        for found in case.estimates(case.rows(size)):
            value, lower, upper = found.value, found.lower, found.upper
            if value is None or lower is None or upper is None:
                require(value is lower is upper, f"of {size} rows: {found}")
                continue
            require(lower <= value <= upper, f"the value is not within its bounds, of {size} rows: {found}")
            within = low - SUM_ROUNDING * abs(low) <= value <= high + SUM_ROUNDING * abs(high)
            require(within, f"{value} is not within ({low}, {high}), of {size} rows")


def without_rows_a_mean_is_null(case: Case) -> None:
    """Only counts and sums are 0 without rows."""
    data = case.rows(200)
    once, twice, none = (case.estimates(rows) for rows in (data, pl.concat([data, data]), data[:0]))
    grows = all(a.value is not None and _near(2 * a.value, b.value) for a, b in zip(once, twice, strict=True))
    for found in none:
        require(found.value is None or grows, f"got {found.value} without rows instead of null for 0/0")


def the_better_end_is_the_better_one(case: Case) -> None:
    """Perfect predictions have at least as good a value as others, and a better one than some."""
    improve = case.improve or _right(case.acc.roles)
    if case.metric.better is None or improve is None:
        return
    sign = 1 if case.metric.better == "high" else -1
    for seed in range(SEEDS):
        data = case.rows(200, seed)
        for best, other in zip(case.estimates(improve(data)), case.estimates(data), strict=True):
            if best.value is not None and other.value is not None:
                change = sign * (best.value - other.value)
                said = f"better={case.metric.better!r}, but {best.value} if perfect, {other.value} if not"
                require(change >= -SUM_ROUNDING * max(1.0, abs(best.value)), said)


def bounds_hold_whatever_bins_hide(case: Case) -> None:
    """Bounds of coarse bins contain the value of fine bins; for scores, the values of all orders of a few rows."""
    if hasattr(case.statistic, "capacity"):
        coarse, fine = (replace(case.statistic, capacity=capacity) for capacity in (COARSE, FINE))  # type: ignore[call-arg]
        for seed in range(SEEDS):
            data = case.rows(200, seed)
            for found, truth in zip(case.estimates(data, coarse), case.estimates(data, fine), strict=True):
                _require_held(truth.value, found.lower, found.upper)
    if {"neg", "pos"} == {*case.metric.columns}:
        for seed in range(HISTOGRAMS):
            _require_all_orders_held(case.metric, seed)


def it_has_an_interval_or_says_why_not(case: Case) -> None:
    """With a confidence level, each value has an interval within the range of the metric, or a note."""
    low, high = case.metric.range
    for found in case.estimates(case.rows(200), confidence=CONFIDENCE):
        lower, upper = found.ci_lower, found.ci_upper
        if lower is None or upper is None:
            require(found.value is None or bool(found.note), "it has neither an interval nor a note with the reason")
        else:
            require(low <= lower <= upper <= high, f"the interval ({lower}, {upper}) is not within ({low}, {high})")


LAWS: tuple[Callable[[Case], None], ...] = (
    it_is_found_by_its_names,
    values_lie_within_bounds_and_range,
    without_rows_a_mean_is_null,
    the_better_end_is_the_better_one,
    bounds_hold_whatever_bins_hide,
    it_has_an_interval_or_says_why_not,
)


def promised(metric: Metric, bins: pl.DataFrame, weighted: bool = False) -> tuple[float | None, float | None]:
    """The bounds of a ranking metric from a histogram: its own, or the extremes of its cases."""
    cases = list(order_cases(bins, weighted).values())
    if (own := metric.bounds_expressions()) is not None:
        lower, upper = cases[0].select(lower=own[0], upper=own[1]).row(0)
        return lower, upper
    values = [case.select(metric.expression()).item() for case in cases]
    return (None, None) if None in values else (min(values), max(values))


def _require_all_orders_held(metric: Metric, seed: int) -> None:
    bins = random_bins(seed)
    lower, upper = promised(metric, table_of(bins))
    truth = all_rankings(bins).group_by("ranking").agg(value=metric.expression())["value"]
    for value in (truth.min(), truth.max()):
        _require_held(value, lower, upper)  # type: ignore[arg-type]


def _require_held(value: float | None, lower: float | None, upper: float | None) -> None:
    if value is not None:
        require(lower is not None and upper is not None, f"{value} is possible, but the metric is null")
        slack = SUM_ROUNDING * max(1.0, abs(value)) if abs(value) < inf else 0.0
        held = (lower or 0.0) - slack <= value <= (upper or 0.0) + slack
        require(held, f"{value} is possible, but not within ({lower}, {upper})")


def _near(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= SUM_ROUNDING * max(1.0, abs(one))


def _right(roles: Roles) -> Improve | None:
    """Make the predictions and scores of rows perfect; None without predictions or true values."""
    truth = roles.y_true
    if not truth or not (roles.y_pred or roles.y_score):
        return None
    made: list[pl.Expr] = []
    for columns, dtype in ((roles.y_score, pl.Float64()), (roles.y_pred, None)):
        for names in columns.values():
            each = len(names) == len(truth)  # a column of true values per label, or one for all
            right = [pl.col(c) for c in truth] if each else [pl.col(truth[0]) == label for label in roles.labels]
            made += [(e.cast(dtype) if dtype else e).alias(name) for e, name in zip(right, names, strict=True)]
    return lambda rows: rows.with_columns(made)

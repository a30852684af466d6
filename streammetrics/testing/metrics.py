"""Checks of metrics: their names, range, preferred direction, bounds, and interval."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, product
from math import inf, prod
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from streammetrics.accumulator import Accumulator
from streammetrics.base import SUM_ROUNDING
from streammetrics.core import FAMILIES
from streammetrics.data import Roles
from streammetrics.errors import Argument, SpecificationError
from streammetrics.metrics import Metric, find_metric
from streammetrics.report import Estimate
from streammetrics.statistics import STATISTICS, ErrorMoments, Statistic, order_cases
from streammetrics.testing.check import Check, checks_of, require
from streammetrics.testing.rows import MakeRows, rows_of, task_of

SIZES = (0, 1, 2, 3, 10, 200)
SEEDS = 3
HISTOGRAMS = 10
COARSE, FINE = 8, 100_000  # capacities of a histogram
CONFIDENCE = 0.9

Improve = Callable[[pl.DataFrame], pl.DataFrame]
Bin: TypeAlias = tuple[int, int, int]  # shift, and numbers of negatives and positives
Ties: TypeAlias = tuple[tuple[int, int], ...]  # negatives and positives of equal scores, ascending
COARSE_SHIFT = 9  # a shift at which bins hide the order of their rows


@dataclass(frozen=True)
class Case:
    """Metrics, a statistic that has their columns, and rows for that."""

    metrics: Sequence[Metric]
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

    def estimates(
        self, data: pl.DataFrame, statistic: Statistic | None = None, **options: Any
    ) -> list[tuple[Metric, Estimate]]:
        """Return each metric of rows, with its estimates for each label and threshold."""
        acc = self.acc if statistic is None else task_of(statistic)
        frame = acc.empty().update(data).finalize(self.metrics, **options).frame
        names, named = [field.name for field in fields(Estimate)], {str(metric): metric for metric in self.metrics}
        return [
            (named[row["metric"]], Estimate(**{name: row[name] for name in names if name in row}))
            for row in frame.iter_rows(named=True)
        ]


def metric_checks(
    metric: Metric, statistic: Statistic | None, rows: MakeRows | None, improve: Improve | None
) -> Iterator[Check]:
    """Return the checks of a metric."""
    return checks_of_metrics([metric], statistic or statistic_of(metric), rows, improve)


def checks_of_metrics(
    metrics: Sequence[Metric], statistic: Statistic, rows: MakeRows | None = None, improve: Improve | None = None
) -> Iterator[Check]:
    """Return the checks of metrics of the same statistic, which share its states."""
    case = Case(metrics, statistic, rows, improve)
    yield from checks_of(LAWS, case)


def statistic_of(metric: Metric) -> Statistic:
    """Return the first statistic with the columns of a metric."""
    statistics: list[Statistic] = [kind() for kind in STATISTICS.values()]
    for statistic in (*statistics, ErrorMoments(tuple(FAMILIES))):
        if any(metric.with_average(None).readable(view.columns) for view in statistic.views()):
            return statistic
    raise SpecificationError(
        "Pass ", Argument("statistic"), f", a statistic with the columns {', '.join(metric.columns)}."
    )


def it_is_found_by_its_names(case: Case) -> None:
    """By name, by alias, and after pickling. It has a docstring."""
    for metric in case.metrics:
        for name in (metric.name, *metric.aliases):
            named = find_metric(name, {*metric.columns, "label"})
            require(named.columns == metric.columns, f"{name!r} is another metric")
        require(pickle.loads(pickle.dumps(metric)) == metric, f"a pickled {metric} is loaded as another metric")
        require(bool(metric.summary), f"{metric} has no docstring")
        require(metric.range[0] < metric.range[1], f"the range of {metric} is empty: {metric.range}")


def values_lie_within_bounds_and_range(case: Case) -> None:
    """Also for no rows and for few rows: a value is null or a number, and 0/0 is null."""
    for size in SIZES:
        for metric, estimate in case.estimates(case.rows(size)):
            value, lower, upper = estimate.value, estimate.lower, estimate.upper
            if value is None or lower is None or upper is None:
                require(value is lower is upper, f"{metric} of {size} rows: {estimate}")
                continue
            require(lower <= value <= upper, f"{metric} of {size} rows is not within its bounds: {estimate}")
            low, high = metric.range
            within = low - SUM_ROUNDING * abs(low) <= value <= high + SUM_ROUNDING * abs(high)
            require(within, f"{metric} of {size} rows is {value}, not within ({low}, {high})")


def without_rows_a_mean_is_null(case: Case) -> None:
    """Only counts and sums are 0 without rows."""
    data = case.rows(200)
    once, twice = case.estimates(data), case.estimates(pl.concat([data, data]))
    pairs = [(metric, a.value, b.value) for (metric, a), (_, b) in zip(once, twice, strict=True)]
    means = {m for m, a, b in pairs if a is None or b is None or abs(2 * a - b) > SUM_ROUNDING * max(1.0, abs(2 * a))}
    for metric, estimate in case.estimates(data[:0]):
        broken = f"{metric} is {estimate.value} without rows instead of null for 0/0"
        require(estimate.value is None or metric not in means, broken)


def the_better_end_is_the_better_one(case: Case) -> None:
    """Perfect predictions have at least as good a value as others."""
    improve = case.improve or _right(case.acc.roles)
    if improve is None:
        return
    for seed in range(SEEDS):
        data = case.rows(200, seed)
        perfect, plain = case.estimates(improve(data)), case.estimates(data)
        for (metric, best), (_, other) in zip(perfect, plain, strict=True):
            if metric.better is not None and best.value is not None and other.value is not None:
                change = (1 if metric.better == "high" else -1) * (best.value - other.value)
                broken = f"{metric} has better={metric.better!r}, but is {best.value} if perfect, {other.value} if not"
                require(change >= -SUM_ROUNDING * max(1.0, min(abs(best.value), abs(other.value))), broken)


def bounds_hold_whatever_bins_hide(case: Case) -> None:
    """Bounds of coarse bins contain the value of fine bins; for scores, the values of all orders of a few rows."""
    if hasattr(case.statistic, "capacity"):
        coarse, fine = (replace(case.statistic, capacity=capacity) for capacity in (COARSE, FINE))  # type: ignore[call-arg]
        for seed in range(SEEDS):
            data = case.rows(200, seed)
            for (metric, bounded), (_, exact) in zip(
                case.estimates(data, coarse), case.estimates(data, fine), strict=True
            ):
                _require_within(metric, exact.value, bounded.lower, bounded.upper)
    rankings = [metric for metric in case.metrics if {*metric.columns} == {"neg", "pos"}]
    for seed in range(HISTOGRAMS if rankings else 0):
        _require_bounds_of_all_orders(rankings, seed)


def it_has_an_interval_or_says_why_not(case: Case) -> None:
    """With a confidence level, each value has an interval within the range of the metric, or a note."""
    for metric, estimate in case.estimates(case.rows(200), confidence=CONFIDENCE):
        (low, high), lower, upper = metric.range, estimate.ci_lower, estimate.ci_upper
        if lower is None or upper is None:
            require(estimate.value is None or bool(estimate.note), f"{metric} has neither an interval nor a note")
        else:
            within = low <= lower <= upper <= high
            require(within, f"the interval of {metric}, ({lower}, {upper}), is not within ({low}, {high})")


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
    if (bounds := metric.bounds_expressions()) is not None:
        lower, upper = cases[0].select(lower=bounds[0], upper=bounds[1]).row(0)
        return lower, upper
    values = [case.select(metric.expression()).item() for case in cases]
    return (None, None) if None in values else (min(values), max(values))


def _require_bounds_of_all_orders(metrics: Sequence[Metric], seed: int) -> None:
    bins = random_bins(seed)
    truth = all_rankings(bins).group_by("ranking").agg(metric.expression().alias(str(metric)) for metric in metrics)
    for metric in metrics:
        for value in (truth[str(metric)].min(), truth[str(metric)].max()):
            _require_within(metric, value, *promised(metric, table_of(bins)))  # type: ignore[arg-type]


def _require_within(metric: Metric, value: float | None, lower: float | None, upper: float | None) -> None:
    if value is not None:
        require(lower is not None and upper is not None, f"{metric} can be {value}, but is null")
        slack = SUM_ROUNDING * max(1.0, abs(value)) if abs(value) < inf else 0.0
        within = (lower or 0.0) - slack <= value <= (upper or 0.0) + slack
        require(within, f"{metric} can be {value}, but its bounds are ({lower}, {upper})")


def _right(roles: Roles) -> Improve | None:
    """Make the predictions and scores of rows perfect; None without predictions or true values."""
    truth = roles.y_true
    if not truth or not (roles.y_pred or roles.y_score):
        return None
    perfect: list[pl.Expr] = []
    for columns, dtype in ((roles.y_score, pl.Float64()), (roles.y_pred, None)):
        for names in columns.values():
            each = len(names) == len(truth)  # a column of true values per label, or one for all
            right = [pl.col(c) for c in truth] if each else [pl.col(truth[0]) == label for label in roles.labels]
            perfect += [(e.cast(dtype) if dtype else e).alias(name) for e, name in zip(right, names, strict=True)]
    return lambda rows: rows.with_columns(perfect)


def random_bins(seed: int, most: int = 400) -> list[Bin]:
    """Return a few bins, exact and coarse, with few enough orders to try all of them."""
    random = np.random.default_rng(seed)
    while True:
        shifts = random.choice([0, COARSE_SHIFT], random.integers(1, 5))
        bins = [(shift, *random.integers(0, 4, 2).tolist()) for shift in shifts.tolist()]
        if 1 < prod(len(_rankings_of(*bin)) for bin in bins) <= most:
            return bins


def table_of(bins: list[Bin]) -> pl.DataFrame:
    """Return the table of a score histogram."""
    return pl.DataFrame(bins, schema={"shift": pl.UInt8, "neg": pl.Float64, "pos": pl.Float64}, orient="row")


def all_rankings(bins: list[Bin]) -> pl.DataFrame:
    """Return all rankings that bins can represent, as exact tables with the column ``ranking``.

    >>> all_rankings([(9, 1, 1)]).rows()
    [(0, 0.0, 1.0), (0, 1.0, 0.0), (1, 1.0, 0.0), (1, 0.0, 1.0), (2, 1.0, 1.0)]
    """
    rows = [
        (number, *tie)
        for number, ranking in enumerate(product(*(_rankings_of(*bin) for bin in bins)))
        for tie in chain.from_iterable(ranking)
    ]
    return pl.DataFrame(rows, schema={"ranking": pl.UInt32, "neg": pl.Float64, "pos": pl.Float64}, orient="row")


def _rankings_of(shift: int, neg: int, pos: int) -> list[Ties]:
    return list(_orders(neg, pos)) if shift else [((neg, pos),)]


def _orders(neg: int, pos: int) -> Iterator[Ties]:
    """All sequences of ties of this many rows of each class, ascending."""
    if neg == pos == 0:
        yield ()
    for tie in product(range(neg + 1), range(pos + 1)):
        if tie != (0, 0):
            yield from ((tie, *others) for others in _orders(neg - tie[0], pos - tie[1]))

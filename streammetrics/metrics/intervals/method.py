"""What a method for confidence intervals is, what it needs of a metric, and the rows that it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
from polars import Expr

from streammetrics.base import LIMITS, by_group
from streammetrics.metrics.intervals.limits import Interval

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

GROUP, COUNT = "group", pl.col("count")
FEWEST = 20  # minimum number of rows of each class

Read: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class Sample:
    """Independent rows, as a table of their counts, sums, or bins.

    Args:
        table: The table. Weights are scaled so that their sum equals the sum of their squares in each group.
        index: The columns that identify an estimate: the number of the group and the kept keys.
        groups: The numbers of all groups, in order.
        folds: Whether metrics aggregate the rows of the table, or are computed in every row.
        weighted: Whether rows have weights.
        squares: For each column with weights, the column of the same sum with squared weights.
        pairs: The rows by pairs of labels, if the table was derived from them.
        readers: Returns a function that computes metrics, by name, of each group of tables like this one.
    """

    table: pl.DataFrame
    index: Sequence[str]
    groups: pl.DataFrame
    folds: bool
    weighted: bool
    squares: Mapping[str, str]
    readers: Callable[[Sequence[Any]], Read]
    pairs: Sample | None = None

    @cached_property
    def floats(self) -> pl.DataFrame:
        """The table with its numbers as Float64, so that no product overflows."""
        return self.table.with_columns(pl.exclude(self.index).cast(pl.Float64))


class Method:
    """How the interval of a metric is computed: the value of ``@metric(interval=...)``.

    This class itself has no formula. Its attributes say why a metric has no interval, and what else depends on the
    method.
    """

    reason = ""  # why the metric never has an interval
    without_units = ""  # why it has one only if rows belong to units
    without_folds = ""  # why the jackknife over units is not valid
    of_folds = False  # whether folds of units give an interval without it
    fewest: int | None = None  # minimum number of rows of each class; None for that of the influence
    share = ""  # option with the share of the negatives on which the metric depends
    of_auc = False  # whether the metric is a linear function of the ROC AUC
    total = ""  # column of totals if the mean over labels is a mean of proportions of different rows

    @property
    def jackknifed(self) -> bool:
        """Whether the jackknife over folds of units is valid."""
        return not (self.reason or self.without_folds)

    def serving(self, metric: Metric, *, weighted: bool) -> Method | None:
        """The method for rows with or without weights; None to compute the influence of a row on the columns."""
        return None

    def rows_of(self, metric: Metric) -> Expr | None:
        """The number of rows that the metric is a proportion of, over its columns. None if it is not one."""
        return None

    def fewest_of(self, metric: Metric) -> int:
        """Minimum number of rows of each class for an interval."""
        return FEWEST

    def limits(self, sample: Sample, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
        """Return the index of the sample, metric, and limits. Not all estimates need to occur."""
        raise NotImplementedError


@dataclass(frozen=True)
class Without(Method):
    """No interval, for a reason that the report shows."""

    reason: str = ""


@dataclass(frozen=True)
class OfUnits(Method):
    """An interval only if rows belong to units, for a reason that the report shows."""

    without_units: str = ""


class Closed(Method):
    """An interval whose limits are expressions over the table."""

    of_weights = False  # whether it is also valid for weighted rows

    def serving(self, metric: Metric, *, weighted: bool) -> Method | None:
        """This method, also for weighted rows if it is valid for them."""
        return self if self.of_weights or not weighted else None

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """The limits, as expressions over the rows of an estimate."""
        raise NotImplementedError

    def limits(self, sample: Sample, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
        """Return limits of metrics with closed methods, each by its own, in one query."""
        return closed_limits(sample, dict.fromkeys(metrics, self), confidence)


def closed_limits(sample: Sample, ways: Mapping[Metric, Closed], confidence: float) -> pl.DataFrame:
    """Limits of metrics, each by its method, in one query for all of them."""
    ends = {
        f"{side} of {m.name}": end
        for m, way in ways.items()
        for side, end in zip(LIMITS, way.ends(m, confidence, weighted=sample.weighted), strict=True)
    }
    found = by_group(sample.floats, sample.index, ends, sample.groups if sample.folds else None)
    return pl.concat(
        found.select(*sample.index, metric=pl.lit(m.name), **{side: pl.col(f"{side} of {m.name}") for side in LIMITS})
        for m in ways
    )

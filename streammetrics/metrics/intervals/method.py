"""What a method for confidence intervals is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.core import Floats
from streammetrics.metrics.intervals.limits import Limits

if TYPE_CHECKING:
    from streammetrics.metrics.intervals.influence import Influence
    from streammetrics.metrics.intervals.sample import Sample
    from streammetrics.metrics.metric import Metric

GROUP, COUNT = "group", pl.col("count")
FEWEST = 20  # minimum number of rows of each class

Read: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]


class Method:
    """How the interval of a metric is computed: the value of ``@metric(interval=...)``.

    By default, it is the influence of a row on the table that the metric reads.
    """

    reason_of_rows = ""  # why independent rows have no interval
    reason_of_units = ""  # why folds of units have none, from the values without each of them
    is_total = is_count = False  # a sum over the rows, or a number of them, on which verdicts need no interval
    share = ""  # option of the metric with the share of the negatives on which it depends
    total = ""  # column of totals if the metric of a label is a proportion, of which labels have different rows

    @property
    def reason(self) -> str:
        """Why the metric never has an interval."""
        return self.reason_of_rows if self.reason_of_rows == self.reason_of_units else ""

    def influence(self, metric: Metric, influences: Sequence[Influence]) -> Influence | None:
        """The influence of a row on a metric of a table with these influences; None if there is none."""
        return next((influence for influence in influences if influence.fits(metric)), None)

    def serving(self, metric: Metric, sample: Sample) -> Method | None:
        """The method for these rows, which can have weights; None if there is none."""
        influence = self.influence(metric, sample.influences)
        return influence.with_squares(sample.squares or {}) if influence and sample.weighted else influence

    def rows_of(self, metric: Metric) -> Expr | None:
        """The number of rows that the metric is a proportion of, over its columns. None if it is not one."""
        return None

    @property
    def mixes_classes(self) -> bool:
        """Whether a metric of scores depends on rows of both classes together, so that heavy rows of one can carry it.

        Areas under the ROC curve and recall at a false positive rate count each class by itself.
        """
        return not self.share

    def share_of_negatives(self, metric: Metric) -> float:
        """Share of the negatives on which a metric depends."""
        return float(metric.options[self.share] or 0) if self.share else 1.0

    def fewest_of(self, metric: Metric) -> int:
        """Minimum number of rows of each class for an interval."""
        return FEWEST

    def limits(self, sample: Sample, methods: Mapping[Metric, Any], confidence: float) -> Floats:
        """Return limits of metrics with equal methods, and the effective rows and the variance behind them.

        The shape is (4, estimates of the sample, metrics), or (2, ...) without the latter. NaN without an interval.
        """
        raise NotImplementedError


class Without(Method):
    """No interval, for a reason that the report shows; of rows alone if folds of units have one."""

    def __init__(self, reason: str, *, of_units: bool = True) -> None:
        self.reason_of_rows = reason
        self.reason_of_units: str = reason if of_units else ""

    def influence(self, metric: Metric, influences: Sequence[Influence]) -> None:
        """None."""


class Total(Without):
    """No interval of a count or a sum over the rows."""

    is_total = True

    def __init__(self, reason: str, *, is_count: bool = False) -> None:
        super().__init__(reason)
        self.is_count = is_count


class Closed(Method):
    """An interval whose limits follow from a few sums of the table."""

    takes_weights = False  # whether it is also valid for weighted rows

    def serving(self, metric: Metric, sample: Sample) -> Method | None:
        """This method if it is valid for the rows, else the influence of a row."""
        return self if self.takes_weights or not sample.weighted else super().serving(metric, sample)

    def sums(self, metric: Metric, confidence: float, weighted: bool) -> Sequence[Expr]:
        """The numbers that limits are computed from, as expressions over the rows of an estimate."""
        raise NotImplementedError

    def ends(self, metric: Metric, confidence: float, sums: Sequence[Floats]) -> Limits:
        """The limits from these numbers."""
        raise NotImplementedError


def reader(metrics: Sequence[Metric], *, by_group: bool) -> Read:
    """Return a function that computes metrics of each group of some tables, or of each row."""
    expressions = {m.name: m.expression() for m in metrics}
    if not by_group:
        return lambda tables: tables.select(**expressions)
    return lambda tables: tables.group_by(GROUP, maintain_order=True).agg(**expressions)


def runs_of(table: pl.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first row and the number of rows of each group of a table, whose rows are adjacent."""
    starts = np.flatnonzero(np.diff(table[GROUP].to_numpy().astype(np.intp), prepend=-1))
    return starts, np.diff(starts, append=table.height)

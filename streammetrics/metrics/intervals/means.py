"""Confidence intervals of means, from sums and sums of squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from polars import Expr

from streammetrics.core import Floats
from streammetrics.metrics.intervals.distributions import normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import Limits, limits
from streammetrics.metrics.intervals.method import Closed
from streammetrics.metrics.intervals.proportions import Share

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

LEAST_VARIANCE = 1e-12  # as a share of the mean square; less comes from rounding


class Mean(Closed):
    """A mean, from its value and its standard error."""

    def ends(self, metric: Metric, confidence: float, sums: Sequence[Floats]) -> Limits:
        """Normal limits within the range of the metric, NaN for equal values."""
        value, error = sums
        return limits(value, error, normal_quantile(upper_level(confidence)), metric.range)


@dataclass(frozen=True, eq=False)
class MeanOfBins(Mean):
    """The mean of a value that is the same for all rows of a bin."""

    value: Callable[[Metric], Expr]

    def sums(self, metric: Metric, confidence: float, weighted: bool) -> Sequence[Expr]:
        """The mean and its error, null for fewer than two rows and for equal values."""
        each, count = self.value(metric), pl.col("count")
        rows, square = count.sum(), (each**2 * count).sum() / count.sum()
        mean = (each * count).sum() / rows
        variance = square - mean**2
        return mean, pl.when(variance > LEAST_VARIANCE * square).then((variance / (rows - 1)).sqrt())


@dataclass(frozen=True)
class MeanOfMoments(Mean):
    """The mean of the true values or predictions, from stored moments. ``side`` is ``actual`` or ``predicted``."""

    side: str
    takes_weights = True

    def sums(self, metric: Metric, confidence: float, weighted: bool) -> Sequence[Expr]:
        """The mean and its error."""
        weight, middle, spread = pl.col("weight"), pl.col(f"{self.side}_mean"), pl.col(f"{self.side}_m2")
        if weighted:  # moments with squared weights are about another mean
            apart = pl.col(f"{self.side}_mean_w2") - middle
            spread = pl.col(f"{self.side}_m2_w2") + pl.col("weight_w2") * apart**2
        return middle, (spread / weight / (weight - 1)).sqrt()


@dataclass(frozen=True)
class MeanOfShares(Mean):
    """The mean over rows of a share of parts, from a sum and a sum of squares. All rows must have as many parts."""

    total_sum: str
    square_sum: str
    parts: str
    rows: str
    takes_weights = True

    def sums(self, metric: Metric, confidence: float, weighted: bool) -> Sequence[Expr]:
        """The mean and its error."""
        end = "_w2" if weighted else ""
        weight, each = pl.col(self.rows), pl.col(self.parts) / pl.col(self.rows)
        middle = pl.col(self.total_sum) / pl.col(self.parts)
        square = pl.col(self.square_sum + end) / each**2
        spread = square - 2 * middle * pl.col(self.total_sum + end) / each + middle**2 * pl.col(self.rows + end)
        return middle, pl.when(spread > LEAST_VARIANCE * square).then((spread / weight / (weight - 1)).sqrt())


class ShareOfSets(Share, MeanOfShares):
    """A proportion of rows, from a table of sums over rows; the mean of weighted rows."""

    def counts(self, metric: Metric) -> tuple[Expr, Expr]:
        """The sum and the rows."""
        return pl.col(self.total_sum), pl.col(self.rows)

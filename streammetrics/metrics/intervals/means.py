"""Confidence intervals of means, from sums and sums of squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from polars import Expr

from streammetrics.metrics.intervals.distributions import normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import EVERYWHERE, Interval, Range, limits
from streammetrics.metrics.intervals.method import Closed
from streammetrics.metrics.intervals.proportions import wilson_interval

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

LEAST_VARIANCE = 1e-12  # as a share of the mean square; less comes from rounding


def mean_interval(
    total: Expr,
    square_total: Expr,
    weight: Expr,
    confidence: float = 0.95,
    range: Range = EVERYWHERE,
) -> Interval:
    """Return the normal interval of a mean, on a scale that keeps it within the range of the loss (see `limits`).

    ``weight`` is the number of rows. Limits are null for fewer than two rows, and if all losses are equal up to
    rounding errors of the sums.

    >>> losses = pl.DataFrame({"loss": [1.0, 2.0, 3.0]})
    >>> mean = mean_interval(pl.col("loss").sum(), (pl.col("loss") ** 2).sum(), pl.len())
    >>> losses.select(x.round(4) for x in mean).row(0)
    (0.8684, 3.1316)
    >>> losses[:1].select(mean).row(0)
    (None, None)
    """
    error = _error(total, square_total, weight)
    return limits(total / weight, error, normal_quantile(upper_level(confidence)), range)


def _error(total: Expr, square_total: Expr, weight: Expr) -> Expr:
    """Standard error of a mean; null if the variance is smaller than rounding errors."""
    square = square_total / weight
    variance = square - (total / weight) ** 2
    return pl.when(variance > LEAST_VARIANCE * square).then((variance / (weight - 1)).sqrt())


@dataclass(frozen=True, eq=False)
class MeanOfBins(Closed):
    """The mean of a value that is the same for all rows of a bin."""

    value: Callable[[Metric], Expr]

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """Normal limits within the range of the metric."""
        each, count = self.value(metric), pl.col("count")
        return mean_interval((each * count).sum(), (each**2 * count).sum(), count.sum(), confidence, metric.range)


@dataclass(frozen=True)
class MeanOfMoments(Closed):
    """The mean of the true values or predictions, from stored moments. ``side`` is ``actual`` or ``predicted``."""

    side: str
    of_weights = True

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """Normal limits."""
        weight, middle, spread = pl.col("weight"), pl.col(f"{self.side}_mean"), pl.col(f"{self.side}_m2")
        if weighted:  # moments with squared weights are about another mean
            apart = pl.col(f"{self.side}_mean_w2") - middle
            spread = pl.col(f"{self.side}_m2_w2") + pl.col("weight_w2") * apart**2
        error = (spread / weight / (weight - 1)).sqrt()
        return limits(middle, error, normal_quantile(upper_level(confidence)))


@dataclass(frozen=True)
class MeanOfShares(Closed):
    """The mean over rows of a share of parts, from a sum and a sum of squares. All rows must have as many parts."""

    total_sum: str
    square_sum: str
    parts: str
    rows: str
    of_weights = True

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """Normal limits on the logit scale."""
        end = "_w2" if weighted else ""
        weight, each = pl.col(self.rows), pl.col(self.parts) / pl.col(self.rows)
        middle = pl.col(self.total_sum) / pl.col(self.parts)
        square = pl.col(self.square_sum + end) / each**2
        spread = square - 2 * middle * pl.col(self.total_sum + end) / each + middle**2 * pl.col(self.rows + end)
        error = pl.when(spread > LEAST_VARIANCE * square).then((spread / weight / (weight - 1)).sqrt())
        return limits(middle, error, normal_quantile(upper_level(confidence)), metric.range)


class ShareOfSets(MeanOfShares):
    """A proportion of rows, from a table of sums over rows."""

    def rows_of(self, metric: Metric) -> Expr | None:
        """All rows."""
        return pl.col(self.rows)

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """Wilson limits, of weighted rows those of a mean."""
        if weighted:
            return super().ends(metric, confidence, weighted=True)
        return wilson_interval(pl.col(self.total_sum), pl.col(self.rows), confidence)

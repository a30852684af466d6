"""Confidence intervals of proportions and of their sums and means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from polars import Expr

from streammetrics.core import Floats
from streammetrics.metrics.intervals.distributions import normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import Limits
from streammetrics.metrics.intervals.method import COUNT, Closed, Method, runs_of

if TYPE_CHECKING:
    from streammetrics.metrics.intervals.sample import Sample
    from streammetrics.metrics.metric import Metric

CELLS = ("tp", "fp", "fn", "tn")
PROBES = ((3, 5, 7, 13), (17, 2, 11, 4))  # tables on which other metrics do not equal a proportion by chance


def wilson_interval(count: ArrayLike, total: ArrayLike, confidence: float = 0.95) -> Limits:
    """Return the score interval of ``count / total`` (Wilson 1927), which is within [0, 1] and valid at 0 and 1.

    Limits are NaN if there are no rows.

    >>> [limit.round(4).tolist() for limit in wilson_interval([81, 0], [263, 20])]
    [[0.2553, 0.0], [0.3662, 0.1611]]
    """
    count, total = np.asarray(count, dtype=np.float64), np.asarray(total, dtype=np.float64)
    z = normal_quantile(upper_level(confidence))
    with np.errstate(all="ignore"):
        share = count / total
        # The roots of (p - share)² total = z² p (1 - p), in a form without cancellation.
        both = 2 * count + z**2 + z * np.sqrt(z**2 + 4 * count * (1 - share))
        return 2 * count * share / both, np.where(share == 1, 1.0, both / (2 * (total + z**2)))


def effective_share(count: Floats, total: Floats, count_squares: Floats, total_squares: Floats) -> Limits:
    """Return the count and total of rows of equal weight whose proportion is as uncertain as that of weighted rows.

    The total is the squared sum of weights divided by the sum of their squares (Kish 1965), or the number of rows whose
    proportion has the variance of the weighted one (Korn & Graubard 1998) if this is smaller.

    The arguments are sums of weights, of successes and of all rows, and those of squared weights.

    >>> [x.round(2).item() for x in effective_share(*map(np.array, (90.0, 100.0, 90.0, 190.0)))]
    [9.89, 10.99]
    """
    with np.errstate(all="ignore"):
        share = count / total
        spread = (1 - share) ** 2 * count_squares + share**2 * np.maximum(total_squares - count_squares, 0)
        same_variance = np.where(spread > 0, share * (1 - share) / (spread / total / total), np.nan)
        rows = np.where(total > 0, np.fmin(total / (total_squares / total), same_variance), 0.0)
        return np.nan_to_num(rows * share), rows


@cache
def as_proportion(metric: Metric) -> tuple[Expr, Expr] | None:
    """Return the count and total of a confusion-count metric that is a proportion, or None for other metrics.

    >>> from streammetrics.metrics import f1, recall
    >>> table = pl.DataFrame({"tp": [81], "fp": [7], "fn": [182], "tn": [9]})
    >>> table.select(as_proportion(recall)).row(0), as_proportion(f1)
    ((81, 263), None)
    """
    if (cells := cells_of(metric)) is None:
        return None
    return pl.sum_horizontal(cells[0]).alias("count"), pl.sum_horizontal(cells[1]).alias("total")


@cache
def cells_of(metric: Metric) -> tuple[list[str], list[str]] | None:
    """Return the cells that a proportion counts, and those of all its rows; None for other metrics.

    On a table with a single row, a proportion is 1 if the row is counted, 0 if it is only in the total, and undefined
    if it is not in the total.

    >>> from streammetrics.metrics import f1, recall
    >>> cells_of(recall), cells_of(f1)
    ((['tp'], ['tp', 'fn']), None)
    """
    if not {*metric.columns} <= {*CELLS}:
        return None
    singles = [tuple(int(c == cell) for c in CELLS) for cell in CELLS]
    tables = pl.DataFrame([*singles, *PROBES], schema=dict.fromkeys(CELLS, pl.Float64), orient="row")
    alone = dict(zip(CELLS, tables.select(metric.expression()).to_series(), strict=False))
    counted = [cell for cell, value in alone.items() if value == 1]
    total = [cell for cell, value in alone.items() if value in (0, 1)]
    if not counted:
        return None
    difference = (metric.expression() - pl.sum_horizontal(counted) / pl.sum_horizontal(total)).abs()
    agrees = tables.tail(len(PROBES)).select((difference < 1e-12).all(ignore_nulls=False)).item()
    return (counted, total) if agrees else None


@dataclass(frozen=True, eq=False)
class Proportion(Closed):
    """A proportion of rows.

    Args:
        count: Number of rows that are counted.
        rows: Number of rows.
        squares: The same numbers with squared weights, for an interval that is also valid for weighted rows.
        pairs: Of two models, the columns of rows that both count, and that only the first and the second one counts.
    """

    count: Expr
    rows: Expr
    squares: tuple[Expr, Expr] | None = None
    pairs: tuple[str, str, str] | None = None

    @property
    def takes_weights(self) -> bool:  # type: ignore[override]
        """Whether squares are known."""
        return self.squares is not None

    def rows_of(self, metric: Metric) -> Expr | None:
        """The number of rows."""
        return self.rows

    def sums(self, metric: Metric, confidence: float, weighted: bool) -> Sequence[Expr]:
        """The counts, and those of squared weights if rows have weights."""
        return self.count, self.rows, *((self.squares or ()) if weighted else ())

    def ends(self, metric: Metric, confidence: float, sums: Sequence[Floats]) -> Limits:
        """Wilson limits, of effective rows if rows have weights."""
        count, total = effective_share(*sums) if len(sums) > 2 else sums
        return wilson_interval(count, total, confidence)


class Share(Method):
    """A proportion of rows. If they have weights, it has the influence of a row, or the method of another base."""

    def counts(self, metric: Metric) -> tuple[Expr, Expr] | None:
        """The number of rows that are counted, and of all rows; None if the metric is not a proportion."""
        raise NotImplementedError

    def serving(self, metric: Metric, sample: Sample) -> Method | None:
        """That of a proportion if rows have no weights."""
        counts = None if sample.weighted else self.counts(metric)
        return super().serving(metric, sample) if counts is None else Proportion(*counts)

    def rows_of(self, metric: Metric) -> Expr | None:
        """The rows of which the metric is a proportion."""
        counts = self.counts(metric)
        return None if counts is None else counts[1]


@dataclass(frozen=True, eq=False)
class ShareOfRows(Share):
    """A proportion of all rows, from a table with their number in each row."""

    count: Expr = COUNT

    def counts(self, metric: Metric) -> tuple[Expr, Expr]:
        """The proportion of the rows, and the rows."""
        rows = self.count.sum()
        return metric.expression() * rows, rows


class ShareOfBins(ShareOfRows):
    """A proportion of all rows, which bins can hide."""

    def rows_of(self, metric: Metric) -> Expr | None:
        """None, since it is the proportion of other rows."""
        return None


@dataclass(frozen=True)
class SumOfProportions(Closed):
    """A multiple of a sum of proportions of different rows, each the share of the first of two columns in both.

    By the method MOVER (Zou & Donner 2008), the squared distance between the sum and its limit is the sum of the
    squared distances between the proportions and their Wilson limits.
    """

    factor: float
    shift: float
    shares: tuple[tuple[str, str], ...]

    def sums(self, metric: Metric, confidence: float, weighted: bool) -> Sequence[Expr]:
        """Both columns of each proportion."""
        return [pl.col(c) for share in self.shares for c in share]

    def ends(self, metric: Metric, confidence: float, sums: Sequence[Floats]) -> Limits:
        """Limits by the method MOVER."""
        counts, others = np.stack(sums[::2]), np.stack(sums[1::2])
        lower, upper = wilson_interval(counts, counts + others, confidence)
        with np.errstate(all="ignore"):
            shares = counts / (counts + others)
        value = self.shift + self.factor * shares.sum(axis=0)
        below, above = (np.sqrt(((shares - ends) ** 2).sum(axis=0)) for ends in (lower, upper))
        return value - self.factor * below, value + self.factor * above


@dataclass(frozen=True)
class MeanOfProportions(Method):
    """The mean of proportions of different rows, one in each row of the table: of a count in a total.

    It is computed as in `SumOfProportions`. If a proportion is 0 or 1, whose rows do not vary, the interval also
    contains that of equal proportions: Wilson's, with the number of rows that has the same variance. Proportions of no
    rows are skipped.
    """

    count: str
    total: str = ""

    def serving(self, metric: Metric, sample: Sample) -> Method | None:
        """This method, also for weighted rows."""
        return self

    def limits(self, sample: Sample, methods: Mapping[Metric, Any], confidence: float) -> Floats:
        """Limits by the method MOVER, of effective rows if rows have weights."""
        table, (starts, _) = sample.numbered, runs_of(sample.numbered)
        count, total = (table[c].to_numpy() for c in (self.count, self.total))
        if sample.weighted:
            squares = [table[f"{c}_w2"].to_numpy() for c in (self.count, self.total)]
            count, total = effective_share(count, total, *squares)
        some = total > 0

        def sum_by_group(values: Floats) -> Floats:
            return np.add.reduceat(np.where(some, values, 0.0), starts)

        with np.errstate(all="ignore"):
            share, labels = count / total, sum_by_group(np.ones(len(some)))
            value, rows = sum_by_group(share) / labels, labels**2 / sum_by_group(1 / total)
            below, above = (
                np.sqrt(sum_by_group((share - end) ** 2)) / labels for end in wilson_interval(count, total, confidence)
            )
            lower, upper = value - below, value + above
            low, high = wilson_interval(value * rows, rows, confidence)
            is_extreme = sum_by_group((share == 0) | (share == 1)) > 0
        lower, upper = (
            np.where(is_extreme, np.fmin(lower, low), lower),
            np.where(is_extreme, np.fmax(upper, high), upper),
        )
        return np.stack([lower, upper])[..., np.newaxis].repeat(len(methods), axis=2)

"""Confidence intervals of proportions and of their sums and means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import polars as pl
from polars import Expr

from streammetrics.base import each
from streammetrics.metrics.intervals.distributions import normal_quantile, upper_level
from streammetrics.metrics.intervals.limits import Interval, named
from streammetrics.metrics.intervals.method import COUNT, Closed

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

CELLS = ("tp", "fp", "fn", "tn")
PROBES = ((3, 5, 7, 13), (17, 2, 11, 4))  # tables on which other metrics do not equal a proportion by chance


def wilson_interval(count: Expr, total: Expr, confidence: float = 0.95) -> Interval:
    """Return the score interval of ``count / total`` (Wilson 1927), which is within [0, 1] and valid at 0 and 1.

    Limits are null if there are no rows.

    >>> table = pl.DataFrame({"tp": [81, 0], "fn": [182, 20]})
    >>> table.select(x.round(4) for x in wilson_interval(pl.col("tp"), pl.col("tp") + pl.col("fn"))).rows()
    [(0.2553, 0.3662), (0.0, 0.1611)]
    """
    z = normal_quantile(upper_level(confidence))
    share = count / total
    # The roots of (p - share)² total = z² p (1 - p), in a form without cancellation.
    both = 2 * count + z**2 + z * (z**2 + 4 * count * (1 - share)).sqrt()
    upper = pl.when((share == 1) & (total > 0)).then(1.0).otherwise(both / (2 * (total + z**2)))
    return named(2 * count * share / both, upper)


def effective_share(count: Expr, total: Expr, count_squares: Expr, total_squares: Expr) -> tuple[Expr, Expr]:
    """Return the count and total of rows of equal weight whose proportion is as uncertain as that of weighted rows.

    The total is the squared sum of weights divided by the sum of their squares (Kish 1965), or the number of rows whose
    proportion has the variance of the weighted one (Korn & Graubard 1998) if this is smaller.

    The arguments are sums of weights, of successes and of all rows, and those of squared weights.

    >>> table = pl.DataFrame({"w": [90.0], "all": [100.0], "w2": [90.0], "all2": [190.0]})
    >>> table.select(x.round(2) for x in effective_share(*(pl.col(c) for c in table.columns))).row(0)
    (9.89, 10.99)
    """
    share, scale = count / total, total_squares / total
    spread = (1 - share) ** 2 * count_squares + share**2 * (total_squares - count_squares).clip(0)
    same_variance = pl.when(spread > 0).then(share * (1 - share) / (spread / total / total))
    rows = pl.when(total > 0).then(pl.min_horizontal(total / scale, same_variance)).otherwise(0.0)
    return (rows * share).fill_nan(0.0).alias("count"), rows.alias("total")


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

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """Wilson limits, of effective rows if rows have weights."""
        share = self.count, self.rows
        if weighted and self.squares is not None:
            share = effective_share(*share, *self.squares)
        return wilson_interval(*share, confidence)


@dataclass(frozen=True, eq=False)
class ShareOfRows(Closed):
    """A proportion of all rows, from a table with their number in each row."""

    count: Expr = COUNT

    def rows_of(self, metric: Metric) -> Expr | None:
        """All rows."""
        return self.count.sum()

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """Wilson limits."""
        rows = self.count.sum()
        return wilson_interval(metric.expression() * rows, rows, confidence)


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

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """Limits by the method MOVER."""
        parts = [(pl.col(count), pl.col(count) + pl.col(rest)) for count, rest in self.shares]
        limits = [wilson_interval(count, total, confidence) for count, total in parts]
        shares = [count / total for count, total in parts]
        value = pl.when(*(total > 0 for _, total in parts)).then(self.shift + self.factor * pl.sum_horizontal(shares))
        below, above = (
            pl.sum_horizontal((share - ends[side]) ** 2 for share, ends in zip(shares, limits, strict=True)).sqrt()
            for side in (0, 1)
        )
        return named(value - self.factor * below, value + self.factor * above)


@dataclass(frozen=True)
class MeanOfProportions(Closed):
    """The mean of proportions of different rows, one in each row of the table: of a count in a total.

    It is computed as in `SumOfProportions`. If a proportion is 0 or 1, whose rows do not vary, the interval also
    contains that of equal proportions: Wilson's, with the number of rows that has the same variance. Proportions of no
    rows are skipped.
    """

    count: str
    total: str = ""
    takes_weights = True

    def ends(self, metric: Metric, confidence: float, *, weighted: bool) -> Interval:
        """Limits by the method MOVER, of effective rows if rows have weights."""
        columns = {"count": pl.col(self.count), "total": pl.col(self.total)}
        if weighted:
            squares = (pl.col(f"{c}_w2") for c in (self.count, self.total))
            columns = dict(zip(columns, effective_share(*columns.values(), *squares), strict=True))
        some = columns["total"] > 0

        def each_share(formula: Callable[..., Expr]) -> Expr:
            return each(formula, **columns).filter(some)

        def squares_to_limit(count: Expr, total: Expr, side: int) -> Expr:
            return (count / total - wilson_interval(count, total, confidence)[side]) ** 2

        below, above = (each_share(partial(squares_to_limit, side=side)).sum().sqrt() / some.sum() for side in (0, 1))
        shares = each_share(lambda count, total: count / total)
        value, rows = shares.mean(), some.sum() ** 2 / each_share(lambda count, total: 1 / total).sum()
        pooled = wilson_interval(value * rows, rows, confidence)
        lower, upper = value - below, value + above
        extreme = ((shares == 0) | (shares == 1)).any()
        return named(
            pl.when(extreme).then(pl.min_horizontal(lower, pooled[0])).otherwise(lower),
            pl.when(extreme).then(pl.max_horizontal(upper, pooled[1])).otherwise(upper),
        )

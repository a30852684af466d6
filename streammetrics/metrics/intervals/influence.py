"""Confidence intervals of smooth metrics of a table, from the influence of the rows in each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.base import SUM_ROUNDING
from streammetrics.core import ranges
from streammetrics.metrics.intervals.distributions import upper_level
from streammetrics.metrics.intervals.limits import Range, Spread, moved, squared, tidy
from streammetrics.metrics.intervals.method import GROUP, Read
from streammetrics.metrics.intervals.tails import Tail, of_bins, powers_of_losses

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

Values = NDArray[np.float64]
Integers = NDArray[np.intp]
Products = Mapping[tuple[str, str], str]

SLICES = {"neg": 16, "pos": 48, "count": 64}  # number of slices of a histogram, within which the order is ignored
STEP = 2**-10  # relative change of a cell
LEAST_STEP = 0.01  # minimum change of a cell, in rows
STEP_OF_SUMS = 2**-20  # relative change of a sum, small because influences nearly cancel for correlations near 1
ROWS = 1 << 21  # maximum number of table rows computed at once, to limit memory use
CANCELED = 1e-12  # of terms of both signs, whose sum comes from rounding
POSITIVES = {"pos", "tp", "fn"}  # counts of positives; all other counts are negatives


def counted(*counts: str) -> dict[tuple[str, str], str]:
    """Return the products of columns that count different rows.

    >>> counted("neg", "pos")
    {('neg', 'neg'): 'neg', ('pos', 'pos'): 'pos'}
    """
    return {(c, c): c for c in counts}


def influence_intervals(
    table: pl.DataFrame,
    metrics: Sequence[Metric],
    products: Products,
    read: Read,
    confidence: float = 0.95,
    *,
    cells: pl.DataFrame | None = None,
    added: float = 0.0,
    fewest: int | Sequence[int] = 2,
    shares: float | Sequence[float] = 1.0,
    tail: Tail | None = None,
    classes: bool = False,
) -> pl.DataFrame:
    """Return intervals of metrics from the influence of one more row in each cell.

    Each cell in turn is increased by a hundredth of a row or a thousandth of its rows, and the metrics are computed
    again. The change per row is the influence of the rows of the cell. The variance of the metric is the sum over rows
    of the squared deviations of the influence from its mean (the infinitesimal jackknife; Jaeckel 1972; Efron 1982,
    chapter 6). If there are two classes, each has its own mean and its own part of the variance, which give the degrees
    of freedom of Student's t (Welch 1947). The cubes and fourth powers give the skewness of the limits (see `Spread`),
    which stay within the range of the metric. Those of ratios of counts without a largest value, such as likelihood
    ratios, are computed on the log scale. Those of sums of errors are computed on the scale of the square root if the
    range has one end, and on the logit scale if it has two.

    Args:
        table: The column ``group``, the columns of ``products``, and other columns that ``read`` needs. The rows of a
            group must be adjacent.
        metrics: Metrics to compute.
        products: For pairs of varied columns, the column with the sum over rows of the product of both contributions of
            a row. Pairs not listed have products of 0.
        read: Function that returns a frame with a column for each metric, by name, and one row for each group number,
            in ascending order.
        confidence: Confidence level.
        cells: The same rows in fewer cells, such as the result of `sliced`, for computing influences.
        added: Rows added to each cell first, so that an empty cell does not count as impossible.
        fewest: Minimum number of rows of each class, for each metric or for all metrics. If columns contain sums, the
            minimum count in each row of the table.
        shares: Share of the negatives on which each metric depends. Others do not count for the minimum.
        tail: Third and fourth powers of the influences, if columns contain sums. Defaults to those of losses with a
            gamma distribution.
        classes: Whether each row of the table is a class, if columns contain sums.

    Returns:
        ``group``, ``metric``, ``ci_lower``, ``ci_upper``, and the effective rows and the variance of each estimate, by
        group and then in the order of the metrics. Limits are null if a metric is undefined or does not vary, and if a
        class has too few rows.

    >>> from streammetrics.metrics import average_precision
    >>> table = pl.DataFrame({"group": [0] * 4, "neg": [40, 30, 20, 10], "pos": [5, 10, 15, 20]})
    >>> def read(table):
    ...     return table.group_by("group", maintain_order=True).agg(average_precision=average_precision.expression())
    >>> found = influence_intervals(table, [average_precision], counted("neg", "pos"), read)
    >>> found.select("group", "metric", pl.col("ci_lower", "ci_upper").round(2)).rows()
    [(0, 'average_precision', 0.41, 0.69)]
    """
    level, names = upper_level(confidence), [m.name for m in metrics]
    groups = table.select(pl.col(GROUP).unique(maintain_order=True))
    if groups.is_empty() or not names:
        return tidy(groups, [GROUP], names, *np.empty((2, 0, len(names))))
    columns = list(dict.fromkeys(c for pair in products for c in pair))
    amounts = pl.col(list({*columns, *products.values()})).cast(pl.Float64)
    filled = [amounts + added, pl.col(GROUP).rle_id()]
    seen = matrix_of(read(table.with_columns(amounts, pl.col(GROUP).rle_id())), names)
    values = matrix_of(read(table.with_columns(filled)), names) if added else seen.copy()
    cells = (table if cells is None else cells).with_columns(filled)
    slopes = slopes_of(cells, columns, _counts(columns, products), names, read)
    spread, rows = spread_of(cells, slopes, columns, products, shares, classes, tail)
    values = np.where(np.isnan(seen) | (rows < np.asarray(fewest)), np.nan, values)
    of_counts = len(products) == len(columns) or tail is of_bins
    scaled = [not classes and (m.range == (0, inf) or not of_counts) for m in metrics]
    growth = None if of_counts else squared
    lower, upper = limits_within(values, spread, level, [m.range for m in metrics], scaled, growth)
    lower, upper = np.where(seen < lower, seen, lower), np.where(seen > upper, seen, upper)
    at_end = np.isin(seen, [end for m in metrics for end in m.range])  # the rows added to each cell are not few rows
    spread = replace(spread, fourths=np.where(at_end, np.nan, spread.fourths))
    return tidy(groups, [GROUP], names, lower, upper, spread)


def limits_within(
    values: Values,
    spread: Spread,
    level: float,
    ranges: Sequence[Range],
    scaled: Sequence[bool] = (),
    growth: Callable[[Values], Values] | None = None,
) -> tuple[Values, Values]:
    """Return limits within the ranges of metrics, NaN if there are none. Arrays have the shape (groups, metrics).

    Those of ``scaled`` metrics are on the scale of the range (see `moved`). A sample that lacks rare large errors has a
    mean error and a variance that are both too small, so limits in proportion to the value miss less often.
    """
    low, high = np.array(ranges, dtype=np.float64).T
    lower, upper = spread.limits(values, level, low, high)
    if any(scaled):
        down, up = spread.distances(level)
        for i in np.flatnonzero(scaled):
            for limit, step in ((lower, -down), (upper, up)):
                sound = np.isfinite(limit[:, i])
                limit[sound, i] = moved(values[sound, i], step[sound, i], low[i], high[i], growth)
    return lower, upper


def sliced(table: pl.DataFrame, counts: Sequence[str], others: Sequence[str] = ()) -> pl.DataFrame:
    """Return the table with few cells per group: adjacent cells in the same slice of each count are merged.

    The highest negatives and the lowest positives have ever smaller slices, in which almost separate classes overlap.

    The table has the column ``group``, counts, ``others`` to sum, and the edges of bins.

    >>> table = pl.DataFrame({"group": 0, "count": [1] * 1_000})
    >>> sliced(table, ["count"])["count"].to_list()[:3]
    [16, 15, 16]
    """
    slices = {f"slice of {c}": _slice(c).over(GROUP).fill_nan(0).floor() for c in counts}
    placed = table.with_columns(**slices)
    edges = [c for c in table.columns if c not in (GROUP, *counts, *others)]
    ends = [pl.col(c).last() if c.endswith("_high") else pl.col(c).first() for c in edges]
    return placed.group_by(GROUP, *slices, maintain_order=True).agg(pl.sum(*counts, *others), *ends).drop(*slices)


def _slice(count: str) -> Expr:
    """The number of the slice. The last slice of negatives and the first of positives is halved again and again."""
    rows, slices = pl.col(count), SLICES[count]
    place = (rows.cum_sum() - rows / 2) * slices / rows.sum()
    if count == "neg":
        return pl.when(place <= slices - 1).then(place).otherwise(slices - 1 - (slices - place).log(2))
    return pl.when(place >= 1).then(place).otherwise(place.log(2)) if count == "pos" else place


def _counts(columns: Sequence[str], products: Products) -> Sequence[str]:
    """The columns that count different rows: all, or the first if the others are sums over the same rows."""
    return columns if len(products) == len(columns) else columns[:1]


def slopes_of(
    table: pl.DataFrame, columns: Sequence[str], counts: Sequence[str], names: Sequence[str], read: Read
) -> Values:
    """Return the derivative of each metric by each column of each row of the table: shape (rows, columns, metrics)."""
    amounts, group = table.select(columns).to_numpy(), table[GROUP].to_numpy().astype(np.intp)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(starts, append=len(group))
    slopes = np.zeros((*amounts.shape, len(names)))
    of_counts = np.maximum(LEAST_STEP, np.abs(amounts) * STEP)
    steps = np.where([c in counts for c in columns], of_counts, np.abs(amounts) * STEP_OF_SUMS)
    copies = sizes**2 * len(columns)
    part = (np.cumsum(copies) - copies) // ROWS
    for own in np.split(np.arange(len(starts)), np.flatnonzero(np.diff(part)) + 1):
        _read_slopes(table, amounts, steps, starts[own], sizes[own], columns, names, read, slopes)
    return slopes


def _read_slopes(
    table: pl.DataFrame,
    amounts: Values,
    steps: Values,
    starts: Integers,
    sizes: Integers,
    columns: Sequence[str],
    names: Sequence[str],
    read: Read,
    slopes: Values,
) -> None:
    """Compute slopes of some groups.

    The tables are an unchanged copy of each group, and one copy per nonempty cell in which this cell is varied.
    """
    own = np.repeat(np.arange(len(starts)), sizes)
    rows = ranges(starts, sizes)
    cell, column = np.nonzero(amounts[rows])
    step = steps[rows[cell], column]
    of_copy = np.concatenate([np.arange(len(starts)), own[cell]])
    size = sizes[of_copy]
    begin = np.cumsum(size) - size
    index = ranges(starts[of_copy], size)
    varied = amounts[index]
    varied[begin[len(starts) :] + rows[cell] - starts[own[cell]], column] += step
    number = pl.Series(GROUP, np.repeat(np.arange(len(of_copy)), size), dtype=pl.UInt32).set_sorted()
    found = matrix_of(
        read(table[index].with_columns(number, *(pl.Series(c, varied[:, i]) for i, c in enumerate(columns)))), names
    )
    with np.errstate(invalid="ignore"):  # for infinite metrics
        slopes[rows[cell], column] = (found[len(starts) :] - found[own[cell]]) / step[:, np.newaxis]


def spread_of(
    table: pl.DataFrame,
    slopes: Values,
    columns: Sequence[str],
    products: Products,
    shares: float | Sequence[float] = 1.0,
    by_row: bool = False,
    tail: Tail | None = None,
) -> tuple[Spread, Values]:
    """Return the spread of estimates, and the rows of the smaller class, of shape (groups, metrics).

    With ``by_row``, each row of the table is a class. Without it, a class is a set of columns: if they are counts,
    those of positives or of negatives, and otherwise all. Of the negatives, only ``shares`` of them count for the
    smaller class, one for each metric.

    A row of weight w has w times the influence of its cell. Means over rows are weighted, with the effective number of
    rows: the squared sum of weights divided by the sum of squared weights (Kish 1965). Its powers are those of as many
    rows with equal weights.
    """
    counts = _counts(columns, products)
    classes = [own for own in ([c for c in columns if (c in POSITIVES) == side] for side in (True, False)) if own]
    if len(counts) < len(columns):
        classes = [list(columns)]
    squares = {c: products[(c, c) if c in counts else (columns[0], c)] for c in columns}
    starts = np.flatnonzero(np.diff(table[GROUP].to_numpy().astype(np.intp), prepend=-1))
    rows, groups = np.arange(table.height), np.arange(len(starts))
    cuts, cuts_of_classes = (rows, starts) if by_row else (starts, groups)
    group = np.repeat(groups, np.diff(cuts_of_classes, append=len(cuts)))

    def added_up(values: Values) -> Values:
        return np.add.reduceat(values, cuts)

    def of_groups(values: Values) -> Values:
        return np.add.reduceat(values.sum(axis=0), cuts_of_classes)

    def column(name: str) -> Values:
        return table[name].to_numpy()[:, np.newaxis]

    total, total_of_squares, square, terms = np.zeros((4, len(classes), len(cuts), slopes.shape[2]))
    weight, weight_of_squares = np.zeros((2, len(classes), len(cuts), 1))
    with np.errstate(all="ignore"):
        for i, own in enumerate(classes):
            for c in own:
                slope = slopes[:, columns.index(c)]
                total[i] += added_up(slope * column(c))
                total_of_squares[i] += added_up(slope * column(squares[c]))
                if c in counts:
                    weight[i] += added_up(column(c))
                    weight_of_squares[i] += added_up(column(squares[c]))
            for (a, b), c in products.items():
                if a in own and b in own:
                    both = slopes[:, columns.index(a)] * slopes[:, columns.index(b)] * column(c) * (1 if a == b else 2)
                    square[i] += added_up(both)
                    terms[i] += added_up(np.abs(both))
        size, mean = weight**2 / weight_of_squares, total / weight
        within = square - 2 * mean * total_of_squares + mean**2 * weight_of_squares
        varies = within > np.maximum(SUM_ROUNDING * square, CANCELED * terms)
        within = np.where(varies, within, 0) * np.where(size > 1, size / (size - 1), 0.0 if by_row else np.nan)
        whole = of_groups(total) / of_groups(weight)
        apart = mean - whole[group]
        between = of_groups(weight_of_squares * apart**2)
        if by_row:  # weights can depend on the losses of a class
            between += of_groups(2 * apart * (total_of_squares - mean * weight_of_squares))
        rows_of_group = of_groups(weight) ** 2 / of_groups(weight_of_squares)
        variance = of_groups(within) + between
        of_classes = of_groups(np.where(size > 1, within**2 / (size - 1), 0))
        degrees = variance**2 / (of_classes + between**2 / (rows_of_group - 1))
        centre = np.repeat(whole, np.diff(starts, append=table.height), axis=0)
        if tail is not None:
            powers = tail(table, slopes, columns, centre)
        elif counts is columns:
            powers = _powers_of_cells(table, slopes, columns, squares, centre)
        else:
            powers = powers_of_losses(table, slopes, columns, products, centre)
        second, third, fourth = (np.add.reduceat(power, starts) for power in powers[:3])
        scale = np.where(second > 0, variance / second, np.nan)
        largest = (np.maximum.reduceat(influence, starts) * scale**0.5 for influence in powers[3:])
        spread = Spread(variance, third * scale**1.5, fourth * scale**2, degrees, *largest)
    if counts is not columns:
        weights = column(columns[0])
        with np.errstate(all="ignore"):
            effective = weights / (column(squares[columns[0]]) / weights)
            smallest = np.minimum.reduceat(effective, starts)
        if by_row:  # rows of one class do not show the losses of the others
            alone = np.diff(starts, append=table.height) == 1
            smallest[alone] = np.minimum(smallest[alone], 1)
    else:
        of_negatives = np.array([not POSITIVES & {*own} for own in classes])[:, np.newaxis, np.newaxis]
        smallest = np.where(of_negatives, size * np.asarray(shares), size).min(axis=0)
    return spread, smallest * (1 + SUM_ROUNDING)


def _powers_of_cells(
    table: pl.DataFrame, slopes: Values, columns: Sequence[str], squares: Mapping[str, str], centre: Values
) -> list[Values]:
    """Sums of the second to fourth powers of the influences of the rows in each row of a table of counts."""
    powers = [np.zeros_like(centre) for _ in range(3)]
    for i, name in enumerate(columns):
        weight, square = (table[c].to_numpy()[:, np.newaxis] for c in (name, squares[name]))
        rows = np.where(weight > 0, weight**2 / square, 0)
        influence = np.where(weight > 0, (slopes[:, i] - centre) * square / weight, 0)
        for power, total in enumerate(powers, 2):
            total += rows * influence**power
    return powers


def matrix_of(frame: pl.DataFrame, names: Sequence[str]) -> Values:
    """Return values with NaN for nulls: shape (rows, metrics)."""
    return frame.select(pl.col(names).cast(pl.Float64)).to_numpy(writable=True).reshape(frame.height, len(names))

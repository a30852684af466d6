"""Confidence intervals of smooth metrics of a table, from the influence of the rows in each cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.core import ranges
from streammetrics.intervals.distributions import t_quantiles, upper_level
from streammetrics.intervals.limits import Range, limits, tidy
from streammetrics.intervals.method import GROUP, Quantity, Read
from streammetrics.intervals.tails import MISSING, Row
from streammetrics.rounding import SUM_ROUNDING

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
DRAWS = 50  # number of resampled tables to estimate the bias
MOST_BIAS = 0.75  # maximum bias, in standard errors
CLEAR = 4  # minimum value of a maximum, in standard errors; noise alone reaches three


def counted(*counts: str) -> dict[tuple[str, str], str]:
    """Return the products of columns that count different rows.

    >>> counted("neg", "pos")
    {('neg', 'neg'): 'neg', ('pos', 'pos'): 'pos'}
    """
    return {(c, c): c for c in counts}


def influence_intervals(
    table: pl.DataFrame,
    metrics: Sequence[Quantity],
    products: Products,
    read: Read,
    confidence: float = 0.95,
    *,
    cells: pl.DataFrame | None = None,
    added: float = 0.0,
    fewest: int | Sequence[int] = 2,
    shares: float | Sequence[float] = 1.0,
    maxima: Collection[str] = (),
    largest: Sequence[Row] = (),
    classes: bool = False,
) -> pl.DataFrame:
    """Return intervals of metrics from the influence of one more row in each cell.

    Each cell in turn is increased by a hundredth of a row or a thousandth of its rows, and the metrics are computed
    again. The change per row is the influence of the rows of the cell. The variance of the metric is the sum over rows
    of the squared deviations of the influence from its mean (the infinitesimal jackknife; Jaeckel 1972; Efron 1982,
    chapter 6). If there are two classes, each has its own mean and its own part of the variance, which give the degrees
    of freedom of Student's t (Welch 1947). Limits stay within the range of the metric (see `limits`).

    The variance of a maximum over thresholds is computed in the same way. Its bias, estimated by resampling, is
    subtracted. There is no interval if the bias is large relative to the standard error, or if the maximum could be
    noise.

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
        maxima: Names of the metrics that are maxima over thresholds.
        largest: Rows as large as the largest ones, for tables with one row per group. The variance of each limit
            includes three more rows of the largest influence in its direction. If influences are skewed, the farther
            limit also starts from the metric with one more such row.
        classes: Whether each row of the table is a class, if columns contain sums.

    Returns:
        ``group``, ``metric``, ``ci_lower``, and ``ci_upper``, by group and then in the order of the metrics. Limits are
        null if a metric is undefined, if a class has too few rows, and as described in `limits`.

    >>> from streammetrics.metrics import average_precision
    >>> table = pl.DataFrame({"group": [0] * 4, "neg": [40, 30, 20, 10], "pos": [5, 10, 15, 20]})
    >>> def read(table):
    ...     return table.group_by("group", maintain_order=True).agg(average_precision=average_precision.expression())
    >>> found = influence_intervals(table, [average_precision], counted("neg", "pos"), read)
    >>> found.with_columns(pl.col(pl.Float64).round(2)).rows()
    [(0, 'average_precision', 0.42, 0.67)]
    """
    level, names = upper_level(confidence), [m.name for m in metrics]
    groups = table.select(pl.col(GROUP).unique(maintain_order=True))
    if groups.is_empty():
        return tidy(groups, [GROUP], names, *np.empty((2, 0, len(names))))
    columns = list(dict.fromkeys(c for pair in products for c in pair))
    amounts = pl.col(list({*columns, *products.values()})).cast(pl.Float64)
    filled = [amounts + added, pl.col(GROUP).rle_id()]
    seen = matrix_of(read(table.with_columns(amounts, pl.col(GROUP).rle_id())), names)
    values = matrix_of(read(table.with_columns(filled)), names) if added else seen.copy()
    cells = (table if cells is None else cells).with_columns(filled)
    slopes = slopes_of(cells, columns, _counts(columns, products), names, read)
    errors, degrees, rows = spread_of(cells, slopes, columns, products, shares, classes)
    if biased := [name for name in names if name in maxima]:
        own = [names.index(name) for name in biased]
        bias = bias_of(cells, columns, biased, read)
        values[:, own] -= bias
        errors[:, own] = np.where(is_clear(values[:, own], bias, errors[:, own]), errors[:, own], np.nan)
    errors = np.where(rows < np.asarray(fewest), np.nan, errors)
    errors[np.isnan(seen)] = np.nan
    t, ranges_of = t_quantiles(level, degrees), [m.range for m in metrics]
    lower, upper = limits_within(values, errors * t, ranges_of)
    if largest:
        low, high = influence_of(largest, cells, slopes, columns, classes)
        skew, steps = low + high, [np.hypot(errors, MISSING**0.5 * extreme) * t for extreme in (low, high)]
        lower, _ = limits_within(values + np.minimum(skew, 0), steps[0], ranges_of)
        _, upper = limits_within(values + np.maximum(skew, 0), steps[1], ranges_of)
        one_sided = np.isnan(lower) | np.isnan(upper)
        lower[one_sided], upper[one_sided] = np.nan, np.nan
    lower, upper = np.where(seen < lower, seen, lower), np.where(seen > upper, seen, upper)
    return tidy(groups, [GROUP], names, lower, upper)


def limits_within(values: Values, steps: Values, ranges: Sequence[Range]) -> tuple[Values, Values]:
    """Return values moved down and up by steps, within ranges (see `limits`), NaN if there are no limits.

    Values and steps have the shape (rows, metrics), and each metric has a range.
    """
    found = np.empty((2, *values.shape))
    for range in dict.fromkeys(ranges):
        own = np.array([r == range for r in ranges])
        frame = pl.DataFrame({"value": values[:, own].ravel(), "step": steps[:, own].ravel()})
        ends = frame.select(limits(pl.col("value"), pl.col("step"), 1.0, range)).to_numpy()
        found[:, :, own] = ends.T.reshape(2, len(values), -1)
    return found[0], found[1]


def influence_of(
    rows: Sequence[Row], table: pl.DataFrame, slopes: Values, columns: Sequence[str], of_one_class: bool = False
) -> tuple[Values, Values]:
    """Return the lowest and the highest influence of some rows, at most and at least 0: shape (groups, metrics).

    With ``of_one_class``, it is 0 for metrics that depend on all classes, whose losses together have lighter tails.
    """
    starts = np.flatnonzero(np.diff(table[GROUP].to_numpy().astype(np.intp), prepend=-1))
    sizes, amounts = np.diff(starts, append=table.height), table.select(columns).to_numpy()[..., np.newaxis]
    found = [np.zeros((table.height, slopes.shape[2]))]
    with np.errstate(all="ignore"):  # without rows
        total, weight = (np.add.reduceat(x, starts) for x in ((slopes * amounts).sum(axis=1), amounts[:, 0]))
        mean = np.repeat(total / weight, sizes, axis=0)
        for row in rows:
            own = np.stack([row.get(c, np.zeros(table.height)) for c in columns], axis=1)[..., np.newaxis]
            found.append((slopes * own).sum(axis=1) - mean)
    low, high = np.fmin.reduceat(np.fmin.reduce(found), starts), np.fmax.reduceat(np.fmax.reduce(found), starts)
    if of_one_class:
        several = np.logical_and.reduceat((slopes != 0).any(axis=1), starts)
        low[several], high[several] = 0, 0
    return low, high


def is_clear(maximum: Values, bias: Values, errors: Values) -> NDArray[np.bool_]:
    """Return whether a maximum without its bias is no noise, and the bias is small relative to the standard error."""
    return (np.abs(bias) <= MOST_BIAS * errors) & (maximum > CLEAR * errors)


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
) -> tuple[Values, Values, Values]:
    """Return standard errors, degrees of freedom, and the rows of the smaller class, of shape (groups, metrics).

    With ``by_row``, each row of the table is a class. Without it, a class is a set of columns: if they are counts,
    those of positives or of negatives, and otherwise all. Of the negatives, only ``shares`` of them count for the
    smaller class, one for each metric.

    A row of weight w has w times the influence of its cell. Means over rows are weighted, with the effective number of
    rows: the squared sum of weights divided by the sum of squared weights (Kish 1965).
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
    errors = np.sqrt(np.where(variance > 0, variance, np.nan))
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
    return errors, degrees, smallest * (1 + SUM_ROUNDING)


def bias_of(table: pl.DataFrame, counts: Sequence[str], names: Sequence[str], read: Read) -> Values:
    """Return how much larger metrics are on average in resampled tables: shape (groups, metrics)."""
    amounts, group = table.select(counts).to_numpy(), table[GROUP].to_numpy().astype(np.intp)
    starts, groups = np.flatnonzero(np.diff(group, prepend=-1)), group[-1] + 1
    drawn = np.concatenate([_draws(own.ravel()) for own in np.split(amounts, starts[1:])], axis=1)
    number = np.add.outer(np.arange(DRAWS) * groups, group).ravel()
    tables = table[np.tile(np.arange(table.height), DRAWS)].with_columns(
        pl.Series(GROUP, number, dtype=pl.UInt32).set_sorted(),
        *(pl.Series(c, drawn[:, i :: len(counts)].ravel(), dtype=pl.Float64) for i, c in enumerate(counts)),
    )
    found = matrix_of(read(tables), names).reshape(DRAWS, groups, len(names))
    bias: Values = found.mean(axis=0) - matrix_of(read(table), names)
    return bias


def _draws(counts: Values) -> NDArray[np.int64]:
    """Tables with as many rows, drawn with replacement: shape (draws, cells). Equal counts give equal draws."""
    return np.random.default_rng(0).multinomial(int(counts.sum()), counts / counts.sum(), DRAWS)


def matrix_of(frame: pl.DataFrame, names: Sequence[str]) -> Values:
    """Return values with NaN for nulls: shape (rows, metrics)."""
    return frame.select(pl.col(names).cast(pl.Float64)).to_numpy(writable=True).reshape(frame.height, len(names))

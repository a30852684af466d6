"""Confidence intervals of smooth metrics of a table, from the influence of the rows in each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from polars import Expr

from streammetrics.base import SUM_ROUNDING
from streammetrics.core import Floats
from streammetrics.core import ranges as indices
from streammetrics.metrics.intervals.distributions import upper_level
from streammetrics.metrics.intervals.limits import Spread, squared
from streammetrics.metrics.intervals.method import FEWEST, GROUP, Method, Read, runs_of
from streammetrics.metrics.intervals.tails import Tail, powers_of_bins, powers_of_cells, powers_of_losses

if TYPE_CHECKING:
    from streammetrics.metrics.intervals.sample import Sample
    from streammetrics.metrics.metric import Metric


SLICES = {"neg": 16, "pos": 48, "count": 64}  # number of slices of a histogram, within which the order is ignored
STEP = 2**-10  # relative change of a cell
LEAST_STEP = 0.01  # minimum change of a cell, in rows
STEP_OF_SUMS = 2**-20  # relative change of a sum, small because influences nearly cancel for correlations near 1
ROWS = 1 << 21  # maximum number of table rows computed at once, to limit memory use
CANCELED = 1e-12  # of terms of both signs, whose sum comes from rounding
POSITIVES = {"pos", "tp", "fn"}  # counts of positives; all other counts are negatives
FEWEST_OF_ONE_CLASS = (50, 100)  # rows whose losses have heavy tails if the other class is rare
FEWEST_OF_HEAVIEST = 100  # minimum number of rows of each class, if each weighed as much as those of the heavier class
PAIRS_OF_LABELS = 600  # maximum number of pairs of labels of a group whose influence is computed one by one


@dataclass(frozen=True, eq=False)
class PairedLoss:
    """A loss of which two models on the same rows keep powers of differences.

    Args:
        name: The loss in the table of the pair.
        total: The sum of the loss in the table of a model.
        squares: The column of the sum of its squares.
        fewest: Minimum number of rows of each class.
        signed: Whether it is the error with its sign, which is about normal.
    """

    name: str
    total: Expr
    squares: str
    fewest: int = 2
    signed: bool = False


@dataclass(frozen=True)
class Influence(Method):
    """The influence of one more row in each cell of a table.

    Each cell in turn is increased by a hundredth of a row or a thousandth of its rows, and the metrics are computed
    again. The change per row is the influence of the rows of the cell. The variance of the metric is the sum over rows
    of the squared deviations of the influence from its mean (the infinitesimal jackknife; Jaeckel 1972; Efron 1982,
    chapter 6). If there are two classes, each has its own mean and its own part of the variance, which give the degrees
    of freedom of Student's t (Welch 1947). The cubes and fourth powers give the skewness of the limits (see `Spread`),
    which stay within the range of the metric. Those of ratios of counts without a largest value, such as likelihood
    ratios, are computed on the log scale. Those of sums of errors are computed on the scale of the square root if the
    range has one end, and on the logit scale if it has two.

    Args:
        products: For pairs of columns that are varied, the column with the sum over rows of the product of both
            contributions of a row. Pairs not listed have products of 0. If each column has only a product with itself,
            columns count different rows; otherwise, the first counts rows, and the others are sums over these rows.
        constants: Other columns that metrics can read, whose values are the same for all rows of a cell.
        added: Rows added to each cell first, so that an empty cell does not count as impossible.
        fewest: Minimum number of rows of each class, of rows without and with weights.
        share: Option with the share of the negatives on which a metric depends. Others do not count for the minimum.
        sliced: Whether columns are counts of a histogram, whose bins are merged to compute influences.
        prepared: Computes products from the table.
        tail: Third and fourth powers of the influences, if columns contain sums. Defaults to those of losses with a
            gamma distribution.
        classes: Whether each row of the table is a class, if columns contain sums.
        weighted: Whether products are those of squared weights.
        loss: The loss that two models on the same rows are compared by.
    """

    products: tuple[tuple[tuple[str, str], str], ...]
    constants: tuple[str, ...] = ()
    added: float = 0.0
    fewest: tuple[int, int] = field(default=(2, 4), compare=False)
    share: str = field(default="", compare=False)
    sliced: bool = False
    prepared: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    tail: Tail | None = None
    classes: bool = False
    weighted: bool = False
    loss: PairedLoss | None = field(default=None, compare=False)

    @cached_property
    def columns(self) -> list[str]:
        """Columns that are varied to compute influences."""
        return list(dict.fromkeys(c for pair, _ in self.products for c in pair))

    @cached_property
    def counts(self) -> list[str]:
        """The columns that count different rows: all, or the first if the others are sums over the same rows."""
        return self.columns if len(self.products) == len(self.columns) else self.columns[:1]

    @property
    def squares(self) -> dict[str, str]:
        """For each column, that of the sum over rows of its product with the weight."""
        products = dict(self.products)
        return {c: products[(c, c) if c in self.counts else (self.columns[0], c)] for c in self.columns}

    @cached_property
    def sides(self) -> tuple[list[str], list[str]]:
        """The counts of positives and of negatives."""
        positives = [c for c in self.columns if c in POSITIVES]
        return positives, [c for c in self.columns if c not in POSITIVES]

    def fits(self, metric: Metric) -> bool:
        """Whether a metric reads columns that are varied, and others only if they are constants."""
        varied = {*metric.columns} - {*self.constants}
        return bool(varied) and varied <= {*self.columns}

    def influence(self, metric: Metric, influences: Sequence[Influence]) -> Influence:
        """This influence."""
        return self

    def with_squares(self, squares: Mapping[str, str]) -> Self | None:
        """The influence of weighted rows, with products multiplied by squared weights; None if they are not stored."""
        if self.prepared is not None:
            return replace(self, weighted=True)
        if not {column for _, column in self.products} <= squares.keys():
            return None
        products = tuple((pair, squares[column]) for pair, column in self.products)
        return replace(self, products=products, weighted=True)

    def least_of(self, metric: Metric) -> int:
        """Minimum number of rows of each class for a metric.

        Losses of one class have heavy tails if the other class is rare, so they need as many rows as balanced losses.
        """
        of_one_class = self.classes and metric.options.get("label") is not None
        return (FEWEST_OF_ONE_CLASS if of_one_class else self.fewest)[self.weighted]

    def fewest_of(self, metric: Metric) -> int:
        """The minimum number for the notes of reports."""
        return max(FEWEST, self.least_of(metric), FEWEST_OF_HEAVIEST if self._is_carried(metric) else 0)

    def _is_carried(self, metric: Metric) -> bool:
        """Whether a few heavy rows of a class can carry a metric of weighted rows."""
        return self.weighted and "neg" in self.columns and metric.interval.mixes_classes

    @np.errstate(all="ignore")  # an infinite variance has no interval
    def limits(self, sample: Sample, methods: Mapping[Metric, Influence], confidence: float) -> Floats:
        """Return limits, effective rows, and variances, NaN if a metric is undefined or does not vary.

        There are no limits if a class has too few rows for the influence of a metric.

        >>> from streammetrics.metrics import pr_auc
        >>> table = pl.DataFrame({"group": 0, "neg": [40.0, 30.0, 20.0, 10.0], "pos": [5.0, 10.0, 15.0, 20.0]})
        >>> from streammetrics.metrics.intervals.sample import Sample
        >>> influence, sample = Influence(counted("neg", "pos")), Sample(table, ["group"])
        >>> influence.limits(sample, {pr_auc: influence}, 0.95)[:2].round(2).ravel()
        array([0.43, 0.72])
        """
        metrics, names, read = [*methods], [m.name for m in methods], sample.reader([*methods])
        table = sample.numbered if self.prepared is None else self.prepared(sample.numbered)
        if table.is_empty() or not names:
            return np.empty((4, sample.estimates.height, len(names)))
        others = list({column for _, column in self.products} - {*self.columns})
        filled = table.with_columns(pl.col(self.columns + others) + self.added) if self.added else table
        cells = sliced(filled, self.columns, others) if self.sliced else filled
        values, slopes = self.slopes(cells, names, read)
        seen = matrix_of(read(table), names) if self.added or self.sliced else values
        spread, rows = self.spread(cells, slopes, [m.interval.share_of_negatives(m) for m in metrics])
        few = rows < np.array([methods[m].least_of(m) for m in metrics])
        carried = [methods[m]._is_carried(m) for m in metrics]
        if any(carried):
            sizes = cells.group_by(GROUP, maintain_order=True).agg(rows=rows_of_heavier_class() * (1 + SUM_ROUNDING))
            few |= (sizes["rows"].to_numpy() < FEWEST_OF_HEAVIEST)[:, np.newaxis] & carried
        values = np.where(np.isnan(seen) | few, np.nan, values if self.added else seen)
        of_counts = self.counts is self.columns or self.tail is powers_of_bins
        scaled = [not self.classes and (m.range == (0, inf) or not of_counts) for m in metrics]
        growth = np.exp if of_counts else squared
        low, high = np.array([m.range for m in metrics], dtype=np.float64).T
        lower, upper = spread.limits(values, upper_level(confidence), low, high, scaled, growth)
        lower, upper = np.where(seen < lower, seen, lower), np.where(seen > upper, seen, upper)
        at_end = np.isin(seen, [low, high])  # rows added to each cell are not few rows
        return np.stack([lower, upper, np.where(at_end, np.nan, spread.effective_rows), spread.squares])

    def slopes(self, table: pl.DataFrame, names: Sequence[str], read: Read) -> tuple[Floats, Floats]:
        """Return each metric of each group, and its derivative by each column of each row of the table.

        The table has the column ``group``, those of the influence, and others that ``read`` needs. The rows of a group
        must be adjacent. ``read`` returns a column for each metric, and a row for each group, in ascending order.

        Returns:
            Arrays of shape (groups, metrics) and (rows, columns, metrics).
        """
        starts, sizes = runs_of(table)
        copies = sizes**2 * len(self.columns)
        part = (np.cumsum(copies) - copies) // ROWS
        ends = [*starts[np.flatnonzero(np.diff(part)) + 1], table.height]
        parts = [self._slopes(table[start:end], names, read) for start, end in zip([0, *ends], ends, strict=False)]
        values, slopes = zip(*parts, strict=True)
        return np.concatenate(values), np.concatenate(slopes)

    def _slopes(self, table: pl.DataFrame, names: Sequence[str], read: Read) -> tuple[Floats, Floats]:
        """The slopes of some groups, from a copy of each, and copies in each of which one nonempty cell is varied."""
        amounts, (starts, sizes) = table.select(self.columns).to_numpy(), runs_of(table)
        cell, column = np.nonzero(amounts)
        is_count = np.array([c in self.counts for c in self.columns])
        relative, least = np.where(is_count, STEP, STEP_OF_SUMS), np.where(is_count, LEAST_STEP, 0.0)
        step = np.maximum(least, np.abs(amounts) * relative)[cell, column]
        group = np.repeat(np.arange(len(starts)), sizes)
        group_of_copy = np.concatenate([np.arange(len(starts)), group[cell]])
        size = sizes[group_of_copy]
        rows = indices(starts[group_of_copy], size)
        first = np.cumsum(size) - size
        varied = amounts[rows]
        varied[first[len(starts) :] + cell - starts[group[cell]], column] += step
        number = pl.Series(GROUP, np.repeat(np.arange(len(size)), size), dtype=pl.UInt32).set_sorted()
        columns = [number, *(pl.Series(c, varied[:, i]) for i, c in enumerate(self.columns))]
        constants = table.drop(GROUP, *self.columns)
        copies = pl.DataFrame(columns) if not constants.width else constants[rows].hstack(columns)
        values = matrix_of(read(copies), names)
        slopes = np.zeros((*amounts.shape, len(names)))
        with np.errstate(invalid="ignore"):  # for infinite metrics
            slopes[cell, column] = (values[len(starts) :] - values[group[cell]]) / step[:, np.newaxis]
        return values[: len(starts)], slopes

    @np.errstate(all="ignore")
    def spread(
        self, table: pl.DataFrame, slopes: Floats, shares: float | Sequence[float] = 1.0
    ) -> tuple[Spread, Floats]:
        """Return the spread of estimates, and the rows of the smaller class, of shape (groups, metrics).

        A class is a row of the table, or a set of columns: if they are counts, those of positives or of negatives, and
        otherwise all. Of the negatives, only ``shares`` of them count for the smaller class, one for each metric.

        A row of weight w has w times the influence of its cell. Means over rows are weighted, with the effective number
        of rows: the squared sum of weights divided by the sum of squared weights (Kish 1965). Its powers are those of
        as many rows with equal weights.
        """
        columns, counts, (starts, sizes) = self.columns, self.counts, runs_of(table)
        classes = [side for side in self.sides if side] if counts is columns else [columns]
        parts = np.arange(table.height) if self.classes else starts  # the first row of each class of a group
        first_parts = starts if self.classes else np.arange(len(starts))
        group = np.repeat(np.arange(len(starts)), np.diff(first_parts, append=len(parts)))
        squares = self.squares

        def sum_by_class(values: Floats) -> Floats:
            return np.add.reduceat(values, parts)

        def sum_by_group(values: Floats) -> Floats:
            return np.add.reduceat(values.sum(axis=0), first_parts)

        def column(name: str) -> Floats:
            return table[name].to_numpy()[:, np.newaxis]

        total, total_of_squares, square, terms = np.zeros((4, len(classes), len(parts), slopes.shape[2]))
        weight, weight_of_squares = np.zeros((2, len(classes), len(parts), 1))
        for i, side in enumerate(classes):
            for c in side:
                slope = slopes[:, columns.index(c)]
                total[i] += sum_by_class(slope * column(c))
                total_of_squares[i] += sum_by_class(slope * column(squares[c]))
                if c in counts:
                    weight[i] += sum_by_class(column(c))
                    weight_of_squares[i] += sum_by_class(column(squares[c]))
            for (a, b), c in self.products:
                if a in side and b in side:
                    both = slopes[:, columns.index(a)] * slopes[:, columns.index(b)] * column(c) * (1 if a == b else 2)
                    square[i] += sum_by_class(both)
                    terms[i] += sum_by_class(np.abs(both))
        size, mean = weight**2 / weight_of_squares, total / weight
        within = square - 2 * mean * total_of_squares + mean**2 * weight_of_squares
        varies = within > np.maximum(SUM_ROUNDING * square, CANCELED * terms)
        within = np.where(varies, within, 0) * np.where(size > 1, size / (size - 1), 0.0 if self.classes else np.nan)
        mean_of_group = sum_by_group(total) / sum_by_group(weight)
        apart = mean - mean_of_group[group]
        between = sum_by_group(weight_of_squares * apart**2)
        if self.classes:  # weights can depend on the losses of a class
            between += sum_by_group(2 * apart * (total_of_squares - mean * weight_of_squares))
        variance = sum_by_group(within) + between
        rows_of_group = sum_by_group(weight) ** 2 / sum_by_group(weight_of_squares)
        freedom = sum_by_group(np.where(size > 1, within**2 / (size - 1), 0)) + between**2 / (rows_of_group - 1)
        centre = np.repeat(mean_of_group, sizes, axis=0)
        tail = self.tail or (powers_of_cells if counts is columns else powers_of_losses)
        powers = tail(table, slopes, self, centre)
        second, third, fourth = (np.add.reduceat(power, starts) for power in powers[:3])
        scale = np.where(second > 0, variance / second, np.nan)
        largest = (np.maximum.reduceat(influence, starts) * scale**0.5 for influence in powers[3:])
        spread = Spread(variance, third * scale**1.5, fourth * scale**2, variance**2 / freedom, *largest)
        if counts is columns:
            is_negative = np.array([not POSITIVES & {*side} for side in classes])[:, np.newaxis, np.newaxis]
            smallest = np.where(is_negative, size * np.asarray(shares), size).min(axis=0)
            return spread, smallest * (1 + SUM_ROUNDING)
        weights = column(columns[0])
        smallest = np.minimum.reduceat(weights / (column(squares[columns[0]]) / weights), starts)
        if self.classes:  # rows of one class do not show the losses of the others
            alone = sizes == 1
            smallest[alone] = np.minimum(smallest[alone], 1)
        return spread, smallest * (1 + SUM_ROUNDING)


class PairsOfLabels(Influence):
    """The influence of a pair of labels, for metrics of all labels and for averages over labels."""

    def fits(self, metric: Metric) -> bool:
        """Whether it can be computed: all metrics of the labels can."""
        return True

    def limits(self, sample: Sample, methods: Mapping[Metric, Influence], confidence: float) -> Floats:
        """Return limits, effective rows, and variances, for groups with few pairs of labels."""
        assert sample.pairs is not None
        small = replace(sample.pairs, table=sample.pairs.table.filter(~is_crowded()))
        numbers = np.full((4, sample.estimates.height, len(methods)), np.nan)
        place = np.searchsorted(sample.estimates[GROUP].to_numpy(), small.estimates[GROUP].to_numpy())
        numbers[:, place] = super().limits(small, methods, confidence)
        if sample.weighted:
            rows = rows_of_heaviest(pl.col("actual"), pl.col("actual_w2")) * (1 + SUM_ROUNDING)
            sizes = sample.numbered.group_by(GROUP, maintain_order=True).agg(rows=rows)["rows"].to_numpy()
            numbers[:, ~(sizes >= self.fewest[1])] = np.nan
        return numbers

    def least_of(self, metric: Metric) -> int:
        """Minimum number of rows of all pairs. That of all labels counts instead."""
        return 2

    def fewest_of(self, metric: Metric) -> int:
        """The minimum number of rows of all labels."""
        return max(FEWEST, self.fewest[self.weighted])


def counted(*counts: str) -> tuple[tuple[tuple[str, str], str], ...]:
    """Return the products of columns that count different rows.

    >>> counted("neg", "pos")
    ((('neg', 'neg'), 'neg'), (('pos', 'pos'), 'pos'))
    """
    return tuple(((c, c), c) for c in counts)


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


def matrix_of(frame: pl.DataFrame, names: Sequence[str]) -> Floats:
    """Return values with NaN for nulls: shape (rows, metrics)."""
    return frame.select(pl.col(names).cast(pl.Float64)).to_numpy(writable=True).reshape(frame.height, len(names))


def rows_of_heavier_class() -> Expr:
    """The rows of the smaller class, if each weighed as much as the rows of the class with the heavier rows."""
    totals = [pl.col(c).sum() for c in ("neg", "pos")]
    weights = [pl.col(f"{c}_w2").sum() / pl.col(c).sum() for c in ("neg", "pos")]
    return pl.min_horizontal(totals) / pl.max_horizontal(weights)


def rows_of_heaviest(weight: Expr, squares: Expr) -> Expr:
    """The number of rows of all labels, if each weighed as much as the rows of the label with the heaviest rows.

    If it is small, the heaviest label has so few rows that a sample can lack its errors.
    """
    return weight.sum() / (squares / weight).filter(weight > 0).max()


def is_crowded() -> Expr:
    """Whether a group has too many pairs of labels to process one by one."""
    return pl.len().over(GROUP) > PAIRS_OF_LABELS

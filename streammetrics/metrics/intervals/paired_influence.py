"""Confidence intervals of differences between two models on the same rows, from differences of influences.

The effect of rows that are difficult for both models cancels. Functions take the names of metrics, and a function
``read`` that returns a frame with a column for each, and a row for each row or group of a table. Differences are b less
``factor`` times a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.metrics.intervals.distributions import upper_level
from streammetrics.metrics.intervals.influence import (
    Products,
    counted,
    limits_within,
    matrix_of,
    sliced,
    slopes_of,
    spread_of,
)
from streammetrics.metrics.intervals.limits import Range, Spread
from streammetrics.metrics.intervals.method import GROUP, Read

if TYPE_CHECKING:
    from streammetrics.metrics.metric import Metric

Values = NDArray[np.float64]
Integers = NDArray[np.intp]

CLASSES = ["neg", "pos"]
OUTCOMES = ["tn", "fn", "fp", "tp"]  # by decision and label
NONE = 1e-300  # replaces a total of 0, which cannot be varied by a relative step


@dataclass(frozen=True)
class Difference:
    """Differences of metrics of shape (groups, metrics), with their spread. Values are NaN without an interval."""

    values: Values
    spread: Spread
    factor: float = 1.0

    def limits(self, metrics: Sequence[Metric], confidence: float) -> tuple[Values, Values]:
        """Return lower and upper limits of the difference, within its range, or NaN for metrics without an interval."""
        ranges = [range_of_difference(m.range, self.factor) for m in metrics]
        return limits_within(self.values, self.spread, upper_level(confidence), ranges)


def range_of_difference(range: Range, factor: float) -> Range:
    """Return the smallest and the largest difference.

    >>> range_of_difference((0, 1), 1.0), range_of_difference((0, 1), -1.0)
    ((-1.0, 1.0), (0.0, 2.0))
    """
    ends = sorted(factor * end for end in range)
    return range[0] - ends[1], range[1] - ends[0]


def of_outcomes(counts: Values, names: Sequence[str], read: Read, factor: float) -> Difference:
    """Return differences of confusion-count metrics.

    ``counts`` are rows by decision of a, decision of b, and label: shape (groups, 2, 2, 2).
    """
    counts = counts.astype(np.float64)
    tables = [_table(counts.sum(axis=axis).reshape(-1, 4), OUTCOMES) for axis in (2, 1)]
    of_a, of_b = (slopes_of(t, OUTCOMES, OUTCOMES, names, read).reshape(-1, 2, 2, len(names)) for t in tables)
    slopes = of_b[:, np.newaxis] - factor * of_a[:, :, np.newaxis]
    cells = _table(counts.reshape(-1, 2), CLASSES, np.repeat(np.arange(len(counts)), 4))
    spread, _ = spread_of(cells, slopes.reshape(-1, 2, len(names)), CLASSES, counted(*CLASSES))
    a, b = (matrix_of(read(table), names) for table in tables)
    return Difference(b - factor * a, spread, factor)


def spread_of_matches(more: Values, less: Values, rows: Values) -> Spread:
    """Return the spread of the difference of two shares of rows, of which more and less count for one model only.

    Arrays have the shape (groups, 1).
    """
    sizes = np.array([[1.0], [-1.0], [0.0]])
    counts = np.stack([more, less, rows - more - less])
    with np.errstate(all="ignore"):
        influences = (sizes - (more - less) / rows) / rows
        squares, cubes, fourths = ((counts * influences**power).sum(axis=0)[:, np.newaxis] for power in (2, 3, 4))
        return Spread(squares, cubes, fourths, (rows - 1)[:, np.newaxis])


def of_areas(cells: pl.DataFrame, differences: Values, scales: Sequence[float], factor: float) -> Difference:
    """Return differences of linear functions of the ROC AUC, from placements (DeLong, DeLong & Clarke-Pearson 1988).

    ``cells`` has the columns ``group``, ``one`` and ``other`` (the order of cells along the scores of a and b),
    ``neg``, and ``pos``. ``scales`` are the slopes of the metrics as functions of the AUC.
    """
    sides = [Side.of(cells, name) for name in ("one", "other")]
    of_a, of_b = (_placements(side.table)[side.row] for side in sides)
    slopes = (of_b - factor * of_a)[..., np.newaxis] * np.array(scales)
    spread, _ = spread_of(cells, slopes, CLASSES, counted(*CLASSES))
    return Difference(differences, spread, factor)


def of_scores(
    cells: pl.DataFrame,
    differences: Values,
    names: Sequence[str],
    read: Read,
    fewest: Sequence[int],
    shares: Sequence[float],
    factor: float,
) -> Difference:
    """Return differences of other ranking metrics.

    ``cells`` are as in `of_areas`, and ``fewest`` and ``shares`` as in `influence_intervals`.
    """
    sides = [Side.of(cells, name).sliced() for name in ("one", "other")]
    slopes = [slopes_of(side.table, CLASSES, CLASSES, names, read) for side in sides]
    apart = slopes[1][sides[1].row] - factor * slopes[0][sides[0].row]
    spread, rows = spread_of(cells, apart, CLASSES, counted(*CLASSES), shares)
    return Difference(np.where(rows < fewest, np.nan, differences), spread, factor)


def of_losses(
    sums: pl.DataFrame,
    column: str,
    differences: Values,
    names: Sequence[str],
    read: Read,
    fewest: Sequence[int],
    weight: str,
    factor: float,
    *,
    signed: bool = False,
) -> Difference:
    """Return differences of metrics of a mean loss, which can be ``signed``, as the error is.

    A row adds its loss for each model to the totals, or equivalently the mean and the difference of both losses. Powers
    of differences are summed row by row, so they are precise for nearly equal models. The other products are computed
    from them and from the squares of both losses. Each class has its part of the variance, which gives the degrees of
    freedom.

    ``sums`` has, for each class, ``group``, the number of rows ``weight``, other columns that metrics need, the sums
    ``total_a`` and ``total_b`` of losses, the sums ``squares_a`` and ``squares_b`` of squared losses, and the sums
    ``squares``, ``cubes``, and ``fourths`` of powers of differences. Rows of a group must be adjacent. Metrics read the
    total in ``column``.
    """
    parts = sums.select(
        GROUP,
        w=pl.col(weight).cast(pl.Float64),
        d=pl.col("total_b") - pl.col("total_a"),
        m=(pl.col("total_a") + pl.col("total_b")) / 2,
        dd="squares",
        ddd="cubes",
        dddd="fourths",
        dm=(pl.col("squares_b") - pl.col("squares_a")) / 2,
        mm=(pl.col("squares_a") + pl.col("squares_b")) / 2 - pl.col("squares") / 4,
    )
    of_a, of_b = (
        slopes_of(
            sums.with_columns(
                pl.col(weight).cast(pl.Float64),
                pl.when(pl.col(total) == 0).then(NONE).otherwise(total).alias(column),  # a total of 0 is not varied
            ),
            [weight, column],
            [weight],
            names,
            read,
        )
        for total in ("total_a", "total_b")
    )
    of_a = factor * of_a
    slopes = np.stack([of_b[:, 0] - of_a[:, 0], (of_a[:, 1] + of_b[:, 1]) / 2, of_b[:, 1] - of_a[:, 1]], axis=1)
    products = {("w", "w"): "w", ("w", "d"): "d", ("w", "m"): "m", ("d", "d"): "dd", ("d", "m"): "dm", ("m", "m"): "mm"}
    spread, rows = spread_of(parts, slopes, ["w", "d", "m"], products, tail=partial(powers_of_differences, signed))
    spread = replace(spread, degrees=_degrees_of_classes(parts, slopes, products))
    return Difference(np.where(rows < fewest, np.nan, differences), spread, factor)


def powers_of_differences(
    signed: bool, parts: pl.DataFrame, slopes: Values, columns: Sequence[str], centre: Values
) -> Sequence[Values]:
    """Powers of influences: of differences from their sums, and of mean losses as those of a gamma distribution.

    Mean errors with a sign have those of a normal distribution.
    """
    rows, one, two, three, four, mean, square = (
        parts[c].to_numpy()[:, np.newaxis] for c in ("w", "d", "dd", "ddd", "dddd", "m", "mm")
    )
    of_difference, of_mean = slopes[:, 1], slopes[:, 2]
    constant = slopes[:, 0] + of_mean * mean / rows - centre
    spread = np.maximum(square * rows / mean**2 - 1, 0)  # the squared coefficient of variation of mean losses
    spread = np.zeros_like(spread) if signed else spread
    second = of_mean**2 * np.maximum(square - mean**2 / rows, 0)
    powers = [
        rows * constant**2 + 2 * constant * of_difference * one + of_difference**2 * two,
        rows * constant**3
        + 3 * constant**2 * of_difference * one
        + 3 * constant * of_difference**2 * two
        + of_difference**3 * three,
        rows * constant**4
        + 4 * constant**3 * of_difference * one
        + 6 * constant**2 * of_difference**2 * two
        + 4 * constant * of_difference**3 * three
        + of_difference**4 * four,
    ]
    third = np.sign(of_mean) * 2 * np.sqrt(spread) * second**1.5 / np.sqrt(rows)
    fourth = (3 + 6 * spread) * second**2 / rows + 6 * powers[0] * second / rows
    return [total + more for total, more in zip(powers, (second, third, fourth), strict=True)]


@np.errstate(all="ignore")  # an infinite variance has no interval
def _degrees_of_classes(parts: pl.DataFrame, slopes: Values, products: Products) -> Values:
    """Degrees of freedom of a variance with a part for each class (Satterthwaite 1946): shape (groups, metrics)."""
    starts = np.flatnonzero(np.diff(parts[GROUP].to_numpy().astype(np.intp), prepend=-1))
    sizes = np.diff(starts, append=parts.height)
    sums = {c: parts[c].to_numpy()[:, np.newaxis] for c in parts.columns}
    of = dict(zip(("w", "d", "m"), np.moveaxis(slopes, 1, 0), strict=True))
    total = sum(of[c] * sums[c] for c in of)
    square = sum((1 if a == b else 2) * of[a] * of[b] * sums[c] for (a, b), c in products.items())
    mean = np.add.reduceat(total, starts) / np.add.reduceat(sums["w"], starts)
    around = np.repeat(mean, sizes, axis=0)
    own = np.maximum(square - 2 * around * total + around**2 * sums["w"], 0)
    freedom = np.maximum(sums["w"] - 1, 1)
    degrees: Values = np.add.reduceat(own, starts) ** 2 / np.add.reduceat(own**2 / freedom, starts)
    return degrees


@dataclass(frozen=True)
class Side:
    """The histogram of one of two scores, and the row of the histogram that each cell belongs to."""

    table: pl.DataFrame
    row: Integers

    @classmethod
    def of(cls, cells: pl.DataFrame, name: str) -> Side:
        """Build the histogram of one score."""
        table = (
            cells.group_by(GROUP, name).agg(pl.sum(*CLASSES).cast(pl.Float64)).sort(GROUP, name).with_row_index("row")
        )
        row = cells.join(table, on=[GROUP, name], how="left", maintain_order="left")["row"]
        return cls(table.with_columns(pl.lit(0, pl.UInt8).alias("shift")), row.to_numpy().astype(np.intp))

    def sliced(self) -> Side:
        """Merge adjacent rows of the histogram (see `sliced`)."""
        table = sliced(self.table, CLASSES)
        first = table["row"].to_numpy()
        return Side(table, np.searchsorted(first, self.row, side="right") - 1)


def _placements(table: pl.DataFrame) -> Values:
    """Derivatives of the ROC AUC with respect to the negatives and the positives of each bin: shape (rows, 2)."""
    neg, pos = (pl.col(c).cast(pl.Float64) for c in CLASSES)
    negatives, positives = (x.sum().over(GROUP) for x in (neg, pos))
    placed = table.select(
        GROUP,
        neg,
        pos,
        below=(neg.cum_sum() - neg / 2).over(GROUP) / negatives,
        above=(pos.cum_sum(reverse=True) - pos / 2).over(GROUP) / positives,
    )
    auc = (pl.col("below") * pos).sum().over(GROUP) / positives
    found: Values = placed.select((pl.col("above") - auc) / negatives, (pl.col("below") - auc) / positives).to_numpy()
    return found


def _table(values: Values, names: Sequence[str], group: Integers | None = None) -> pl.DataFrame:
    number = np.arange(len(values)) if group is None else group
    return pl.DataFrame({GROUP: number} | dict(zip(names, values.T, strict=True)))

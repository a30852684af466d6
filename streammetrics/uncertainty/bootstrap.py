"""Intervals of any metric that is read off counts: the bootstrap, which draws tables in place of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import Expr

from streammetrics.errors import SpecificationError
from streammetrics.uncertainty.distributions import normal_quantile, upper_level
from streammetrics.uncertainty.limits import tidy

Counts = NDArray[np.int64]
Values = NDArray[np.float64]
Ranks = NDArray[np.int64]

REPLICATES = 1_000
CELLS = 1 << 21  # drawn at a time, so that memory stays bounded
MOST_BIAS = 1.0  # standard errors, beyond which an interval holds the truth too seldom
REPLICATE = "replicate"


def bootstrap_intervals(
    table: pl.DataFrame,
    expressions: Mapping[str, Expr],
    counts: Sequence[str],
    by: Sequence[str] = (),
    confidence: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> pl.DataFrame:
    """Bias-corrected percentile intervals of metrics, from tables drawn as if the rows were drawn again.

    Rows of one cell are alike, so to draw as many rows with replacement is to draw the counts of a group's cells from
    the multinomial distribution with their shares. The limits are percentiles of the metrics of such tables, shifted by
    twice the bias of their median (Efron 1981; the BCa interval of Efron 1987 without acceleration), since metrics such
    as KS are biased upwards in small samples. Those of ``2 * auc - 1`` follow from those of ``auc``.

    The cost is that of evaluating the table ``replicates`` times, and about 0.15 µs for each cell drawn.

    Args:
        table: columns ``by`` and ``counts``, and those that the expressions read besides; no column is named
            ``replicate``. Rows of a group keep their order.
        expressions: metrics by name; each folds the rows of a group into one number. They see the counts as Float64,
            and no rows without counts.
        counts: integer columns that tell how many rows are in each cell, such as ``neg`` and ``pos``. Where they are
            sums of weights, they don't tell, and there are no intervals.
        by: group columns.
        confidence: probability with which an interval is to hold the metric.
        replicates: number of tables drawn for each group.
        seed: of the random numbers, which each group has of its own: equal tables and seeds give equal intervals,
            whatever other groups there are, with the same version of numpy.

    Returns:
        The group columns, ``metric``, ``ci_lower`` and ``ci_upper``, by group and then in the order of the metrics; a
        group without rows has none. The limits are null where the metric is undefined in one of the tables drawn, where
        they are infinite, and where the bias is larger than the standard error (as that of KS near 0).

    Raises:
        SpecificationError: for a confidence that is not between 0 and 1, or less than 100 replicates.

    >>> table = pl.DataFrame({"error": [0.0, 1.0, 2.0, 5.0], "count": [40, 30, 20, 10]})
    >>> mean = (pl.col("error") * pl.col("count")).sum() / pl.col("count").sum()
    >>> bootstrap_intervals(table, {"mae": mean}, ["count"]).with_columns(pl.col(pl.Float64).round(1)).rows()
    [('mae', 0.9, 1.5)]
    """
    if replicates < 100:
        raise SpecificationError(f"a bootstrap needs at least 100 replicates, not {replicates}.")
    ranks = _ranks(confidence, replicates)
    counted = table.filter(pl.any_horizontal(pl.col(counts) > 0)).sort(by, maintain_order=True)
    named = [expression.alias(f"value of {name}") for name, expression in expressions.items()]
    actual = _as_floats(counted, counts).group_by(by, maintain_order=True).agg(named)
    values = _matrix(actual, named)
    limits = np.full((2, *values.shape), np.nan)
    if all(table.schema[c].is_integer() for c in counts):
        for rows, groups in _parts(counted, by, CELLS // (replicates * len(counts))):
            drawn = _replicates(counted[rows], named, counts, by, replicates, seed)
            limits[:, groups] = _limits(drawn, values[groups], ranks)
    return tidy(actual, by, list(expressions), *limits)


def resample(counts: Counts, group: NDArray[np.integer], replicates: int, random: np.random.Generator) -> Counts:
    """Tables of as many rows in each group, drawn from the multinomial distribution of its cells.

    The rows of a range of cells are split between its halves, which is binomial, until ranges are single cells: all
    groups and replicates at once.

    Args:
        counts: rows in each cell.
        group: the group of each cell; those of a group follow each other.
        replicates: number of tables.
        random: the source of random numbers.

    Returns:
        Counts of shape (replicates, cells).

    >>> drawn = resample(np.array([1, 0, 5, 5]), np.array([0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> drawn[:, :2], drawn.sum(axis=1)
    (array([[1, 0],
           [1, 0]]), array([11, 11]))
    """
    drawn: Counts = np.zeros((replicates, len(counts)), dtype=np.int64)
    cells = np.flatnonzero(counts)
    before = np.append(0, np.cumsum(counts[cells]))
    start = _starts(group[cells])
    end = np.append(start, len(cells))[1:]
    rows = np.tile(before[end] - before[start], (replicates, 1))
    while len(start):
        single = end - start == 1
        drawn[:, cells[start[single]]] = rows[:, single]
        start, end, rows = start[~single], end[~single], rows[:, ~single]
        middle = (start + end) // 2
        left = random.binomial(rows, (before[middle] - before[start]) / (before[end] - before[start]))
        start, end, rows = np.append(start, middle), np.append(middle, end), np.hstack([left, rows - left])
    return drawn


def _starts(group: NDArray[np.integer]) -> NDArray[np.intp]:
    """Where each run of equal numbers starts."""
    return np.flatnonzero(np.diff(group, prepend=-1))


def _codes(table: pl.DataFrame, by: Sequence[str]) -> NDArray[np.int64]:
    """Numbers of the groups of a sorted table."""
    if not by:
        return np.zeros(table.height, dtype=np.int64)
    return table.select(pl.struct(by).rle_id().cast(pl.Int64)).to_series().to_numpy()


def _parts(table: pl.DataFrame, by: Sequence[str], most: int) -> Iterator[tuple[slice, slice]]:
    """Slices of rows and of groups: whole groups, several only where they have ``most`` rows or less together."""
    edges, first = np.append(_starts(_codes(table, by)), table.height), 0
    while first < len(edges) - 1:
        last = max(first + 1, int(np.searchsorted(edges, edges[first] + most, side="right")) - 1)
        yield slice(edges[first], edges[last]), slice(first, last)
        first = last


def _replicates(
    table: pl.DataFrame,
    named: Sequence[Expr],
    counts: Sequence[str],
    by: Sequence[str],
    replicates: int,
    seed: int,
) -> Values:
    """Metrics of tables drawn: shape (replicates, groups, metrics)."""
    cells = table.select(counts).to_numpy().astype(np.int64)
    group = _codes(table, by)
    starts = _starts(group)
    own = [(part.ravel(), np.random.default_rng(seed)) for part in np.split(cells, starts[1:])]
    at_once = max(1, CELLS // cells.size)
    found = []
    for start in range(0, replicates, at_once):
        size = min(at_once, replicates - start)
        parts = [resample(part, np.zeros_like(part), size, random) for part, random in own]
        drawn = np.hstack(parts).reshape(-1, len(counts))
        tables = table[np.tile(np.arange(table.height), size)].with_columns(
            pl.Series(REPLICATE, np.add.outer(np.arange(size) * len(starts), group).ravel()).set_sorted(),
            *(pl.Series(c, drawn[:, i], dtype=pl.Float64) for i, c in enumerate(counts)),
        )
        seen = tables.filter(pl.any_horizontal(pl.col(counts) > 0))
        values = _matrix(seen.group_by(REPLICATE, maintain_order=True).agg(named), named)
        found.append(values.reshape(size, len(starts), len(named)))
    return np.concatenate(found)


def _limits(drawn: Values, values: Values, ranks: Ranks) -> Values:
    """Lower and upper limits, NaN where there are none: shape (2, groups, metrics)."""
    below = (drawn < values).sum(axis=0) + (drawn <= values).sum(axis=0)
    chosen = ranks[:, below]
    limits = np.take_along_axis(np.sort(drawn, axis=0), np.maximum(chosen, 0), axis=0)
    sound = (chosen >= 0) & np.isfinite(limits) & ~np.isnan(drawn).any(axis=0)
    return np.where(sound.all(axis=0), limits, np.nan)


def _ranks(confidence: float, replicates: int) -> Ranks:
    """Which of the sorted replicates are the limits, for each number of half replicates below the value, else -1."""
    normal, z = NormalDist(), normal_quantile(upper_level(confidence))
    ranks = np.full((2, 2 * replicates + 1), -1)
    for below in range(1, 2 * replicates):
        bias = normal.inv_cdf(below / (2 * replicates))
        if abs(bias) <= MOST_BIAS:
            lower = math.floor((replicates + 1) * normal.cdf(2 * bias - z)) - 1
            upper = math.ceil((replicates + 1) * normal.cdf(2 * bias + z)) - 1
            ranks[:, below] = np.clip([lower, upper], 0, replicates - 1)
    return ranks


def _as_floats(table: pl.DataFrame, counts: Sequence[str]) -> pl.DataFrame:
    return table.with_columns(pl.col(counts).cast(pl.Float64))


def _matrix(frame: pl.DataFrame, named: Sequence[Expr]) -> Values:
    """Values with NaN for nulls: shape (rows, metrics)."""
    values = frame.select(pl.col([e.meta.output_name() for e in named]).cast(pl.Float64))
    return values.to_numpy().reshape(frame.height, len(named))

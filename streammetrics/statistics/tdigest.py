"""t-digests: distributions as a few hundred centroids, most precise in the tails, with certified ranks.

A digest is a table with one row per centroid, sorted by group and mean. Its columns are ``group`` (UInt32), ``mean``,
``weight``, ``min``, and ``max`` (Float64). A centroid summarizes rows by their total weight, weighted mean, smallest,
and largest value. To merge digests, concatenate their tables and `cluster` the result. ``weight`` is Int64 if it is a
number of rows.

The sketch was published by Dunning and Ertl ("Computing extremely accurate quantiles using t-digests", 2019). The
published version does not guarantee ranks. In this implementation, ``min`` and ``max`` certify them: for every x

    sum of the weights with max < x   <=  weight of the rows < x
    weight of the rows <= x           <=  sum of the weights with min <= x

The merge guarantee does not hold for digests: another merge order gives other centroids, with other bounds that also
hold. Merging two digests is commutative.

The following are exact: the total weight (except for rounding of fractional weights), the smallest and the largest
value, the weight of each infinity, and all values of a group with at most ``compression`` distinct values.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import DataFrame

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]
Weights = NDArray[np.float64] | NDArray[np.int64]

SCHEMA: dict[str, pl.DataType] = {
    "group": pl.UInt32(),
    "mean": pl.Float64(),
    "weight": pl.Float64(),
    "min": pl.Float64(),
    "max": pl.Float64(),
}
TICKS = 36  # bits of the total weight of a group as an integer


def observe(values: Floats, group: Codes | None, groups: int, weight: Floats | None, compression: int) -> DataFrame:
    """Compute the digest of rows. Values must not be NaN, and weights must be positive and have a finite sum.

    >>> observe(np.array([3.0, 1.0, 2.0, 1.0]), None, 1, None, compression=100).rows()
    [(0, 1.0, 2, 1.0, 1.0), (0, 2.0, 1, 2.0, 2.0), (0, 3.0, 1, 3.0, 3.0)]
    """
    if group is None and weight is None:
        values = np.sort(values)
    else:
        order = _order(values, group, groups, weight)
        values = values[order]
        group = None if group is None else group[order]
        weight = None if weight is None else weight[order]
    new = _changes(values) if group is None else _changes(values) | _changes(group)
    ends = np.arange(len(values) + 1) if new.all() else np.append(np.flatnonzero(new), len(values))
    first = _clusters(values, group, ends[:-1], ends if weight is None else _ticks(weight, group)[ends], compression)
    last = np.append(first, len(values))[1:] - 1
    means, weights = _means(values, weight, first, last)
    return _table(group, first, means, weights, values[first], values[last])


def cluster(table: DataFrame, compression: int) -> DataFrame:
    """Merge the centroids of one or more concatenated digests, up to the maximum number of centroids.

    The cumulative weight of a group is divided into cells, and the centroids of each cell are merged. The scale
    function is the arcsine, k1: a centroid whose middle is at the share q of the weight is in cell
    ``floor(compression * (asin(2 * q - 1) / pi + 1 / 2))``.

    - A group has at most ``compression`` centroids of finite values, and one for each infinity. If it has at most
      ``compression`` distinct values, only equal values are merged.
    - A merged centroid weighs less than two cells: less than ``pi / compression`` of the group, and near the ends
      about ``2 * pi * sqrt(q * (1 - q)) / compression``.
    - A value that fills a cell is not merged with other values.

    >>> even, odd = (observe(np.arange(start, 1000.0, 2), None, 1, None, compression=4) for start in (0, 1))
    >>> cluster(pl.concat([even, odd]), compression=4)["weight"].to_list()
    [146, 354, 354, 146]
    """
    group, mean, weight, low, high = (c.to_numpy() for c in table.select(*SCHEMA).sort(*SCHEMA).iter_columns())
    several = low < high
    new = _changes(mean) | _changes(group) | several
    new[1:] |= several[:-1]
    ends = np.append(np.flatnonzero(new), len(mean))
    first = _clusters(mean, group, ends[:-1], _ticks(weight, group)[ends], compression)
    means, weights = _means(mean, weight, first, np.append(first, len(mean))[1:] - 1)
    return _table(group, first, means, weights, np.minimum.reduceat(low, first), np.maximum.reduceat(high, first))


def _order(values: Floats, group: Codes | None, groups: int, weight: Floats | None) -> NDArray[np.intp]:
    order = np.argsort(values)
    if weight is not None:
        new = _changes(values[order])
        if not new.all():  # weights of equal values are always summed in the order of rows
            order = np.sort(np.cumsum(new) << 32 | order) & 0xFFFF_FFFF
    if group is not None:
        codes = group.astype(np.min_scalar_type(groups - 1))  # small integers sort in linear time
        order = order[np.argsort(codes[order], kind="stable")]
    return order


def _changes(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    new = np.ones(len(column), dtype=np.bool_)
    np.not_equal(column[1:], column[:-1], out=new[1:])
    return new


def _group_starts(group: Codes | None, rows: int) -> NDArray[np.intp]:
    return np.arange(min(rows, 1)) if group is None else np.flatnonzero(_changes(group))


def _ticks(weight: Weights, group: Codes | None) -> NDArray[np.int64]:
    """Cumulative weights before each row, and the total, as integers.

    With integers, the weight of a group does not affect the rounding of later groups. The unit of each group is a power
    of two, so that integer weights stay exact.
    """
    starts = _group_starts(group, len(weight))
    bits = TICKS - np.frexp(np.add.reduceat(weight, starts))[1]
    ticks = np.rint(np.ldexp(weight, np.repeat(bits, np.diff(starts, append=len(weight)))))
    return np.append(0, np.cumsum(ticks.astype(np.int64)))


def _clusters(values: Floats, group: Codes | None, runs: Codes, ends: Codes, compression: int) -> NDArray[np.intp]:
    """The first row of each cluster of rows that are sorted by group and value.

    ``runs`` has the first row of each run of rows that stay together, ``ends`` the cumulative weight before each run
    and the total, as integers.
    """
    starts = np.searchsorted(runs, _group_starts(group, len(values)))
    stops = np.append(starts, len(runs))[1:]
    full = stops - starts > compression
    low, high = ends[starts[full]], ends[stops[full]]
    borders = 2 * low[:, None] + np.ceil(2 * (high - low)[:, None] * _cell_borders(compression)).astype(np.int64)
    run = np.minimum(np.searchsorted(ends, borders // 2, side="right"), len(runs)) - 1  # contains the border,
    run += ends[run] + ends[run + 1] < borders  # or the next run, if its own middle is before the border
    kept = np.flatnonzero(np.repeat(~full, stops - starts))
    above_infinity = starts[values[runs[starts]] == -np.inf] + 1
    infinity = stops[values[runs[stops - 1]] == np.inf] - 1
    first = np.sort(np.concatenate([starts, run.ravel(), kept, above_infinity, infinity]))
    found: NDArray[np.intp] = runs[first[_changes(first) & (first < len(runs))]]
    return found


@cache
def _cell_borders(compression: int) -> Floats:
    """The shares of the weight at which the scale function is an integer."""
    borders: Floats = np.sin(np.arange(1, compression) * (np.pi / 2 / compression)) ** 2
    borders.flags.writeable = False
    return borders


def _means(values: Floats, weight: Weights | None, first: Codes, last: Codes) -> tuple[Floats, Weights]:
    """Weighted means and total weights of rows from ``first`` to ``last``, inclusive."""
    sizes = last - first + 1
    weights = sizes if weight is None else np.add.reduceat(weight, first)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.add.reduceat(values if weight is None else values * weight, first) / weights
        lost = ~np.isfinite(means)
        if lost.any():  # a sum overflowed, or a value is infinite
            share = (1 if weight is None else weight) / np.repeat(weights, sizes)
            means[lost] = np.add.reduceat(values * share, first)[lost]
    return np.fmin(np.fmax(means, values[first]), values[last]), weights  # within the values despite rounding


def _table(group: Codes | None, first: Codes, mean: Floats, weight: Weights, low: Floats, high: Floats) -> DataFrame:
    codes = np.zeros(len(first), dtype=np.uint32) if group is None else group[first].astype(np.uint32)
    columns = (codes, mean + 0.0, weight, low + 0.0, high + 0.0)  # turns -0.0 into 0.0
    return DataFrame([pl.Series(name, column) for name, column in zip(SCHEMA, columns, strict=True)])

"""Tables with one row per key, whose values are sums."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np
import polars as pl

from streammetrics.core import Codes
from streammetrics.data import number
from streammetrics.statistics.exact_sums import DECIMAL, added_up

DENSE = 4  # maximum numbers per row for a dense array; more are sorted
MOST = 1 << 62  # maximum number of codes in 64-bit integers, with room for one more step


def summed(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return a table with the sums of the rows of each key, sorted by key.

    Equal tables give equal sums, bit for bit. A group-by would sum in varying order. Sums of integers and decimals do
    not depend on the order at all.

    >>> summed(pl.DataFrame({"x": ["b", "a", "b"], "n": [1, 2, 3]}), ["x"]).rows()
    [('a', 2), ('b', 4)]
    """
    place, row = places(table[[*keys]])  # cheaper than an expression, for tables of a few rows
    if np.array_equal(row, np.arange(table.height)):
        return table
    first = pl.Series(row.astype(np.uint32))
    return pl.DataFrame([c[first] if c.name in keys else _added_up(c, place, len(row)) for c in table])


def places(rows: pl.DataFrame) -> tuple[Codes, Codes]:
    """Return the rank of each row among the distinct ones, sorted as in Polars, and the first row of each."""
    code, size = np.zeros(rows.height, dtype=np.int64), 1
    for column in rows.iter_columns():
        ranks, ranked = _rank(column)
        if size * ranked >= MOST:  # few of which occur
            code, ranks = (np.unique(numbers, return_inverse=True)[1] for numbers in (code, ranks))
            size, ranked = (int(numbers.max()) + 1 for numbers in (code, ranks))
        code = code * ranked + ranks
        size *= ranked
    if (code[1:] > code[:-1]).all():
        return np.arange(rows.height), np.arange(rows.height)
    if size > DENSE * rows.height:
        _, row, place = np.unique(code, return_index=True, return_inverse=True)
        return place, row
    present = np.zeros(size, dtype=bool)
    present[code] = True
    place = (np.cumsum(present) - 1)[code]
    row = np.empty(np.count_nonzero(present), dtype=np.intp)
    row[place[::-1]] = np.arange(rows.height)[::-1]
    return place, row


def _rank(column: pl.Series) -> tuple[Codes, int]:
    """Ranks from 0 in the order of the values, and an upper limit of their number."""
    if column.dtype.is_integer() and not column.null_count() and len(column):
        values = column.to_numpy()
        low, high = int(values.min()), int(values.max())
        if high - low < MOST and high < 1 << 63:
            return values.astype(np.int64) - low, high - low + 1
    codes, first = number(column)
    if len(first) == 1:
        return codes, 1
    ranks = column[first].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    return ranks[codes], int(ranks.max(initial=0)) + 1


def _added_up(column: pl.Series, place: Codes, size: int) -> pl.Series:
    """The sum of the values of each place, of floats in several runs, which limits rounding errors."""
    if column.dtype == DECIMAL:
        return added_up(column, place, size)
    values = column.to_numpy()
    if not column.dtype.is_float():
        total = np.zeros(size, dtype=values.dtype)
        np.add.at(total, place, values)
        return pl.Series(column.name, total)
    runs = isqrt(len(column) // max(size, 1)) + 1
    sums = np.zeros((runs, size), dtype=values.dtype)
    for i, (some, where) in enumerate(zip(np.array_split(values, runs), np.array_split(place, runs), strict=True)):
        np.add.at(sums[i], where, some)
    return pl.Series(column.name, sums.sum(axis=0))

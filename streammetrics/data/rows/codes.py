"""Integer codes of groups and class labels."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Codes
from streammetrics.data.rows import exact_sums

DENSE = 4  # maximum numbers per row for a dense array; more are sorted
MOST = 1 << 62  # maximum number of codes in 64-bit integers, with room for one more step


def number(column: pl.Series) -> tuple[Codes, Codes]:
    """Return a code for each value, including null, and a row for each code.

    Equal strings and zeros can have two codes.
    """
    if not column.null_count():
        return _number_values(column)
    null = column.is_null().to_numpy()
    rows = np.flatnonzero(~null)
    codes = np.zeros(len(column), dtype=np.intp)
    codes[rows], first = _number_values(column.drop_nulls())
    codes[null] = len(first)
    return codes, np.append(rows[first], np.argmax(null))


def _number_values(column: pl.Series) -> tuple[Codes, Codes]:
    """Number values by their bits. A category is a code already, so its text is not read."""
    if column.dtype in (pl.Int128, pl.UInt128):  # which Arrow does not have
        column = column.cast(pl.String)
    if column.dtype in (pl.String, pl.Binary) or isinstance(column.dtype, pl.Decimal):
        return core.number_views(_views(column))
    return core.number_integers(_integers(column))


def _views(column: pl.Series) -> list[NDArray[np.int64]]:
    """The 16 bytes of each value as two integers, by chunk. Those of a long string are its location in the chunk."""
    chunks = [chunk.to_arrow(compat_level=pl.CompatLevel.newest()) for chunk in column.get_chunks()]
    if len(chunks) > 1 and any(len(chunk.buffers()) > 2 for chunk in chunks):  # after validity and views
        return _views(column.rechunk())
    contents = [np.frombuffer(chunk.buffers()[1] or b"", dtype=np.int64).reshape(-1, 2) for chunk in chunks]
    return [content[chunk.offset :][: len(chunk)] for content, chunk in zip(contents, chunks, strict=True)]


def _integers(column: pl.Series) -> NDArray[np.integer[Any]]:
    """An integer for each value: its bits."""
    if column.dtype == pl.Boolean:
        return column.cast(pl.UInt8).to_numpy()
    values = column.to_physical().to_numpy()
    return values.view(f"i{values.itemsize}") if values.dtype.kind == "f" else values


def encode(columns: pl.DataFrame) -> tuple[pl.DataFrame, Codes]:
    """Return distinct rows, and for each row the index of its distinct row.

    >>> encode(pl.DataFrame({"x": ["a", "b", "a"]}))[1].tolist()
    [0, 1, 0]
    """
    column, *others = columns.iter_columns()
    codes, first = number(column)
    for other in others:
        more, firsts = number(other)
        codes, first = core.number_integers(codes * len(firsts) + more)
    rows = columns[first]
    unsure = any(dtype in (pl.String, pl.Binary) or dtype.is_float() for dtype in rows.dtypes)
    distinct = rows.unique(maintain_order=True) if unsure else rows
    if distinct.height < rows.height:
        codes = find(rows, distinct.with_row_index()).to_numpy().astype(np.intp)[codes]
    return distinct, codes


def find(rows: pl.DataFrame, numbered: pl.DataFrame) -> pl.Series:
    """Return the number of each row from the first column of ``numbered``, or null if it is not found."""
    index = numbered.columns[0]
    both = [numbered.select(rows.columns), rows]
    if all(each.dtypes == [pl.Int64] and not each.to_series().null_count() for each in both):  # faster than a join
        codes = core.number_integers(pl.concat(both, rechunk=True).to_series().to_numpy())[0][numbered.height :]
        places = pl.Series(codes)
        return numbered[index].gather(places.set(places >= numbered.height, None))
    return rows.join(numbered, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")[index]


def ascending(rows: pl.DataFrame) -> bool:
    """Return whether rows are unique, sorted, and without nulls."""
    if rows.height < 2:
        return True
    below, equal = pl.lit(False), pl.lit(True)
    for name in rows.columns:
        this, before = pl.col(name), pl.col(name).shift()
        below |= equal & (before < this)
        equal &= before == this
    return bool(rows.select(below.slice(1).fill_null(False).all()).item())


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
    if column.dtype == exact_sums.DECIMAL:
        return exact_sums.added_up(column, place, size)
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


def as_written(series: pl.Series) -> pl.Series:
    """Return floats as the 64-bit floats with the same shortest decimal text.

    As a group, 0.1 is thus the same number in every float type, although its 32 bits are 0.10000000149 in 64 bits.

    >>> as_written(pl.Series([0.1, 3.0, None], dtype=pl.Float32)).to_list()
    [0.1, 3.0, None]
    """
    if series.dtype == pl.Float64 or not len(series):
        return series.cast(pl.Float64)
    codes, first = number(series)
    numbers = series[first].to_numpy().astype(str).astype(np.float64)  # text of distinct values only
    return pl.Series(series.name, numbers[codes]).fill_nan(None)

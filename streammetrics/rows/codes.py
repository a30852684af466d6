"""Integer codes of groups and class labels."""

from __future__ import annotations

import numpy as np
import polars as pl

from streammetrics import kernels
from streammetrics.kernels import Codes


def number(column: pl.Series) -> tuple[Codes, Codes]:
    """Return a code for each value, including null, and a row for each code.

    Equal strings and zeros can have two codes.
    """
    if not column.null_count():
        return kernels.number(column)
    null = column.is_null().to_numpy()
    rows = np.flatnonzero(~null)
    codes = np.zeros(len(column), dtype=np.intp)
    codes[rows], first = kernels.number(column.drop_nulls())
    codes[null] = len(first)
    return codes, np.append(rows[first], np.argmax(null))


def encode(columns: pl.DataFrame) -> tuple[pl.DataFrame, Codes]:
    """Return distinct rows, and for each row the index of its distinct row.

    >>> encode(pl.DataFrame({"x": ["a", "b", "a"]}))[1]
    array([0, 1, 0])
    """
    column, *others = columns.iter_columns()
    codes, first = number(column)
    for other in others:
        more, firsts = number(other)
        codes, first = kernels.number(pl.Series(codes * len(firsts) + more))
    found = columns[first]
    unsure = any(dtype == pl.String or dtype.is_float() for dtype in found.dtypes)
    distinct = found.unique(maintain_order=True) if unsure else found
    if distinct.height < found.height:
        codes = find(found, distinct.with_row_index()).to_numpy().astype(np.intp)[codes]
    return distinct, codes


def find(rows: pl.DataFrame, numbered: pl.DataFrame) -> pl.Series:
    """Return, for each row, its number from the first column of ``numbered``, or null if it is not there."""
    index = numbered.columns[0]
    return rows.join(numbered, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")[index]


def ascending(rows: pl.DataFrame) -> bool:
    """Return whether rows are unique, sorted, and without nulls.

    >>> ascending(pl.DataFrame({"x": [1, 1, 2], "y": [3, 4, 0]}))
    True
    """
    below, equal = pl.lit(False), pl.lit(True)
    for name in rows.columns:
        this, before = pl.col(name), pl.col(name).shift()
        below |= equal & (before < this)
        equal &= before == this
    return rows.height < 2 or bool(rows.select(below.slice(1).fill_null(False).all()).item())


def in_order(rows: pl.DataFrame) -> tuple[Codes, Codes]:
    """Return the stable sort order of rows as in Polars, and the start of each distinct row in it.

    >>> in_order(pl.DataFrame({"x": ["b", "a", "b"]}))
    (array([1, 0, 2]), array([0, 1]))
    """
    place, size = np.zeros(rows.height, dtype=np.int64), 1
    for column in rows.iter_columns():
        ranks, ranked = _rank(column)
        size *= ranked
        if size >= 1 << 62:
            return _in_order(rows)
        place = place * ranked + ranks
    order = _sorting(place, size)
    return order, np.flatnonzero(np.diff(place[order], prepend=-1))


def _sorting(place: Codes, size: int) -> Codes:
    """The sort order of numbers below a size, 16 bits at a time, with numpy's radix sort."""
    if (place[1:] >= place[:-1]).all():
        return np.arange(len(place))
    order = np.argsort((place & 0xFFFF).astype(np.uint16), kind="stable")
    for bits in range(16, size.bit_length(), 16):
        order = order[np.argsort((place[order] >> bits & 0xFFFF).astype(np.uint16), kind="stable")]
    return order


def _rank(column: pl.Series) -> tuple[Codes, int]:
    """Ranks from 0 in the order of the values, and an upper limit of their number."""
    if column.dtype.is_integer() and not column.null_count() and len(column):
        values = column.to_numpy()
        low, high = int(values.min()), int(values.max())
        return values.astype(np.int64) - low, high - low + 1
    distinct = column.unique().sort().to_frame()
    if distinct.height == 1:
        return np.zeros(len(column), dtype=np.int64), 1
    return find(column.to_frame(), distinct.with_row_index("")).to_numpy().astype(np.int64), distinct.height


def _in_order(rows: pl.DataFrame) -> tuple[Codes, Codes]:
    """The same by comparison of rows, which is slower."""
    numbered = rows.with_row_index("").sort(rows.columns, maintain_order=True)
    others = pl.any_horizontal(pl.col(c).ne_missing(pl.col(c).shift()) for c in rows.columns)
    starts = numbered.select((others | (pl.int_range(pl.len()) == 0)).arg_true()).to_series()
    return numbered[""].to_numpy().astype(np.intp), starts.to_numpy().astype(np.intp)

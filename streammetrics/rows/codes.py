"""Numbers in place of values: of groups, and of class labels."""

from __future__ import annotations

import numpy as np
import polars as pl

from streammetrics import kernels
from streammetrics.kernels import Codes


def number(column: pl.Series) -> tuple[Codes, Codes]:
    """The number of each row's value, null being one too, and for each number a row.

    Equal texts and zeros may have two numbers.
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
    """Distinct rows, and for each row the number of the one that it equals.

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
    """For each row its number, which the first column of ``numbered`` gives; null if it is none of them."""
    index = numbered.columns[0]
    return rows.join(numbered, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")[index]


def ascending(rows: pl.DataFrame) -> bool:
    """Whether every row comes once, in order, without nulls.

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
    """The order that sorts rows as Polars does, equal ones left as they come, and where in it each distinct one begins.

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
    """The order that sorts numbers below a size: 16 bits at a time, for which numpy has a radix sort."""
    if (place[1:] >= place[:-1]).all():
        return np.arange(len(place))
    order = np.argsort((place & 0xFFFF).astype(np.uint16), kind="stable")
    for bits in range(16, size.bit_length(), 16):
        order = order[np.argsort((place[order] >> bits & 0xFFFF).astype(np.uint16), kind="stable")]
    return order


def _rank(column: pl.Series) -> tuple[Codes, int]:
    """Numbers from 0 in the order of the values, and how many there may be."""
    if column.dtype.is_integer() and not column.null_count() and len(column):
        values = column.to_numpy()
        low, high = int(values.min()), int(values.max())
        return values.astype(np.int64) - low, high - low + 1
    distinct = column.unique().sort().to_frame()
    if distinct.height == 1:
        return np.zeros(len(column), dtype=np.int64), 1
    return find(column.to_frame(), distinct.with_row_index("")).to_numpy().astype(np.int64), distinct.height


def _in_order(rows: pl.DataFrame) -> tuple[Codes, Codes]:
    """The same by comparing rows, which takes longer."""
    numbered = rows.with_row_index("").sort(rows.columns, maintain_order=True)
    others = pl.any_horizontal(pl.col(c).ne_missing(pl.col(c).shift()) for c in rows.columns)
    starts = numbered.select((others | (pl.int_range(pl.len()) == 0)).arg_true()).to_series()
    return numbered[""].to_numpy().astype(np.intp), starts.to_numpy().astype(np.intp)

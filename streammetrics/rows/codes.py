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
    """For each row its number, which the first column of ``numbered`` gives; null where it is none of them."""
    index = numbered.columns[0]
    return rows.join(numbered, on=rows.columns, how="left", nulls_equal=True, maintain_order="left")[index]

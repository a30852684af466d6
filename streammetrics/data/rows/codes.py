"""Integer codes of groups and class labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import core
from streammetrics.core import Codes


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

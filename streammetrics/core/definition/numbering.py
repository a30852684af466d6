"""Numbers of distinct values, and the range of values."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.core.definition.runs import BLOCK, NOTHING, Codes, Extent


def extent(values: NDArray[np.number]) -> Extent:
    """Smallest and largest value, both NaN if any value is NaN; 0.5 ns."""
    return (float(values.min()), float(values.max())) if len(values) else NOTHING


def number(column: pl.Series) -> tuple[Codes, Codes]:
    """Number the distinct values of a column: the number of each row, and one row with each number.

    ``column`` must not contain nulls. Rows with the same number have equal values, but equal strings and equal zeros
    may have different numbers. Costs 13 ns for strings, 5 ns for integers in a narrow range, and 60 ns for others.
    """
    values = as_integers(column)
    if not len(values):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    width = int(values.max()) - int(values.min()) + 1
    if width > max(BLOCK, len(values)):
        frame = pl.DataFrame({"value": values}).with_row_index("first")
        distinct = frame.unique("value", keep="any").with_row_index("number")
        codes = frame.join(distinct, on="value", how="left", maintain_order="left")["number"]
        return codes.to_numpy().astype(np.intp), distinct["first"].to_numpy().astype(np.intp)
    places = values - values.min()
    row = np.full(width, -1)
    row[places] = np.arange(len(values))
    found = np.flatnonzero(row >= 0)
    numbers = np.empty(width, dtype=np.intp)
    numbers[found] = np.arange(len(found))
    return numbers[places], row[found]


def as_integers(column: pl.Series) -> NDArray[np.integer]:
    """An integer for each value, so that different values have different integers."""
    if column.dtype == pl.Boolean:
        return column.cast(pl.Int64).to_numpy()
    if column.dtype == pl.Date or isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        return column.to_physical().to_numpy()
    if column.dtype.is_temporal() or column.dtype in (pl.Int64, pl.UInt64, pl.Float64):
        return column.to_physical().to_numpy().view(np.int64)
    text = column.bin.encode("hex") if column.dtype == pl.Binary else column.cast(pl.String)
    return text.cast(pl.Categorical(pl.Categories.random())).to_physical().cast(pl.Int64).to_numpy()

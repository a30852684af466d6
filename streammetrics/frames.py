"""The door: any Arrow or Polars batch as a Polars frame, and columns that tell groups apart in lasting types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from streammetrics.errors import ColumnError
from streammetrics.lazy import pa
from streammetrics.roles import LABEL

UNREADABLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    TypeError,
    ValueError,
    KeyError,
    OverflowError,
)


def to_frame(data: Any, columns: Sequence[str]) -> pl.DataFrame:
    """The columns as a Polars frame. Memory that its owner could still change is copied."""
    if isinstance(data, pl.LazyFrame):
        raise ColumnError("a LazyFrame is a plan, not a batch; pass it to evaluate or accumulate.")
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        unique = columns and all(data.schema.names.count(c) == 1 for c in columns)
        return _converted(data.select(columns) if unique else data)
    if isinstance(data, Mapping):
        return _converted({c: data[c] for c in columns} if columns and set(columns) <= set(data) else data, copy=True)
    if hasattr(data, "__dataframe__") and columns and set(columns) <= set(data.columns):
        return _converted(data[list(columns)], copy=True)  # pandas: other columns may hold what Arrow cannot
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _converted(data, columns, copy=True)
    raise ColumnError(
        f"a batch of type {type(data).__name__} cannot be read; pass a Polars or pandas frame, an Arrow table "
        "or record batch, or a mapping of names to arrays."
    )


def _converted(data: Any, columns: Sequence[str] = (), copy: bool = False) -> pl.DataFrame:
    try:
        frame = pl.DataFrame(data)
        if set(columns) <= set(frame.columns) and columns:
            frame = frame.select(columns)
        return frame.select(pl.all().gather(pl.int_range(pl.len()))) if copy and frame.width else frame
    except (*UNREADABLE, pa.ArrowException) as error:
        raise ColumnError(f"the batch cannot be read as a table: {error}") from error


def concat_groups(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate columns of groups or labels; one that was all null so far takes the type it has elsewhere.

    Raises:
        ColumnError: where a column changes its type.
    """
    for name in frames[0].columns:
        types = {f.schema[name] for f in frames} - {pl.Null()}
        if len(types) > 1 and types != {pl.Int64(), pl.Float64()}:
            found = " and ".join(sorted(map(str, types)))
            if name == LABEL:
                raise ColumnError(f"class labels are of different types in different columns or batches: {found}.")
            raise ColumnError(f"the column {name!r} has different types in different batches: {found}.")
    return pl.concat(frames, how="vertical_relaxed", rechunk=True)


def group_column(series: pl.Series, advice: str = "group by plain values") -> pl.Series:
    """A column of groups, or of class labels, in a type that is the same on every shard.

    Raises:
        ColumnError: for nested values, Python objects, and integers of 128 bits.
    """
    if series.dtype.is_extension():
        return group_column(series.ext.storage(), advice)
    if series.dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if series.dtype in (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32):
        return series.cast(pl.Int64)
    if series.dtype.is_float():
        floats = series.cast(pl.Float64)
        return floats.set(floats == 0, 0.0).fill_nan(None)  # -0.0 is the one zero, too
    if isinstance(series.dtype, (pl.Datetime, pl.Duration)):
        return series.dt.cast_time_unit("us")
    if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Int128, pl.UInt128):
        raise ColumnError(f"column {series.name!r} is of type {series.dtype}; {advice}.")
    return series

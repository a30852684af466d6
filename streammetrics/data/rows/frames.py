"""Conversion of any Arrow or Polars batch to a Polars frame, and of group columns to portable types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from streammetrics.base import pa, reason, require_threads
from streammetrics.data.rows.arrow import as_readable, is_relation, readable, utc_times
from streammetrics.data.rows.codes import as_written
from streammetrics.data.rows.roles import LABEL
from streammetrics.data.rows.series import EXACT, UNREADABLE, as_series, older_frame
from streammetrics.errors import ColumnError, StreamMetricsError

MOST = 2**63 - 1
DIGITS = 38  # of decimals
WIDE = pl.Int128()  # only in types of columns: 64-bit integers that a Float64 cannot represent

ENGINES = {"dask": "dask", "dask_expr": "dask", "pyspark": "spark", "ray": "ray"}  # by package
PORTABLE = (pl.String, pl.Int64, pl.Boolean, pl.Date)  # types of groups that stay as they are
CODED = (pl.Categorical, pl.Enum)  # types whose values are codes of strings
PANDAS = {  # types of pandas that Arrow stores as numbers, with the fix
    "pandas.period": "Convert the periods to their start: .dt.start_time in pandas",
    "pandas.interval": "Convert the intervals to text: .astype(str) in pandas",
}


def to_frame(data: Any, columns: Sequence[str]) -> pl.DataFrame:
    """Return the columns as a Polars frame. Memory that its owner could still change is copied."""
    require_threads()
    refuse_engines(data, ColumnError)
    if isinstance(data, pl.LazyFrame):
        raise ColumnError("A LazyFrame is not a batch. Pass it to evaluate or accumulate.")
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, (list, tuple)) and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row) or columns
        names = columns if columns and set(columns) <= set(names) else names
        data = {name: [row.get(name) for row in data] for name in names}
    if isinstance(data, Mapping):
        used = {c: data[c] for c in columns} if columns and set(columns) <= set(data) else data
        shared = not all(isinstance(values, (list, tuple)) for values in used.values())
        return _converted({name: as_series(name, values) for name, values in used.items()}, copy=shared)
    data = utc_times(pa.table(data)) if is_relation(data) else data
    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return _converted(_readable(data, columns))
    if hasattr(data, "iloc") and columns and set(columns) <= set(data.columns):
        return _converted(data[list(columns)], copy=True)  # pandas: others can be unsupported in Arrow
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _converted(data, columns, copy=True)
    if hasattr(data, "__dataframe__"):
        return _converted(older_frame(data), columns, copy=True)
    raise ColumnError(
        f"Unsupported batch type {type(data).__name__}. Pass a Polars or pandas frame, an Arrow table "
        "or record batch, a mapping of names to arrays, or a list of mappings of names to values."
    )


def refuse_engines(data: Any, kind: type[StreamMetricsError]) -> None:
    """Reject data of an engine, whose module evaluates it on its workers."""
    engine = ENGINES.get(type(data).__module__.partition(".")[0])
    if engine is not None:
        call = f"streammetrics.engines.{engine}.evaluate(data, task)"
        raise kind(f"A {type(data).__name__} of {engine.title()} is evaluated on its workers. Call {call}.")


def _converted(data: Any, columns: Sequence[str] = (), copy: bool = False) -> pl.DataFrame:
    try:
        are_series = isinstance(data, dict) and all(isinstance(values, pl.Series) for values in data.values())
        frame = pl.DataFrame([*data.values()], schema=[*data]) if are_series else pl.DataFrame(data)
        if set(columns) <= set(frame.columns) and columns:
            frame = frame.select(columns)
        return frame[pl.Series(np.arange(frame.height, dtype=np.uint32))] if copy and frame.width else frame
    except (*UNREADABLE, pa.ArrowException) as error:
        if (table := _arrow_frame(data, columns)) is not None:
            return table
        name = _unreadable(data)
        where = "" if name is None else f" (column {name!r}). Pass values of one type"
        raise ColumnError(f"Cannot read the batch as a table: {reason(error)}{where}.") from error


def _arrow_frame(data: Any, columns: Sequence[str]) -> pl.DataFrame | None:
    """A pandas frame or an Arrow stream whose columns Polars reads only in another type, such as times of +05:30."""
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return None
    try:
        return pl.DataFrame(_readable(pa.table(data), columns))
    except ColumnError:
        raise
    except (*UNREADABLE, pa.ArrowException):
        return None


def _readable(table: Any, columns: Sequence[str]) -> Any:
    """Columns of a table, or without any all that Polars reads, in types that Polars reads."""
    names = table.schema.names
    if not columns:
        columns = [field.name for field in table.schema if readable(field.type) is not None]
    if not all(names.count(name) == 1 for name in columns):  # which the conversion rejects
        return table
    table = table if names == [*columns] else table.select(columns)
    others = [field for field in table.schema if readable(field.type) != field.type]
    for field in others:
        if readable(field.type) is None:
            kind = f"Column {field.name!r} has the unsupported type {field.type}"
            raise ColumnError(f"{kind}. Cast it to another type, such as text.")
    return as_readable(table) if others else table


def _unreadable(data: Any) -> Any:
    """The first column of a mapping or a pandas frame that cannot be read by itself."""
    names = list(data) if isinstance(data, Mapping) or hasattr(data, "iloc") else []
    for name in (name for name in names if names.count(name) == 1):
        try:
            pl.DataFrame({str(name): data[name]})
        except (*UNREADABLE, pa.ArrowException):
            return name
    return None


def types_of(columns: Iterable[pl.Series], others: Mapping[str, pl.DataType] = MappingProxyType({})) -> pl.Schema:
    """The types of group or label columns, followed by other types.

    Categories are strings, and integers that floats cannot represent are `WIDE`. A column without any value is Null,
    since its type is a default of the library that wrote it.
    """
    types = {series.name: _type_of(series) for series in columns}
    return pl.Schema({**types, **others}, check_dtypes=False)


def _type_of(series: pl.Series) -> pl.DataType:
    if not has_values(series):
        return pl.Null()
    if series.dtype in CODED:
        return pl.String()
    if isinstance(series.dtype, pl.Decimal):
        integer = max(abs(int(end)) for end in (series.min(), series.max()))  # type: ignore[arg-type]
        return pl.Decimal(len(str(integer)) + series.dtype.scale, series.dtype.scale)
    low, high = (series.min(), series.max()) if series.dtype == pl.Int64 else (None, None)
    wide = isinstance(low, int) and isinstance(high, int) and max(-low, high) > EXACT
    return WIDE if wide else series.dtype


def has_values(series: pl.Series) -> bool:
    """Return whether a column has a value other than null."""
    return series.null_count() < len(series)


def joint_types(schemas: Sequence[pl.Schema]) -> pl.Schema:
    """Return one type per column of the first schema. A column of nulls only has the type of the other schemas."""
    return pl.Schema({name: _joint_type(name, {schema[name] for schema in schemas}) for name in schemas[0]})


def _joint_type(name: str, kinds: set[pl.DataType]) -> pl.DataType:
    types = kinds - {pl.Null()}
    for wider in (pl.Float64(), WIDE):
        if types == {pl.Int64(), wider}:
            return wider
    decimals = [dtype for dtype in types if isinstance(dtype, pl.Decimal)]
    if len(decimals) == len(types) > 1:
        digits, scale = max(d.precision - d.scale for d in decimals), max(d.scale for d in decimals)
        if digits + scale <= DIGITS:
            return pl.Decimal(digits + scale, scale)
    if len(types) > 1:
        listed = " and ".join(sorted("integers beyond 2^53" if t == WIDE else str(t) for t in types))
        if name == LABEL:
            raise ColumnError(
                f"Class labels have different types in different columns or batches: {listed}. Cast them to one type."
            )
        fix = f", such as text (on the command line, --text {name})" if pl.String() in types else ""
        raise ColumnError(
            f"Column {name!r} has different types in different batches: {listed}. Cast it to one type{fix}."
        )
    return next(iter(types), pl.Null())


def common_types(frames: Sequence[pl.DataFrame]) -> pl.Schema:
    """Return one type per column of groups or labels: of the frames with values; if there are none, of any frame."""
    return stored_types([types_of(frame.iter_columns()) for frame in frames], [frame.schema for frame in frames])


def stored_types(types: Sequence[pl.Schema], schemas: Sequence[pl.Schema]) -> pl.Schema:
    """Return the `common_types` of frames with these `types_of` columns and these schemas."""
    return pl.Schema(
        {name: _stored(dtype, [schema[name] for schema in schemas]) for name, dtype in joint_types(types).items()}
    )


def _stored(joint: pl.DataType, types: Sequence[pl.DataType]) -> pl.DataType:
    """The type of columns whose `joint_types` are known, from the types of the columns."""
    if joint == pl.Null():
        return max({*types} - {joint}, key=str, default=joint)
    if isinstance(joint, pl.Decimal):
        return pl.Decimal(DIGITS, joint.scale)
    return pl.Int64() if joint == WIDE else joint


def typed(columns: pl.DataFrame, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return columns in these types. Columns without any value can have any type."""
    return columns.with_columns(
        series.cast(types[series.name])
        if has_values(series)
        else pl.Series(series.name, [None], types[series.name]).new_from_index(0, len(series))
        for series in columns.iter_columns()
        if types.get(series.name, series.dtype) != series.dtype
    )


def concat_groups(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate columns of groups or labels, cast to their `common_types`."""
    types = common_types(frames)
    return pl.concat([typed(frame, types) for frame in frames], rechunk=True)


def decoded(column: pl.Series) -> pl.Series:
    """Return categories as strings, whose type is the same on every shard."""
    return column.cast(pl.String) if column.dtype in CODED else column


def limits(dtype: pl.DataType) -> tuple[int, int] | None:
    """Return the physical limits of dates and times in Python and in microseconds; None if all values are valid."""
    if dtype == pl.Date:
        ends = pl.Series([date.min, date.max])
    elif isinstance(dtype, pl.Datetime) and dtype.time_unit != "ns":
        ends = pl.Series([datetime.min, datetime.max], dtype=pl.Datetime(dtype.time_unit))
    elif isinstance(dtype, pl.Duration) and dtype.time_unit == "ms":
        ends = pl.Series([-MOST // 1000 + 1, MOST // 1000])
    else:
        return None
    first, last = ends.to_physical()
    return first, last


def group_column(series: pl.Series, advice: str = "Group by plain values") -> pl.Series:
    """Return a column of groups or class labels in a type that is the same on every shard."""
    if series.dtype in PORTABLE:
        return series
    if isinstance(series.dtype, pl.BaseExtension):
        kind = series.dtype.ext_name()
        if kind in PANDAS:
            raise ColumnError(f"Column {series.name!r} has the unsupported type {kind}. {PANDAS[kind]}.")
        return group_column(series.ext.storage(), advice)
    if series.dtype in CODED:
        return series.cast(pl.String)
    if series.dtype in (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32):
        return series.cast(pl.Int64)
    if series.dtype.is_float():
        floats = as_written(series)
        return floats.set(floats == 0, 0.0).fill_nan(None)  # -0.0 becomes 0.0
    if isinstance(series.dtype, (pl.Datetime, pl.Duration)):
        return series.dt.cast_time_unit("us")
    if isinstance(series.dtype, pl.Decimal):
        return series.cast(pl.Decimal(DIGITS, series.dtype.scale))
    wide = series.dtype in (pl.Int128, pl.UInt128)
    if wide or series.dtype.is_nested() or series.dtype == pl.Object:
        advice = f"{advice}, such as Int64" if wide else advice
        raise ColumnError(f"Column {series.name!r} has the unsupported type {series.dtype}. {advice}.")
    return series

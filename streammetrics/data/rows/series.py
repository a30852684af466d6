"""Columns of a mapping as series: arrays, tensors, and lists, read by the protocols that they offer."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import Lazy, pa, reason
from streammetrics.data.rows.arrow import as_readable
from streammetrics.errors import ColumnError

interchange: Any = Lazy("pyarrow.interchange")

EXACT = 2**53  # up to which a Float64 represents every integer
INTEGERS, FLOATS = (int, np.integer), (float, np.floating)  # of Python and numpy
NUMBERS = (*INTEGERS, *FLOATS)
PLAIN: set[type[Any]] = {bool, int, float, str}  # types of Python, whose values have no protocol
OWN = (pl.Series, pl.DataFrame, np.generic)  # which Polars reads itself
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "__array__": lambda values: values if isinstance(values, np.ma.MaskedArray) else np.asarray(values),
    "__dlpack__": np.from_dlpack,
}
PROTOCOLS: dict[str, Callable[[Any], Any]] = {  # in the order in which they are tried
    "__arrow_c_stream__": lambda values: pa.chunked_array(values),
    "__arrow_c_array__": lambda values: pa.array(values),
    "__arrow_array__": lambda values: pa.array(values),
    **ARRAYS,
    "__dataframe__": lambda values: pa.chunked_array(older_frame(values).to_struct_array()),
}
CALLS = {  # that convert values which no protocol can read, by a method of such values
    "detach": ".detach().cpu().float().numpy()",
    "toarray": ".toarray()",
    "to_numpy": ".to_numpy()",
    "get": ".get()",
    "tolist": ".tolist()",
}
SUPPORTED = "numbers, Booleans, text, dates, or times"
TIMES = {  # units of Polars for those of numpy, of times and of durations
    "M": {**dict.fromkeys("YMWD", "D"), **dict.fromkeys("hms", "ms"), "ms": "ms", "us": "us", "ns": "ns"},
    "m": {**dict.fromkeys("WDhms", "ms"), "ms": "ms", "us": "us", "ns": "ns"},
}
UNREADABLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    TypeError,
    ValueError,
    KeyError,
    OverflowError,
)


def older_frame(data: Any) -> Any:
    """A frame with the deprecated interchange protocol as an Arrow table."""
    return interchange.from_dataframe(data)


def as_series(name: str, values: Any) -> Any:
    """Return a column of a mapping as a series. Values without a protocol are returned unchanged.

    An array of shape (N, 1) is a column of N values.

    >>> as_series("p", np.array([[0.5], [0.25]])).to_list()
    [0.5, 0.25]
    >>> as_series("p", np.array([1j]))
    Traceback (most recent call last):
    streammetrics.errors.ColumnError: Column 'p' is an array of complex128, which is not supported. \
Pass numbers, Booleans, text, dates, or times.
    """
    if isinstance(values, Set):
        raise ColumnError(f"Column {name!r} is a {type(values).__name__}, which has no order. Pass a list.")
    if isinstance(values, (list, tuple)):
        return _per_row(_list_as_series(name, values))
    if isinstance(values, OWN) or not any(hasattr(values, protocol) for protocol in PROTOCOLS):
        return values
    return _per_row(_series(name, _read(name, values, PROTOCOLS)))


def _read(name: str, values: Any, protocols: dict[str, Callable[[Any], Any]]) -> Any:
    """The values as an Arrow or numpy array, by the first protocol that succeeds."""
    errors: list[Exception] = []
    for protocol, read in protocols.items():
        if hasattr(values, protocol):
            try:
                return read(values)
            except Exception as error:  # of any library
                errors.append(error)
    call = next((call for method, call in CALLS.items() if hasattr(values, method)), None)
    fix = f"Convert it with {call}" if call else "Pass a list or a numpy array"
    kind = type(values).__name__
    raise ColumnError(f"Cannot read column {name!r}, a {kind}: {reason(errors[0])}. {fix}.") from errors[0]


def _series(name: str, values: Any) -> pl.Series:
    """An Arrow or numpy array, or a list, as a series."""
    try:
        if isinstance(values, np.ndarray):
            values = _readable_array(name, values)
        if not isinstance(values, (list, np.ndarray)) and isinstance(values, (pa.Array, pa.ChunkedArray)):
            values = as_readable(pa.table({name: values})).column(0)
        return pl.Series(name, values)
    except ColumnError:
        raise
    except (*UNREADABLE, pa.ArrowException) as error:
        raise ColumnError(f"Cannot read column {name!r}: {reason(error)}. Pass {SUPPORTED} of one type.") from error


def _readable_array(name: str, values: NDArray[Any]) -> Any:
    """A numpy array in a type that Polars can read."""
    dtype = values.dtype
    if dtype.kind == "O":  # whose type Polars does not look for
        values = values.reshape(-1) if values.ndim and values.size == len(values) else values
        return pa.array(values, from_pandas=True) if values.ndim == 1 else values.tolist()
    if dtype.kind in TIMES:
        unit, _ = np.datetime_data(dtype)
        target = TIMES[dtype.kind].get(unit)
        if target is None:
            raise _unsupported(name, dtype, f"Convert it with .astype('{dtype.type.__name__}[us]')")
        return values.astype(f"{dtype.kind}8[{target}]", copy=False)
    if dtype.kind == "f":
        return values if dtype.itemsize <= 8 else values.astype(np.float64)
    if dtype.kind == "V" and dtype.type is not np.void:  # bfloat16 and other types that numpy itself does not have
        return values.astype(np.float32)
    if dtype.kind in "cV":
        raise _unsupported(name, dtype, f"Pass {SUPPORTED}")
    return values


def _unsupported(name: str, dtype: np.dtype[Any], fix: str) -> ColumnError:
    return ColumnError(f"Column {name!r} is an array of {dtype}, which is not supported. {fix}.")


def _list_as_series(name: str, values: Sequence[Any]) -> pl.Series:
    """A list as a series.

    Integers and floats, or lists of them, become floats, since Polars would use the type of the first item. Arrays and
    tensors are stacked.
    """
    kinds = {*map(type, values)} - {type(None)}
    if kinds <= PLAIN and (float not in kinds or len(kinds) == 1):
        return _series(name, [*values])
    values = [None if value is np.ma.masked else value for value in values]
    present = [value for value in values if value is not None]
    if present and all(not isinstance(value, OWN) and any(hasattr(value, p) for p in ARRAYS) for value in present):
        arrays = [_read(name, value, ARRAYS) for value in present]
        if len(present) == len(values) and len({array.shape for array in arrays}) == 1:
            masked = any(isinstance(array, np.ma.MaskedArray) for array in arrays)
            return _series(name, np.ma.stack(arrays) if masked else np.stack(arrays))
        single = all(array.size == 1 for array in arrays)
        stacked = (array.reshape(-1).tolist()[0] if single else array.tolist() for array in arrays)
        return _series(name, [None if value is None else next(stacked) for value in values])
    nested = bool(present) and all(isinstance(value, (list, tuple)) for value in present)
    items = [item for item in (chain.from_iterable(present) if nested else present) if item is not None]
    kinds = set(map(type, items))
    if not any(issubclass(k, FLOATS) for k in kinds) or not all(issubclass(k, NUMBERS) for k in kinds):
        return _series(name, values)
    if wrong := [item for item in items if isinstance(item, INTEGERS) and abs(int(item)) > EXACT]:
        raise ColumnError(
            f"A list of floats contains the integer {wrong[0]}, which is beyond 2^53. "
            f"Pass only floats or only integers."
        )
    return pl.Series(name, values, pl.List(pl.Float64) if nested else pl.Float64)


def _per_row(column: pl.Series) -> pl.Series:
    """The items of arrays with one item each, and the only column of a frame."""
    while isinstance(column.dtype, pl.Array) and column.dtype.size == 1:
        column = column.arr.first()
    if isinstance(column.dtype, pl.Struct) and len(column.dtype.fields) == 1:
        return column.struct.unnest().to_series().alias(column.name)
    return column

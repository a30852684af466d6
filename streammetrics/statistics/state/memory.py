"""The limit of the memory that a state may take: a small file cannot fill it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import polars as pl

from streammetrics.base import pa
from streammetrics.errors import StateError

ROOM = 1 << 28  # bytes of memory allowed for any content,
EXPANDING = 100  # or this multiple of its size
PLACE = 8  # bytes of the place of a value, a text, or a list


def require_small(needed: int, size: int) -> None:
    """Reject content that takes much more memory than its own size."""
    if needed > most(size):
        raise StateError(f"The content has {size:,} bytes, but would take {needed:,} in memory.")


def most(size: int) -> int:
    """Return the bytes of memory that content of a size may take."""
    return max(ROOM, EXPANDING * size)


def require_small_table(table: pa.Table, size: int) -> None:
    """Reject a valid table if copies of its values take much more memory than its content: values can be shared."""
    if not all(map(_is_plain, table.schema.types)):
        require_small(sum(_size(chunk) for column in table.columns for chunk in column.chunks), size)


@lru_cache(1 << 10)
def _is_plain(kind: pa.DataType) -> bool:
    """Whether each value of a type has bytes of its own in the buffers, as in all states that this library writes."""
    types = pa.types
    if types.is_struct(kind):
        return kind.num_fields > 0 and all(_is_plain(field.type) for field in kind)
    if types.is_list(kind) or types.is_large_list(kind):
        return _is_plain(kind.value_type)
    plain = types.is_primitive, types.is_decimal, types.is_string, types.is_large_string
    return any(is_kind(kind) for is_kind in plain)


def _size(array: Any) -> int:
    types, kind = pa.types, array.type
    places = PLACE * len(array)
    if types.is_primitive(kind):
        return max(places, int(array.nbytes))
    if types.is_dictionary(kind):
        if types.is_nested(kind.value_type):
            raise StateError(f"A dictionary has values of type {kind.value_type}, which states do not have.")
        if _is_text(kind.value_type):
            lengths = pl.Series(array.dictionary).cast(pl.Binary).bin.size()
            return places + int(lengths.cast(pl.Int64).gather(pl.Series(array.indices)).sum())
        return places
    if _is_text(kind):
        return places + int(pl.Series(array).cast(pl.Binary).bin.size().cast(pl.Int64).sum())
    if types.is_struct(kind):
        return places + sum(map(_size, array.flatten()))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return places + _size(array.flatten())
    return max(places, int(array.nbytes))


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
            types.is_string_view,
            types.is_binary_view,
        )
    )

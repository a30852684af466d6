"""Arrow columns in types that Polars reads."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import polars as pl

from streammetrics.base import pa, pc

UTC = "UTC"


def readable(kind: pa.DataType) -> pa.DataType | None:
    """Return the type in which Polars reads a column with the same values, or None if there is none.

    Times in zones that Polars does not know, such as ``+05:30``, are times in UTC. Run-end-encoded and dictionary
    columns have the type of their values, and ``date64`` are dates.
    """
    types = pa.types
    if types.is_floating(kind) or types.is_integer(kind) or types.is_string(kind):
        return kind
    if types.is_timestamp(kind) and kind.tz is not None:
        return kind if _is_known(kind.tz) else pa.timestamp(kind.unit, UTC)
    if types.is_date64(kind):
        return pa.date32()
    if types.is_decimal256(kind):
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= 38 else None
    if types.is_run_end_encoded(kind):
        return readable(kind.value_type)
    if types.is_dictionary(kind):
        of_values = readable(kind.value_type)
        return kind if of_values == kind.value_type else of_values
    if any(
        is_kind(kind) for is_kind in (types.is_interval, types.is_union, types.is_list_view, types.is_large_list_view)
    ):
        return None
    if types.is_nested(kind):
        inside = [kind.field(i).type for i in range(kind.num_fields)]
        return kind if all(readable(each) == each for each in inside) else None
    return kind


@lru_cache
def _is_known(zone: str) -> bool:
    try:
        pl.Series(dtype=pl.Datetime("us", zone))
    except pl.exceptions.PolarsError:
        return False
    return True


def as_readable(table: Any) -> Any:
    """Return a table or a record batch with its columns in `readable` types. Others stay unchanged."""
    for i, field in enumerate(table.schema):
        target = readable(field.type)
        if target is not None and target != field.type:
            table = table.set_column(i, field.name, _cast(table.column(i), target))
    return table


def utc_times(table: Any) -> Any:
    """Return a table or a record batch whose times with a zone are in UTC, also those in lists and structs.

    Engines return them in the zone of the session, by which the same rows would have other days on another machine.
    """
    for i, field in enumerate(table.schema):
        utc = _utc_type(field.type)
        if utc != field.type:
            table = table.set_column(i, field.name, table.column(i).cast(utc))
    return table


def _utc_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, UTC)
    if types.is_struct(kind):
        return pa.struct([field.with_type(_utc_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_utc_type(kind.key_type), _utc_type(kind.item_type))
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_utc_type(kind.value_type)), kind.list_size)
    if types.is_list(kind) or types.is_large_list(kind):
        of_values = pa.list_ if types.is_list(kind) else pa.large_list
        return of_values(kind.value_field.with_type(_utc_type(kind.value_type)))
    return kind


def is_relation(data: Any) -> bool:
    """Return whether data is a relation of DuckDB, whose module has other names in other versions."""
    return type(data).__name__ == "DuckDBPyRelation"


def _cast(column: Any, target: pa.DataType) -> Any:
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(target)

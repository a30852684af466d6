"""Columns of states in a Delta Lake table: their types and names, and conditions on their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from streammetrics.errors import Argument, ColumnError, SpecificationError

OWN: dict[str, pl.DataType] = {"batch_id": pl.String(), "ingested": pl.Datetime("us", "UTC"), "version": pl.Int64()}
STORED: dict[type[pl.DataType], pl.DataType] = {  # for types that Delta Lake does not have
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Int64(),
    pl.Time: pl.Int64(),
    pl.Duration: pl.Int64(),
}


def leaves(kind: Any) -> list[Any]:
    """Return the types inside a nested type, or the type itself."""
    if isinstance(kind, pl.List):
        return leaves(kind.inner)
    if isinstance(kind, pl.Struct):
        return [leaf for field in kind.fields for leaf in leaves(field.dtype)]
    return [kind]


def stored(kind: Any) -> Any:
    """Return the type in which the table stores a type."""
    if isinstance(kind, pl.List):
        return pl.List(stored(kind.inner))
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: stored(field.dtype) for field in kind.fields})
    if isinstance(kind, pl.Datetime) and kind.time_zone is not None:
        return pl.Datetime("us", "UTC")
    return STORED.get(kind.base_type(), kind)


def fitted(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return a column in its type in the table, which must fit every value."""
    try:
        cast = column.cast(kind)
        if cast.cast(column.dtype).equals(column):
            return cast
    except pl.exceptions.PolarsError:
        pass
    raise ColumnError(f"Column {column.name!r} must fit type {kind} of the table, got {column.dtype}.")


def require_distinct(by: Iterable[str], columns: Iterable[str]) -> None:
    """Reject group columns with the name of another column of the table, in any case."""
    names = [name.lower() for name in columns]
    if taken := [name for name in by if names.count(name.lower()) > 1]:
        raise SpecificationError(
            Argument("by"), f" cannot use the name {taken[0]!r}, which MetricStore uses. Give it an alias."
        )


def one_of(values: pl.Series) -> pl.Expr:
    """Return whether the column of that name has one of these values, including null."""
    column, known = pl.col(values.name), values.drop_nulls()
    low, high = (pl.lit(end, known.dtype) for end in (known.min(), known.max()))
    chosen = column.is_between(low, high) & column.is_in(known.unique().implode())
    return chosen | column.is_null() if values.null_count() else chosen


def one_of_sql(values: pl.Series) -> str:
    """Return `one_of` for dates or times as SQL."""
    column = quoted(values.name)
    texts = ", ".join(f"'{value.isoformat()}'" for value in values.drop_nulls())
    return " OR ".join([f"{column} IN ({texts})"] * bool(texts) + [f"{column} IS NULL"] * bool(values.null_count()))


def quoted(name: str) -> str:
    """Return the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'

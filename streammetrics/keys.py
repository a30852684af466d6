"""Keys of the rows of a frame: selection by value, and validation of group columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from streammetrics.errors import ReportError


def matching(frame: pl.DataFrame, columns: Sequence[str], keys: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows with the given values in the given columns.

    Raises:
        ReportError: If a key is not a column, or a value has another type.
    """
    for key, value in keys.items():
        if key not in columns:
            raise ReportError(f"Unknown key {key!r}. Keys: {', '.join(columns) or 'none'}.")
        try:
            frame = frame.filter(pl.col(key).eq_missing(pl.lit(value)))
        except (pl.exceptions.PolarsError, TypeError) as error:
            raise ReportError(f"Key {key!r} must be {frame.schema[key]}, got {value!r}.") from error
    return frame


def require_group_columns(columns: Sequence[str], by: Sequence[str]) -> None:
    """Reject columns that are not group columns.

    Raises:
        ReportError: If a column is not a group column.
    """
    if foreign := [c for c in columns if c not in by]:
        raise ReportError(f"Unknown group column {foreign[0]!r}. Group columns: {', '.join(by) or 'none'}.")


def require_free(by: Sequence[str], names: Collection[str], whose: str = "the name of a column of this table") -> None:
    """Reject group columns with reserved names.

    Raises:
        ReportError: If a group column has a reserved name.
    """
    if clash := sorted({*by}.intersection(names)):
        raise ReportError(f"Group column {clash[0]!r} has {whose}. Give it an alias.")

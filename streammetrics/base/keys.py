"""Keys of the rows of a frame: selection by value, and validation of group columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl

from streammetrics.base.arguments import shown
from streammetrics.base.foreign import FOREIGN
from streammetrics.base.frame import keys_of
from streammetrics.base.text import did_you_mean, few
from streammetrics.base.text import rows as text_of
from streammetrics.base.times import moment
from streammetrics.errors import ReportError

TEXT_DATES = "Convert dates that are text: DATE(day) on the command line, pl.col('day').str.to_date() in Python."
"""Advice if a group column must be Date or Datetime."""


def matching(frame: pl.DataFrame, columns: Sequence[str], keys: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows with the given values in the given columns."""
    for key, value in keys.items():
        if key not in columns:
            raise ReportError(f"Unknown key {key!r}. Keys: {', '.join(columns) or 'none'}.")
        try:
            frame = frame.filter(pl.col(key).eq_missing(_literal(value, frame.schema[key])))
        except FOREIGN as error:
            raise ReportError(f"Key {key!r} must be {frame.schema[key]}, got {shown(value)}.") from error
    return frame


def only(
    metric: object, rows: pl.DataFrame, keys: Mapping[str, Any], every: Callable[[], pl.DataFrame]
) -> pl.DataFrame:
    """Return the row of a metric that keys select from ``every`` row, if it is one."""
    if rows.is_empty():
        listed = ", ".join(f"{k}={v!r}" for k, v in keys.items())
        frame = every()
        distinct = {k: frame.select(k).unique(maintain_order=True) for k in keys if k in frame.columns}
        values = [f"Values of {k}: {few(row[k] for row in text_of(some))}." for k, some in distinct.items()]
        raise ReportError(" ".join([f"No value of {metric} for {listed}.", *values]))
    if rows.height > 1:
        first = next(text_of(rows))
        differing = [
            f"{c}={first[c]!r}" if c.isidentifier() else f"**{{{c!r}: {first[c]!r}}}"
            for c in keys_of(rows)
            if c not in keys and rows[c].n_unique() > 1
        ]
        raise ReportError(f"{metric} has {rows.height} values. Select one, for example with {' and '.join(differing)}.")
    return rows


def _literal(value: Any, dtype: pl.DataType) -> pl.Expr:
    """A value to compare with a column; for times, also from a date or ISO 8601 text."""
    if (isinstance(value, str) or type(value) is date) and isinstance(dtype, (pl.Date, pl.Datetime)):
        zone = getattr(dtype, "time_zone", None)
        time = pl.lit(moment(value, zone) or value)
        return time.dt.convert_time_zone(zone) if zone else time
    return pl.lit(value)


def require_group_columns(columns: Sequence[str], by: Sequence[str]) -> None:
    """Reject columns that are not group columns."""
    if foreign := [c for c in columns if c not in by]:
        similar = did_you_mean(foreign[0], by)
        raise ReportError(f"Unknown group column {foreign[0]!r}.{similar} Group columns: {', '.join(by) or 'none'}.")


def require_free(by: Sequence[str], names: Collection[str], whose: str = "the name of a column of this table") -> None:
    """Reject group columns with reserved names."""
    if clash := sorted({*by}.intersection(names)):
        raise ReportError(f"Group column {clash[0]!r} has {whose}. Give it an alias.")

"""Columns of keys as text, and in types that Python, CSV, and JSON support."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from streammetrics.errors import cut

WHOLE_SECOND = r"\.0+(\D|$)"
NO_TEXT = "''"  # an empty string, which would be invisible
LONGEST_VALUE = 100  # characters of a value in a list,
LONGEST_CELL = 300  # and of a cell of a table


def written(values: pl.Series) -> pl.Series:
    """Return values as text, including types that Polars does not cast. Equal values always have the same text.

    >>> written(pl.Series([b"DE", None])).to_list()
    ["b'DE'", None]
    """
    if isinstance(values.dtype, (pl.Date, pl.Datetime)):
        return _times(values)
    if isinstance(values.dtype, (pl.Duration, pl.Binary)):
        return pl.Series(values.name, [None if value is None else str(value) for value in values], pl.String)
    return values.cast(pl.String)


def readable(values: pl.Series, places: NDArray[np.integer] | None = None) -> pl.Series:
    """Return values, or those at some places, as text for readers. Datetimes are dates if all values are at midnight.

    Long texts are cut.

    >>> readable(pl.Series(["app", "", None])).to_list()
    ['app', "''", None]
    >>> readable(pl.select(pl.datetime(2026, 4, 1, 6)).to_series()).to_list()
    ['2026-04-01 06:00:00']
    """
    texts = _readable(values, places)
    if not (texts.str.len_bytes() > LONGEST_CELL).any():
        return texts
    every = texts.unique(maintain_order=True).drop_nulls()
    return texts.replace(every, pl.Series(shortened(every.to_list(), LONGEST_CELL)))


def _readable(values: pl.Series, places: NDArray[np.integer] | None = None) -> pl.Series:
    values = dates(values)
    texts = written(values if places is None else values[places]).replace("", NO_TEXT)
    return texts.str.replace(WHOLE_SECOND, "$1") if isinstance(values.dtype, pl.Datetime) else texts


def dates(values: pl.Series) -> pl.Series:
    """Return datetimes as dates if all are starts of days in their time zone, other values unchanged.

    >>> dates(pl.select(pl.datetime(2026, 4, 1)).to_series()).to_list()
    [datetime.date(2026, 4, 1)]
    """
    if not isinstance(values.dtype, pl.Datetime) or beyond_python(values):
        return values
    just_before = values.dt.offset_by("-1ms")  # clocks can skip midnight
    return values.dt.date() if (values.dt.date() != just_before.dt.date()).all() else values


def where(keys: pl.DataFrame, by: Sequence[str]) -> pl.Expr:
    """Return the group of each row, and keys such as the threshold, in words. Text that reads null is quoted.

    Values are not cut, since these texts tell groups apart.

    >>> frame = pl.DataFrame({"source": ["app", None, "null"], "threshold": [0.5, None, None]})
    >>> frame.select(where(frame, by=["source"])).to_series().to_list()
    ['source app, threshold 0.5', 'source null', "source 'null'"]
    """
    values = {k: _readable(keys[k]).replace("null", "'null'") for k in keys.columns}
    texts = [pl.lit(f"{k} ") + (v.fill_null("null") if k in by else v) for k, v in values.items()]
    return pl.concat_str(texts, separator=", ", ignore_nulls=True) if texts else pl.lit("")


def without_awkward(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with text instead of bytes and durations, which CSV and JSON cannot represent.

    >>> without_awkward(pl.DataFrame({"country": [b"DE"], "rows": [2]})).row(0)
    ("b'DE'", 2)
    """
    return frame.with_columns(written(frame[name]) for name in cs.expand_selector(frame, cs.binary() | cs.duration()))


def supported(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with text for times that Python does not support, beyond the year 9999.

    >>> supported(pl.select(day=pl.lit(4_000_000).cast(pl.Date))).row(0)
    ('+12921-08-18',)
    """
    times = [c for c in frame.get_columns() if c.dtype in (pl.Date, pl.Datetime)]
    return frame.with_columns(_times(c) for c in times if beyond_python(c))


def beyond_python(times: pl.Series) -> bool:
    """Return whether a date or time is outside the years 1 to 9999, in its time zone or in UTC."""
    zone = getattr(times.dtype, "time_zone", None)
    in_range = [t.dt.year().is_between(1, 9999) for t in (times, times.dt.convert_time_zone("UTC") if zone else times)]
    return any((~years.fill_null(False) & times.is_not_null()).any() for years in in_range)


def _times(times: pl.Series) -> pl.Series:
    """Times as text; those that Polars cannot format, as numbers."""
    writable = times.zip_with(times.dt.year().is_not_null(), pl.Series([None], dtype=times.dtype))
    return writable.dt.to_string().fill_null(times.to_physical().cast(pl.String))


def shortened(texts: Sequence[str], most: int) -> list[str]:
    """Return texts of at most so many characters, with an ellipsis in the middle, and more if they become equal.

    >>> shortened(["customer_segment_north_2026", "short"], 12)
    ['custom…_2026', 'short']
    """
    for size in range(most, 2 * most):
        short = [cut(text, size) for text in texts]
        if len(set(short)) == len(set(texts)):
            return short
    numbers = {text: f" ({number})" for number, text in enumerate(dict.fromkeys(texts), 1)}
    return [cut(text, most) + numbers[text] * (len(text) > most) for text in texts]

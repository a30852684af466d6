"""Floats of 16 and 32 bits as the numbers that were written."""

from __future__ import annotations

import numpy as np
import polars as pl

from streammetrics.rows.codes import number


def as_written(series: pl.Series) -> pl.Series:
    """Return floats as the 64-bit floats with the same shortest decimal text.

    As a group, 0.1 is thus the same number in every float type, although its 32 bits are 0.10000000149 in 64 bits.

    >>> as_written(pl.Series([0.1, 3.0, None], dtype=pl.Float32)).to_list()
    [0.1, 3.0, None]
    """
    if series.dtype == pl.Float64 or not len(series):
        return series.cast(pl.Float64)
    codes, first = number(series)
    found = series[first].to_numpy().astype(str).astype(np.float64)  # text of distinct values only
    return pl.Series(series.name, found[codes]).fill_nan(None)

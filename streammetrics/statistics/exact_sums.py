"""Exact sums: decimals with 18 digits after the point. Their sum does not depend on the order of addition.

A decimal is stored as an integer of 128 bits, in units of 1e-18. Sums of floats are rounded at every addition.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import pa
from streammetrics.core import Codes

DECIMAL: Final = pl.Decimal(38, 18)
LARGEST: Final = 1e20  # all decimals are smaller
UNITS: Final = 1e18  # of 1; a float represents it exactly
HALF = np.uint64(32)  # bits of a half of 64
LOW = np.uint64((1 << 32) - 1)


def to_decimals(values: pl.Series) -> pl.Series:
    """Round floats to decimals. NaN becomes null.

    >>> to_decimals(pl.Series([0.1, float("nan")])).to_list()
    [Decimal('0.100000000000000000'), None]
    """
    return values.fill_nan(None).cast(DECIMAL)


def to_floats(values: pl.Series) -> pl.Series:
    """Convert decimals to floats, within one unit in the last place. Null becomes NaN.

    >>> to_floats(to_decimals(pl.Series([0.1, float("nan")]))).to_list()
    [0.1, nan]
    """
    return pl.Series(values.name, values.to_physical().cast(pl.Float64).to_numpy() / UNITS)


def added_up(values: pl.Series, place: Codes, size: int) -> pl.Series:
    """Return the exact sum of the decimals of each place, or null if one of them is null.

    Halves of 64 bits are summed separately, then carried. Faster than a group-by of Polars, which is as exact.

    >>> tenth = to_decimals(pl.Series([0.1] * 10))
    >>> added_up(tenth, np.arange(10) % 2, 2).to_list()
    [Decimal('0.500000000000000000'), Decimal('0.500000000000000000')]
    """
    array: Any = values.rechunk().to_arrow()
    words = np.frombuffer(array.buffers()[1] or b"", dtype=np.uint64)[2 * array.offset :][: 2 * len(array)]
    low, high = words[::2], words[1::2]
    parts = np.zeros((3, size), dtype=np.uint64)
    for total, part in zip(parts, (low & LOW, low >> HALF, high), strict=True):
        np.add.at(total, place, part)
    parts[1] += parts[0] >> HALF
    sums = np.empty((size, 2), dtype=np.uint64)
    sums[:, 0] = parts[0] & LOW | parts[1] << HALF
    sums[:, 1] = parts[2] + (parts[1] >> HALF)
    decimals = decimals_of_words(sums).alias(values.name)
    if not values.null_count():
        return decimals
    unknown = np.zeros(size, dtype=bool)
    unknown[place[values.is_null().to_numpy()]] = True
    return decimals.set(pl.Series(unknown), None)


def decimals_of_words(words: NDArray[np.uint64]) -> pl.Series:
    """Decimals from the lower and the upper 64 bits of each, without a copy.

    >>> decimals_of_words(np.array([[3, 0]], dtype=np.uint64)).to_list()
    [Decimal('3E-18')]
    """
    array = pa.Array.from_buffers(pa.decimal128(38, 18), len(words), [None, pa.py_buffer(words)])
    return pl.DataFrame(pa.record_batch([array], [""])).to_series()  # pl.Series(array) would import pyarrow.compute

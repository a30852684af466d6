"""Folds of units: a small number that depends only on the value of the unit, on any machine.

Rows of the same unit, such as a user, are in the same fold, as the delete-one-fold jackknife requires. The hash is
defined here, since those of Polars, Python, and engines differ between versions, processes, and machines.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.core import mix
from streammetrics.errors import ColumnError

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

FOLDS = 20  # of an accumulator, unless it says otherwise
FEWEST_FOLDS = 5  # with which the jackknife has meaningful limits
MOST_FOLDS = 256
BLOCK = 65_536  # rows hashed at a time, to stay in the cache
WORD = 8  # bytes
FLOAT_DIGITS = 15  # significant digits of decimals that have floats of their own
LOW_BYTES = np.array([(1 << 8 * size) - 1 for size in range(WORD + 1)], dtype=np.uint64)
MICROSECONDS_OF_A_DAY = 86_400_000_000


def fold(series: pl.Series, folds: int = FOLDS) -> pl.Series:
    """Return the fold of each value, from 0 to ``folds - 1``, as UInt8. There can be 2 to 256 folds.

    The fold of 200 divided by 10 and rounded down is the fold of 20, and so on.

    All numbers are unsigned 64-bit integers; sums and products are modulo 2**64. ``mix(x)`` is the first output of
    SplitMix64 with the seed x (Steele, Lea & Flood 2014)::

        x = x + 0x9E3779B97F4A7C15
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB
        mix = x ^ (x >> 31)

    The hash h of a value gives the fold ``((h >> 32) * folds) >> 32``. It is

    - of an integer of any width, and of a boolean as 0 or 1: ``mix(x)``, negative ones as two's complement. Decimals
      without a fraction are integers. Those beyond 64 bits are hashed like their decimal text. Decimals with a fraction
      are floats if they have at most 15 digits, which a float tells apart, and otherwise hashed like their text without
      zeros at the end;
    - of a float that is an integer in [-2**63, 2**63): that of the integer, since an integer column with nulls often
      becomes a float column. Of any other float: ``mix`` of its bits as float64;
    - of text, as UTF-8, and of binary: start with h = the number of bytes; for every 8 bytes, read as a little-endian
      integer, the last ones filled up with zeros, ``h = mix(h ^ word)``. Categorical and Enum are hashed like text;
    - of a date or datetime: that of the microseconds since 1970 (UTC if there is a time zone), rounded down; a date
      is its midnight. Of a time since midnight, of a duration its own;
    - of null and NaN: 0, so they are one unit, in fold 0.

    >>> fold(pl.Series([1, 2, 3, None])).to_list()
    [11, 11, 2, 0]
    >>> fold(pl.Series(["ann", "bob", "cy"])).to_list()
    [8, 7, 7]
    """
    numbers = np.empty(len(series), dtype=np.uint8)
    for start in range(0, len(series), BLOCK):
        block = slice(start, start + BLOCK)
        numbers[block] = ((hash_values(series[block]) >> np.uint64(32)) * np.uint64(folds)) >> np.uint64(32)
    return pl.Series(series.name, numbers)


def hash_values(values: pl.Series) -> Hashes:
    """Return the hash of each value, as `fold` describes it."""
    dtype = values.dtype
    if dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary):
        hashes = _hashes_of_bytes(values if dtype == pl.Binary else values.cast(pl.String))
    elif dtype in (pl.Int128, pl.UInt128) or isinstance(dtype, pl.Decimal):
        hashes = _hashes_of_decimals(values)
    else:
        hashes = mix(_integers(values))
    missing = values.is_nan().fill_null(True) if dtype.is_float() else values.is_null()
    hashes[missing.to_numpy()] = 0
    return hashes


def identities(values: pl.Series) -> Hashes:
    """Return a hash of each value for fingerprints, which also covers what folds do not need.

    It is the hash h of `fold`, but ``mix(h ^ n)`` of text and binary of n bytes, and of a time that is n > 0
    nanoseconds after a microsecond. The hash of null and NaN is 0.
    """
    hashes, details = hash_values(values), _beyond_folds(values)
    if details is not None:
        some = details.is_not_null().to_numpy()
        hashes[some] = mix(hashes[some] ^ details.drop_nulls().cast(pl.UInt64).to_numpy())
    return hashes


def _beyond_folds(values: pl.Series) -> pl.Series | None:
    """What the hash of a fold does not tell apart: the length of text, and nanoseconds."""
    dtype = values.dtype
    if dtype == pl.Binary:
        return values.bin.size()
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return values.cast(pl.String).str.len_bytes()
    if dtype == pl.Time or getattr(dtype, "time_unit", None) == "ns":
        nanoseconds = values.to_physical() % 1000
        return nanoseconds.set(nanoseconds == 0, None)
    return None


def _integers(values: pl.Series) -> Hashes:
    """64 bits for each value."""
    dtype = values.dtype
    if dtype == pl.Null:
        return np.zeros(len(values), dtype=np.uint64)
    if dtype.is_float():
        return _bits_of_floats(values.cast(pl.Float64).fill_null(0).to_numpy())
    if not (dtype.is_integer() or dtype.is_temporal() or dtype == pl.Boolean):
        raise ColumnError(
            f"Column {values.name!r} must be an integer, string, float, date, or time to be a unit or a row ID, "
            f"got {dtype}."
        )
    integers = values.to_physical().fill_null(False if dtype == pl.Boolean else 0).to_numpy()
    if dtype == pl.UInt64:
        return integers.copy()
    return _microseconds(integers.astype(np.int64), dtype).view(np.uint64)


def _microseconds(integers: Integers, dtype: pl.DataType) -> Integers:
    """Times in microseconds; other integers unchanged."""
    if dtype == pl.Date:
        return integers * MICROSECONDS_OF_A_DAY
    unit = "ns" if dtype == pl.Time else getattr(dtype, "time_unit", None)
    if unit == "ns":
        return integers // 1000
    return integers * 1000 if unit == "ms" else integers


def _bits_of_floats(values: NDArray[np.float64]) -> Hashes:
    are_integers = (values == np.floor(values)) & (values >= -(2.0**63)) & (values < 2.0**63)
    bits = values.view(np.uint64).copy()
    bits[are_integers] = values[are_integers].astype(np.int64).view(np.uint64)
    return bits


def _hashes_of_decimals(values: pl.Series) -> Hashes:
    text = values.cast(pl.String)
    if isinstance(values.dtype, pl.Decimal) and values.dtype.scale:
        text = text.str.strip_chars_end("0").str.strip_chars_end(".")
    hashes = _hashes_of_bytes(text)
    digits = text.str.replace_all("[-.]", "").str.strip_chars_start("0").str.len_bytes()
    short = text.set(digits > FLOAT_DIGITS, None)
    for fitting in (short.cast(pl.Float64), text.cast(pl.Int64, strict=False), text.cast(pl.UInt64, strict=False)):
        fits = fitting.is_not_null().to_numpy()
        hashes[fits] = hash_values(fitting)[fits]
    return hashes


def _hashes_of_bytes(values: pl.Series) -> Hashes:
    arrow = values.to_arrow(compat_level=pl.CompatLevel.oldest())  # one buffer of bytes, and where each value ends
    _, ends, content = arrow.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[arrow.offset :][: len(arrow) + 1]
    data = np.append(np.frombuffer(content, dtype=np.uint8), np.zeros(WORD, dtype=np.uint8))
    words = np.ndarray(len(data) - WORD + 1, dtype="<u8", buffer=data, strides=(1,))  # one starts at every byte
    start, length = offsets[:-1], np.diff(offsets)
    hashes = length.astype(np.uint64)
    rows, done = np.flatnonzero(length), 0
    while len(rows):
        word = words[start[rows] + done] & LOW_BYTES[np.minimum(length[rows] - done, WORD)]
        hashes[rows] = mix(hashes[rows] ^ word)
        done += WORD
        rows = rows[length[rows] > done]
    return hashes

"""Folds and fingerprints of units: golden values, the definition in Python's integers, and an even spread."""

from datetime import date, datetime, time, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streammetrics import core
from streammetrics.data.rows.folds import fold, hash_values, identities

MASK = (1 << 64) - 1


def mix(x):
    """The first output of SplitMix64, in Python's own integers."""
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def hash_of_bytes(data):
    h = len(data)
    for start in range(0, len(data), 8):
        h = mix(h ^ int.from_bytes(data[start : start + 8], "little"))
    return h


def fold_of(h, folds=20):
    return ((h >> 32) * folds) >> 32


def test_splitmix_gives_its_published_outputs():
    hashes = core.mix(np.array([0, 1_234_567], dtype=np.uint64))
    assert hashes.tolist() == [0xE220A8397B1DCDAF, 6457827717110365317]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pl.Series(range(12)), [17, 11, 11, 2, 8, 7, 14, 7, 12, 13, 0, 6]),
        (pl.Series([-1, -(2**63), 2**63 - 1]), [17, 5, 3]),
        (pl.Series([True, False]), [11, 17]),
        (pl.Series([0.5, 1e300, -np.inf, np.inf]), [19, 19, 11, 2]),
        (
            pl.Series(["", "a", "user-17", "12345678", "123456789", "ann@example.com", "Ærø", "漢字"]),
            [0, 7, 15, 2, 18, 15, 8, 6],
        ),
        (pl.Series([b"\x00", b"\x00\x00", b"\xff" * 9]), [11, 11, 5]),
        (pl.Series([date(1970, 1, 1), date(2024, 2, 29), date(1900, 1, 1)]), [17, 0, 7]),
        (pl.Series([datetime(2024, 2, 29, 12, 30, 0, 123_456), datetime(1969, 12, 31, 23, 59)]), [5, 17]),
        (pl.Series([time(12, 30), time(0)]), [7, 17]),
        (pl.Series([timedelta(days=-1, microseconds=1)]), [5]),
        (pl.Series([None, float("nan")], dtype=pl.Float64), [0, 0]),
    ],
    ids=lambda x: str(x.dtype) if isinstance(x, pl.Series) else "",
)
def test_golden_values(values, expected):
    assert fold(values).to_list() == expected


def hash_of_float(x):
    whole = x.is_integer() and -(2.0**63) <= x < 2.0**63
    return mix(int(x) & MASK if whole else int(np.float64(x).view(np.uint64)))


def nanoseconds(v):
    return mix(mix(v // 1000 & MASK) ^ v % 1000) if v % 1000 else mix(v // 1000 & MASK)


INTEGERS, BYTES = st.integers(-(2**63), 2**63 - 1), st.binary(max_size=40)
KINDS = {  # values of a type, their hash, and their fingerprint, which also covers the length of text and nanoseconds
    pl.Int64: (INTEGERS, lambda v: mix(v & MASK), lambda v: mix(v & MASK)),
    pl.Float64: (st.floats(), hash_of_float, hash_of_float),
    pl.Binary: (BYTES, hash_of_bytes, lambda v: mix(hash_of_bytes(v) ^ len(v))),
    pl.String: (
        st.text(max_size=30),
        lambda v: hash_of_bytes(v.encode()),
        lambda v: mix(hash_of_bytes(v.encode()) ^ len(v.encode())),
    ),
    pl.Duration("ns"): (INTEGERS, lambda v: mix(v // 1000 & MASK), nanoseconds),
}


@settings(max_examples=30)
@given(st.data(), st.sampled_from([*KINDS]), st.integers(2, 256))
def test_folds_and_fingerprints_follow_the_definition(data, kind, folds):
    strategy, hashed, fingerprint = KINDS[kind]
    values = data.draw(st.lists(st.none() | strategy, max_size=20))
    series = pl.Series(values, dtype=kind)
    values = [None if v != v else v for v in values]
    expected = [0 if v is None else fold_of(hashed(v), folds) for v in values]
    assert fold(series, folds).to_list() == expected
    assert identities(series).tolist() == [0 if v is None else fingerprint(v) for v in values]
    if kind == pl.String:
        for categories in (pl.Categorical, pl.Enum(series.unique().drop_nulls())):
            assert fold(series.cast(categories), folds).to_list() == expected


def test_equal_integers_of_any_type_agree():
    values = [0, 1, 100, None, 7]
    expected = fold(pl.Series(values, dtype=pl.Int64))
    integers = (pl.Int8, pl.Int16, pl.Int32, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.UInt128)
    for dtype in (*integers, pl.Float32, pl.Float64, pl.Decimal(38, 0)):
        assert fold(pl.Series(values).cast(dtype)).equals(expected), dtype


def test_integers_beyond_64_bits():
    values = [2**64 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 2**127 - 1]
    hashes = [mix(v & MASK) if -(2**63) <= v < 2**64 else hash_of_bytes(str(v).encode()) for v in values]
    assert fold(pl.Series(values, dtype=pl.Int128)).to_list() == [fold_of(h) for h in hashes]
    assert fold(pl.Series(values[:2], dtype=pl.UInt64)).to_list() == [fold_of(h) for h in hashes[:2]]


def test_a_time_has_one_fold_in_every_unit_and_zone():
    moments = pl.Series([datetime(2024, 5, 17), datetime(1901, 1, 1), None])
    expected = fold(moments)
    for dtype in (pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("ns"), pl.Date):
        assert fold(moments.cast(dtype)).equals(expected), dtype
    assert fold(moments.dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")).equals(expected)
    nanoseconds = pl.Series([-1, -1000, -1001, 999]).cast(pl.Datetime("ns"))
    assert fold(nanoseconds).equals(fold(pl.Series([-1, -1, -2, 0])))


def test_decimals_with_a_fraction_are_floats_if_these_tell_them_apart():
    values = pl.Series(["1.50", "-0.05", "20.00", "0.00", "1234567890123.45", None]).cast(pl.Decimal(38, 2))
    assert hash_values(values).tolist() == hash_values(values.cast(pl.Float64)).tolist()
    assert hash_values(values).tolist() == hash_values(values.cast(pl.Decimal(38, 10))).tolist()
    long = pl.Series(["0.1234567890123456", "-12345678901234567890.5"])
    assert hash_values(long.cast(pl.Decimal(38, 16))).tolist() == [hash_of_bytes(x.encode()) for x in long]


def test_far_dates_wrap_around():
    days = 2**31 - 1
    far = pl.Series([days], dtype=pl.Int32).cast(pl.Date)
    assert fold(far).to_list() == [fold_of(mix(days * 86_400_000_000 & MASK))]


def test_folds_do_not_depend_on_the_rows_around():
    random = np.random.default_rng(0)
    text = pl.Series([None, "", "a", "a somewhat longer text", "b" * 1_000]).gather(random.integers(0, 5, 80_000))
    for values in (text, pl.Series(random.integers(0, 9, 80_000))):
        folds = fold(values)
        assert fold(values[70_001:70_999]).equals(folds[70_001:70_999])
        assert fold(pl.concat([values[:5], values[5:]], rechunk=False)).equals(folds)


def test_empty_columns_and_columns_of_nulls():
    for dtype in (pl.Int64, pl.String, pl.Float64, pl.Null, pl.Binary, pl.Boolean, pl.Date):
        for values, expected in (([], []), ([None, None], [0, 0])):
            found = fold(pl.Series("unit", values, dtype=dtype))
            assert found.equals(pl.Series("unit", expected, dtype=pl.UInt8), check_dtypes=True, check_names=True)
    assert fold(pl.Series(["", ""])).to_list() == [0, 0]

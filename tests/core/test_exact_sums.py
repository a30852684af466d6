"""Decimals that add up to the same number in any order, and their conversion from and to floats."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from streammetrics import core
from streammetrics.statistics.exact_sums import DECIMAL, added_up, to_decimals, to_floats

UNITS = st.integers(-(10**36), 10**36)  # of 1e-18; sums of a hundred fit
EDGES = [0, 1, -1, 1 << 32, -(1 << 32), (1 << 64) - 1, 1 << 64, -(1 << 64), 10**36, -(10**36)]


def decimals(units):
    return pl.Series("x", units, pl.Int128).reinterpret(dtype=DECIMAL)


def units(series):
    return series.reinterpret(dtype=pl.Int128).to_list()


@settings(max_examples=30)
@given(st.lists(st.tuples(UNITS | st.sampled_from(EDGES), st.integers(0, 4)), max_size=100))
def test_sums_are_those_of_whole_numbers(rows):
    numbers, places = [n for n, _ in rows], np.array([p for _, p in rows], dtype=np.intp)
    expected = [sum(n for n, p in rows if p == place) for place in range(5)]
    assert units(added_up(decimals(numbers), places, 5)) == expected


def test_a_sum_with_an_unknown_value_is_unknown():
    found = added_up(decimals([1, None, 3, 4]), np.array([0, 1, 1, 0]), 3)
    assert units(found) == [5, None, 0]


@settings(max_examples=30)
@given(st.lists(UNITS | st.sampled_from(EDGES)))
def test_floats_are_within_one_unit_in_the_last_place(numbers):
    for found, number in zip(to_floats(decimals(numbers)), numbers, strict=True):
        nearest = float(Fraction(number, 10**18))
        assert abs(found - nearest) <= np.spacing(abs(nearest))


@settings(max_examples=30)
@given(st.lists(st.floats(-1e18, 1e18)))
def test_decimals_are_the_floats_rounded_to_18_digits(numbers):
    series = pl.Series(numbers, dtype=pl.Float64)
    assert np.allclose(to_floats(to_decimals(series)).to_numpy(), series.to_numpy(), rtol=4e-16, atol=1e-18)
    for found, number in zip(to_decimals(series), numbers, strict=True):
        assert abs(Fraction(found) - Fraction(number)) <= Fraction(5, 10**19) + abs(Fraction(number)) / 2**53


def test_nan_is_null_and_null_is_nan():
    assert to_decimals(pl.Series([float("nan"), 0.5])).to_list() == [None, Decimal("0.5")]
    assert to_floats(decimals([None])).is_nan().all()


def test_row_sums_are_exact():
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.random((200, 30)), rng.random((200, 30)) ** 9 * 10.0 ** rng.integers(-9, 9, (200, 30))])
    assert core.row_sums(list(rows.T)).tolist() == [math.fsum(row) for row in rows]
    decimals = rng.integers(0, 10**9, (300, 7))
    assert core.row_sums(list((decimals / 1e12).T)).tolist() == (decimals.sum(axis=1) / 1e12).tolist()
    assert np.isnan(core.row_sums([np.array([0.5]), np.array([np.nan])])).all()

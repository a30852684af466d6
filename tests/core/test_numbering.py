"""Numbers of distinct values: the compiled form against the definition, and columns of every type."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from streammetrics.core import compiled
from streammetrics.core.definition import numbering as definition
from streammetrics.rows.codes import encode, number

RNG = np.random.default_rng(3)
INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]
FLOATS = [np.dtype("f4"), np.dtype("f8")]
needs_core = pytest.mark.skipif(compiled is None, reason="the compiled core is not built")
BUILDS = [] if compiled is None else [compiled, import_module("streammetrics.core._baseline")]
FORMS = [definition, *BUILDS]
form = pytest.mark.parametrize("form", FORMS, ids=lambda module: module.__name__.rpartition(".")[2])


def assert_forms_agree(loop, values):
    expected = getattr(definition, loop)(values)
    for build in BUILDS:
        for one, other in zip(getattr(build, loop)(values), expected, strict=True):
            assert one.dtype == other.dtype == np.intp
            np.testing.assert_array_equal(one, other)


@needs_core
@given(st.sampled_from(INTEGERS).flatmap(lambda dtype: arrays.arrays(dtype, st.integers(0, 50))))
def test_integers_have_equal_numbers_in_both_forms(values):
    assert_forms_agree("number_integers", values)


@needs_core
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("distinct", [1, 2, 700, 100_000])
def test_many_integers_have_equal_numbers_in_both_forms(dtype, distinct):
    ends = np.iinfo(dtype)
    values = RNG.integers(ends.min, ends.max, distinct, dtype, endpoint=True)
    rows = RNG.choice(values, 120_000)
    assert_forms_agree("number_integers", rows)
    narrow = (rows >> dtype.type(1)) % dtype.type(100)
    assert_forms_agree("number_integers", narrow)


@needs_core
@pytest.mark.parametrize("distinct", [1, 3, 3_000, 60_000])
def test_views_have_equal_numbers_in_both_forms(distinct):
    views = RNG.integers(-(2**63), 2**63 - 1, (distinct, 2), endpoint=True)
    views[::2, 0] = 7  # values that differ in one half
    rows = views[RNG.integers(0, distinct, 70_000)]
    assert_forms_agree("number_views", [rows[:distinct], rows[distinct:distinct], rows[distinct:]])


@form
def test_numbers_are_in_the_order_of_first_rows(form):
    codes, first = form.number_integers(np.array([9, -4, 9, 2**40, -4]))
    assert (codes.tolist(), first.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3])
    for nothing in (np.empty(0, np.int64), np.empty(0, np.uint8)):
        assert [part.tolist() for part in form.number_integers(nothing)] == [[], []]
    for parts in ([], [np.empty((0, 2), np.int64)]):
        assert [part.tolist() for part in form.number_views(parts)] == [[], []]


@needs_core
def test_other_arrays_are_rejected():
    for wrong in (np.zeros(3), np.zeros((3, 2), np.int64), np.arange(6)[::2], [1, 2]):
        with pytest.raises(TypeError):
            compiled.number_integers(wrong)
    for wrong in (np.zeros(4, np.int64), np.zeros((3, 3), np.int64), np.zeros((3, 2))):
        with pytest.raises(TypeError):
            compiled.number_views([wrong])


@form
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
@pytest.mark.parametrize("rows", [1, 5, 15, 16, 17, 33, 100, 1_000])
def test_extent(form, dtype, rows):
    low = -2 if dtype.kind != "u" else 2
    values = RNG.integers(low, 100, rows).astype(dtype)
    assert form.extent(values) == (values.min(), values.max())
    if dtype.kind == "f":
        for row in {0, rows // 2, rows - 1}:
            values[row] = np.nan
            assert np.isnan(form.extent(values)).all()
            values[row] = np.inf
            assert form.extent(values)[1] == np.inf
            values[row] = 1


@form
def test_the_extent_of_nothing_is_empty(form):
    assert form.extent(np.empty(0)) == (np.inf, -np.inf)
    assert form.extent(np.array([2**63 - 1, -(2**63)])) == (-(2.0**63), 2.0**63)


COLUMNS = {
    "short text": ["a", "b", "", "a", "twelve bytes", "ä"],
    "long text": [
        "a text of more than twelve bytes",
        "another text of more than twelve",
        "a text of more than twelve bytes",
    ],
    "bytes": [b"", b"\x00", b"\x00\x00", b"more than twelve bytes of it", b"\x00"],
    "integers": [1, 2**40, -5, 1],
    "booleans": [True, False, True],
    "floats": [0.1, 1e300, 0.1, -2.0],
    "decimals": [Decimal("1.10"), Decimal("-3"), Decimal("1.10")],
    "dates": [date(2026, 1, 1), date(1, 1, 1), date(2026, 1, 1)],
    "datetimes": [datetime(2026, 1, 1), datetime(2026, 1, 1, 5), datetime(2026, 1, 1)],
    "times": [time(5), time(6), time(5)],
    "durations": [timedelta(1), timedelta(-1), timedelta(1)],
}
TYPES = dict.fromkeys(COLUMNS) | {"categories": pl.Categorical, "enum": pl.Enum(["a", "b", "c"])}
TYPES |= {"narrow floats": pl.Float32, "half floats": pl.Float16, "bytes of 8 bits": pl.Int8}
COLUMNS |= {"categories": ["b", "a", "b", "c"], "enum": ["c", "a", "c"], "narrow floats": [0.1, 0.5, 0.1]}
COLUMNS |= {"half floats": [0.1, 0.5, 0.1], "bytes of 8 bits": [1, -128, 1]}


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.parametrize("name", TYPES)
def test_rows_of_one_number_have_one_value(name, offset, nulls):
    values = [*COLUMNS[name], *COLUMNS[name][::-1]] * 5
    if nulls:
        values[4::3] = [None] * len(values[4::3])
    column = pl.Series(values, dtype=TYPES[name]).slice(offset, len(values) - offset - 1)
    codes, first = number(column)
    assert column.gather(first).gather(codes).equals(column, null_equal=True)
    distinct, codes = encode(column.alias("x").to_frame())
    assert distinct["x"].n_unique() == distinct.height == column.n_unique()
    assert distinct["x"].gather(codes).equals(column, null_equal=True)


@pytest.mark.parametrize("chunks", [1, 3])
def test_several_columns(chunks):
    text = pl.Series(RNG.integers(0, 30, 3_000)).cast(pl.String)
    frame = pl.DataFrame({"a": text, "b": RNG.integers(0, 5, 3_000), "c": text.cast(pl.Categorical)})
    frame = pl.concat(frame.iter_slices(3_000 // chunks), rechunk=False)
    distinct, codes = encode(frame)
    assert distinct.height == distinct.n_unique() == frame.n_unique()
    assert distinct[codes].equals(frame)

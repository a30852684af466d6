"""Rows in the order of their groups: the compiled form against the definition."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streammetrics.core import Runs, compiled
from streammetrics.core.definition import arranging as definition

RNG = np.random.default_rng(5)
needs_core = pytest.mark.skipif(compiled is None, reason="the compiled core is not built")
BUILDS = [] if compiled is None else [compiled, import_module("streammetrics.core._baseline")]
FORMS = [definition, *BUILDS]
form = pytest.mark.parametrize("form", FORMS, ids=lambda module: module.__name__.rpartition(".")[2])


def columns_of(rows):
    """A column of each type that rows have."""
    values = RNG.random(rows) * 9
    return [np.arange(rows), values, values < 3, values.astype(np.uint8)]


def assert_forms_agree(codes, groups):
    columns = columns_of(len(codes))
    expected, *expected_runs = definition.arrange(codes, groups, columns)
    for build in BUILDS:
        moved, *runs = build.arrange(codes, groups, columns)
        assert (moved is None) == (expected is None)
        for one, other in zip([*(moved or []), *runs], [*(expected or []), *expected_runs], strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@needs_core
@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.lists(st.integers(0, n - 1), max_size=80), st.just(n))))
def test_forms_agree(drawn):
    codes, groups = drawn
    assert_forms_agree(np.array(codes, dtype=np.intp), groups)


@needs_core
@pytest.mark.parametrize("groups", [1, 2, 50, 1_000, 10_000, 20_000])
@pytest.mark.parametrize("rows", [0, 1, 5, 64, 60_000])
def test_forms_agree_on_many_rows(groups, rows):
    codes = RNG.integers(0, groups, rows)
    assert_forms_agree(codes, groups)
    assert_forms_agree(np.sort(codes)[::-1].copy(), groups)


@form
def test_rows_are_sorted_by_group(form):
    codes = RNG.integers(0, 30, 2_000) * 2  # every other group is empty
    (rows, moved), starts, groups = form.arrange(codes, 61, [np.arange(2_000), codes])
    np.testing.assert_array_equal(rows, np.argsort(codes, kind="stable"))
    np.testing.assert_array_equal(moved, np.sort(codes))
    np.testing.assert_array_equal(Runs(starts, groups).codes(), np.sort(codes))
    assert len(groups) == 30


@form
@pytest.mark.parametrize(
    ("codes", "groups", "runs"),
    [
        ([0] * 20, 1, 1),  # one group
        ([3] * 20, 9, 1),  # one run
        ([1] * 9 + [0] * 9 + [1] * 9, 2, 3),  # long runs
        ([0, 1, 2, 0, 1, 2], 3, 6),  # sorted runs would be short
        ([], 4, 0),
        ([], 0, 0),
    ],
)
def test_the_order_is_kept(form, codes, groups, runs):
    codes = np.array(codes, dtype=np.intp)
    columns, starts, found = form.arrange(codes, groups, [codes * 1.5])
    assert columns is None
    assert len(found) == runs
    np.testing.assert_array_equal(Runs(starts, found).codes(), codes)


@form
def test_there_can_be_no_columns(form):
    columns, starts, groups = form.arrange(np.tile([0, 1], 30), 2, [])
    assert (columns, starts.tolist(), groups.tolist()) == ([], [0, 30, 60], [0, 1])


@needs_core
@pytest.mark.parametrize("code", [-1, 5, 2**62, -(2**63)])
@pytest.mark.parametrize("row", [0, 40, 99])
def test_unknown_groups_are_rejected(code, row):
    codes = np.tile(np.arange(5), 20)
    codes[row] = code
    with pytest.raises(ValueError, match="codes must be below the number of groups"):
        compiled.arrange(codes, 5, [])


@needs_core
def test_other_arrays_are_rejected():
    for wrong in (np.zeros(3, np.int32), np.zeros(3), np.zeros((3, 1), np.intp), np.arange(6)[::2]):
        with pytest.raises(TypeError):
            compiled.arrange(wrong, 9, [])
    with pytest.raises(ValueError, match="cannot be negative"):
        compiled.arrange(np.zeros(0, np.intp), -1, [])
    codes = np.tile([0, 1], 30)
    for column in (np.zeros((60, 1)), np.zeros(120)[::2], [0.0] * 60):
        with pytest.raises(TypeError):
            compiled.arrange(codes, 2, [codes, column])
    for column in (np.zeros(59), np.zeros(61), np.zeros(0)):
        with pytest.raises(ValueError, match="same number of rows"):
            compiled.arrange(codes, 2, [codes, column])
    with pytest.raises(ValueError, match="1 or 8 bytes"):
        compiled.arrange(codes, 2, [np.zeros(60, np.float32)])

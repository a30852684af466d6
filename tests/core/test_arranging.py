"""The order of rows by group: the compiled form against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streammetrics.core import Runs, compiled
from streammetrics.core.definition import arranging as definition

RNG = np.random.default_rng(5)
needs_core = pytest.mark.skipif(compiled is None, reason="the compiled core is not built")
FORMS = [definition, *([] if compiled is None else [compiled])]
form = pytest.mark.parametrize("form", FORMS, ids=lambda module: module.__name__.rpartition(".")[2])


def assert_forms_agree(codes, groups):
    for one, other in zip(compiled.arrange(codes, groups), definition.arrange(codes, groups), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
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
    order, starts, groups = form.arrange(codes, 61)
    np.testing.assert_array_equal(order, np.argsort(codes, kind="stable"))
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
    order, starts, found = form.arrange(codes, groups)
    assert order is None
    assert len(found) == runs
    np.testing.assert_array_equal(Runs(starts, found).codes(), codes)


@form
@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int64, np.float64])
def test_values_are_taken_in_order(form, dtype):
    values = (RNG.random(1_000) * 9).astype(dtype)
    order = RNG.permutation(1_000)[:700].astype(np.int32)
    taken = form.take(values, order)
    assert taken.dtype == dtype
    np.testing.assert_array_equal(taken, values[order])
    assert len(form.take(values, order[:0])) == 0


@needs_core
@pytest.mark.parametrize("code", [-1, 5, 2**62, -(2**63)])
@pytest.mark.parametrize("row", [0, 40, 99])
def test_unknown_groups_are_rejected(code, row):
    codes = np.tile(np.arange(5), 20)
    codes[row] = code
    with pytest.raises(ValueError, match="codes must be below the number of groups"):
        compiled.arrange(codes, 5)


@needs_core
def test_other_arrays_are_rejected():
    for wrong in (np.zeros(3, np.int32), np.zeros(3), np.zeros((3, 1), np.intp), np.arange(6)[::2]):
        with pytest.raises(TypeError):
            compiled.arrange(wrong, 9)
    with pytest.raises(ValueError, match="cannot be negative"):
        compiled.arrange(np.zeros(0, np.intp), -1)
    order = np.array([0, 2, 1], dtype=np.int32)
    for values, wrong in ((np.zeros(3, np.float32), order), (np.zeros(3), order.astype(np.int64)), ([0.0], order)):
        with pytest.raises(TypeError):
            compiled.take(values, wrong)
    for place in (3, -1):
        with pytest.raises(ValueError, match="order must contain rows"):
            compiled.take(np.zeros(3), np.array([0, place], dtype=np.int32))
    with pytest.raises(ValueError, match="order must contain rows"):
        compiled.take(np.empty(0), np.zeros(1, dtype=np.int32))

"""What the definitions of the loops count and sum, against numpy, sorting, and whole numbers."""

import math

import numpy as np
import pytest
from loops import Rows, forms

from streammetrics.core import Runs
from streammetrics.core.definition import (
    arranging,
    decimals,
    numbering,
    sums,
)

ROWS = 2_003
ONE_RUN = Runs(np.array([0, ROWS]), np.array([0]))


def rows(seed=0):
    return Rows(np.random.default_rng(seed), ROWS, groups=1)


def test_logarithm_is_right_to_the_last_digits():
    x = np.concatenate([np.geomspace(1e-300, 1e300, 50_001), 1 - np.geomspace(2**-53, 0.5, 5_001), [1.0]])
    expected = np.array([math.log(value) for value in x.tolist()])
    assert (np.abs(sums.log(x) - expected) <= np.spacing(np.abs(expected))).all()


def test_a_sum_that_would_not_fit_raises_an_error():
    with pytest.raises(OverflowError, match="4e12"):
        sums.settled(np.array([2**62 - 1, 2 * 10**12]))
    for form in forms():
        out = np.zeros((1, 2, 9), np.int64)
        out[..., 1::2] = 2**62 - 1
        with pytest.raises(OverflowError, match="4e12"):
            form.sum_losses(rows().label, rows().probability(), None, ONE_RUN, out)


def test_sums_of_integers_are_decimals_without_rounding():
    values = np.random.default_rng(0).integers(-(2**63), 2**63, (1_000, 7))
    values[:1, 1:] = [-(2**63), 2**63 - 1, 2**63 - 1, -(2**63), -1, 1]
    words = decimals.as_decimals(values, 1)
    assert words.shape == (3, 1_000, 2)
    assert words.flags.c_contiguous
    found = [int(low) + (int(high) << 64) for low, high in words.reshape(-1, 2)]
    parts = values[:, 1:].reshape(1_000, 3, 2).transpose(1, 0, 2).reshape(-1, 2).tolist()
    assert found == [(micros * 10**12 + rest) % 2**128 for micros, rest in parts]


def test_rows_are_sorted_by_group():
    codes = np.random.default_rng(0).integers(0, 30, 2_000) * 2  # every other group is empty
    (places, moved), *runs = arranging.arrange(codes, 61, [np.arange(2_000), codes])
    assert places.tolist() == np.argsort(codes, kind="stable").tolist()
    assert moved.tolist() == Runs(*runs).codes().tolist() == sorted(codes.tolist())
    assert len(Runs(*runs).groups) == 30
    columns, starts, groups = arranging.arrange(np.tile([0, 1], 30), 2, [])
    assert (columns, starts.tolist(), groups.tolist()) == ([], [0, 30, 60], [0, 1])


@pytest.mark.whole
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
def test_rows_keep_their_order_if_sorted_runs_would_not_be_longer(codes, groups, runs):
    codes = np.array(codes, dtype=np.intp)
    columns, *found = arranging.arrange(codes, groups, [codes * 1.5])
    assert columns is None
    assert len(Runs(*found).groups) == runs
    assert Runs(*found).codes().tolist() == codes.tolist()


def test_values_have_numbers_in_the_order_of_their_first_rows():
    codes, first = numbering.number_integers(np.array([9, -4, 9, 2**40, -4]))
    assert (codes.tolist(), first.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3])
    for form in (numbering, *forms()):
        nothing = [form.number_integers(np.empty(0, kind)) for kind in (np.int64, np.uint8)]
        nothing += [form.number_views(parts) for parts in ([], [np.empty((0, 2), np.int64)])]
        assert [[part.tolist() for part in found] for found in nothing] == [[[], []]] * 4


def test_the_extent_is_nan_beside_nan_and_that_of_nothing_is_empty():
    for form in (numbering, *forms()):
        assert form.extent(np.empty(0)) == (np.inf, -np.inf)
        assert form.extent(np.array([2**63 - 1, -(2**63)])) == (-(2.0**63), 2.0**63)
        for size in (1, 5, 15, 16, 17, 33, 100):
            values = np.arange(size) - 3.0
            assert form.extent(values) == (-3.0, size - 4.0)
            for row in {0, size // 2, size - 1}:
                values[row] = np.nan
                assert np.isnan(form.extent(values)).all()
                values[row] = np.inf
                assert form.extent(values)[1] == np.inf
                values[row] = row - 3.0

"""The law of compiled loops: each equals its definition, in whatever blocks its rows come, and refuses other arrays."""

from copy import deepcopy

import fuzz
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import CLASSES, LOOPS, Rows, agree, arrays, forms, mapped

from streammetrics import core
from streammetrics.core import Runs

pytestmark = pytest.mark.skipif(core.compiled is None, reason="there are no compiled loops")


def test_every_compiled_loop_has_arguments():
    compiled = {name for name in vars(core.compiled) if name[0] != "_"}
    assert compiled == {*LOOPS, "Bins", "has_avx2"}


@pytest.mark.whole
@pytest.mark.parametrize("name", LOOPS)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_loop_equals_its_definition(name, seed):
    for form in forms():
        agree(name, Rows(np.random.default_rng(seed)), getattr(form, name))


def test_a_loop_that_differs_is_found():
    def wrong(*arguments):
        forms()[0].count_pairs(*arguments)
        arguments[-1][..., 0] += 1

    with pytest.raises(AssertionError, match="count_pairs"):
        agree("count_pairs", Rows(np.random.default_rng(0)), wrong)


ROWS = 70
RUNS = {
    "an unknown group": Runs(np.array([0, ROWS]), np.array([3_000])),
    "a negative group": Runs(np.array([0, ROWS]), np.array([-1])),
    "runs beyond the rows": Runs(np.array([0, ROWS + 1]), np.array([0])),
    "runs backward": Runs(np.array([0, ROWS, 1, ROWS]), np.zeros(3, np.int64)),
    "runs from the second row": Runs(np.array([1, ROWS]), np.array([0])),
    "more groups than runs": Runs(np.array([0, ROWS]), np.array([0, 0])),
}
COLUMNS = {
    "two dimensions": lambda array: array[..., None],
    "every other value": lambda array: np.repeat(array, 2)[::2],
    "a row less": lambda array: array[:-1],
    "another type": lambda array: array.astype({"f": "f4", "i": "i4", "u": "i2", "b": "u1"}[array.dtype.kind]),
}
ALONE = {"as_decimals", "extent", "fit", "is_fitted", "likeliest", "number_integers", "number_views"}
VALUES = {
    "a label of 2": ({"count_outcomes", "count_pairs", "sum_calibration", "sum_losses", "sum_loss_differences"}, 0, 2),
    "no such class": ({"count_ranks", "sum_class_losses", "sum_class_loss_differences"}, 0, CLASSES),
    "a negative class": ({"count_ranks", "sum_class_losses", "sum_class_loss_differences"}, 0, -1),
    "no such group": ({"arrange"}, 0, 3_000),
    "a group far below": ({"arrange"}, 0, -(2**63)),
    "a score above 1": ({"sum_calibration"}, 1, 1.1),
    "uneven edges": ({"sum_calibration"}, 2, 0.7),
    "thresholds that do not ascend": ({"count_outcomes"}, 2, -9.0),
}


def changed(arguments, place, change):
    return (*arguments[:place], change(arguments[place]), *arguments[place + 1 :])


def put(array, value):
    array = array.copy()
    array[len(array) // 2] = value
    return array


def wrong_arguments(name, arguments):
    """Arguments of which one is wrong, by what is wrong with it."""
    for place, value in enumerate(arguments):
        if isinstance(value, Runs):
            yield from ((what, changed(arguments, place, lambda _, runs=runs: runs)) for what, runs in RUNS.items())
            for what in (np.int32, np.float64):
                yield what, changed(arguments, place, lambda runs, what=what: Runs(*(a.astype(what) for a in runs)))
        elif isinstance(value, np.ndarray) and value.ndim > 1 and name not in ALONE:
            yield "a column less of cells", changed(arguments, place, lambda cells: cells[..., :-1].copy())
        elif isinstance(value, np.ndarray | list) and name not in ALONE and len(next(arrays([value]))) == ROWS:
            for what, change in COLUMNS.items():
                yield what, changed(arguments, place, lambda value, change=change: mapped(change, value))
    for what, (names, place, value) in VALUES.items():
        if name in names:
            yield what, changed(arguments, place, lambda array, value=value: put(array, value))


@pytest.mark.whole
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_arrays_are_refused_before_anything_is_added(name):
    for seed in (7, 9, 23):  # rows that are sorted, and several thresholds
        for what, wrong in wrong_arguments(name, LOOPS[name](Rows(np.random.default_rng(seed), ROWS, groups=5))):
            before = deepcopy(wrong)
            for form in forms():
                with pytest.raises((TypeError, ValueError)):
                    print(what, getattr(form, name)(*wrong))
            assert all(map(np.array_equal, arrays(wrong), arrays(before))), what


def test_random_calls_of_every_loop_agree_or_are_refused():
    random = np.random.default_rng(0)
    for _ in range(3):
        fuzz.play(random)


def test_most_spoilt_arguments_are_refused():
    random, refused = np.random.default_rng(0), 0
    arguments = LOOPS["count_pairs"](Rows(random, ROWS))
    for _ in range(100):
        refused += not fuzz.accepted(core.count_pairs, fuzz.spoilt("count_pairs", arguments, random))
    assert refused > 30

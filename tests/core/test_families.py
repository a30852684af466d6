"""Outcomes, losses, calibration, classes, and pairs: compiled loops against definitions, and these against numpy."""

import math
from functools import partial

import numpy as np
import pytest
from forms import compiled_forms

from streammetrics.core import Runs
from streammetrics.core.definition import calibration, classes, decimals, losses, outcomes, pairs, sums

ROWS, GROUPS = 20_011, 9
RNG = np.random.default_rng(7)
LABEL = (RNG.random(ROWS) < 0.3).astype(np.uint8)
GROUP = RNG.integers(0, GROUPS, ROWS).astype(np.intp)
WEIGHT = RNG.random(ROWS) * 3
EDGES = np.array([0.0, -0.0, 5e-324, 1e-15, 0.29, 0.3, 0.5, np.nextafter(0.5, 1), 1 - 2**-53, 1.0])
PROBABILITIES = np.concatenate([EDGES, np.linspace(0, 1, 1_001), RNG.beta(0.5, 8, ROWS - 1_011)])
OTHER = RNG.permutation(PROBABILITIES)
REALS = np.concatenate([[np.inf, -np.inf, 0.0, -0.0, 1.7e308, -1.7e308], RNG.normal(0, 1e3, ROWS - 6)])
RUNS = {
    "one": Runs(np.array([0, ROWS]), np.array([0])),
    "sorted": Runs(np.append(0, np.cumsum(np.bincount(GROUP))), np.arange(GROUPS)),
    "of one row": Runs(np.arange(ROWS + 1), GROUP),
    "short, empty, again": Runs(np.array([0, 0, 5, 5, 9, 40, 40, ROWS]), np.array([3, 1, 1, 0, 3, 8, 1])),
    "no rows": Runs(np.array([0, 0]), np.array([4])),
}
LADDERS = {
    "one": [0.5],
    "few": [0.0, 0.3, 1.0],
    "even": np.linspace(0, 1, 1_000),
    "uneven": np.geomspace(1e-12, 1, 500),
    "infinite": [-np.inf, *np.linspace(-2, 2, 50), np.inf],
    "far apart": [-1.7e308, *np.linspace(0, 1, 20), 1.7e308],
}
grouped = pytest.mark.parametrize("runs", RUNS.values(), ids=RUNS)
weighted = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
needs_core = pytest.mark.skipif(not compiled_forms(), reason="nothing is compiled")


def cut(value, rows):
    """The first rows of a column, or of several."""
    if isinstance(value, tuple):
        return tuple(cut(each, rows) for each in value)
    return value[:rows] if isinstance(value, np.ndarray) and len(value) == ROWS else value


def held(definition, name, cells, *columns, weight, runs):
    """What the definition adds, after the compiled forms have added the same: integers bit for bit, floats to 1e-12."""
    rows = int(runs.starts[-1])
    columns, weight = cut(columns, rows), cut(weight, rows)
    kind = np.int64 if weight is None else np.float64
    expected = np.zeros((GROUPS, *cells), kind)
    getattr(definition, name)(*columns, weight, runs, expected)
    for form in compiled_forms():
        found = np.zeros_like(expected)
        getattr(form, name)(*columns, weight, runs, found)
        if weight is None:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max(initial=0))
    return expected


def width(count, weight):
    """The size of a cell with so many sums."""
    return 1 + count * (2 if weight is None else 1)


def as_floats(cells):
    """The sums of cells of integers."""
    return cells[..., 1::2] / 1e6 + cells[..., 2::2] / 1e18


@needs_core
@grouped
@weighted
@pytest.mark.parametrize("thresholds", LADDERS.values(), ids=LADDERS)
@pytest.mark.parametrize("score", [PROBABILITIES, REALS], ids=["p", "real"])
def test_outcomes(score, thresholds, runs, weight):
    thresholds = np.array(thresholds, dtype=np.float64)
    cells = (len(thresholds) + 1, 2)
    counts = held(outcomes, "count_outcomes", cells, LABEL, score, thresholds, weight=weight, runs=runs).sum(axis=0)
    rows = int(runs.starts[-1])
    reached = ((score[:rows] >= thresholds[:, None]) * (1 if weight is None else weight[:rows])).sum(axis=1)
    np.testing.assert_allclose(counts.sum(axis=1)[::-1].cumsum()[::-1][1:], reached, rtol=1e-10)


@needs_core
@grouped
@weighted
def test_losses(runs, weight):
    held(losses, "sum_losses", (2, width(4, weight)), LABEL, PROBABILITIES, weight=weight, runs=runs)


@needs_core
@grouped
@weighted
@pytest.mark.parametrize("bins", [1, 10, 100])
def test_calibration(bins, runs, weight):
    cells, edges = (bins, 2, width(2, weight)), np.linspace(0, 1, bins + 1)
    held(calibration, "sum_calibration", cells, LABEL, PROBABILITIES, edges, weight=weight, runs=runs)


def probabilities(count):
    """Certain, saturated, equal, tied and spread ones: an array for each class, some of them read-only."""
    p = RNG.dirichlet(np.full(count, 0.3), ROWS)
    p[::5] = np.eye(count)[RNG.integers(0, count, len(p[::5]))]
    p[1::5] = p[1::5].round(1)
    p[2] = 1 / count
    p[3::50, 0] = 1 - 1e-16
    scores = tuple(np.ascontiguousarray(column) for column in p.T)
    for score in scores[::2]:
        score.flags.writeable = False
    return scores


@pytest.fixture(scope="module", params=[1, 2, 7], ids="{} classes".format)
def several(request):
    """Classes of rows, and the scores of two models."""
    return RNG.integers(0, request.param, ROWS), probabilities(request.param), probabilities(request.param)


@needs_core
@grouped
@weighted
def test_classes(several, runs, weight):
    truth, scores, others = several
    add = partial(held, weight=weight, runs=runs)
    add(classes, "sum_class_losses", (len(scores), width(4, weight)), truth, scores)
    add(classes, "count_ranks", (len(scores),), truth, scores)
    add(pairs, "sum_class_loss_differences", (len(scores), width(6, weight)), truth, scores, others)


def test_ranks_and_likeliest_by_sorting(several):
    truth, scores, _ = several
    order = np.argsort(-np.array(scores), axis=0, kind="stable")
    rank = np.argmax(order == truth, axis=0)
    for form in (classes, *compiled_forms()):
        counts = np.zeros((1, len(scores)), dtype=np.int64)
        form.count_ranks(truth, scores, None, RUNS["one"], counts)
        np.testing.assert_array_equal(counts[0], np.bincount(rank, minlength=len(scores)))
        np.testing.assert_array_equal(form.likeliest(scores), np.argmax(scores, axis=0))


@needs_core
@grouped
@weighted
def test_pairs(runs, weight):
    add = partial(held, pairs, weight=weight, runs=runs)
    one, other = (tuple(score > limit for limit in (0.1, 0.2)) for score in (PROBABILITIES, OTHER))
    add("count_pairs", (2, 8), LABEL, one, other)
    add("sum_loss_differences", (2, width(6, weight)), LABEL, PROBABILITIES, OTHER)


@needs_core
@grouped
@weighted
def test_differences_of_errors(runs, weight):
    columns, rows = (PROBABILITIES + 1, OTHER * 3, OTHER - PROBABILITIES), int(runs.starts[-1])
    expected = np.zeros((GROUPS, 13))
    pairs.sum_error_differences(*cut(columns, rows), cut(weight, rows), runs, expected)
    for form in compiled_forms():
        found = np.zeros_like(expected)
        form.sum_error_differences(*cut(columns, rows), cut(weight, rows), runs, found)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@needs_core
@pytest.mark.parametrize(
    ("domain", "one", "other"), [("probability", PROBABILITIES, OTHER), ("real", REALS, REALS[::-1].copy())]
)
def test_keys_of_pairs(domain, one, other):
    keys = np.empty(ROWS, dtype=np.int64)
    pairs.interleave(one, other, domain == "probability", keys)
    for form in compiled_forms():
        found = np.empty_like(keys)
        form.interleave(one, other, domain == "probability", found)
        np.testing.assert_array_equal(found, keys)
    assert keys.min() >= 0
    for values, side in zip((one, other), pairs.sides(keys), strict=True):
        assert (np.diff(side[np.argsort(values, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_sums_of_losses_are_those_of_numpy_in_any_order_and_split(seed):
    rng = np.random.default_rng(seed)
    expected = np.zeros((1, 2, 9), np.int64)
    losses.sum_losses(LABEL, PROBABILITIES, None, RUNS["one"], expected)
    for form in (losses, *compiled_forms()):
        order, found = rng.permutation(ROWS), np.zeros_like(expected)
        for part in np.split(order, np.sort(rng.integers(0, ROWS, 7))):
            runs = Runs(np.array([0, len(part)]), np.array([0]))
            form.sum_losses(LABEL[part].copy(), PROBABILITIES[part].copy(), None, runs, found)
        np.testing.assert_array_equal(found, expected)
    clipped = np.clip(PROBABILITIES, 1e-15, 1 - 1e-15)
    log_loss, brier = -np.log(np.where(LABEL == 1, clipped, 1 - clipped)), (PROBABILITIES - LABEL) ** 2
    for label in (0, 1):
        own = label == LABEL
        near = [math.fsum(values[own]) for values in (log_loss, log_loss**2, brier, brier**2)]
        np.testing.assert_allclose(as_floats(expected)[0, label], near, rtol=1e-10)


def test_logarithm_is_right_to_the_last_digits():
    x = np.concatenate([np.geomspace(1e-300, 1e300, 50_001), 1 - np.geomspace(2**-53, 0.5, 5_001), [1.0]])
    expected = np.array([math.log(value) for value in x.tolist()])
    assert (np.abs(sums.log(x) - expected) <= np.spacing(np.abs(expected))).all()


@pytest.mark.parametrize("form", [sums, *compiled_forms()], ids=lambda module: module.__name__)
def test_a_sum_that_would_not_fit_raises_an_error(form):
    if form is sums:
        with pytest.raises(OverflowError, match="exceeds 4e12"):
            sums.settled(np.array([2**62 - 1, 2 * 10**12]))
        return
    out = np.zeros((1, 2, 9), np.int64)
    out[..., 1::2] = 2**62 - 1
    with pytest.raises(OverflowError, match="exceeds 4e12"):
        form.sum_losses(LABEL, PROBABILITIES, None, RUNS["one"], out)


@pytest.mark.parametrize("form", [decimals, *compiled_forms()], ids=lambda module: module.__name__)
@pytest.mark.parametrize("cells", [0, 1, 1_000])
def test_sums_of_integers_are_decimals_without_rounding(form, cells):
    values = np.random.default_rng(cells).integers(-(2**63), 2**63, (cells, 7))
    values[:1, 1:] = [-(2**63), 2**63 - 1, 2**63 - 1, -(2**63), -1, 1]
    words = form.as_decimals(values, 1)
    assert words.shape == (3, cells, 2)
    assert words.flags.c_contiguous
    found = [int(low) + (int(high) << 64) for low, high in words.reshape(-1, 2)]
    parts = values[:, 1:].reshape(cells, 3, 2).transpose(1, 0, 2).reshape(-1, 2).tolist()
    assert found == [(micros * 10**12 + rest) % 2**128 for micros, rest in parts]


WRONG = {
    "float32 scores": (TypeError, {"score": np.zeros(3, np.float32)}),
    "strided scores": (TypeError, {"score": np.zeros(6)[::2]}),
    "two dimensions": (TypeError, {"score": np.zeros((3, 1))}),
    "too few scores": (ValueError, {"score": np.zeros(2)}),
    "label 2": (ValueError, {"label": np.array([0, 1, 2], np.uint8)}),
    "weights of integers": (ValueError, {"weight": np.ones(3)}),
    "no group": (ValueError, {"runs": Runs(np.array([0, 3]), np.array([GROUPS]))}),
    "negative group": (ValueError, {"runs": Runs(np.array([0, 3]), np.array([-1]))}),
    "runs beyond the rows": (ValueError, {"runs": Runs(np.array([0, 4]), np.array([0]))}),
    "runs backward": (ValueError, {"runs": Runs(np.array([0, 3, 1, 3]), np.array([0, 1, 2]))}),
    "other cells": (ValueError, {"out": np.zeros((GROUPS, 2, 8), np.int64)}),
    "cells of floats": (ValueError, {"out": np.zeros((GROUPS, 2, 5))}),
}


@needs_core
@pytest.mark.parametrize(("error", "changed"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("form", compiled_forms(), ids=lambda module: module.__name__)
def test_wrong_arrays_are_refused_before_anything_is_added(form, error, changed):
    given = {"label": np.array([0, 1, 1], np.uint8), "score": np.array([0.1, 0.2, 0.3]), "weight": None}
    given |= {"runs": Runs(np.array([0, 3]), np.array([0])), "out": np.zeros((GROUPS, 2, 9), np.int64)} | changed
    if error is ValueError and given["out"].dtype == np.float64:
        given["score"] = np.zeros(2)
    with pytest.raises(error):
        form.sum_losses(**given)
    assert not given["out"].any()


@needs_core
@pytest.mark.parametrize("truth", [[0, 1, 3], [0, -1, 2]])
def test_classes_that_do_not_exist_are_refused(truth):
    scores, runs = tuple(np.full((3, 3), 0.3)), Runs(np.array([0, 3]), np.array([0]))
    for form in compiled_forms():
        with pytest.raises(ValueError, match="class"):
            form.count_ranks(np.array(truth), scores, None, runs, np.zeros((1, 3), np.int64))
        with pytest.raises(ValueError, match="class"):
            form.sum_class_losses(np.array(truth), scores, None, runs, np.zeros((1, 3, 9), np.int64))

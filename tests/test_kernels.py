import logging
import os
import subprocess
import sys
from datetime import date
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics import core
from streammetrics.core import Runs, bins, choice, classes, pairs
from streammetrics.core import numpy as definition
from streammetrics.core.lattice import MAX_SHIFT, Lattice

pytestmark = pytest.mark.thorough  # compilation takes a minute

compiled = pytest.importorskip("streammetrics.core.compiled", reason="numba is not installed")
compiled_classes = pytest.importorskip("streammetrics.core.compiled_classes", reason="numba is not installed")
compiled_pairs = pytest.importorskip("streammetrics.core.compiled_pairs", reason="numba is not installed")
compiled_bins = pytest.importorskip("streammetrics.core.compiled_bins", reason="numba is not installed")

ROWS = 20_011
RNG = np.random.default_rng(7)
LABEL = (RNG.random(ROWS) < 0.3).astype(np.uint8)
GROUP = RNG.integers(0, 9, ROWS).astype(np.intp)
WEIGHT = RNG.random(ROWS) * 3
EDGES = np.array([0.0, -0.0, 5e-324, 1e-15, 0.29, 0.3, 0.5, np.nextafter(0.5, 1), 1 - 2**-53, 1.0])
PROBABILITIES = np.concatenate([EDGES, np.linspace(0, 1, 1_001), RNG.beta(0.5, 8, ROWS - 1_011)])
REALS = np.concatenate([[np.inf, -np.inf, 0.0, -0.0, 1.7e308, -1.7e308], RNG.normal(0, 1e3, ROWS - 6)])
RUNS = {
    "one": Runs(np.array([0, ROWS]), np.array([0])),
    "sorted": Runs(np.append(0, np.cumsum(np.bincount(GROUP))), np.arange(9)),
    "scattered": Runs(np.arange(ROWS + 1), GROUP),  # each row for itself
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


def assert_close(one, other):
    assert one.shape == other.shape
    assert one.dtype == other.dtype
    if one.dtype.kind == "i":
        np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_allclose(other, one, rtol=1e-12)


def assert_twins_agree(name, *args, modules=(definition, compiled)):
    assert_close(*(getattr(module, name)(*args) for module in modules))


def assert_twins_add(name, cells, *args, weight=None, runs, integers=False, modules=(definition, compiled)):
    """Both add the same."""
    kind = np.int64 if integers and weight is None else np.float64
    outs = [np.zeros((9, *cells), kind) for _ in modules]
    for module, out in zip(modules, outs, strict=True):
        getattr(module, name)(*args, weight, runs, out)
    assert_close(*outs)
    return outs[0]


@grouped
@weighted
@pytest.mark.parametrize("thresholds", LADDERS.values(), ids=LADDERS)
@pytest.mark.parametrize("score", [PROBABILITIES, REALS], ids=["p", "real"])
def test_outcomes(score, thresholds, runs, weight):
    thresholds = np.array(thresholds, dtype=np.float64)
    cells = (len(thresholds) + 1, 2)
    counts = assert_twins_add(
        "count_outcomes", cells, LABEL, score, thresholds, weight=weight, runs=runs, integers=True
    ).sum(axis=0)
    reached = ((score >= thresholds[:, None]) * (1 if weight is None else weight)).sum(axis=1)
    np.testing.assert_allclose(counts.sum(axis=1)[::-1].cumsum()[::-1][1:], reached, rtol=1e-10)


@grouped
@weighted
def test_hard_predictions(runs, weight):
    predicted, one = (PROBABILITIES > 0.1).astype(np.uint8), np.array([1.0])
    assert_twins_add("count_outcomes", (2, 2), LABEL, predicted, one, weight=weight, runs=runs, integers=True)


@grouped
@weighted
def test_losses(runs, weight):
    assert_twins_add("sum_losses", (2, 5), LABEL, PROBABILITIES, weight=weight, runs=runs)


@grouped
@weighted
@pytest.mark.parametrize("bins", [1, 10, 100])
def test_calibration(bins, runs, weight):
    edges = np.linspace(0, 1, bins + 1)
    assert_twins_add("sum_calibration", (bins, 2, 3), LABEL, PROBABILITIES, edges, weight=weight, runs=runs)


@pytest.mark.parametrize("module", [definition, compiled], ids=["numpy", "compiled"])
def test_rows_are_arranged_unless_they_come_in_runs_or_runs_would_be_short(module):
    order, runs = module.arrange(GROUP, 9)
    np.testing.assert_array_equal(GROUP[order], runs.codes())
    np.testing.assert_array_equal(order, np.argsort(GROUP, kind="stable"))
    order, runs = module.arrange(np.sort(GROUP)[::-1].copy(), 9)
    assert order is None
    assert runs.groups.tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0]
    many = RNG.integers(0, 10_000, ROWS)
    order, runs = module.arrange(many, 10_000)
    assert order is None
    np.testing.assert_array_equal(runs.codes(), many)
    for codes, groups in ((np.zeros(5, dtype=np.intp), 1), (np.zeros(0, dtype=np.intp), 3)):
        order, runs = module.arrange(codes, groups)
        assert order is None
        np.testing.assert_array_equal(runs.codes(), codes)


@pytest.mark.parametrize("module", [definition, compiled], ids=["numpy", "compiled"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.int64])
def test_values_are_taken_in_the_order_of_their_groups(module, dtype):
    values = np.arange(len(GROUP)).astype(dtype)
    order, _ = module.arrange(GROUP, 9)
    taken = module.take(values, order)
    np.testing.assert_array_equal(taken, values[np.argsort(GROUP, kind="stable")])
    assert taken.dtype == dtype
    assert module.take(values, None) is values
    order, runs = module.arrange(np.tile([0, 2], 30), 3)  # no row of group 1
    assert runs.groups.tolist() == [0, 2]
    assert runs.starts.tolist() == [0, 30, 60]


def probabilities(classes):
    """Certain, saturated, equal, tied and spread ones: an array for each class, some of them read-only."""
    p = RNG.dirichlet(np.full(classes, 0.3), ROWS)
    p[::5] = np.eye(classes)[RNG.integers(0, classes, len(p[::5]))]
    p[1::5] = p[1::5].round(1)
    p[2] = 1 / classes
    p[3::50, 0] = 1 - 1e-16
    scores = tuple(np.ascontiguousarray(column) for column in p.T)
    for score in scores[::2]:
        score.flags.writeable = False
    return scores


@pytest.fixture(scope="module", params=[1, 2, 7], ids="{} classes".format)
def several(request):
    """Classes of rows, and their scores."""
    return RNG.integers(0, request.param, ROWS), probabilities(request.param)


TWINS = {"modules": (classes, compiled_classes)}


@grouped
@weighted
@pytest.mark.parametrize("name", ["sum_class_losses", "count_ranks"])
@pytest.mark.parametrize("rows", [ROWS, 1, 0])
def test_several_classes(several, name, rows, runs, weight, monkeypatch):
    monkeypatch.setattr(compiled_classes, "PIECE", 3_000)
    runs = runs if rows == ROWS else Runs(np.array([0, rows]), np.array([4]))
    truth, weight = (None if a is None else a[:rows] for a in (several[0], weight))
    scores = tuple(score[:rows] for score in several[1])
    integers = name == "count_ranks"
    cells = (len(scores),) if integers else (len(scores), 5)
    assert_twins_add(name, cells, truth, scores, weight=weight, runs=runs, integers=integers, **TWINS)


def test_likeliest(several, monkeypatch):
    monkeypatch.setattr(compiled_classes, "PIECE", 3_000)
    scores = several[1]
    assert_twins_agree("likeliest", scores, **TWINS)
    np.testing.assert_array_equal(classes.likeliest(scores), np.argmax(scores, axis=0))


PAIRED = {"modules": (pairs, compiled_pairs)}
OTHER = RNG.permutation(PROBABILITIES)


@pytest.mark.parametrize(
    ("domain", "one", "other"), [("probability", PROBABILITIES, OTHER), ("real", REALS, REALS[::-1].copy())]
)
def test_keys_of_pairs(domain, one, other):
    keys = [np.empty(ROWS, dtype=np.int64) for _ in range(2)]
    for module, own in zip((pairs, compiled_pairs), keys, strict=True):
        module.interleave(one, other, Lattice(domain), own)
    np.testing.assert_array_equal(*keys)
    assert keys[0].min() >= 0
    for values, side in zip((one, other), pairs.sides(keys[0]), strict=True):
        order = np.argsort(values, kind="stable")
        assert (np.diff(side[order]) >= 0).all()


@grouped
@weighted
def test_pairs_of_decisions(runs, weight):
    decisions = (PROBABILITIES > 0.1), (OTHER > 0.2)
    assert_twins_add("count_pairs", (8,), LABEL, *decisions, weight=weight, runs=runs, integers=True, **PAIRED)


@grouped
@weighted
def test_differences_of_losses(runs, weight):
    scores = PROBABILITIES, OTHER
    assert_twins_add("sum_loss_differences", (2, 3), LABEL, *scores, weight=weight, runs=runs, **PAIRED)


@grouped
@weighted
def test_differences_of_errors(runs, weight):
    values = PROBABILITIES + 1, OTHER * 3, OTHER - PROBABILITIES
    assert_twins_add("sum_error_differences", (5,), *values, weight=weight, runs=runs, **PAIRED)


@pytest.mark.parametrize("capacity", [8, 100, 10_000])
@pytest.mark.parametrize("atoms", [(), (0.3,)], ids=["ends", "atom"])
@pytest.mark.parametrize("domain", ["probability", "real"])
def test_bins_begin_alike_and_fit(domain, atoms, capacity):
    lattice, runs = Lattice(domain, atoms), RUNS["sorted"]
    keys = lattice.keys(PROBABILITIES if domain == "probability" else REALS)
    keys[1::2] = keys[::2][: len(keys) // 2]  # every other one comes twice
    low = np.concatenate([np.sort(keys[start:end]) for start, end in pairwise(runs.starts)])
    least = np.arange(9) * 5
    modules = bins, compiled_bins
    (first, shifts), (same_first, same_shifts) = (m.find_bins(low, runs, least, lattice, capacity) for m in modules)
    np.testing.assert_array_equal(first, same_first)
    np.testing.assert_array_equal(shifts, same_shifts)
    label = np.sort(LABEL)
    assert bins.sum_bins(label, first).tolist() == np.add.reduceat(label, first, dtype=np.int64).tolist()
    for run, (start, end) in enumerate(pairwise(runs.starts)):
        counts = [len(bins_at(lattice, low[start:end], shift)) for shift in (shifts[run] - 1, shifts[run])]
        assert counts[1] == np.count_nonzero((first >= start) & (first < end))
        assert counts[1] <= capacity or shifts[run] == MAX_SHIFT  # more bins than that are needed near atoms
        assert shifts[run] == least[run] or counts[0] > capacity


def bins_at(lattice, keys, shift):
    limited = lattice.limit_shifts(keys, np.array([shift]))
    return set(zip((keys >> limited).tolist(), limited.tolist(), strict=True))


def test_ranks_by_sorting(several):
    truth, scores = several
    order = np.argsort(-np.array(scores), axis=0, kind="stable")
    rank = np.argmax(order == truth, axis=0)
    expected = np.bincount(rank, minlength=len(scores))
    counts = np.zeros((9, len(scores)), dtype=np.int64)
    classes.count_ranks(truth, scores, None, RUNS["one"], counts)
    np.testing.assert_array_equal(counts[0], expected)


@pytest.mark.parametrize("module", [classes, compiled_classes], ids=["numpy", "compiled"])
def test_losses_of_nearly_certain_predictions_keep_their_digits(module):
    """1 - 1e-12 squared from 1 would leave nothing of 2e-24."""
    scores = (np.full(10, 1 - 1e-12), np.full(10, 1e-12))
    sums = np.zeros((1, 2, 5))
    module.sum_class_losses(np.zeros(10, dtype=np.intp), scores, None, Runs(np.array([0, 10]), np.array([0])), sums)
    miss = 1 - (1 - 1e-12)
    np.testing.assert_allclose(
        sums[0, 0], [10, 10 * miss, 10 * miss**2, 10 * (miss**2 + 1e-24), 0], rtol=1e-11, atol=1e-40
    )
    assert sums[0, 0, 4] > 0


@pytest.mark.parametrize("module", [definition, compiled], ids=["numpy", "compiled"])
def test_extent(module):
    assert module.extent(REALS) == (-np.inf, np.inf)
    assert module.extent(PROBABILITIES) == (0.0, 1.0)
    for nan in (np.nan, -np.nan):
        assert np.isnan(module.extent(np.array([0.5, nan, -1.0]))).all()


def test_logarithm_is_right_to_the_last_digits():
    x = np.concatenate([np.geomspace(1e-15, 1, 5_001), 1 - np.geomspace(2**-53, 0.5, 5_001)])
    np.testing.assert_allclose([compiled._log(v) for v in x], np.log(x), rtol=5e-16)


@pytest.fixture
def fresh_choice(monkeypatch):
    monkeypatch.setattr(choice, "LARGE", 1_000)
    choice._twins.cache_clear()
    yield
    choice._twins.cache_clear()


@pytest.mark.parametrize("name", ["count_ranks", "likeliest", "sum_class_losses"])
def test_kernels_of_several_classes_are_chosen_by_the_number_of_rows(fresh_choice, monkeypatch, name):
    """Not by that of classes."""
    calls, twin = [], getattr(compiled_classes, name)
    monkeypatch.setattr(compiled_classes, name, lambda *args: calls.append(1) or twin(*args))
    choice._twins.cache_clear()
    scores = probabilities(3)
    truth = np.zeros(ROWS, dtype=np.intp)
    for rows in (500, 2_000):
        part = tuple(score[:rows] for score in scores)
        runs = Runs(np.array([0, rows]), np.array([0]))
        out = np.zeros((1, 3), dtype=np.int64) if name == "count_ranks" else np.zeros((1, 3, 5))
        args = (part,) if name == "likeliest" else (truth[:rows], part, None, runs, out)
        getattr(kernels, name)(*args)
        assert len(calls) == (rows == 2_000)


def sums(module=kernels):
    found = np.zeros((9, 2, 5))
    module.sum_losses(LABEL, PROBABILITIES, None, RUNS["one"], found)
    return found


def test_many_rows_run_compiled_and_few_do_not(fresh_choice, monkeypatch):
    calls = []
    monkeypatch.setattr(compiled, "extent", lambda values: calls.append(len(values)) or (0.0, 1.0))
    core.extent(np.zeros(999))
    assert calls == []
    core.extent(np.zeros(1_000))
    assert calls == [1_000]


def test_without_numba_numpy_runs_and_says_so_once(fresh_choice, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "streammetrics.core.compiled", None)
    with caplog.at_level(logging.DEBUG, "streammetrics"):
        np.testing.assert_array_equal(sums(), sums(definition))
        sums()
    assert [r.levelname for r in caplog.records] == ["DEBUG"]
    assert "using numpy instead" in caplog.text


def test_where_compiling_fails_numpy_runs_and_says_so_once(fresh_choice, monkeypatch, caplog):
    def fail(*args):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(compiled, "sum_losses", fail)
    with caplog.at_level(logging.DEBUG, "streammetrics"):
        np.testing.assert_array_equal(sums(), sums(definition))
        sums()
    assert [r.levelname for r in caplog.records] == ["DEBUG"]
    assert "no compiler" in caplog.text


def columns_of_every_kind():
    rng = np.random.default_rng(3)
    text = pl.Series(["", "a", "twelve bytes", "thirteen bytes", "thirteen bytez", "a text that is quite a bit longer"])
    integers = pl.Series([0, -5, 2**62, -(2**63), 7, 7])
    days = pl.Series([date(2024, 1, d) for d in range(1, 7)])
    floats = pl.Series([0.5, -np.inf, np.inf, 1e-300, 0.5, 3.0])
    kinds = {
        "text": text,
        "integers": integers,
        "small integers": integers % 5,
        "unsigned": pl.Series([2**64 - 1, 0, 1, 2, 3, 2**63], dtype=pl.UInt64),
        "booleans": pl.Series([True, False, True, True, False, True]),
        "days": days,
        "times": days.cast(pl.Datetime("us")),
        "floats": floats,
        "decimals": pl.Series(["1.5", "2", "-7.25", "0", "2", "1.5"]).cast(pl.Decimal(20, 2)),
        "bytes": pl.Series([b"\xff", b"", b"a", b"b", b"\xff", b"c"]),
        "many": pl.Series(range(9_000)).cast(pl.String),
    }
    return {name: s.gather(rng.integers(0, len(s), 20_000)) for name, s in kinds.items()}


@pytest.mark.parametrize("module", [definition, compiled], ids=["numpy", "compiled"])
@pytest.mark.parametrize("kind", columns_of_every_kind())
def test_rows_of_one_number_are_equal(module, kind):
    column = columns_of_every_kind()[kind][13:]
    codes, first = module.number(column)
    assert column.gather(first).gather(codes).equals(column)
    assert len(first) <= 2 * column.n_unique()
    assert [len(x) for x in module.number(column.clear())] == [0, 0]
    halves = pl.concat([column[:5_000], column[5_000:]], rechunk=False)
    codes, first = module.number(halves)
    assert column.gather(first).gather(codes).equals(column)


@pytest.mark.parametrize("chunk", [10, 100_000], ids=["sliced", "whole"])
def test_groups_are_the_same_compiled_and_not(fresh_choice, monkeypatch, chunk):
    columns = columns_of_every_kind()
    text = pl.Series([*columns["text"][:-1], None])
    frame = pl.DataFrame({"t": text, "d": columns["days"], "f": columns["floats"], "y": LABEL[:20_000]})
    expected = frame.group_by("t", "d", "f").agg(pl.len().cast(pl.Float64).alias("value"))
    for large in (1, 1 << 40):
        monkeypatch.setattr(choice, "LARGE", large)
        acc = sm.Accumulator(y_true="y", by=["t", "d", "f"])
        for part in (frame[:chunk], frame[chunk:]):
            acc.update(part)
        found = acc.finalize(["rows"]).frame.select("t", "d", "f", "value")
        assert found.sort(pl.all()).equals(expected.sort(pl.all()))


def test_negative_zeros_are_zeros_whichever_kernel_is_compiled_first(tmp_path):
    """Sums of errors may take -0.0 for 0.0; what they share with other kernels must not learn it from them."""
    pytest.importorskip("numba")
    script = """
import numpy as np
from streammetrics.core import Runs, compiled, errors
compiled.sum_errors(np.ones(9), np.ones(9), Runs.of(np.zeros(9, np.intp)), 1, None, errors.FAMILIES, 1.5)
print(compiled._key(-0.0, None))
"""
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "0\n"

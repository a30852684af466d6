import logging
import sys
from datetime import date

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics import kernels
from streammetrics.kernels import choice, classes
from streammetrics.kernels import numpy as definition
from streammetrics.lattice import Lattice

compiled = pytest.importorskip("streammetrics.kernels.compiled", reason="numba is not installed")
compiled_classes = pytest.importorskip("streammetrics.kernels.compiled_classes", reason="numba is not installed")

ROWS = 20_011
RNG = np.random.default_rng(7)
LABEL = (RNG.random(ROWS) < 0.3).astype(np.uint8)
GROUP = RNG.integers(0, 9, ROWS).astype(np.intp)
WEIGHT = RNG.random(ROWS) * 3
EDGES = np.array([0.0, -0.0, 5e-324, 1e-15, 0.29, 0.3, 0.5, np.nextafter(0.5, 1), 1 - 2**-53, 1.0])
PROBABILITIES = np.concatenate([EDGES, np.linspace(0, 1, 1_001), RNG.beta(0.5, 8, ROWS - 1_011)])
REALS = np.concatenate([[np.inf, -np.inf, 0.0, -0.0, 1.7e308, -1.7e308], RNG.normal(0, 1e3, ROWS - 6)])
LADDERS = {
    "one": [0.5],
    "few": [0.0, 0.3, 1.0],
    "even": np.linspace(0, 1, 1_000),
    "uneven": np.geomspace(1e-12, 1, 500),
    "infinite": [-np.inf, *np.linspace(-2, 2, 50), np.inf],
    "far apart": [-1.7e308, *np.linspace(0, 1, 20), 1.7e308],
}
grouped = pytest.mark.parametrize("group", [None, GROUP], ids=["ungrouped", "grouped"])
weighted = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])


def assert_twins_agree(name, *args, modules=(definition, compiled)):
    one, other = (getattr(module, name)(*args) for module in modules)
    assert one.shape == other.shape
    assert one.dtype == other.dtype
    if one.dtype.kind == "i":
        np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize(("domain", "values"), [("probability", PROBABILITIES), ("real", REALS)], ids=["p", "real"])
def test_keys(domain, values):
    assert_twins_agree("lattice_keys", values, Lattice(domain))


@grouped
@weighted
@pytest.mark.parametrize(("domain", "values"), [("probability", PROBABILITIES), ("real", REALS)], ids=["p", "real"])
def test_bins(domain, values, group, weight):
    lattice = Lattice(domain)
    shifts = np.array([52] if group is None else [50, 51, 52, 53, 54, 55, 56, 57, 58])
    keys = lattice.keys(values)
    lowest, highest = keys.min() >> shifts, keys.max() >> shifts
    offsets = np.cumsum(highest - lowest + 1) - (highest - lowest + 1) - lowest
    size = 2 * int((highest - lowest + 1).sum())
    offsets = np.stack([offsets, offsets], axis=1)
    for label in (LABEL, None):
        assert_twins_agree("count_bins", values, label, group, weight, lattice, shifts, offsets, size)


def test_differences():
    for values, others in ((REALS, REALS[::-1]), (PROBABILITIES, REALS), (REALS, REALS)):
        for one, other in zip(
            compiled.differences(values, others), definition.differences(values, others), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_distance_to_zero():
    for values in (REALS, -REALS, PROBABILITIES, np.append(REALS, -0.0)):
        assert compiled.nearest(values) == definition.nearest(values) == np.abs(values).min()


@grouped
@weighted
@pytest.mark.parametrize("thresholds", LADDERS.values(), ids=LADDERS)
@pytest.mark.parametrize("score", [PROBABILITIES, REALS], ids=["p", "real"])
def test_outcomes(score, thresholds, group, weight):
    thresholds = np.array(thresholds, dtype=np.float64)
    assert_twins_agree("count_outcomes", LABEL, score, thresholds, group, 1 if group is None else 9, weight)
    counts = compiled.count_outcomes(LABEL, score, thresholds, None, 1, None)[0]
    reached = (score >= thresholds[:, None]).sum(axis=1)
    np.testing.assert_array_equal(counts.sum(axis=1)[::-1].cumsum()[::-1][1:], reached)


@grouped
@weighted
def test_hard_predictions(group, weight):
    predicted = (PROBABILITIES > 0.1).astype(np.uint8)
    groups = 1 if group is None else 9
    assert_twins_agree("count_outcomes", LABEL, predicted, np.array([1.0]), group, groups, weight)


@grouped
@weighted
def test_losses(group, weight):
    assert_twins_agree("sum_losses", LABEL, PROBABILITIES, group, 1 if group is None else 9, weight)


@grouped
@weighted
@pytest.mark.parametrize("bins", [1, 10, 100])
def test_calibration(bins, group, weight):
    edges = np.linspace(0, 1, bins + 1)
    assert_twins_agree("sum_calibration", LABEL, PROBABILITIES, edges, group, 1 if group is None else 9, weight)


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
def test_several_classes(several, name, rows, group, weight, monkeypatch):
    monkeypatch.setattr(compiled_classes, "PIECE", 3_000)
    truth, *others = (None if a is None else a[:rows] for a in (several[0], group, weight))
    scores = tuple(score[:rows] for score in several[1])
    assert_twins_agree(name, truth, scores, others[0], 1 if group is None else 9, others[1], **TWINS)


def test_likeliest(several, monkeypatch):
    monkeypatch.setattr(compiled_classes, "PIECE", 3_000)
    scores = several[1]
    assert_twins_agree("likeliest", scores, **TWINS)
    np.testing.assert_array_equal(classes.likeliest(scores), np.argmax(scores, axis=0))


def test_ranks_by_sorting(several):
    truth, scores = several
    order = np.argsort(-np.array(scores), axis=0, kind="stable")
    rank = np.argmax(order == truth, axis=0)
    expected = np.bincount(rank, minlength=len(scores))
    np.testing.assert_array_equal(classes.count_ranks(truth, scores, None, 1, None), [expected])


@pytest.mark.parametrize("module", [classes, compiled_classes], ids=["numpy", "compiled"])
def test_losses_of_nearly_certain_predictions_keep_their_digits(module):
    """1 - 1e-12 squared from 1 would leave nothing of 2e-24."""
    scores = (np.full(10, 1 - 1e-12), np.full(10, 1e-12))
    sums = module.sum_class_losses(np.zeros(10, dtype=np.intp), scores, None, 1, None)
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
        args = (part,) if name == "likeliest" else (truth[:rows], part, None, 1, None)
        getattr(kernels, name)(*args)
        assert len(calls) == (rows == 2_000)


def sums():
    return kernels.sum_losses(LABEL, PROBABILITIES, None, 1, None)


def test_many_rows_run_compiled_and_few_do_not(fresh_choice, monkeypatch):
    calls = []
    monkeypatch.setattr(compiled, "extent", lambda values: calls.append(len(values)) or (0.0, 1.0))
    kernels.extent(np.zeros(999))
    assert calls == []
    kernels.extent(np.zeros(1_000))
    assert calls == [1_000]


def test_without_numba_numpy_runs_and_says_so_once(fresh_choice, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "streammetrics.kernels.compiled", None)
    with caplog.at_level(logging.DEBUG, "streammetrics"):
        np.testing.assert_array_equal(sums(), definition.sum_losses(LABEL, PROBABILITIES, None, 1, None))
        sums()
    assert [r.levelname for r in caplog.records] == ["DEBUG"]
    assert "numpy runs instead" in caplog.text


def test_where_compiling_fails_numpy_runs_and_says_so_once(fresh_choice, monkeypatch, caplog):
    def fail(*args):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(compiled, "sum_losses", fail)
    with caplog.at_level(logging.DEBUG, "streammetrics"):
        np.testing.assert_array_equal(sums(), definition.sum_losses(LABEL, PROBABILITIES, None, 1, None))
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

"""The law: what is kept of A, plus what is kept of B, is what is kept of A and B, however the rows are split."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics import accumulator, tally
from streammetrics.statistics.score_histogram import ScoreHistogram

COLUMNS = {"y_true": "y", "y_score": "p"}
SMALL = ScoreHistogram(capacity=16)
TASKS = {
    "rows": lambda: sm.Accumulator(y_true="y"),
    "confusion": lambda: sm.Accumulator(sm.ConfusionCounts((0.2, 0.5)), **COLUMNS),
    "many thresholds": lambda: sm.Accumulator(sm.ConfusionCounts(np.linspace(0, 1, 40)), **COLUMNS),
    "predictions": lambda: sm.Accumulator(sm.ConfusionCounts(()), y_true="y", y_pred="z"),
    "histogram": lambda: sm.Accumulator(SMALL, **COLUMNS),
    "atoms": lambda: sm.Accumulator(ScoreHistogram(capacity=140, atoms=(0.3, 0.05)), **COLUMNS),
    "real": lambda: sm.Accumulator(ScoreHistogram(capacity=8, domain="real"), y_true="y", y_score="margin"),
    "losses": lambda: sm.Accumulator(sm.ProbabilityLoss(), **COLUMNS),
    "calibration": lambda: sm.Accumulator(sm.CalibrationBins(7), **COLUMNS),
    "binary": lambda: sm.binary(capacity=32, **COLUMNS),
    "by one": lambda: sm.binary(capacity=16, by="g", **COLUMNS),
    "by two": lambda: sm.binary(capacity=16, by=["g", (pl.col("h") % 2).alias("odd")], **COLUMNS),
    "models": lambda: sm.binary(capacity=16, by="g", y_true="y", y_score={"a": "p", "b": 1 - pl.col("q")}),
    "integer weights": lambda: sm.Accumulator(sm.ConfusionCounts(), SMALL, sample_weight="h", **COLUMNS),
    "weights": lambda: sm.binary(capacity=16, by="g", sample_weight="w", **COLUMNS),
    "nulls": lambda: sm.binary(capacity=16, by="g", nulls="drop", y_true="y", y_score={"a": "p", "b": "holes"}),
}
task = pytest.mark.parametrize("make", TASKS.values(), ids=TASKS.keys())


def rows(count, seed):
    """Scores of all kinds: continuous, rounded, saturated, tiny, and exactly 0 and 1."""
    rng = np.random.default_rng(seed)
    kinds = [
        rng.random(count),
        rng.random(count).round(1),
        10.0 ** -rng.uniform(0, 300, count),
        1 - 10.0 ** -rng.uniform(0, 17, count),
        rng.integers(0, 2, count).astype(float),
    ]
    p = np.choose(rng.integers(0, len(kinds), count), kinds)
    return pl.DataFrame(
        {
            "y": rng.random(count) < p,
            "z": rng.random(count) < 0.5,
            "p": p,
            "q": rng.random(count),
            "margin": rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-310, 308, count),
            "holes": pl.Series(rng.random(count)).set(pl.Series(rng.random(count) < 0.2), None),
            "w": rng.random(count) * (rng.random(count) < 0.9),
            "h": rng.integers(0, 4, count),
            "g": pl.Series(["x", "y", None]).gather(rng.integers(0, 3, count)),
        }
    )


@pytest.fixture(autouse=True, params=["small", "tiny"])
def small_chunks(request, monkeypatch):
    """Make a few hundred rows go all the ways that millions go."""
    sizes = {"small": (64, 16, 32, 100, 1 << 16), "tiny": (17, 5, 9, 1, 8)}[request.param]
    for name, size in zip(("CHUNK", "FIRST", "BUFFER", "PENDING"), sizes, strict=False):
        monkeypatch.setattr(accumulator, name, size)
    monkeypatch.setattr(tally, "CACHED_CELLS", sizes[-1])


def assert_same(one, other):
    """Keys, groups and counts bit for bit where they are integers; sums of floats within 1e-12."""
    a, b = one.state, other.state
    a, b = accumulator.states.in_order(a), accumulator.states.in_order(b)
    assert_frame_equal(a.groups, b.groups)
    for name in a.tables:
        assert_frame_equal(a.tables[name], b.tables[name], rel_tol=1e-12, abs_tol=1e-290)
    if not any(s.is_float() for s in schema_of_values(a)):
        assert one.to_bytes() == other.to_bytes()


def schema_of_values(state):
    return [state.tables[s.name].schema[c] for s in state.statistics for c in (*s.counts, *s.sums)]


lawful = settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@task
@lawful
@given(seed=st.integers(0, 2**32), size=st.integers(0, 250), cuts=st.lists(st.integers(0, 250), max_size=4))
def test_any_split_any_order(make, seed, size, cuts):
    data = rows(size, seed)
    whole = make().update(data)
    shuffled = data.sample(fraction=1, shuffle=True, seed=seed % 1000)
    ends = sorted({0, *(c for c in cuts if c <= size), size})
    parts = [shuffled[a:b] for a, b in pairwise(ends)] or [shuffled]
    batches = make()
    for part in parts:
        batches.update(part)
    assert_same(batches, whole)
    assert_same(sm.merge(make().update(part) for part in parts), whole)
    assert_same(make().merge(*(make().update(part) for part in reversed(parts)), make()), whole)


@task
def test_one_row_at_a_time(make):
    data = rows(40, seed=1)
    acc = make()
    for n in range(data.height):
        acc.update(data[n : n + 1]).update(data[:0])
    assert_same(acc, make().update(data))


@task
def test_self_merge_doubles(make):
    data = rows(200, seed=2)
    acc = make().update(data)
    assert_same(acc + acc, make().update(pl.concat([data, data])))


@task
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_save_and_load_midway(make, suffix, tmp_path):
    data = rows(200, seed=3)
    make().update(data[:90]).save(tmp_path / f"state{suffix}")
    loaded = sm.Accumulator.load(tmp_path / f"state{suffix}")
    assert loaded.to_bytes() == make().update(data[:90]).to_bytes()
    roles = make().roles
    made = data.with_columns(e.alias(name) for name, e in roles.expressions.items())
    assert_same(loaded.update(made[90:]), make().update(data))


@task
def test_readers_change_nothing(make):
    data = rows(200, seed=4)
    acc = make().update(data[:50])
    before = acc.to_bytes()
    copy = acc.copy()
    acc.finalize(), repr(acc), acc.empty().update(data), acc + acc, copy.update(data), acc.rollup()
    assert acc.to_bytes() == before
    assert_same(acc.update(data[50:]), make().update(data))


@task
def test_values_do_not_depend_on_the_split(make):
    data = rows(300, seed=5)
    one = make().update(data).finalize().frame
    many = sm.merge(make().update(data[n::7]) for n in range(7)).finalize().frame
    assert_frame_equal(one, many, rel_tol=1e-11)


@pytest.mark.parametrize("views", [(), ("g",), ("odd",), ("odd", "g")])
def test_rollup_is_the_direct_view(views):
    data = rows(400, seed=6)
    fine = sm.binary(capacity=64, by=["g", (pl.col("h") % 2).alias("odd")], **COLUMNS).update(data)
    columns = {"g": "g", "odd": (pl.col("h") % 2).alias("odd")}
    direct = sm.binary(capacity=64, by=[columns[v] for v in views], **COLUMNS).update(data)
    assert_same(fine.rollup(*views), direct)


def test_filter_keeps_some_groups():
    data = rows(300, seed=7)
    acc = sm.binary(capacity=16, by="g", **COLUMNS).update(data)
    assert_same(acc.filter(pl.col("g") == "x"), acc.empty().update(data.filter(pl.col("g") == "x")))
    assert_same(acc.filter(pl.col("g").is_null()), acc.empty().update(data.filter(pl.col("g").is_null())))

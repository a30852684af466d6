"""The law: what is kept of A, plus what is kept of B, is what is kept of A and B, however the rows are split."""

import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import use_small_chunks

import streammetrics as sm
from streammetrics.testing import check
from streammetrics.testing.laws import require_same, require_same_metrics
from streammetrics.testing.rows import probabilities

COLUMNS = {"y_true": "y", "y_score": "p"}
ODD = (pl.col("h") % 2).alias("odd")
SMALL = sm.statistics.ScoreHistogram(capacity=16)
SCORES = {label: label for label in "abc"}
CLASSES = {"y_true": "k", "y_score": SCORES}
MARGINS = {"a": "margin", "b": "p", "c": (pl.col("margin") * pl.col("q")).alias("less")}
ERRORS = {"y_true": "amount", "y_pred": "guess"}
FAMILIES = ("log", "log_cosh", "poisson", "gamma", "tweedie")
TASKS = {
    "rows": lambda: sm.Accumulator(y_true="y"),
    "many thresholds": lambda: sm.Accumulator(sm.statistics.ConfusionCounts(np.linspace(0, 1, 40)), by="g", **COLUMNS),
    "predictions": lambda: sm.Accumulator(sm.statistics.ConfusionCounts(()), y_true="y", y_pred="z"),
    "predicted": lambda: sm.Accumulator(sm.statistics.PredictedCounts((0.2, 0.5)), y_score="p", by="g"),
    "predicted labels": lambda: sm.predictions(y_pred={"a": "z", "b": "y"}, sample_weight="h"),
    "without labels": lambda: sm.predictions(
        capacity=72, atoms=(0.3,), by=["g", ODD], y_score={"a": "p", "b": "holes"}, sample_weight="w"
    ),
    "atoms": lambda: sm.Accumulator(sm.statistics.ScoreHistogram(136, atoms=(0.3, 0.05)), **COLUMNS),
    "real by group": lambda: sm.Accumulator(
        sm.statistics.ScoreHistogram(64, "real"), y_true="y", y_score="margin", by="g"
    ),
    "binary": lambda: sm.binary(capacity=32, **COLUMNS),
    "by two": lambda: sm.binary(capacity=16, by=["g", ODD], **COLUMNS),
    "models": lambda: sm.binary(capacity=16, by="g", y_true="y", y_score={"a": "p", "b": 1 - pl.col("q")}),
    "integer weights": lambda: sm.Accumulator(sm.statistics.ConfusionCounts(), SMALL, sample_weight="h", **COLUMNS),
    "weights": lambda: sm.binary(capacity=16, by="g", sample_weight="w", **COLUMNS),
    "pairs of models": lambda: sm.Accumulator(
        sm.statistics.PairedOutcomes((0.2, 0.5), [("a", "b")]),
        sm.statistics.PairedScores([("a", "b")], 16),
        sm.statistics.PairedLosses([("a", "b")]),
        y_true="y",
        y_score={"a": "p", "b": 1 - pl.col("q")},
    ),
    "pairs of margins of models": lambda: sm.Accumulator(
        sm.statistics.PairedScores([("b", "a")], 8, "real"),
        y_true="y",
        y_score={"a": "margin", "b": "q"},
        sample_weight="h",
    ),
    "pairs of predictions": lambda: sm.binary(by="g", y_true="y", y_pred={"a": "z", "b": "y"}, sample_weight="w"),
    "five models": lambda: sm.binary(
        capacity=16, by="g", nulls="drop", y_true="y", y_score={"a": "holes", "b": "p", "c": "q", "d": "a", "e": "b"}
    ),
    "pairs of errors": lambda: sm.regression(
        capacity=16, by="g", nulls="drop", y_true="amount", y_pred={"a": "guess", "b": "q", "c": "holes"}
    ),
    "nulls": lambda: sm.binary(capacity=16, by="g", nulls="drop", y_true="y", y_score={"a": "p", "b": "holes"}),
    "matrix": lambda: sm.multiclass(y_true="k", y_pred={"one": "l", "two": "k"}, by="g", nulls="drop"),
    "pairs of classes": lambda: sm.Accumulator(sm.statistics.PairHistograms(8), sm.statistics.RankCounts(), **CLASSES),
    "pairs of margins": lambda: sm.Accumulator(
        sm.statistics.PairHistograms(8, "real"), by="g", y_true="k", y_score=MARGINS
    ),
    "classes": lambda: sm.multiclass(capacity=80, atoms=(0.1,), sample_weight="h", one_vs_one=True, **CLASSES),
    "class models": lambda: sm.multiclass(
        capacity=16,
        by="g",
        sample_weight="w",
        y_true="k",
        y_score={"one": SCORES, "two": SCORES | {"a": "b", "b": "a"}},
    ),
    "pairs of class models": lambda: sm.multiclass(
        capacity=16, by="g", y_true="k", y_score={"one": SCORES, "two": SCORES | {"a": "b", "b": "a"}}
    ),
    "several labels": lambda: sm.multilabel(
        capacity=16,
        by="g",
        y_true={"y": "y", "z": "z"},
        y_score={"one": {"y": "p", "z": "q"}, "two": {"y": "q", "z": "p"}},
    ),
    "errors by group": lambda: sm.Accumulator(
        sm.statistics.ErrorMoments(FAMILIES), by="g", sample_weight="w", **ERRORS
    ),
    "error histogram": lambda: sm.Accumulator(sm.statistics.ErrorHistogram(16), y_true="margin", y_pred="q"),
    "error histogram by group": lambda: sm.Accumulator(sm.statistics.ErrorHistogram(8), by=["g", ODD], **ERRORS),
    "values": lambda: sm.Accumulator(
        sm.statistics.Histogram(16, of="y_pred"), task="regression", y_pred="margin", by="g"
    ),
    "scores": lambda: sm.Accumulator(
        sm.statistics.Histogram(72, "probability", (0.3,)), y_score="p", sample_weight="h"
    ),
    "fingerprints": lambda: sm.binary(capacity=16, by="g", nulls="drop", fingerprint="u", y_true="y", y_score="holes"),
    "fingerprints of classes": lambda: sm.Accumulator(
        sm.statistics.RowFingerprint(),
        y_true="k",
        y_pred="l",
        task="multiclass",
        sample_weight="w",
        nulls="drop",
        unit="u",
    ),
    "units": lambda: sm.regression(capacity=16, by="g", unit="u", **ERRORS),
    "units and models": lambda: sm.regression(
        capacity=16, unit="u", nulls="drop", y_true="amount", y_pred={"a": "q", "b": "holes"}, families=["log"]
    ),
    "units of labels": lambda: sm.binary(capacity=16, unit="u", **COLUMNS),
}


def rows(count, rng):
    """Scores of all kinds: continuous, rounded, saturated, tiny, and exactly 0 and 1."""
    p, q = probabilities(count, rng), rng.random(count)
    return pl.DataFrame(
        {
            "y": rng.random(count) < p,
            "z": rng.random(count) < 0.5,
            "p": p,
            "q": q,
            "margin": rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-310, 308, count),
            "amount": rng.gamma(2, 10, count) + 0.01,
            "guess": rng.gamma(2, 10, count) + 0.01,
            "u": rng.integers(0, 40, count),
            "holes": pl.Series(rng.random(count)).set(pl.Series(rng.random(count) < 0.2), None),
            "w": rng.random(count) * (rng.random(count) < 0.9),
            "h": rng.integers(0, 4, count),
            "g": pl.Series(["x", "y", None]).gather(rng.integers(0, 3, count)),
            "a": p,
            "b": (1 - p) * q,
            "c": (1 - p) * (1 - q),
            "k": pl.Series([*"abc"]).gather(rng.integers(0, 3, count)),
            "l": pl.Series(["a", "b", "d", None]).gather(rng.integers(0, 4, count)),
        }
    )


@pytest.mark.parametrize("make", TASKS.values(), ids=TASKS.keys())
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_the_kit_finds_no_fault(make, seed, monkeypatch):
    use_small_chunks(monkeypatch, rows=60)
    check(make(), rows=rows, seed=seed)


STEPS = ("begin", "update", "report", "compact", "save", "pickle", "merge", "absorb")


@settings(max_examples=12, derandomize=True)
@given(
    name=st.sampled_from([*TASKS]),
    seed=st.integers(0, 999),
    chunk=st.sampled_from([2, 20, 60, 10**6]),
    sizes=st.lists(st.integers(0, 40), max_size=6),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9)), max_size=20),
)
def test_batches_merges_and_rounds_of_saving_in_any_order_give_the_state_of_all_rows(name, seed, chunk, sizes, steps):
    data, task = rows(sum(sizes), np.random.default_rng(seed)), TASKS[name]()
    parts = [data[end - size : end] for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True)]
    live, saved = [task.empty()], [task.empty()]  # saved ones have names of columns in place of expressions
    with pytest.MonkeyPatch.context() as patch:
        use_small_chunks(patch, rows=chunk)
        threads = sm.accumulate([*parts], task.empty(), workers=3) if data.height else task.empty().update(data)
        for step, number in steps:
            acc = live[number % len(live)]
            if step == "begin":
                live.append(task.empty())
            elif step == "update" and parts:
                acc.update(parts.pop())
            elif step in ("report", "compact"):
                acc.finalize() if step == "report" else acc.compact()
            elif step in ("save", "pickle"):
                again = sm.Accumulator.from_bytes(acc.to_bytes()) if step == "save" else pickle.loads(pickle.dumps(acc))
                saved.append(again)
                live = [other for other in live if other is not acc]
                live.append(task.empty())
            elif step == "merge":
                saved.append(saved.pop() + saved.pop(number % len(saved))) if len(saved) > 1 else None
            elif step == "absorb" and len(live) > 1:
                other = live.pop()
                live[number % len(live)].absorb(other)
        for part in parts:
            live[-1].update(part)
        merged = sm.merge([*live, *saved, task.empty().update(data[:0])])
    whole = task.empty().update(data)
    require_same(threads, whole)
    require_same(merged, whole)
    require_same_metrics(merged, whole)


BY_GROUP = {
    "binary": lambda **options: sm.binary(capacity=64, **COLUMNS, **options),
    "models": lambda **options: sm.binary(capacity=64, y_true="y", y_score={"a": "p", "b": "q"}, **options),
    "without labels": lambda **options: sm.predictions(capacity=64, y_score="p", **options),
    "matrix": lambda **options: sm.multiclass(y_true="k", y_pred="l", nulls="drop", **options),
    "classes": lambda **options: sm.multiclass(capacity=16, one_vs_one=True, **CLASSES, **options),
    "several labels": lambda **options: sm.multilabel(
        capacity=16, y_true={"y": "y", "z": "z"}, y_score={"y": "p", "z": "q"}, **options
    ),
}
by_group = pytest.mark.parametrize("make", BY_GROUP.values(), ids=BY_GROUP.keys())


@by_group
def test_a_rollup_to_expressions_is_the_direct_view(make):
    data = rows(400, np.random.default_rng(6))
    fine = make(by=["h", "g", "odd"]).update(data.with_columns(ODD))
    half, both = (pl.col("h") // 2).alias("half"), pl.concat_str("g", "odd", ignore_nulls=True).alias("g")
    coarse, direct = fine.rollup(half, "g"), make(by=[half, "g"])
    require_same(coarse, direct.update(data))
    require_same(coarse.update(data), direct.update(data))
    require_same(fine.rollup(both), make(by=both).update(data.with_columns(ODD)))
    require_same(fine.empty().rollup(half, "g") + coarse, coarse)


def test_a_rollup_takes_later_batches_by_the_coarser_column():
    data = pl.DataFrame({"y": [1, 0, 1], "t": [0.5, 1.5, 2.5]})
    second = pl.col("t").floor().alias("second")
    coarse = sm.Accumulator(y_true="y", by=second).update(data).rollup((pl.col("second") // 2).alias("second"))
    assert coarse.update(data.with_columns(second=pl.lit(1.0))).state.keys["second"].sort().to_list() == [0, 1]


def test_equal_groups_are_rolled_up_to_equal_bytes():
    data = rows(3000, np.random.default_rng(5)).with_columns(n=pl.int_range(3000) % 900)
    one = sm.binary(capacity=16, by="n", **COLUMNS).update(data)
    other = one.filter(pl.col("n") >= 450) + one.filter(pl.col("n") < 450)
    assert len({acc.rollup().to_bytes() for acc in (one, other) for _ in range(10)}) == 1

"""The law: what is kept of A, plus what is kept of B, is what is kept of A and B, however the rows are split."""

from functools import cache

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from strategies import merge_in_any_order, shards, shuffled, use_small_chunks
from test_error_moments import assert_same as assert_same_moments

import streammetrics as sm
from streammetrics.state.tables import in_order

COLUMNS = {"y_true": "y", "y_score": "p"}
ODD = (pl.col("h") % 2).alias("odd")
SMALL = sm.ScoreHistogram(capacity=16)
SCORES = {label: label for label in "abc"}
CLASSES = {"y_true": "k", "y_score": SCORES}
MARGINS = {"a": "margin", "b": "p", "c": (pl.col("margin") * pl.col("q")).alias("less")}
ERRORS = {"y_true": "amount", "y_pred": "guess"}
FAMILIES = ("log", "log_cosh", "poisson", "gamma", "tweedie")
TASKS = {
    "rows": lambda: sm.Accumulator(y_true="y"),
    "confusion": lambda: sm.Accumulator(sm.ConfusionCounts((0.2, 0.5)), **COLUMNS),
    "many thresholds": lambda: sm.Accumulator(sm.ConfusionCounts(np.linspace(0, 1, 40)), by="g", **COLUMNS),
    "predictions": lambda: sm.Accumulator(sm.ConfusionCounts(()), y_true="y", y_pred="z"),
    "predicted": lambda: sm.Accumulator(sm.PredictedCounts((0.2, 0.5)), y_score="p", by="g"),
    "predicted labels": lambda: sm.predictions(y_pred={"a": "z", "b": "y"}, sample_weight="h"),
    "without labels": lambda: sm.predictions(
        capacity=72, atoms=(0.3,), by=["g", ODD], y_score={"a": "p", "b": "holes"}, sample_weight="w"
    ),
    "histogram": lambda: sm.Accumulator(SMALL, **COLUMNS),
    "atoms": lambda: sm.Accumulator(sm.ScoreHistogram(136, atoms=(0.3, 0.05)), **COLUMNS),
    "real": lambda: sm.Accumulator(sm.ScoreHistogram(8, "real"), y_true="y", y_score="margin"),
    "real by group": lambda: sm.Accumulator(sm.ScoreHistogram(64, "real"), y_true="y", y_score="margin", by="g"),
    "losses": lambda: sm.Accumulator(sm.ProbabilityLoss(), **COLUMNS),
    "calibration": lambda: sm.Accumulator(sm.CalibrationBins(7), **COLUMNS),
    "binary": lambda: sm.binary(capacity=32, **COLUMNS),
    "by two": lambda: sm.binary(capacity=16, by=["g", ODD], **COLUMNS),
    "models": lambda: sm.binary(capacity=16, by="g", y_true="y", y_score={"a": "p", "b": 1 - pl.col("q")}),
    "integer weights": lambda: sm.Accumulator(sm.ConfusionCounts(), SMALL, sample_weight="h", **COLUMNS),
    "weights": lambda: sm.binary(capacity=16, by="g", sample_weight="w", **COLUMNS),
    "pairs of models": lambda: sm.Accumulator(
        sm.PairedOutcomes((0.2, 0.5), [("a", "b")]),
        sm.PairedScores([("a", "b")], 16),
        sm.PairedLosses([("a", "b")]),
        y_true="y",
        y_score={"a": "p", "b": 1 - pl.col("q")},
    ),
    "pairs of margins of models": lambda: sm.Accumulator(
        sm.PairedScores([("b", "a")], 8, "real"), y_true="y", y_score={"a": "margin", "b": "q"}, sample_weight="h"
    ),
    "pairs of predictions": lambda: sm.binary(by="g", y_true="y", y_pred={"a": "z", "b": "y"}, sample_weight="w"),
    "five models": lambda: sm.binary(
        capacity=16,
        by="g",
        nulls="drop",
        y_true="y",
        y_score={"a": "holes", "b": "p", "c": "q", "d": "a", "e": "b"},
    ),
    "pairs of errors": lambda: sm.regression(
        capacity=16, by="g", nulls="drop", y_true="amount", y_pred={"a": "guess", "b": "q", "c": "holes"}
    ),
    "nulls": lambda: sm.binary(capacity=16, by="g", nulls="drop", y_true="y", y_score={"a": "p", "b": "holes"}),
    "matrix": lambda: sm.multiclass(y_true="k", y_pred={"one": "l", "two": "k"}, by="g", nulls="drop"),
    "pairs of classes": lambda: sm.Accumulator(sm.PairHistograms(8), sm.RankCounts(), **CLASSES),
    "pairs of margins": lambda: sm.Accumulator(sm.PairHistograms(8, "real"), by="g", y_true="k", y_score=MARGINS),
    "classes": lambda: sm.multiclass(capacity=80, atoms=(0.1,), sample_weight="h", one_vs_one=True, **CLASSES),
    "class models": lambda: sm.multiclass(
        capacity=16,
        by="g",
        sample_weight="w",
        y_true="k",
        y_score={"one": SCORES, "two": SCORES | {"a": "b", "b": "a"}},
    ),
    "several labels": lambda: sm.multilabel(
        capacity=16,
        by="g",
        y_true={"y": "y", "z": "z"},
        y_score={"one": {"y": "p", "z": "q"}, "two": {"y": "q", "z": "p"}},
    ),
    "errors": lambda: sm.Accumulator(sm.ErrorMoments(FAMILIES), **ERRORS),
    "errors by group": lambda: sm.Accumulator(sm.ErrorMoments(FAMILIES), by="g", sample_weight="w", **ERRORS),
    "error histogram": lambda: sm.Accumulator(sm.ErrorHistogram(16), y_true="margin", y_pred="q"),
    "error histogram by group": lambda: sm.Accumulator(sm.ErrorHistogram(8), by=["g", ODD], **ERRORS),
    "values": lambda: sm.Accumulator(sm.Histogram(16, of="y_pred"), task="regression", y_pred="margin", by="g"),
    "scores": lambda: sm.Accumulator(sm.Histogram(72, "probability", (0.3,)), y_score="p", sample_weight="h"),
    "units": lambda: sm.regression(capacity=16, by="g", unit="u", **ERRORS),
    "units and models": lambda: sm.regression(
        capacity=16, unit="u", nulls="drop", y_true="amount", y_pred={"a": "q", "b": "holes"}, families=["log"]
    ),
    "units of labels": lambda: sm.binary(capacity=16, unit="u", **COLUMNS),
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
    p, q = np.choose(rng.integers(0, len(kinds), count), kinds), rng.random(count)
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


def assert_same(one, other):
    """Groups, keys and counts bit for bit; sums of floats within 1e-12, of what may cancel to nothing; moments."""
    a, b = in_order(one.state), in_order(other.state)
    assert_frame_equal(a.groups, b.groups)
    for name in a.tables:
        if name == sm.ErrorMoments.name:
            assert_same_moments(a.tables[name], b.tables[name], merges=300)
        else:
            assert_frame_equal(a.tables[name], b.tables[name], rel_tol=1e-12, abs_tol=1e-290)
    kinds = [kind for s in a.statistics for kind in a.tables[s.name].drop("group", *s.keys).dtypes]
    if pl.Float64 not in kinds:
        assert content(one) == content(other)


def content(acc):
    """All that is saved of an accumulator."""
    table = acc.to_arrow()
    return table, table.schema.metadata


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    use_small_chunks(monkeypatch, rows=60)


DATA = rows(300, seed=1)


@cache
def at_once(make):
    """What is kept of all rows, in one large chunk."""
    with pytest.MonkeyPatch.context() as patch:
        use_small_chunks(patch, rows=10**6)
        acc = make().update(DATA)
        acc.to_bytes()
    return acc


@pytest.fixture
def whole(make):
    """Rows, and what is kept of them at once."""
    return DATA, at_once(make).copy()


@task
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_any_split_any_order_any_tree(make, seed):
    rng = np.random.default_rng([seed, *make().to_bytes()])  # each task is split in another way
    data = rows(rng.integers(0, 200), seed)
    with pytest.MonkeyPatch.context() as patch:
        use_small_chunks(patch, rows=10**6)
        whole = make().update(data)
        whole.to_bytes()
    parts = [*shards(shuffled(data, rng), rng, rng.integers(1, 7)), data[:0]]
    batches = make()
    for part in parts:
        batches.update(part)
    assert_same(batches, whole)
    states = [make().update(part) for part in parts]
    assert_same(merge_in_any_order(states, rng), whole)
    assert_same(sm.merge(states), states[-1].merge(*states[-2::-1]))


@task
def test_one_row_at_a_time(make):
    data = rows(30, seed=1)
    acc = make()
    for n in range(data.height):
        acc.update(data[n : n + 1]).update(data[:0])
    assert_same(acc, make().update(data))


@task
def test_what_is_read_on_the_way_changes_nothing(make, whole):
    data, acc = whole
    stepwise = make()
    for n in range(5):
        stepwise.update(data[n::5])
        assert stepwise.seen == 60 * (n + 1) * len(stepwise.roles.models)
    assert_same(stepwise, acc)


@task
def test_merging_with_itself_doubles(make, whole):
    data, acc = whole
    assert_same(acc + acc, make().update(pl.concat([data, data])))


@task
def test_save_and_load_midway(make, whole, tmp_path):
    data, acc = whole
    made = data.with_columns(e.alias(name) for name, e in acc.roles.expressions.items())
    half = make().update(data[:90])
    before = content(half)
    loaded = [sm.Accumulator.from_bytes(half.to_bytes())]
    for suffix in (".parquet", ".arrow"):
        half.save(tmp_path / f"state{suffix}")
        loaded.append(sm.Accumulator.load(tmp_path / f"state{suffix}"))
    assert [content(one) for one in loaded] == [before] * 3
    of_bytes, of_parquet, of_arrow = loaded
    assert_same(of_bytes + make().update(data[90:]), acc)
    assert_same(of_parquet.update(made[90:]), acc)
    assert_same(of_arrow.update(made[90:]), acc)


@task
def test_readers_change_nothing(make, whole):
    data, acc = whole
    half = make().update(data[:50])
    before = content(half.copy())
    copy = half.copy()
    half.finalize().frame, repr(half), half.empty().update(data), half + half, copy.update(data), half.rollup()
    assert content(half) == before
    assert content(half.empty()) == content(make())
    assert_same(half.update(data[50:]), acc)


@task
def test_values_do_not_depend_on_the_split(make, whole):
    data, acc = whole
    parts = sm.merge(make().update(data[n::4]) for n in range(4))
    assert_frame_equal(acc.finalize().frame, parts.finalize().frame, rel_tol=1e-11)


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
@pytest.mark.parametrize("weight", [None, "h", "w"])
def test_rollup_is_the_direct_view(make, weight):
    data, columns = rows(250, seed=6), {"g": "g", "odd": ODD}
    fine = make(by=["g", ODD], sample_weight=weight).update(data)
    parts = sm.merge(fine.empty().update(data[n::3]) for n in range(3))
    for views in ((), ("g",), ("odd",), ("odd", "g")):
        direct = make(by=[columns[v] for v in views], sample_weight=weight).update(data)
        assert_same(fine.rollup(*views), direct)
        assert_same(parts.rollup(*views), direct)


@by_group
def test_rollup_to_expressions_is_the_direct_view(make):
    data = rows(400, seed=6)
    fine = make(by=["h", "g", "odd"]).update(data.with_columns(ODD))
    half, both = (pl.col("h") // 2).alias("half"), pl.concat_str("g", "odd", ignore_nulls=True).alias("g")
    coarse, direct = fine.rollup(half, "g"), make(by=[half, "g"])
    assert_same(coarse, direct.update(data))
    assert_same(coarse.update(data), direct.update(data))
    assert_same(fine.rollup(both), make(by=both).update(data.with_columns(ODD)))
    assert_same(fine.empty().rollup(half, "g") + coarse, coarse)


def test_rollup_takes_later_batches_by_the_coarser_column_alone():
    data = pl.DataFrame({"y": [1, 0, 1], "t": [0.5, 1.5, 2.5]})
    second = pl.col("t").floor().alias("second")
    fine = sm.Accumulator(y_true="y", by=second).update(data)
    coarse = fine.rollup((pl.col("second") // 2).alias("second"))
    with pytest.raises(sm.ColumnError, match="second"):
        coarse.update(data)
    assert coarse.update(data.with_columns(second=pl.lit(1.0))).state.keys["second"].sort().to_list() == [0, 1]


@pytest.mark.parametrize(
    ("column", "word"),
    [
        (pl.col("z") + 1, "'z' is no group column"),
        (pl.col("group") + 1, "'group' is no group column"),
        (pl.col("h").dt.year(), "cannot be rolled up to h"),
        (pl.col("h").head(1), "cannot be rolled up to h"),
        (pl.struct("h", "g").alias("s"), "cannot be rolled up to s"),
        (pl.col("h").alias("model"), "'model'"),
        (pl.col("h").alias("row_counts"), "'row_counts'"),
        (pl.col("h", "g"), "no single named column"),
    ],
)
def test_rollup_to_what_cannot_be(column, word):
    acc = sm.Accumulator(y_true="y", by=["g", "h"]).update(rows(20, seed=0))
    with pytest.raises(sm.SpecificationError, match=word):
        acc.rollup(column)


def test_equal_groups_are_rolled_up_to_equal_bytes():
    data = rows(3000, seed=5).with_columns(n=pl.int_range(3000) % 900)
    one = sm.binary(capacity=16, by="n", **COLUMNS).update(data)
    other = one.filter(pl.col("n") >= 450) + one.filter(pl.col("n") < 450)
    assert len({acc.rollup().to_bytes() for acc in (one, other) for _ in range(10)}) == 1


def test_rollup_keeps_models_apart():
    data, make = rows(300, seed=8), TASKS["models"]
    direct = sm.binary(capacity=16, y_true="y", y_score={"a": "p", "b": 1 - pl.col("q")}).update(data)
    assert_same(make().update(data).rollup(), direct)


@by_group
@pytest.mark.parametrize("weight", [None, "w"])
def test_filter_keeps_some_groups(make, weight):
    data = rows(300, seed=7)
    acc = make(by="g", sample_weight=weight).update(data)
    for of in (pl.col("g") == "x", pl.col("g").is_null(), pl.lit(False)):
        some = acc.filter(of)
        assert_same(some, acc.empty().update(data.filter(of)))
        assert_same(some + acc.filter(~of | of.is_null()), acc)


def centroids(acc):
    return acc.state.tables["tdigest"]


@pytest.mark.parametrize("by", [(), "g"], ids=["together", "by group"])
def test_a_digest_keeps_its_weight_and_its_bounds(by):
    """It depends on the order of the rows; what it certifies must hold in any order."""
    rng = np.random.default_rng(2)
    data = rows(400, seed=3)
    digest = sm.Accumulator(sm.TDigest(compression=20), by=by, **ERRORS)
    errors = data.select("g", error=pl.col("guess") - pl.col("amount"))
    for seed in range(3):
        parts = shards(shuffled(data, rng), rng, 6)
        merged = merge_in_any_order((digest.empty().update(part) for part in parts), rng)
        merged = sm.Accumulator.from_bytes(merged.to_bytes())
        assert centroids(merged)["weight"].sum() == 400
        for table in centroids(merged).partition_by("group"):
            assert table.height <= 20
        for acc in (merged, merged.rollup()):
            report = acc.finalize(["digest_quantile(q=0.9)", "digest_median"])
            for group in data["g"].unique() if acc.roles.by else [None]:
                own = errors.filter(pl.col("g").eq_missing(group)) if acc.roles.by else errors
                keys = {"g": group} if acc.roles.by else {}
                for metric, q in (("digest_median", 0.5), ("digest_quantile(q=0.9)", 0.9)):
                    found = report.get(metric, **keys)
                    assert found.lower <= own["error"].quantile(q, "linear") <= found.upper, (seed, metric)

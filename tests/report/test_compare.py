"""Two evaluations side by side: differences, and what is better for certain."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm

compare = partial(sm.compare, confidence=None)  # by the certified bounds alone
HAND = {"y": [1.0, 2.0, 3.0, 4.0], "p": [1.0, 2.0, 3.0, 6.0], "q": [2.0, 1.0, 4.0, 3.0]}


def regression(batch, column="p", **options):
    return sm.regression(y_true="y", y_pred=column, **options).update(batch)


def binary(label, score, **options):
    return sm.binary(y_true="y", y_score="p", **options).update({"y": label, "p": score})


def of(comparison, metric, **keys):
    return comparison.frame.row(by_predicate=(pl.col("metric") == metric) & keyed(keys), named=True)


def keyed(keys):
    return pl.all_horizontal(pl.lit(True), *(pl.col(k).eq_missing(pl.lit(v)) for k, v in keys.items()))


def test_sides_without_a_common_group_are_noted():
    rows = {"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]}
    one, other, both = (
        sm.binary(y_true="y", y_score="p", by=["day", "g"]).update(rows | {"day": days, "g": ["a", "b"] * 2})
        for days in ([1] * 4, [2] * 4, [1, 1, 2, 2])
    )
    said = "The two evaluations have no group in common. Roll both up to columns with common values."
    for found in (sm.compare(one, other, independent=True), sm.compare(one, other), sm.drift(one, other)):
        assert str(found).splitlines()[-1] == said
    for found in (sm.compare(one, both, independent=True), sm.drift(other, both), sm.drift(one.rollup("g"), other)):
        assert said not in str(found)


def test_differences_by_hand():
    found = compare(regression(HAND), regression(HAND, "q"))
    assert found.frame.columns == ["metric", "a", "b", "difference", "lower", "upper", "better"]
    rows = {m: of(found, m) for m in ("rows", "mae", "rmse", "bias", "median_absolute_error")}
    assert [*rows["mae"].values()] == ["mae", 0.5, 1.0, 0.5, 0.5, 0.5, "a"]
    assert [*rows["rmse"].values()] == ["rmse", 1.0, 1.0, 0.0, 0.0, 0.0, "equal"]
    assert [*rows["bias"].values()] == ["bias", 0.5, 0.0, -0.5, -0.5, -0.5, "b"]
    assert [*rows["median_absolute_error"].values()][1:] == [0.0, 1.0, 1.0, 1.0, 1.0, "a"]
    assert rows["rows"]["better"] == "equal"
    assert "b - a" in str(found)


@pytest.mark.thorough
def test_nothing_is_better_by_chance():
    """Of two models alike, on units of their own, few metrics are called better; of one that is far off, all are."""
    rng, wrong, metrics = np.random.default_rng(0), 0, ["mae", "rmse", "bias"]
    for _ in range(40):
        y = rng.normal(size=400)
        batch = {"y": y, "p": y + rng.normal(size=400), "q": y + rng.normal(size=400), "u": np.arange(400) // 4}
        near, other = (regression(batch, column, unit="u") for column in "pq")
        found = sm.compare(near, other, metrics=metrics).frame
        wrong += found["better"].is_not_null().sum()
        assert found.filter(pl.col("better").is_null() & (pl.col("metric") != "bias"))["note"].is_not_null().all()
    assert wrong <= 12  # of 80 with a direction
    far = regression(batch | {"q": y + 3}, "q", unit="u")
    assert sm.compare(near, far, metrics=["mae", "rmse"]).frame["better"].to_list() == ["a", "a"]


def test_without_an_interval_the_note_speaks_of_these_rows():
    near, far = regression(HAND), regression(HAND | {"p": [9.0, 9.0, 9.0, 9.0]})
    row = of(sm.compare(near, far), "mae")
    assert (row["better"], row["note"]) == (None, "a on these rows; no confidence interval")
    assert of(sm.compare(near, near), "mae")["better"] == "equal"
    assert "  (a)" in str(sm.compare(near, far))
    assert of(compare(near, far), "mae")["better"] == "a"


def two_biases(a, b, rows=400, seed=0, **options):
    """Two regressions on the same rows, with these biases."""
    rng = np.random.default_rng(seed)
    y, common = rng.normal(size=(2, rows))
    batch = {
        "y": y,
        **{name: y + 0.7 * common + 0.5 * rng.normal(size=rows) + bias for name, bias in (("a", a), ("b", b))},
    }
    return sm.regression(y_true="y", y_pred={"a": "a", "b": "b"}, **options).update(batch | {"u": np.arange(rows)})


@pytest.mark.parametrize("options", [{}, {"unit": "u"}], ids=["rows", "units"])
@pytest.mark.parametrize(("a", "b", "better"), [(0.5, 0.2, "b"), (-0.5, 0.2, "b"), (0.2, -0.5, "a"), (0.4, -0.4, None)])
def test_the_side_whose_bias_is_nearer_to_0_is_better(a, b, better, options):
    found = sm.compare(two_biases(a, b, **options), models=("a", "b"), metrics="bias")
    row = of(found, "bias")
    assert row["better"] == better
    assert row["ci_lower"] <= row["difference"] <= row["ci_upper"]  # of b - a, like the difference
    if better is None:
        assert row["note"] in ("a ahead, not significant", "b ahead, not significant")


def test_bias_of_independent_rows_has_a_better_side():
    one, other = (regression({"y": np.zeros(200), "p": np.r_[p - 0.1, p + 0.1].repeat(100)}) for p in (-0.5, 0.1))
    assert of(sm.compare(one, other, independent=True), "bias")["better"] == "b"
    assert of(sm.compare(one, other), "bias")["note"] == "b on these rows; no confidence interval"
    near, far = ({"y": [1, 0] * 50, "p": [p, 0.5] * 50} for p in (0.5, 0.9))
    near, far = (
        sm.binary(y_true="y", y_score="p").update(rows).finalize(["calibration_ratio"]) for rows in (near, far)
    )
    assert of(compare(near, far), "calibration_ratio")["better"] == "a"


@pytest.mark.thorough
@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (0.05, -0.05), (0.3, -0.3), (0.3, 0.3), (0.0, 0.02)])
def test_the_side_nearer_to_the_best_value_is_rarely_wrong(a, b):
    """Of biases that are equally far from 0, few samples call a side better; with 0.02 against 0, few call b."""
    acc = two_biases(a, b, rows=60_000, by=pl.col("u") % 400)
    sides = sm.compare(acc, models=("a", "b"), metrics="bias").frame["better"]
    wrong = sum(side == "b" if abs(a) != abs(b) else side is not None for side in sides)
    assert len(sides) == 400
    assert wrong <= 33  # 5%, and three standard errors


def test_a_high_metric_and_a_low_one():
    label = [0, 0, 1, 1]
    worse, better = binary(label, [0.1, 0.8, 0.4, 0.9]), binary(label, [0.1, 0.2, 0.8, 0.9])
    there, back = compare(worse, better), compare(better, worse)
    for metric, high in (("roc_auc", True), ("log_loss", False), ("brier_score", False), ("f1", True)):
        row = of(there, metric, threshold=0.5) if metric == "f1" else of(there, metric)
        assert row["better"] == "b"
        assert (row["difference"] > 0) is high
        assert (of(back, metric, threshold=0.5) if metric == "f1" else of(back, metric))["better"] == "a"
    assert of(there, "prevalence", threshold=0.5)["better"] == "equal"
    assert compare(worse, worse).frame["better"].drop_nulls().unique().to_list() == ["equal"]


def test_bounds_decide():
    rng = np.random.default_rng(0)
    label, score = rng.random(3_000) < 0.3, rng.random(3_000)
    near, far = np.clip(score + label * 1e-4, 0, 1), np.clip(score + label * 0.3, 0, 1)
    a, b, c = (binary(label, s, capacity=64) for s in (score, near, far))
    undecided, decided = of(compare(a, b), "roc_auc"), of(compare(a, c), "roc_auc")
    assert undecided["lower"] < 0 < undecided["upper"]
    assert undecided["better"] is None
    assert decided["better"] == "b"
    for row, one, other in ((undecided, a, b), (decided, a, c)):
        x, y = (acc.finalize()["roc_auc"] for acc in (one, other))
        assert row["difference"] == y.value - x.value
        assert (row["lower"], row["upper"]) == (y.lower - x.upper, y.upper - x.lower)
    exact = [binary(label, s) for s in (score, near)]
    truth = of(compare(*exact), "roc_auc")["difference"]
    assert undecided["lower"] <= truth <= undecided["upper"]


def test_groups_in_one_only():
    rows = pl.DataFrame(HAND).with_columns(g=pl.Series(["x", "x", None, "y"]))
    found = compare(regression(rows.head(3), by="g"), regression(rows.tail(2), "q", by="g"))
    assert set(found.frame["g"]) == {"x", "y", None}
    for group, sides in (("x", (0.0, None)), (None, (0.0, 1.0)), ("y", (None, 1.0))):
        row = of(found, "mae", g=group)
        assert (row["a"], row["b"]) == sides
        assert (row["difference"] is None) is (None in sides)
        assert row["better"] == (None if None in sides else "a")


@pytest.mark.thorough
def test_groups_without_rows_and_of_other_types():
    rows = pl.DataFrame(HAND).with_columns(g=pl.Series(["x", "x", "z", "y"]), n=pl.Series([1, 1, 2, 3]))
    full = regression(rows, by="g")
    for pair in ((full, full.empty()), (full.empty(), full)):
        found = compare(*pair)
        assert found.frame["g"].unique().sort().to_list() == ["x", "y", "z"]
        assert found.frame["difference"].is_null().all()
    assert compare(full.empty(), full.empty()).frame.is_empty()
    other = sm.regression(y_true="y", y_pred="p", by=pl.col("n").alias("g")).update(rows)
    with pytest.raises(sm.ColumnError, match="'g' has different types"):
        compare(full, other).frame  # noqa: B018
    with pytest.raises(sm.ReportError, match=r"group columns differ: .* Roll both up to the same ones"):
        compare(full, regression(rows))
    with pytest.raises(sm.ReportError, match="'better' has a name that comparisons use"):
        compare(*[regression(rows, by=pl.col("g").alias("better"))] * 2)


def test_metrics_in_one_only():
    a, b = regression(HAND), regression(HAND, "q")
    found = compare(a.finalize(["mae", "rmse", "bias"]), b.finalize(["bias", "r2", "mae"]))
    assert found.frame["metric"].to_list() == ["mae", "bias"]
    assert compare(a.finalize(["mae"]), b.finalize(["rmse"])).frame.is_empty()
    assert compare(a, b, metrics=["within(x=0.5)"]).frame["metric"].to_list() == ["within(x=0.5)"]


def test_reports_with_intervals_compare_like_those_without():
    a, b = regression(HAND), regression(HAND, "q")
    reports = [acc.finalize(confidence=0.9) for acc in (a, b)]
    assert_frame_equal(compare(*reports).frame, compare(a, b).frame)
    assert_frame_equal(compare(reports[0], b).frame, compare(a, b).frame)


def test_what_is_infinite_or_undefined_is_not_better():
    endless = regression({"y": [0.0, 1.0], "p": [1.0, 1.0]})
    found = of(compare(endless, endless, metrics=["mape"]), "mape")
    assert (found["a"], found["b"], found["difference"], found["better"]) == (math.inf, math.inf, None, None)
    finite = regression({"y": [2.0, 1.0], "p": [1.0, 1.0]})
    assert of(compare(endless, finite, metrics=["mape"]), "mape")["better"] == "b"
    single = binary([1, 1], [0.2, 0.4])
    assert of(compare(single, binary([1, 0], [0.2, 0.4])), "roc_auc")["better"] is None


def test_rounding_is_not_better():
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"y": rng.normal(size=999), "p": rng.normal(size=999), "w": rng.random(999)})
    for seed in range(5):
        shuffled = rows.sample(fraction=1, shuffle=True, seed=seed)
        pair = [regression(part, sample_weight="w") for part in (rows, shuffled)]
        assert set(compare(*pair).frame["better"]) <= {"equal", None}


def test_what_is_compared():
    rows = {"y": [1, 0], "p": [0.9, 0.2], "value_right": ["u", "u"]}
    acc = sm.binary(y_true="y", y_score="p", by="value_right").update(rows)
    assert compare(acc, acc).frame["difference"].drop_nulls().unique().to_list() == [0.0]
    with pytest.raises(sm.ReportError, match="Only accumulators and reports can be compared, got int"):
        compare(acc, 3)


def test_one_against_each_group():
    """Where `a` has fewer group columns than `b`, its groups are compared with each of theirs."""
    rng = np.random.default_rng(2)
    n = 900
    rows = pl.DataFrame(
        {
            "y": rng.random(n) < 0.4,
            "p": rng.random(n),
            "g": pl.Series(["x", "y", None]).gather(rng.integers(0, 3, n)),
            "h": rng.integers(0, 2, n),
        }
    )
    total, coarse, fine = (sm.binary(y_true="y", y_score="p", by=by).update(rows) for by in ([], ["g"], ["h", "g"]))
    for a, keys in ((total, []), (coarse, ["g"])):
        wanted = {"metrics": ["rows", "roc_auc", "recall"], "confidence": 0.9, "independent": True}
        found = compare(a, fine, **wanted)
        assert found.frame.columns[:4] == ["h", "g", "threshold", "metric"]
        assert found.frame.height == 6 * 3
        for g, h in (("x", 0), (None, 1)):
            own = a.filter(pl.col("g").eq_missing(pl.lit(g))) if keys else a
            pair = own.rollup(), fine.filter(pl.col("g").eq_missing(pl.lit(g)), pl.col("h") == h).rollup()
            alone, among = compare(*pair, **wanted), (pl.col("h") == h) & keyed({"g": g})
            assert_frame_equal(found.frame.filter(among).drop("h", "g"), alone.frame)
    with pytest.raises(sm.ReportError, match="group columns differ"):
        compare(fine, coarse)
    assert compare(total, fine.empty()).frame.is_empty()
    empty = compare(total.empty(), fine).frame.filter(metric="roc_auc")
    assert empty["a"].null_count() == empty.height == 6


def test_units_of_other_groups_are_not_paired():
    """Folds of `a` are not those of a group of `b`: no interval, unless rows are said to be independent."""
    rng = np.random.default_rng(3)
    rows = {"y": rng.random(500), "p": rng.random(500), "g": rng.integers(0, 2, 500), "u": rng.integers(0, 80, 500)}
    total, groups = (sm.regression(y_true="y", y_pred="p", by=by, unit="u").update(rows) for by in ([], ["g"]))
    assert compare(total, groups, confidence=0.9).frame["ci_lower"].is_null().all()
    found = compare(total, groups, confidence=0.9, independent=True).frame.filter(metric="mae")
    assert found["ci_lower"].is_not_null().all()


def test_reports_are_compared_by_the_metrics_asked_for():
    a, b = (regression(HAND, column).finalize() for column in "pq")
    found = compare(a, b, metrics=["mae", "wape"])
    assert found.frame["metric"].to_list() == ["mae", "wape"]
    assert found.frame.equals(compare(regression(HAND), regression(HAND, "q"), metrics=["mae", "wape"]).frame)
    assert compare(regression(HAND), b, metrics="mae").frame["metric"].to_list() == ["mae"]
    with pytest.raises(sm.MetricError, match="'roc_auc' requires a binary or multiclass"):
        compare(a, b, metrics=["roc_auc"])


def test_different_numbers_of_rows_are_told():
    a, b = regression(HAND), regression(pl.DataFrame(HAND).head(3))
    assert compare(a, a).note is None
    advice = "If their rows are independent, such as rows of different days, pass independent=True."
    told = f"The two evaluations have different numbers of rows{{}}. {advice}"
    assert compare(a, b, metrics=["mae"]).note == told.format(": 4 and 3")
    assert str(compare(a, b)).endswith(told.format(": 4 and 3"))
    assert compare(a, b, independent=True).note is None
    one, other = (regression(pl.DataFrame(HAND | {"g": list(groups)}), by="g") for groups in ("uuvw", "uuvv"))
    assert compare(one, other).note == told.format(" in 2 of 3 groups")
    assert compare(a, one).note == told.format(" in 3 of 3 groups")
    two = [
        sm.regression(y_true="y", y_pred={"old": "p", "new": "q"}).update(pl.DataFrame(HAND).head(n)) for n in (3, 4)
    ]
    assert compare(*(acc.finalize() for acc in two)).note == told.format(" in 2 of 2 models")


def test_two_models_of_different_rows_are_told_the_remedy():
    rows = pl.DataFrame({"y": [1, 0] * 40, "p": [0.9, 0.3, 0.6, 0.7] * 20, "q": [None, 0.2, 0.8, 0.4] + [0.5] * 76})
    acc = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}, nulls="drop")
    found = acc.empty().update(rows).finalize(["accuracy"]).compare("old", "new")
    remedy = "To compare both models on the same rows, with paired confidence intervals, filter out null scores."
    assert found.note.startswith(f"The two evaluations have different numbers of rows: 80 and 79. {remedy}")
    assert found.frame["ci_lower"].is_null().all()
    of_units = sm.binary(y_true="y", y_score={"old": "p", "new": "q"}, nulls="drop", unit="u")
    of_units.update(rows.with_columns(u=pl.int_range(pl.len()) % 30))
    with_units = of_units.finalize(["accuracy"]).compare("old", "new")
    assert with_units.note == found.note
    assert with_units.frame["ci_lower"].is_null().all()
    both = acc.update(rows.drop_nulls()).finalize(["accuracy"]).compare("old", "new")
    assert both.note is None
    assert both.frame["ci_lower"].is_not_null().all()


OTHER_ROWS = "equal numbers of rows, but not the same rows"
PERHAPS_OTHER_ROWS = "rows were dropped, possibly different ones"
UNITS = {"unit": "u"}


def two_sides(task, scores, without_a, without_b, **options):
    """An evaluation of labels and two models, or of one, without predictions in some rows of each model."""
    rng, row = np.random.default_rng(0), np.arange(400)
    y, a, b = rng.random(400) < 0.4, rng.random(400), rng.random(400)
    frame = pl.DataFrame({"y": y, "a": a, "b": b, "u": row // 4, "w": 1.0 + row % 2, "g": row % 2, "id": row})
    if task is not sm.binary:
        frame = frame.with_columns((pl.col("y", "a", "b") * 2.0).floor().cast(pl.Int64))
    for name, lacking in (("a", without_a), ("b", without_b)):
        frame = frame.with_columns(pl.when(pl.Series(~np.isin(row, lacking))).then(name).alias(name))
    column = "y_score" if task is sm.binary else "y_pred"
    return task(y_true="y", nulls="drop", **{column: scores}, **options).update(frame)


@pytest.mark.parametrize(
    ("task", "options"),
    [
        *((task, options) for options in (UNITS, {}) for task in (sm.binary, sm.regression, sm.multiclass)),
        (sm.binary, {"sample_weight": "w"}),
        *((task, UNITS | {"sample_weight": "w"}) for task in (sm.binary, sm.regression)),
    ],
)
def test_equally_many_but_other_rows_of_two_models_have_no_paired_interval(task, options):
    metric = "mae" if task is sm.regression else "accuracy"
    for without, known in (
        (([4], [6]), task is sm.binary or "sample_weight" not in options),
        ((range(40), range(40, 80)), True),
    ):
        acc = two_sides(task, {"a": "a", "b": "b"}, *without, **options)
        found = sm.compare(acc, models=("a", "b"), metrics=metric)
        assert (OTHER_ROWS if known else PERHAPS_OTHER_ROWS) in found.note
        assert found.frame["ci_lower"].is_null().all()
        assert found.note in str(found.check(not_worse=metric))
    of_groups = two_sides(task, {"a": "a", "b": "b"}, range(0, 40, 2), range(40, 80, 2), by="g", **options)
    found = sm.compare(of_groups, models=("a", "b"), metrics=metric)
    assert f"{OTHER_ROWS} in 1 of 2 groups" in found.note
    assert found.frame["ci_lower"].is_null().to_list() == [True, options == {"sample_weight": "w"}]


def test_two_states_of_units_that_dropped_other_rows_have_no_paired_interval():
    for without, note in (((range(40), range(40, 80)), OTHER_ROWS), (([4], [6]), PERHAPS_OTHER_ROWS)):
        a, b = (two_sides(sm.binary, m, *without, **UNITS) for m in "ab")
        found = sm.compare(a, b, metrics="roc_auc")
        assert note in found.note
        assert found.frame["ci_lower"].is_null().all()
        assert sm.compare(a, b, metrics="roc_auc", independent=True).frame["ci_lower"].is_not_null().all()
    other_day = [two_sides(sm.binary, m, *without, unit=unit) for m, unit in (("a", "u"), ("b", pl.col("u") + 1_000))]
    assert OTHER_ROWS in sm.compare(*other_day).note


@pytest.mark.parametrize("task", [sm.regression, sm.binary])
def test_models_that_dropped_the_same_rows_keep_their_paired_interval(task):
    """A row ID tells it where no pair of models is counted: in a regression with units."""
    metric, scores = "mae" if task is sm.regression else "accuracy", {"a": "a", "b": "b"}
    identified = {"fingerprint": "id"} if task is sm.regression else {}
    for options in (
        UNITS | identified,
        UNITS | {"sample_weight": "w"} | identified,
        {},
        UNITS | {"by": "g"} | identified,
    ):
        acc = two_sides(task, scores, [4, 7], [4, 7], **options)
        found = sm.compare(acc, models=("a", "b"), metrics=metric)
        assert found.note is None
        assert found.frame["ci_lower"].is_not_null().all()
    acc = two_sides(task, scores, [4], [4], **UNITS)
    assert sm.compare(acc, models=("a", "a"), metrics=metric).note is None


def test_units_of_different_rows_need_independent():
    rng = np.random.default_rng(0)
    p = rng.random(4_000)
    rows = pl.DataFrame({"y": rng.random(4_000) < p, "p": p, "u": np.arange(4_000) // 4, "g": ["x", "y"] * 2_000})
    some = rows.filter(pl.col("g").eq("y") | pl.col("y") | (pl.col("p") < 0.4))  # as if these scores were missing
    task = sm.binary(y_true="y", y_score="p", by="g", unit="u")
    some = some.with_columns(pl.col("p") ** 2 * pl.Series(rng.uniform(0.5, 1, some.height)))
    a, b = (task.empty().update(frame).finalize(["roc_auc"]) for frame in (rows, some))
    found = sm.compare(a, b, confidence=0.95)
    assert found.frame.select("g", pl.col("ci_lower").is_null(), "better").rows() == [
        ("x", True, None),
        ("y", False, "a"),
    ]
    assert sm.compare(a, b, confidence=0.95, independent=True).frame["ci_lower"].is_not_null().all()


@pytest.mark.parametrize("by", [(), ("g",)])
def test_two_models_of_one_pass(by):
    rng = np.random.default_rng(0)
    batch = pl.DataFrame({"y": rng.normal(0, 1, 200), "u": np.arange(200) // 4, "g": ["a", "b"] * 100})
    batch = batch.with_columns(near=pl.col("y") + rng.normal(0, 0.1, 200), far=pl.col("y") + rng.normal(0, 1, 200))
    both = sm.regression(y_true="y", y_pred={"near": "near", "far": "far"}, by=by, unit="u").update(batch).finalize()
    one, other = (regression(batch, name, by=by, unit="u") for name in ("near", "far"))
    for confidence in (None, 0.9):
        found = both.compare("near", "far", confidence=confidence)
        apart = compare(one, other, confidence=confidence).frame
        kept = [c for c in apart.columns if c not in ("better", "note")]  # which know how many rows differ
        assert_frame_equal(replace(found, names=("a", "b")).frame.select(kept), apart.select(kept))
    assert found.note is None
    assert both.compare("near", "far", metrics=["mae"], confidence=None).frame["better"].unique().to_list() == ["near"]
    with pytest.raises(sm.ReportError, match=r"Unknown model 'best'\. Models: 'near', 'far'\."):
        both.compare("near", "best")
    with pytest.raises(sm.ReportError, match=r"Unknown model 'near'\. Models: none\."):
        one.finalize().compare("near", "far")


def test_the_note_says_why_a_side_is_undefined():
    make = lambda y: sm.binary(y_true="y", y_score="p").update({"y": y, "p": [0.1, 0.9]})  # noqa: E731
    found = sm.compare(make([0, 1]), make([0, 0]), metrics=["roc_auc", "accuracy"], independent=True).frame
    assert found.filter(metric="roc_auc")["note"].to_list() == ["b has no value: no positives"]
    swapped = sm.compare(make([0, 0]), make([0, 1]), metrics=["roc_auc"], independent=True)
    assert swapped.frame["note"].to_list() == ["a has no value: no positives"]
    assert "note" not in sm.compare(make([0, 1]), make([0, 0]), metrics=["roc_auc"], confidence=None).frame.columns


def test_evaluations_with_and_without_labels_are_not_compared():
    one = sm.binary(y_true="y", y_pred="z").update({"y": [1, 0], "z": [1, 1]})
    many = sm.multiclass(y_true="y", y_pred="z").update({"y": ["a", "b"], "z": ["a", "a"]})
    for a, b in ((one, many), (many, one)):
        with pytest.raises(sm.ReportError, match="Compare evaluations of the same task"):
            _ = sm.compare(a, b, independent=True).frame

"""Two evaluations side by side: differences, and what is better for certain."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from data import CLICKS, DELIVERIES, candidates, clicks, deliveries
from polars.testing import assert_frame_equal

import streammetrics as sm

compare = partial(sm.compare, confidence=None)  # by the certified bounds alone
HAND = {"y": [1.0, 2.0, 3.0, 4.0], "p": [1.0, 2.0, 3.0, 6.0], "q": [2.0, 1.0, 4.0, 3.0]}
ERRORS = ["rows", "mae", "rmse", "bias", "median_absolute_error"]
RATES = ["roc_auc", "log_loss", "brier_score", "f1", "prevalence"]


def regression(batch, column="p", **options):
    return sm.regression(y_true="y", y_pred=column, **{"metrics": ERRORS} | options).update(batch)


def binary(label, score, **options):
    return sm.binary(y_true="y", y_score="p", **{"metrics": RATES} | options).update({"y": label, "p": score})


def of(comparison, metric, **keys):
    conditions = [pl.col(k).eq_missing(pl.lit(v)) for k, v in keys.items()]
    return comparison.frame.row(by_predicate=pl.all_horizontal(pl.col("metric") == metric, *conditions), named=True)


def test_sides_without_a_common_group_are_noted():
    rows = clicks()[:60].with_columns(half=pl.int_range(60) // 30)
    acc = sm.binary(by=["half", "country"], metrics=["rows"], **CLICKS)
    one, other, both = (acc.empty().update(part) for part in (rows[:30], rows[30:], rows))
    for sides, apart in (((one, other), True), ((other, both), False), ((one.rollup("country"), other), False)):
        for found in (sm.compare(*sides, independent=True), sm.drift(*sides)):
            assert ("no group in common" in str(found)) == apart


def test_differences_are_those_by_hand():
    found = compare(regression(HAND), regression(HAND, "q"))
    assert found.frame.columns == ["metric", "a", "b", "difference", "lower", "upper", "better", "status"]
    assert [[*of(found, metric).values()][1:-1] for metric in ERRORS] == [
        [4, 4, 0, 0, 0, "equal"],
        [0.5, 1.0, 0.5, 0.5, 0.5, "a"],
        [1.0, 1.0, 0.0, 0.0, 0.0, "equal"],
        [0.5, 0.0, -0.5, -0.5, -0.5, "b"],
        [0.0, 1.0, 1.0, 1.0, 1.0, "a"],
    ]
    assert "b - a" in str(found)


def two_biases(a, b, rows=400, **options):
    """Two models of the same rows, with these biases."""
    y, common, one, other = np.random.default_rng(0).normal(size=(4, rows))
    batch = {"y": y, "a": y + 0.7 * common + 0.5 * one + a, "b": y + 0.7 * common + 0.5 * other + b}
    acc = sm.regression(y_true="y", y_pred={"a": "a", "b": "b"}, **options).update(batch | {"u": np.arange(rows)})
    return sm.compare(acc, models=("a", "b"), metrics="bias")


@pytest.mark.parametrize("options", [{}, {"unit": "u"}], ids=["rows", "units"])
def test_the_side_whose_bias_is_nearer_to_0_is_better(options):
    for a, b, better in ((0.5, 0.2, "b"), (-0.5, 0.2, "b"), (0.2, -0.5, "a"), (0.4, -0.4, None)):
        row = of(two_biases(a, b, **options), "bias")
        assert row["better"] == better
        assert row["ci_lower"] <= row["difference"] <= row["ci_upper"]  # of b - a, like the difference
        assert better or row["note"] in ("a ahead, not significant", "b ahead, not significant")


def test_bias_of_independent_rows_has_a_better_side():
    one, other = (regression({"y": np.zeros(200), "p": np.r_[p - 0.1, p + 0.1].repeat(100)}) for p in (-0.5, 0.1))
    assert of(sm.compare(one, other, metrics="bias", independent=True), "bias")["better"] == "b"
    without = sm.compare(one, other, metrics="bias")
    assert of(without, "bias")["better"] is None
    assert of(without, "bias")["note"] == "b on these rows; no confidence interval"
    assert "  (b)" in str(without)
    assert of(compare(one, other), "bias")["better"] == "b"
    near, far = (binary([1, 0] * 50, [p, 0.5] * 50).finalize(["calibration_ratio"]) for p in (0.5, 0.9))
    assert of(compare(near, far), "calibration_ratio")["better"] == "a"


@pytest.mark.thorough
@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (0.05, -0.05), (0.3, -0.3), (0.3, 0.3), (0.0, 0.02)])
def test_the_side_nearer_to_the_best_value_is_rarely_wrong(a, b):
    """Of biases that are equally far from 0, few samples call a side better; with 0.02 against 0, few call b."""
    sides = two_biases(a, b, rows=60_000, by=pl.col("u") % 400).frame["better"]
    wrong = sum(side == "b" if abs(a) != abs(b) else side is not None for side in sides)
    assert len(sides) == 400
    assert wrong <= 33  # 5%, and three standard errors


def test_the_better_side_of_a_metric_is_its_high_or_its_low_end():
    label = [0, 0, 1, 1]
    worse, better = binary(label, [0.1, 0.8, 0.4, 0.9]), binary(label, [0.1, 0.2, 0.8, 0.9])
    there, back = compare(worse, better), compare(better, worse)
    for metric, high in (("roc_auc", True), ("log_loss", False), ("brier_score", False), ("f1", True)):
        assert of(there, metric)["better"] == "b"
        assert (of(there, metric)["difference"] > 0) is high
        assert of(back, metric)["better"] == "a"
    assert of(there, "prevalence")["better"] == "equal"
    assert compare(worse, worse).frame["better"].drop_nulls().unique().to_list() == ["equal"]


def test_bounds_decide():
    label, score = clicks()["clicked"].cast(float), clicks()["score"] * 0.7
    shifts, options = (0, 1e-3, 0.3), {"metrics": ["roc_auc"], "capacity": 64}
    a, b, c = (binary(label, score + label * shift, **options) for shift in shifts)
    undecided, decided = of(compare(a, b), "roc_auc"), of(compare(a, c), "roc_auc")
    assert undecided["lower"] < 0 < undecided["upper"]
    assert (undecided["better"], decided["better"]) == (None, "b")
    for row, other in ((undecided, b), (decided, c)):
        x, y = (acc.finalize()["roc_auc"] for acc in (a, other))
        assert row["difference"] == y.value - x.value
        assert (row["lower"], row["upper"]) == (y.lower - x.upper, y.upper - x.lower)
    exact = (binary(label, score + label * shift) for shift in shifts[:2])
    assert undecided["lower"] <= of(compare(*exact, metrics="roc_auc"), "roc_auc")["difference"] <= undecided["upper"]


def test_groups_of_one_side_only_have_no_difference():
    rows = pl.DataFrame(HAND).with_columns(g=pl.Series(["x", "x", None, "y"]))
    found = compare(regression(rows.head(3), by="g"), regression(rows.tail(2), "q", by="g"))
    assert set(found.frame["g"]) == {"x", "y", None}
    for group, sides in (("x", (0.0, None)), (None, (0.0, 1.0)), ("y", (None, 1.0))):
        row = of(found, "mae", g=group)
        assert (row["a"], row["b"]) == sides
        assert (row["difference"] is None) is (None in sides)
        assert row["better"] == (None if None in sides else "a")
    full = regression(rows, by="g")
    for pair in ((full, full.empty()), (full.empty(), full)):
        assert set(compare(*pair).frame["g"]) == {"x", "y", None}
        assert compare(*pair).frame["difference"].is_null().all()
    assert compare(full.empty(), full.empty()).frame.is_empty()
    notes = compare(full.filter(pl.col("g") == "x"), full, confidence=0.95, independent=True).frame
    assert set(notes.filter(pl.col("g") == "y")["note"]) == {"only one side has rows"}


def test_metrics_of_both_sides_are_compared_or_those_asked_for():
    a, b = regression(HAND), regression(HAND, "q")
    reports = a.finalize(["mae", "rmse", "bias"]), b.finalize(["bias", "r2", "mae"])
    assert compare(*reports).frame["metric"].to_list() == ["mae", "bias"]
    assert compare(a.finalize(["mae"]), b.finalize(["rmse"])).frame.is_empty()
    assert compare(a, b, metrics=["within(x=0.5)"]).frame["metric"].to_list() == ["within(x=0.5)"]
    found = compare(a.finalize(), b.finalize(), metrics=["mae", "wape"])
    assert found.frame["metric"].to_list() == ["mae", "wape"]
    assert found.frame.equals(compare(a, b, metrics=["mae", "wape"]).frame)
    assert compare(a, b.finalize(), metrics="mae").frame["metric"].to_list() == ["mae"]
    sampled = [acc.finalize(confidence=0.9) for acc in (a, b)]
    assert_frame_equal(compare(*sampled).frame, compare(a, b).frame)
    assert_frame_equal(compare(sampled[0], b).frame, compare(a, b).frame)


def test_what_is_infinite_or_undefined_is_not_better():
    endless = regression({"y": [0.0, 1.0], "p": [1.0, 1.0]})
    found = of(compare(endless, endless, metrics=["mape"]), "mape")
    assert (found["a"], found["b"], found["difference"], found["better"]) == (math.inf, math.inf, None, None)
    sampled = of(sm.compare(endless, endless, metrics=["mape"], independent=True), "mape")
    assert (sampled["status"], sampled["note"]) == ("infinite", "the metric is infinite")
    finite = regression({"y": [2.0, 1.0], "p": [1.0, 1.0]})
    assert of(compare(endless, finite, metrics=["mape"]), "mape")["better"] == "b"
    single, both = binary([1, 1], [0.2, 0.4]), binary([1, 0], [0.2, 0.4])
    for pair, note in (
        ((single, both), "a has no value: no negatives"),
        ((both, single), "b has no value: no negatives"),
    ):
        found = of(sm.compare(*pair, metrics=["roc_auc"], independent=True), "roc_auc")
        assert (found["better"], found["note"]) == (None, note)
    assert "note" not in compare(single, both).frame.columns


def test_rounding_is_not_better():
    by = pl.lit("a").alias("value_right")  # the name of a joined column
    acc = sm.regression(metrics=ERRORS, by=by, **DELIVERIES, sample_weight=pl.col("naive").sqrt().alias("w"))
    one, *others = (deliveries().sample(fraction=1, shuffle=True, seed=seed) for seed in range(3))
    for rows in others:
        found = compare(*(acc.empty().update(side) for side in (one, rows)))
        assert set(found.frame["better"]) <= {"equal", None}


def test_a_side_of_fewer_group_columns_is_compared_with_each_group_of_the_other():
    rows = clicks()[:900].with_columns(
        country=pl.when(pl.col("country") != "FR").then("country"), half=pl.int_range(900) % 2
    )
    total, coarse, fine = (
        sm.binary(by=by, metrics=["rows", "roc_auc", "recall"], **CLICKS).update(rows)
        for by in ([], ["country"], ["half", "country"])
    )
    options = {"confidence": 0.9, "independent": True}
    for side in (total, coarse):
        found = sm.compare(side, fine, **options).frame
        assert found.columns[:4] == ["half", "country", "threshold", "metric"]
        assert found.height == 6 * 3
        for country, half in (("DE", 0), (None, 1)):
            of_country = pl.col("country").eq_missing(pl.lit(country))
            own = side.filter(of_country).rollup() if side is coarse else side
            alone = sm.compare(own, fine.filter(of_country, pl.col("half") == half).rollup(), **options)
            assert_frame_equal(found.filter(of_country, half=half).drop("half", "country"), alone.frame)
    assert compare(total, fine.empty()).frame.is_empty()
    empty = compare(total.empty(), fine).frame.filter(metric="roc_auc")
    assert empty["a"].null_count() == empty.height == 6


def test_units_of_other_groups_are_not_paired():
    """Folds of `a` are not those of a group of `b`: no interval, unless rows are said to be independent."""
    acc = sm.regression(by="route", unit="unit", metrics=["mae"], **DELIVERIES)
    groups = acc.update(deliveries()[:500].with_columns(unit=pl.int_range(500) // 6))
    assert sm.compare(groups.rollup(), groups).frame["ci_lower"].is_null().all()
    assert sm.compare(groups.rollup(), groups, independent=True).frame["ci_lower"].is_not_null().all()


def test_different_numbers_of_rows_are_told():
    a, b = regression(HAND), regression(pl.DataFrame(HAND).head(3))
    one, other = (regression(pl.DataFrame(HAND | {"g": list(groups)}), by="g") for groups in ("uuvw", "uuvv"))
    models = sm.regression(y_true="y", y_pred={"old": "p", "new": "q"})
    two = [models.empty().update(pl.DataFrame(HAND).head(n)).finalize() for n in (3, 4)]
    for sides, where in (
        ((a, b), ": 4 and 3"),
        ((one, other), " in 2 of 3 groups"),
        ((a, one), " in 3 of 3 groups"),
        (two, " in 2 of 2 models"),
    ):
        found = compare(*sides, metrics=["mae"])
        assert f"different numbers of rows{where}." in found.note
        assert str(found).endswith(found.note)
    assert compare(a, a).note is None
    assert compare(a, b, independent=True).note is None
    for options in ({}, UNITS):
        dropped = sm.compare(two_sides(sm.binary, MODELS, [4], [], **options), models=("a", "b"), metrics="accuracy")
        assert ": 399 and 400." in dropped.note
        assert "filter out null scores" in dropped.note
        assert dropped.frame["ci_lower"].is_null().all()


OTHER_ROWS = "equal numbers of rows, but not the same rows"
PERHAPS_OTHER_ROWS = "rows were dropped, possibly different ones"
UNITS, WEIGHTS = {"unit": "u"}, {"sample_weight": "w"}
MODELS = {"a": "a", "b": "b"}


def two_sides(task, scores, without_a, without_b, **options):
    """An evaluation of two models, or of one, without predictions in some rows of each model."""
    rows = candidates()[:400].select(y="clicked", a="old", b="new", row=pl.int_range(400))
    rows = rows.with_columns(u=pl.col("row") // 4, w=1.0 + pl.col("row") % 2, g=pl.col("row") % 2)
    if task is not sm.binary:
        rows = rows.with_columns((pl.col("y", "a", "b") * 2.0).floor().cast(pl.Int64))
    for name, lacking in (("a", without_a), ("b", without_b)):
        rows = rows.with_columns(pl.when(~pl.col("row").is_in([*lacking])).then(name).alias(name))
    column = "y_score" if task is sm.binary else "y_pred"
    metrics = ["mae"] if task is sm.regression else ["accuracy"]
    return task(y_true="y", nulls="drop", metrics=metrics, **{column: scores}, **options).update(rows)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("task", "options"),
    [
        *((task, options) for options in (UNITS, {}) for task in (sm.binary, sm.regression, sm.multiclass)),
        (sm.binary, WEIGHTS),
        *((task, UNITS | WEIGHTS) for task in (sm.binary, sm.regression)),
    ],
)
def test_models_of_as_many_other_rows_have_no_paired_interval_and_those_of_the_same_rows_have_one(task, options):
    """A row ID tells it where no pair of models is counted: in a regression with units."""
    metric = "mae" if task is sm.regression else "accuracy"
    known = OTHER_ROWS if task is sm.binary or "sample_weight" not in options else PERHAPS_OTHER_ROWS
    for without, note in (
        (([4], [6]), known),
        ((range(40), range(40, 80)), OTHER_ROWS),
    ):
        found = sm.compare(two_sides(task, MODELS, *without, **options), models=("a", "b"), metrics=metric)
        assert note in found.note
        assert found.frame["ci_lower"].is_null().all()
        assert found.note in str(found.check(not_worse=metric))
    of_groups = two_sides(task, MODELS, range(0, 40, 2), range(40, 80, 2), by="g", **options)
    found = sm.compare(of_groups, models=("a", "b"), metrics=metric)
    assert f"{OTHER_ROWS} in 1 of 2 groups" in found.note
    assert found.frame["ci_lower"].is_null().to_list() == [True, options == WEIGHTS]
    if task is not sm.multiclass and options != WEIGHTS:
        row_id = {"fingerprint": "row"} if task is sm.regression and "unit" in options else {}
        same = two_sides(task, MODELS, [4, 7], [4, 7], by="g", **options | row_id)
        found = sm.compare(same, models=("a", "b"), metrics=metric)
        assert found.note is None
        assert found.frame["ci_lower"].is_not_null().all()
        assert sm.compare(two_sides(task, MODELS, [4], [4], **UNITS), models=("a", "a"), metrics=metric).note is None


@pytest.mark.thorough
def test_two_states_of_units_that_dropped_other_rows_have_no_paired_interval():
    metrics = {"metrics": "accuracy"}
    for without, note in (((range(40), range(40, 80)), OTHER_ROWS), (([4], [6]), PERHAPS_OTHER_ROWS)):
        sides = [two_sides(sm.binary, m, *without, **UNITS) for m in "ab"]
        found = sm.compare(*sides, **metrics)
        assert note in found.note
        assert found.frame["ci_lower"].is_null().all()
        assert sm.compare(*sides, **metrics, independent=True).frame["ci_lower"].is_not_null().all()
    other_day = [two_sides(sm.binary, m, *without, unit=unit) for m, unit in (("a", "u"), ("b", pl.col("u") + 1_000))]
    assert OTHER_ROWS in sm.compare(*other_day, **metrics).note


def test_units_of_different_rows_need_independent():
    rows = clicks().select("clicked", "score", u=pl.int_range(4_000) // 4, g=pl.int_range(4_000) % 2)
    some = rows.filter((pl.col("g") == 1) | pl.col("clicked") | (pl.col("score") < 0.2))  # the others were not scored
    some = some.with_columns(pl.col("score") ** 2 * (0.5 + pl.col("u") % 7 / 14))
    task = sm.binary(by="g", unit="u", metrics=["roc_auc"], **CLICKS)
    a, b = (task.empty().update(side).finalize() for side in (rows, some))
    found = sm.compare(a, b, confidence=0.95).frame
    assert found.select("g", pl.col("ci_lower").is_null(), "better").rows() == [(0, True, None), (1, False, "a")]
    assert sm.compare(a, b, confidence=0.95, independent=True).frame["ci_lower"].is_not_null().all()


@pytest.mark.parametrize("by", [(), ("route",)])
def test_two_models_of_one_pass_are_compared_like_two_passes(by):
    rows = deliveries()[:200].with_columns(unit=pl.int_range(200) // 4)
    models = sm.regression(y_true="minutes", y_pred={"forecast": "forecast", "naive": "naive"}, by=by, unit="unit")
    both = models.update(rows).finalize(ERRORS)
    one, other = (
        sm.regression(y_true="minutes", y_pred=name, by=by, unit="unit", metrics=ERRORS).update(rows)
        for name in ("forecast", "naive")
    )
    for confidence in (None, 0.9):
        options = {"confidence": confidence}
        found, apart = both.compare("forecast", "naive", **options), sm.compare(one, other, **options)
        judged = ("better", "status", "note")  # which depend on how many rows differ
        columns = [c for c in apart.frame.columns if c not in judged]
        assert_frame_equal(replace(found, names=("a", "b")).frame.select(columns), apart.frame.select(columns))
    assert found.note is None
    better = both.compare("forecast", "naive", metrics=["mae"], confidence=None).frame["better"]
    assert better.unique().to_list() == ["forecast"]

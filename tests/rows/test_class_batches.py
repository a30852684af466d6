"""Batches of several classes: faulty rows, sums of probabilities, and labels that come later."""

import math
from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from classes_data import DAYS, SCORES, evaluated, exactly, predictions
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics import core


@pytest.mark.parametrize("column", [pl.Series([[1]]), pl.Series([{"a": 1}]), pl.Series([1], dtype=pl.Int128)])
def test_labels_that_are_no_plain_values(column):
    with pytest.raises(sm.ColumnError, match="Class labels must be plain values"):
        evaluated(pl.DataFrame({"y": column, "z": column}), y_pred="z")


def test_a_batch_with_labels_of_another_type_is_refused_and_changes_nothing():
    acc = sm.multiclass(y_true="y", y_pred="z", by="g").update({"y": ["a"], "z": ["b"], "g": [1]})
    before = acc.to_bytes()
    for batch in (
        {"y": [1], "z": [1], "g": [1]},
        {"y": ["a"], "z": [1], "g": [1]},
        {"y": [DAYS[0]], "z": ["a"], "g": [1]},
    ):
        with pytest.raises(sm.ColumnError, match="Class labels have different types in different columns or batches"):
            acc.update(batch)
        assert acc.to_bytes() == before
    other = acc.empty().update({"y": [1], "z": [1], "g": [1]})
    with pytest.raises(sm.ColumnError, match=r"Class labels have different types.*Int64 and String. Cast them to"):
        acc.absorb(other)
    assert acc.to_bytes() == before


def test_integers_and_floats_are_the_same_labels():
    """As pandas reads integers with a missing value."""
    batches = [{"y": [1, 2], "z": [1.0, 1.0]}, {"y": [2.0, -0.0], "z": [2, 0]}]
    acc = sm.multiclass(y_true="y", y_pred="z")
    for batch in batches:
        acc.update(batch)
    assert acc.to_bytes() == acc.empty().update(batches[1]).update(batches[0]).to_bytes()
    assert acc.finalize().get("recall", label=2).value == 0.5
    assert acc.finalize().get("recall", label=0).value == 1.0


def test_null_labels_are_dropped_whatever_the_type_of_the_batch():
    acc = sm.multiclass(y_true="y", y_pred="z", nulls="drop")
    acc.update({"y": [None, None], "z": [None, None]})
    assert acc.finalize()["accuracy"].value is None
    acc.update({"y": ["a", None, "b"], "z": ["a", "b", None]}).update({"y": [None], "z": ["c"]})
    report = acc.finalize()
    assert (report["rows"].value, report["dropped"].value, report["accuracy"].value) == (1, 5, 1.0)
    assert acc.state.tables["confusion_matrix"].rows() == [(0, "a", "a", 1)]
    with pytest.raises(sm.DataError, match="'y' contains null or NaN in 1 of 2 rows"):
        evaluated(pl.DataFrame({"y": ["a", None], "z": ["a", "a"]}), y_pred="z")
    declared = evaluated(pl.DataFrame({"y": ["a", None], "z": ["a", "a"]}), y_pred="z", labels=["a"], nulls="drop")
    assert declared["rows"].value == 1


def test_integers_booleans_and_categories_are_declared_labels():
    p = {"p": [0.9, 0.2], "q": [0.1, 0.8]}
    for labels, y in (
        (np.array([3, 5]), pl.Series([3, 5], dtype=pl.Int8)),
        (np.array([True, False]), pl.Series([True, False])),
        (np.array(["a", "b"]), pl.Series(["a", "b"], dtype=pl.Categorical)),
        (pl.Series([0.5, 2.0]), pl.Series([0.5, 2.0], dtype=pl.Float32)),
        ((3, 5), pl.Series([3.0, 5.0])),
    ):
        acc = sm.multiclass(y_true="y", y_score=dict(zip(list(labels), "pq", strict=True))).update({"y": y} | p)
        assert acc.finalize()["accuracy"].value == 1.0
        assert sm.Accumulator.from_bytes(acc.to_bytes()).to_bytes() == acc.to_bytes()
        assert sm.Accumulator.from_bytes(acc.to_bytes()).roles == acc.roles


FAULTS = {
    "sum": (
        {"a": [0.5, 0.7], "b": [0.5, 0.2]},
        r"'a \+ b' contains probabilities .* not sum to 1 in 1 of 2 .* 0.8999.*row 1",
    ),
    "nearly": ({"a": [0.5, 0.7], "b": [0.5, 0.3002]}, "renormalize=True"),
    "beyond one": (
        {"a": [1.2, 0.7], "b": [-0.2, 0.3]},
        r"'a' contains scores outside \[0, 1\] in 1 of 2 rows .*1.2 at row 0",
    ),
    "null": ({"a": [None, 0.7], "b": [1.0, 0.3]}, "'a' contains null or NaN in 1 of 2 rows"),
    "NaN": ({"a": [0.5, 0.7], "b": [0.5, float("nan")]}, "'b' contains null or NaN in 1 of 2 rows"),
    "label": (
        {"a": [0.5, 0.7], "b": [0.5, 0.3], "y": ["a", "c"]},
        r"'y' contains labels other than 'a', 'b' in 1 .*'c' at row 1",
    ),
    "prediction": ({"a": [0.5, 0.7], "b": [0.5, 0.3], "z": ["c", "a"]}, "'z' contains labels other than 'a', 'b'"),
}


@pytest.mark.parametrize(("columns", "message"), FAULTS.values(), ids=FAULTS)
def test_faulty_rows_are_named_and_change_nothing(columns, message):
    good = {"y": ["a", "b"], "z": ["a", "b"], "a": [0.5, 0.7], "b": [0.5, 0.3]}
    acc = sm.multiclass(y_true="y", y_pred="z", y_score={"a": "a", "b": "b"}).update(good)
    before = acc.to_bytes()
    with pytest.raises(sm.DataError, match=message):
        acc.update(good | columns)
    assert acc.to_bytes() == before


def test_labels_without_a_score_come_before_the_sums_that_they_explain(tmp_path):
    rows = pl.DataFrame({"y": ["a", "b", "c"], "a": [0.5, 0.2, 0.2], "b": [0.2, 0.5, 0.2], "c": [0.3, 0.3, 0.6]})
    rows.write_csv(tmp_path / "three.csv")
    task = sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"})
    expected = r"'y' contains labels other than 'a', 'b' in 1 of 3 rows .*Pass y_score= for every label, or drop"
    with pytest.raises(sm.DataError, match=expected):
        task.update(rows)
    with pytest.raises(sm.DataError, match=expected):
        sm.evaluate(tmp_path / "three.csv", task)
    with pytest.raises(sm.DataError, match="probabilities that do not sum to 1 in 3 of 3 rows"):
        sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"}, nulls="drop").update(rows.with_columns(y=pl.lit("a")))


def test_sums_within_the_tolerance_pass():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(300), 50).astype(np.float32)
    columns = {f"p{i}": p[:, i] for i in range(300)}
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(300)})
    assert acc.update(columns | {"y": p.argmax(axis=1)}).finalize()["accuracy"].value == 1.0
    with pytest.raises(
        sm.DataError, match=r"'p0 \+ p1 \+ p2 \+ p3 \+ p4 \+ … \(300 columns\)' contains prob.* in 50 of 50"
    ):
        acc.update({name: p / 2 for name, p in columns.items()} | {"y": p.argmax(axis=1)})


def test_renormalized_votes():
    votes = {"y": ["a", "b"], "a": [3, 0], "b": [1, 7]}
    acc = sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"}, renormalize=True)
    assert acc.update(votes).finalize()["log_loss"].value == pytest.approx(-np.log(0.75) / 2)
    for wrong in ([-1, 0], [np.inf, 0]):
        with pytest.raises(sm.DataError, match="negative or infinite scores in 1 of 2 rows"):
            acc.update(votes | {"a": wrong})
    with pytest.raises(sm.DataError, match="all 0"):
        acc.update({"y": ["a"], "a": [0], "b": [0]})


SHORT = [0.75, 0.05, 0.05, 0.05, 0.05]  # sums to 0.95, in floats to one of several numbers


def renormalized(rows, labels=tuple("abcde")):
    acc = sm.multiclass(y_true="y", y_score="p", labels=labels, renormalize=True)
    return acc.update(pl.DataFrame({"y": [labels[i % len(labels)] for i in range(len(rows))], "p": rows}))


def test_renormalized_rows_of_the_same_numbers_tie():
    """The order of the addends moves the last bit of a sum."""
    rows = [SHORT, *(SHORT[i:] + SHORT[:i] for i in range(1, 5)), SHORT[::-1]]
    assert len({reduce(add, row) for row in rows}) > 1  # sum() is more precise since Python 3.12
    table = renormalized(rows).state.tables["score_histogram"]
    assert table["bin"].n_unique() == 2
    rng = np.random.default_rng(0)
    for _ in range(20):
        row = rng.random(5)
        table = renormalized([rng.permutation(row).tolist() for _ in range(9)]).state.tables["score_histogram"]
        assert table["bin"].n_unique() == 5


def test_renormalized_rows_of_the_same_sum_tie():
    """0.1 + 0.2 is no 0.3, but here it is."""
    rows = [[0.1, 0.2, 0, 0, 0], [0.1, 0.15, 0.05, 0, 0], [0.1, 0.05, 0.05, 0.05, 0.05], [0.1, 0.1, 0.1, 0, 0]]
    table = renormalized(rows).state.tables["score_histogram"].filter(label=0)
    assert table["bin"].n_unique() == 1


def test_renormalized_ranking_is_that_of_the_decimals():
    rng = np.random.default_rng(3)
    hundredths = rng.multinomial(95, [0.2] * 5, size=400)
    rows = hundredths / 100
    truth = rng.integers(0, 5, 400)
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(5)}, renormalize=True)
    report = acc.update({"y": truth} | {f"p{i}": rows[:, i] for i in range(5)}).finalize()
    for label in range(5):
        assert report.get("roc_auc", label=label).value == pytest.approx(
            sk.roc_auc_score(truth == label, hundredths[:, label]), abs=1e-15
        )


def test_renormalized_rows_keep_what_is_certain():
    for x in (0.1234567890123456789, 5e-324, 8e307, 7.0, np.nextafter(0.3, 1)):
        table = renormalized([[x, 0, 0, 0, 0], [x, x, 0, 0, 0]]).state.tables["class_loss"]
        assert table["brier_sum"].to_list() == [0.0, 0.5]
    with pytest.raises(sm.DataError, match="whose sum overflows in 1 of 2 rows"):
        renormalized([SHORT, [1e308, 1e308, 0, 0, 0]])


def test_row_sums_are_exact():
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.random((200, 30)), rng.random((200, 30)) ** 9 * 10.0 ** rng.integers(-9, 9, (200, 30))])
    sums = core.row_sums(list(rows.T))
    assert sums.tolist() == [math.fsum(row) for row in rows]
    decimals = rng.integers(0, 10**9, (300, 7))
    assert core.row_sums(list((decimals / 1e12).T)).tolist() == (decimals.sum(axis=1) / 1e12).tolist()
    assert np.isnan(core.row_sums([np.array([0.5]), np.array([np.nan])])).all()


def test_renormalized_rows_with_nulls_are_dropped():
    acc = sm.multiclass(y_true="y", y_score={"a": "a", "b": "b"}, renormalize=True, nulls="drop")
    report = acc.update({"y": ["a", "b"], "a": [3, None], "b": [1, 7]}).finalize()
    assert (report["rows"].value, report["dropped"].value) == (1, 1)


def test_renormalized_probabilities():
    frame = predictions(5)
    scaled = frame.with_columns(pl.col(SCORES.values()) * pl.col("w"))
    acc = sm.multiclass(y_true="y", y_score=SCORES, renormalize=True)
    found, expected = (acc.empty().update(f).finalize().frame for f in (scaled, frame))
    assert_frame_equal(found, expected, rel_tol=1e-12)
    with pytest.raises(sm.DataError, match="that are all 0 in 1 of 400 rows"):
        acc.update(
            frame.with_columns(
                pl.when(pl.int_range(pl.len()) == 7).then(0.0).otherwise(pl.col(SCORES.values())).name.keep()
            )
        )
    assert acc.seen == 0


SPECIFICATIONS = {
    "nothing predicted": ({}, "y_score=, y_pred=, or both"),
    "no labels": ({"y_score": "p"}, "Map each label to a column"),
    "text": ({"y_score": "p", "labels": "abc"}, "of one type, got 'abc'"),
    "mixed": ({"y_score": {1: "p", "b": "q"}}, "of one type, got 1, 'b'"),
    "equal": ({"y_score": "p", "labels": [True, 1, 0]}, "of one type"),
    "twice": ({"y_score": "p", "labels": ["a", "b", "a"]}, "'a' is repeated"),
    "null": ({"y_score": {None: "p", "b": "q"}}, "must not contain null or NaN"),
    "NaN": ({"y_score": {float("nan"): "p", 1.0: "q"}}, "must not contain null or NaN"),
    "days": ({"y_score": "p", "labels": DAYS}, "strings, numbers, or Booleans"),
    "wide integers": ({"y_score": "p", "labels": [2**80, 1]}, "strings, numbers, or Booleans"),
    "lists": ({"y_score": "p", "labels": [[1], [2]]}, "strings, numbers, or Booleans"),
    "other labels": ({"y_score": {"a": "p", "c": "q"}, "labels": ["a", "b"]}, "'a', 'c', but the labels are 'a', 'b'"),
    "order of others": (
        {"y_score": {"a": "p", "b": "q"}, "order": ["a", "c"]},
        "'a', 'b', but the labels are 'a', 'c'",
    ),
    "order of fewer": (
        {"y_pred": "z", "labels": ["a", "b"], "order": ["a"]},
        "orders the labels 'a', but the .* are 'a', 'b'",
    ),
    "order twice": ({"y_pred": "z", "order": ["a", "a"]}, "'a' is repeated"),
    "unnamed models": ({"y_pred": {0: "z", 1: "z"}}, "each must have a name"),
    "other models": ({"y_pred": {"m": "z"}, "y_score": {"n": {"a": "p", "b": "q"}}}, "the same models"),
    "pairs of nothing": ({"y_pred": "z", "one_vs_one": True}, "one_vs_one= requires y_score="),
}


@pytest.mark.parametrize(("options", "message"), SPECIFICATIONS.values(), ids=SPECIFICATIONS)
def test_specifications_that_do_not_fit(options, message):
    with pytest.raises(sm.SpecificationError, match=message):
        sm.multiclass(y_true="y", **options)


@pytest.mark.parametrize(
    ("statistic", "roles", "message"),
    [
        (sm.ConfusionMatrix(), {"y_score": "p"}, "Map each label to a column"),
        (sm.ConfusionMatrix(), {}, "ConfusionMatrix requires y_pred=, or y_score="),
        (sm.ConfusionMatrix(), {"y_pred": "z", "task": "binary"}, "ConfusionMatrix cannot be used in binary tasks"),
        (sm.ProbabilityLoss(), {"y_score": "p", "task": "regression"}, "ProbabilityLoss cannot be used in regression"),
        (sm.ClassLoss(), {"y_pred": "z"}, "ClassLoss requires y_score="),
        (sm.ConfusionCounts(), {"y_score": "p", "labels": ["a"]}, "labels= applies to multiclass"),
        (sm.Histogram(of="y_pred"), {"y_pred": "z", "task": "multiclass"}, "Histogram requires a score for each label"),
    ],
)
def test_statistics_that_the_columns_cannot_feed(statistic, roles, message):
    with pytest.raises(sm.SpecificationError, match=message):
        sm.Accumulator(statistic, y_true="y", **roles)


def test_an_order_declares_the_labels():
    acc = sm.multiclass(y_true="y", y_pred="z", order=["low", "mid", "high"])
    acc.update({"y": ["low", "high", "mid"], "z": ["low", "mid", "mid"]})
    assert acc.finalize().rows("f1")["label"].to_list() == ["low", "mid", "high"]
    assert acc.finalize()["kappa(weights=linear)"].value == exactly(
        sk.cohen_kappa_score([0, 2, 1], [0, 1, 1], weights="linear")
    )
    advice = "Pass labels= or order= with every label, or drop these rows first"
    with pytest.raises(sm.DataError, match=f"labels other than 'low', 'mid', 'high' .*{advice}"):
        acc.update({"y": ["none"], "z": ["low"]})


@pytest.mark.parametrize("nulls", ["raise", "drop"])
def test_fractions_are_not_predictions_of_integer_classes(nulls):
    task = sm.multiclass(y_true="y", y_pred="p", nulls=nulls)
    fault = (
        r"'p' contains fractions, but the labels of 'y' are integers in 3 of 4 rows \(first: 0.1 at row 0 of the batch"
    )
    with pytest.raises(sm.DataError, match=fault):
        task.update({"y": [0, 1, 2, 1], "p": [0.1, 1.2, 2.0, 0.8]})
    assert task.seen == 0
    assert task.update({"y": [0, 1, 2], "p": [0.0, 1.0, 1.0]}).seen == 3
    stars = sm.multiclass(y_true="y", y_pred="p", nulls=nulls)
    assert stars.update({"y": [0.5, 1.0], "p": [0.5, 1.5]}).finalize()["accuracy"].value == 0.5

"""Batches of several classes: labels of any type, sums of probabilities, and renormalized rows."""

from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from data import DIGITS, digits
from polars.testing import assert_frame_equal

import streammetrics as sm

TWO = {"y_true": "y", "y_score": {"a": "a", "b": "b"}}


def test_integers_and_floats_are_the_same_labels():
    """As pandas reads integers with a missing value."""
    batches = [{"y": [1, 2], "z": [1.0, 1.0]}, {"y": [2.0, -0.0], "z": [2, 0]}]
    acc = sm.multiclass(y_true="y", y_pred="z")
    assert sm.accumulate(batches, acc).to_bytes() == sm.accumulate(batches[::-1], acc).to_bytes()
    report = sm.accumulate(batches, acc).finalize()
    assert [report.get("recall", label=label).value for label in (0, 1, 2)] == [1.0, 1.0, 0.5]
    stars = sm.multiclass(y_true="y", y_pred="z").update({"y": [0.5, 1.0], "z": [0.5, 1.5]})
    assert stars.finalize()["accuracy"].value == 0.5


def test_null_labels_are_dropped_whatever_the_type_of_the_batch():
    acc = sm.multiclass(y_true="y", y_pred="z", nulls="drop")
    acc.update({"y": [None, None], "z": [None, None]})
    assert acc.finalize()["accuracy"].value is None
    acc.update({"y": ["a", None, "b"], "z": ["a", "b", None]}).update({"y": [None], "z": ["c"]})
    report = acc.finalize()
    assert (report["rows"].value, report["dropped"].value, report["accuracy"].value) == (1, 5, 1.0)
    assert acc.state.tables["confusion_matrix"].rows() == [(0, "a", "a", 1)]


def test_integers_booleans_and_categories_are_declared_labels():
    for labels, y in (
        (np.array([3, 5]), pl.Series([3, 5], dtype=pl.Int8)),
        (np.array([True, False]), pl.Series([True, False])),
        (np.array(["a", "b"]), pl.Series(["a", "b"], dtype=pl.Categorical)),
        (pl.Series([0.5, 2.0]), pl.Series([0.5, 2.0], dtype=pl.Float32)),
        ((3, 5), pl.Series([3.0, 5.0])),
    ):
        acc = sm.multiclass(y_true="y", y_score=dict(zip(list(labels), "pq", strict=True)))
        acc.update({"y": y, "p": [0.9, 0.2], "q": [0.1, 0.8]})
        assert acc.finalize()["accuracy"].value == 1.0
        loaded = sm.Accumulator.from_bytes(acc.to_bytes())
        assert (loaded.to_bytes(), loaded.roles) == (acc.to_bytes(), acc.roles)


def test_sums_within_the_tolerance_pass():
    p = np.random.default_rng(0).dirichlet(np.ones(300), 50).astype(np.float32)
    columns = {f"p{i}": p[:, i] for i in range(300)} | {"y": p.argmax(axis=1)}
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(300)})
    assert acc.copy().update(columns).finalize()["accuracy"].value == 1.0
    with pytest.raises(sm.errors.DataError, match="50 of 50"):
        acc.update(columns | {f"p{i}": p[:, i] / 2 for i in range(300)})


SHORT = [0.75, 0.05, 0.05, 0.05, 0.05]  # sums to 0.95, in floats to one of several numbers


def renormalized(rows):
    acc = sm.multiclass(y_true="y", y_score="p", labels=tuple("abcde"), renormalize=True)
    return acc.update(pl.DataFrame({"y": ["abcde"[i % 5] for i in range(len(rows))], "p": rows}))


def test_renormalized_probabilities_are_those_that_were_scaled():
    rows = digits()[:400]
    scaled = rows.with_columns(pl.col(DIGITS["y_score"].values()) * (1 + pl.int_range(400) / 7))
    acc = sm.multiclass(renormalize=True, **DIGITS)
    found, expected = (acc.empty().update(frame).finalize().frame for frame in (scaled, rows))
    assert_frame_equal(found, expected, rel_tol=1e-12)
    votes = sm.multiclass(renormalize=True, nulls="drop", **TWO)
    report = votes.update({"y": ["a", "b", "a"], "a": [3, 0, None], "b": [1, 7, 1]}).finalize()
    assert report["log_loss"].value == pytest.approx(-np.log(0.75) / 2)
    assert (report["rows"].value, report["dropped"].value) == (2, 1)


def test_renormalized_rows_of_the_same_numbers_or_sums_tie():
    """The order of the addends moves the last bit of a sum, and 0.1 + 0.2 is no 0.3, but here it is."""
    rows = [SHORT, *(SHORT[i:] + SHORT[:i] for i in range(1, 5)), SHORT[::-1]]
    assert len({reduce(add, row) for row in rows}) > 1  # sum() is more precise since Python 3.12
    assert renormalized(rows).state.tables["score_histogram"]["bin"].n_unique() == 2
    rng = np.random.default_rng(0)
    for _ in range(20):
        row = rng.random(5)
        table = renormalized([rng.permutation(row).tolist() for _ in range(9)]).state.tables["score_histogram"]
        assert table["bin"].n_unique() == 5
    rows = [[0.1, 0.2, 0, 0, 0], [0.1, 0.15, 0.05, 0, 0], [0.1, 0.05, 0.05, 0.05, 0.05], [0.1, 0.1, 0.1, 0, 0]]
    assert renormalized(rows).state.tables["score_histogram"].filter(label=0)["bin"].n_unique() == 1


def test_renormalized_ranking_is_that_of_the_decimals():
    rng = np.random.default_rng(3)
    hundredths, truth = rng.multinomial(95, [0.2] * 5, size=400), rng.integers(0, 5, 400)
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(5)}, renormalize=True)
    report = acc.update({"y": truth} | {f"p{i}": hundredths[:, i] / 100 for i in range(5)}).finalize()
    for label in range(5):
        expected = sk.roc_auc_score(truth == label, hundredths[:, label])
        assert report.get("roc_auc", label=label).value == pytest.approx(expected, abs=1e-15)


def test_renormalized_rows_keep_what_is_certain():
    for x in (0.1234567890123456789, 5e-324, 8e307, 7.0, np.nextafter(0.3, 1)):
        table = renormalized([[x, 0, 0, 0, 0], [x, x, 0, 0, 0]]).state.tables["class_loss"]
        assert table["brier_sum"].to_list() == [0.0, 0.5]


def test_models_of_scores_are_paired_on_the_rows_that_both_scored():
    task = {"y_true": "y", "y_score": {"one": {"a": "a", "b": "b"}, "other": {"a": "c", "b": "d"}}}
    rows = pl.DataFrame({"y": ["a", "b", "a", "b"], "a": [0.9, 0.2, None, 0.4], "c": [0.4, 0.7, 0.9, 0.1]})
    rows = rows.with_columns(b=1 - pl.col("a"), d=1 - pl.col("c"))
    some = sm.multiclass(**task, nulls="drop").update(rows).state.tables["paired_matches"]
    assert_frame_equal(some, sm.multiclass(**task).update(rows.drop_nulls()).state.tables["paired_matches"])

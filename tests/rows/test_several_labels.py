"""Rows with several labels: one binary task each, lists of labels, and rows that are dropped."""

import polars as pl
import pytest
from data import TOPICS, topics
from polars.testing import assert_frame_equal
from strategies import use_small_chunks

import streammetrics as sm

TRUE, SCORE = TOPICS["y_true"], TOPICS["y_score"]
PRED = {label: f"z_{label}" for label in TRUE}
ROWS = topics().with_columns(g=pl.int_range(1_000) % 2, **{z: pl.col(SCORE[label]) > 0.4 for label, z in PRED.items()})
BINARY = ("roc_auc", "average_precision", "ks", "best_f1", "log_loss", "brier_score", "ece", "mcc", "kappa", "accuracy")


@pytest.mark.parametrize("capacity", [16, 4096])
def test_one_label_is_a_binary_task(capacity):
    report = sm.multilabel(y_true=TRUE, y_score=SCORE, by="g", capacity=capacity).update(ROWS).finalize()
    for label in TRUE:
        task = sm.binary(y_true=TRUE[label], y_score=SCORE[label], by="g", capacity=capacity).update(ROWS).finalize()
        for metric in BINARY:
            found, expected = report.rows(metric, label=label), task.rows(metric)
            assert_frame_equal(found.drop("label"), expected.select(found.drop("label").columns), rel_tol=1e-12)
        for kind in ("roc", "pr", "calibration") if capacity == 4096 else ():
            assert report.curve(kind).filter(label=label).drop("label").equals(task.curve(kind))
        point = report.operating_point(maximize="youden_j").filter(label=label).drop("label")
        assert point.equals(task.operating_point(maximize="youden_j").select(point.columns))


@pytest.mark.parametrize("kind", [pl.List, lambda inner: pl.Array(inner, 3)], ids=["lists", "arrays"])
def test_lists_are_as_columns(kind):
    lists = ROWS.select(
        y=pl.concat_list(pl.col(TRUE.values()).cast(pl.Int8)).cast(kind(pl.Int8)),
        z=pl.concat_list(PRED.values()).cast(kind(pl.Boolean)),
        p=pl.concat_list(SCORE.values()).cast(kind(pl.Float64)),
    )
    columns = sm.multilabel(y_true=TRUE, y_pred=PRED, y_score=SCORE).update(ROWS).finalize().frame
    for predicted in ({"y_pred": "z", "labels": [*TRUE]}, {"y_pred": PRED}):
        listed = sm.multilabel(y_true="y", y_score="p", **predicted).update(lists.hstack(ROWS))
        assert listed.finalize().frame.equals(columns)


def test_nulls_and_weights_of_zero_drop_the_row_for_all_labels():
    acc = sm.multilabel(y_true={"a": "y", "b": "v"}, y_pred={"a": "z", "b": "u"}, nulls="drop", sample_weight="w")
    batch = {
        "y": [1, None, 1, 0],
        "v": [1, 1, 1, 0],
        "z": [1, 1, 1, 0],
        "u": [1, 1, None, 1],
        "w": [2.0, 1.0, 1.0, 0.0],
    }
    report = acc.update(batch).finalize()
    assert (report["rows"].value, report["dropped"].value) == (1, 3)
    assert report.get("true_positives", label="b").value == 2
    for values in ([], [None, None]):
        listed = sm.multilabel(y_true="y", y_score="p", labels=["a", "b"], nulls="drop")
        assert listed.update({"y": values, "p": values}).finalize()["dropped"].value == len(values)


def test_batches_in_which_no_row_is_left_keep_the_fractions_of_others(monkeypatch):
    """Of no rows numpy makes sums of floats integers."""
    use_small_chunks(monkeypatch, rows=4)
    acc = sm.multilabel(y_true={"a": "y", "b": "v"}, y_pred={"a": "z", "b": "u"}, nulls="drop")
    for y in (1, None, 1, None):
        acc.update({"y": [y] * 3, "v": [1] * 3, "z": [1] * 3, "u": [0] * 3})
    assert acc.finalize()["samples_jaccard"].value == 0.5


def test_a_single_label():
    acc = sm.multilabel(y_true={"a": "y"}, y_score={"a": "p"}).update({"y": [1, 0, 1], "p": [0.9, 0.6, 0.4]})
    report, task = acc.finalize(), sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1], "p": [0.9, 0.6, 0.4]})
    assert report.get("roc_auc", label="a") == report["roc_auc(average=micro)"] == task.finalize()["roc_auc"]
    assert report["subset_accuracy"] == task.finalize()["accuracy"]
    listed = sm.multilabel(y_true="y", y_score="p", labels=["a"]).update({"y": [[1], [0]], "p": [[0.9], [0.6]]})
    assert listed.finalize()["subset_accuracy"].value == 0.5

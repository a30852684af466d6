"""Rows that fit alone, but not with their other half: they do not come to wait, and never stop a joiner."""

import math
import shutil

import polars as pl
import pytest
from late_rows import FIRST, day, labels, made, scores
from steps import killed

import streammetrics as sm


def dying(add, *batch, **options):
    """Add a batch, but die between the commit to the waiting rows and the commit to the history."""
    with killed(1):
        add(*batch, **options)
        pytest.fail("did not die")


def models(*names):
    return sm.Accumulator(
        sm.statistics.ConfusionCounts(), y_true="clicked", y_score={name: name for name in names}, by="day"
    )


def scored(ids, *names, number=0):
    return {"id": [*ids], "day": [day(number)] * len(ids)} | {name: [i % 10 / 10 for i in ids] for name in names}


def rows_of_models(joiner):
    return dict(joiner.store.query().finalize(["rows"]).frame.select("model", "value").iter_rows())


@pytest.mark.thorough
def test_a_model_can_be_added_while_scores_wait(tmp_path):
    old, new = made(tmp_path, models("a")), made(tmp_path, models("a", "b"))
    old.add_scores(scored(range(10), "a"))
    old.add_labels(labels([0]))
    new.add_scores(scored(range(10, 16), "a", "b"))
    dying(new.add_labels, labels([1, 2, 10]))
    assert new.add_labels(labels([3, 11, 12])) == sm.Joined(matched=3)
    assert rows_of_models(new) == {"a": 7, "b": 3}
    dying(new.add_labels, {"id": [1, 12], "clicked": [1, 1]}, correct=True)
    assert new.add_labels({"id": [0], "clicked": [0]}, correct=True) == sm.Joined(corrected=1)
    assert rows_of_models(new) == {"a": 7, "b": 3}
    right = {0: 0, 1: 1, 2: 0, 3: 1, 10: 0, 11: 0, 12: 1}
    direct = models("a").update(scored([*right], "a") | {"clicked": [*right.values()]})
    found = [acc.finalize(["accuracy"]).frame.filter(model="a")["value"].item() for acc in (new.store.query(), direct)]
    assert found[0] == found[1]


@pytest.mark.thorough
def test_a_model_that_was_added_before_the_first_label(tmp_path):
    old, new = made(tmp_path, models("a")), made(tmp_path, models("a", "b"))
    old.add_scores(scored([1, 2], "a"))
    new.add_scores(scored([3], "a", "b"))
    assert new.add_labels(labels([3, 2])).matched == 2
    assert old.add_labels(labels([2, 3])) == sm.Joined(duplicates=2)
    assert new.add_labels(labels([1])).matched == 1
    assert rows_of_models(new) == {"a": 3, "b": 1}
    old.add_scores(scored([4], "a"))  # and dropped again
    assert old.add_labels(labels([4])).matched == 1
    assert rows_of_models(new) == {"a": 4, "b": 1}


def test_rows_of_too_many_groups_do_not_wait(tmp_path):
    acc = sm.Accumulator(sm.statistics.ScoreHistogram(), y_true="clicked", y_score="p", by=["day", "id"], max_groups=3)
    joiner = made(tmp_path, acc)
    joiner.add_scores(scores(range(20)))
    with pytest.raises(sm.errors.DataError, match="more than 3 groups"):
        joiner.add_labels(labels(range(4)))
    assert joiner.coverage()["labeled"].to_list() == [0]
    dying(joiner.add_labels, labels(range(3)))
    assert joiner.add_labels(labels(range(3, 6))).matched == 3
    assert joiner.add_labels({"id": [0, 3, 5], "clicked": [0, 0, 1]}, correct=True).corrected == 3
    assert joiner.store.query().seen == 6


def test_batches_that_are_settled_together_may_have_more_groups(tmp_path):
    acc = sm.Accumulator(sm.statistics.ScoreHistogram(), y_true="clicked", y_score="p", by=["day", "id"], max_groups=3)
    joiner = made(tmp_path, acc)
    joiner.add_scores(scores(range(20)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "streammetrics.monitor.joining.joiner.Joiner._settle", lambda joiner, *_: joiner._waiting.table.find()
        )  # another process does it
        for first in (0, 3, 6):
            joiner.add_labels(labels(range(first, first + 3)))
    joiner.add_labels(labels([9]))
    assert joiner.store.query().seen == 10


CLASSES = {"acc": sm.multiclass(y_true="clicked", y_pred="p", by="day")}


def test_scores_and_labels_of_types_that_do_not_fit_together(tmp_path):
    joiner = made(tmp_path, **CLASSES)
    joiner.add_scores({"id": [1, 2], "p": ["cat", "dog"], "day": [FIRST] * 2})
    with pytest.raises(sm.errors.ColumnError, match=r"Class labels have different types .*: Int64 and String"):
        joiner.add_labels({"id": [1], "clicked": [3]})
    dying(joiner.add_labels, {"id": [1], "clicked": ["cat"]})
    assert joiner.add_labels({"id": [2], "clicked": ["cat"]}).matched == 1
    assert joiner.store.query().finalize()["accuracy"].value == 0.5


def test_types_are_compared_before_the_first_rows_match(tmp_path):
    joiner = made(tmp_path, **CLASSES)
    joiner.add_labels({"id": [1, 2], "clicked": ["cat", "dog"]})
    with pytest.raises(sm.errors.ColumnError, match="Class labels have different types"):
        joiner.add_scores({"id": [7], "p": [3], "day": [FIRST]})
    assert joiner.add_scores({"id": [1], "p": ["cat"], "day": [FIRST]}).matched == 1


def test_an_error_of_a_joined_row_names_its_key(tmp_path):
    weight = (pl.col("p") * pl.col("n")).alias("weight")
    acc = sm.binary(y_true="clicked", y_score="p", by="day", sample_weight=weight)
    joiner = made(tmp_path, acc, labels=["clicked", "n"], key=["id", "shop"])
    joiner.add_scores(scores([5, 6]) | {"shop": ["x", "y"]})
    truth = labels([5, 6]) | {"shop": ["x", "y"]}
    with pytest.raises(sm.errors.DataError, match=r"first: -0.6 at the row with id=6, shop='y'"):
        joiner.add_labels(truth | {"n": [1.0, -1.0]})
    assert joiner.add_labels(truth | {"n": [1.0, 2.0]}).matched == 2


@pytest.mark.parametrize("name", ["_waiting", "_waiting/_delta_log"])
def test_rows_that_were_deleted_are_missed(tmp_path, name):
    joiner = made(tmp_path)
    joiner.add_scores(scores([1, 2]))
    joiner.add_labels(labels([1]))
    shutil.rmtree(tmp_path / "history" / name)
    with pytest.raises(sm.errors.StateError, match=r"_waiting are older than the history. Restore the folder"):
        joiner.add_labels(labels([2]))


@pytest.mark.thorough
def test_the_first_batch_fixes_no_narrow_type(tmp_path):
    acc = sm.regression(y_true="paid", y_pred="p", sample_weight="w", by=["day", "of"])
    joiner = made(tmp_path, acc, labels=["paid", "w"])
    some = {"day": [FIRST], "of": pl.Series([1], dtype=pl.Int8)}
    joiner.add_scores({"id": pl.Series([1], dtype=pl.Int32), "p": [3]} | some)
    joiner.add_labels({"id": pl.Series([1], dtype=pl.UInt8), "paid": [True], "w": [1]})
    joiner.add_scores({"id": [2**40], "p": [0.5]} | some | {"of": [2**40]})
    assert joiner.add_labels({"id": [2**40], "paid": [0.25], "w": [1.5]}).matched == 1
    rows = {"day": [FIRST] * 2, "of": [1, 2**40], "p": [3.0, 0.5], "paid": [1.0, 0.25], "w": [1.0, 1.5]}
    assert joiner.store.query(every="1d", by="of").to_bytes() == acc.update(rows).to_bytes()


def test_nan_among_labels_of_whole_numbers_is_null(tmp_path):
    joiner = made(tmp_path, sm.binary(y_true="clicked", y_score="p", by="day", nulls="drop"))
    joiner.add_scores(scores([1, 2, 3]))
    joiner.add_labels({"id": [1], "clicked": [1]})
    assert joiner.add_labels({"id": [2, 3], "clicked": [math.nan, 0.0]}, correct=True).matched == 2
    assert joiner.store.query().finalize(["rows", "dropped"]).frame["value"].to_list() == [2, 1]

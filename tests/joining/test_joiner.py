"""Rows join whichever half comes first, count once, can be corrected, and expire."""

import math
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import deltalake
import polars as pl
import pytest
from data import CLICKS
from late_rows import FIRST, day, labels, made, scores, task
from polars.testing import assert_frame_equal
from steps import rival

import streammetrics as sm


def joined(ids, number=0):
    return task().update(scores(ids, number) | labels(ids))


def test_both_orders_of_arrival_give_what_joined_rows_give(tmp_path):
    """Under the day of the score."""
    joiner = made(tmp_path)
    assert joiner.add_labels(labels(range(50))) == sm.Joined(waiting=50)
    assert joiner.add_scores(scores(range(20, 60))) == sm.Joined(matched=30)
    assert joiner.add_scores(scores(range(60, 80), 2)) == sm.Joined()
    assert joiner.add_labels(labels(range(50, 90))) == sm.Joined(matched=30, waiting=10)
    expected = joined(range(20, 60)) + joined(range(60, 80), 2)
    assert joiner.store.query(every="1d").to_bytes() == expected.to_bytes()


def test_rows_that_come_again_change_nothing(tmp_path):
    joiner = made(tmp_path)
    joiner.add_scores(scores([1, 2, 2, 1]))
    assert joiner.add_labels(labels([1, 2, 1])) == sm.Joined(matched=2)
    before = joiner.store.query().to_bytes()
    assert joiner.add_scores(scores([1, 2]) | {"p": [0.9, 0.9]}) == sm.Joined()
    assert joiner.add_labels({"id": [1, 2], "clicked": [1, 0]}) == sm.Joined(duplicates=2)
    assert joiner.store.query().to_bytes() == before
    assert joiner.coverage().select("scores", "labeled").row(0) == (2, 2)


@pytest.mark.thorough
def test_the_first_label_counts_and_the_last_correction(tmp_path):
    """Also one that comes before the first label, and before the score."""
    joiner = made(tmp_path)
    joiner.add_labels({"id": [2], "clicked": [1]}, correct=True)
    assert joiner.add_labels({"id": [2], "clicked": [0]}).duplicates == 1
    joiner.add_scores(scores([1, 2]))
    for correct, prevalence in ((False, 1), (True, 0.5)):
        joiner.add_labels({"id": [1, 1], "clicked": [1, 0]}, correct=correct)
        assert joiner.store.query().finalize()["prevalence"].value == prevalence


@pytest.mark.parametrize("kind", ["binary", "regression", "labels", "expression"])
def test_a_null_label_does_not_stand_for_the_real_one(tmp_path, kind):
    none, value = (None, 1) if kind != "regression" else (math.nan, 1.5)
    truth = pl.col("clicked") == 1 if kind == "expression" else "clicked"
    tasks = {
        "regression": sm.regression(y_true="clicked", y_pred="p", by="day", nulls="drop"),
        "labels": sm.multiclass(y_true="clicked", y_pred=pl.col("p").round(), by="day", nulls="drop"),
    }
    binary = sm.binary(y_true=truth, y_score="p", by="day", nulls="drop")
    joiner = made(tmp_path, tasks.get(kind, binary))
    joiner.add_scores(scores([1, 2]))
    assert joiner.add_labels({"id": [1, 1, 3], "clicked": [none, value, none]}) == sm.Joined(matched=1)
    assert joiner.add_labels(pl.DataFrame({"id": [2], "clicked": [none]})) == sm.Joined()
    assert joiner.coverage()["labeled"].to_list() == [1]
    assert joiner.add_labels({"id": [2, 1], "clicked": [value, value]}) == sm.Joined(matched=1, duplicates=1)
    assert joiner.add_scores(scores([3])) == sm.Joined()
    assert joiner.store.query().finalize(["rows"])["rows"].value == 2
    assert joiner.add_labels({"id": [2], "clicked": [none]}, correct=True) == sm.Joined(corrected=1)
    assert joiner.store.query().finalize(["rows"])["rows"].value == 1


@pytest.mark.thorough
def test_rows_expire_and_are_counted(tmp_path):
    joiner = made(tmp_path, expires="3d")
    joiner.add_scores(scores(range(10)))
    joiner.add_labels(labels([0, 1, 2, 77]))
    joiner.add_scores(scores([20], 3))
    assert joiner.coverage()["expired"].to_list() == [0, 0]
    joiner.add_scores(scores([30], 4))
    assert joiner.coverage().rows() == [
        (day(0), 10, 3, 0.3, 0, 7, 1),
        (day(3), 1, 0, 0.0, 1, 0, 0),
        (day(4), 1, 0, 0.0, 1, 0, 0),
    ]
    assert joiner.add_scores(scores([5, 6])) == sm.Joined(late=2)
    assert joiner.add_labels(labels([0, 5, 20])) == sm.Joined(matched=1, waiting=2)
    assert joiner.add_labels(labels([0]), correct=True) == sm.Joined(waiting=1)
    assert joiner.store.query().seen == 4
    joiner.add_scores(scores([40], 9))
    found = joiner.coverage()
    assert found.select("scores", "labeled", "expired").rows() == [(10, 3, 7), (1, 1, 0), (1, 0, 1), (1, 0, 0)]
    assert found["labels_without_score"].to_list() == [1, 0, 2, 0]


@pytest.mark.parametrize(("expires", "first"), [("10d", day(0)), ("1d", date.today()), ("9000y", day(-9_000))])
def test_scores_of_the_future_let_nothing_expire(expires, first, tmp_path):
    """Old rows can still be replayed."""
    joiner, future = made(tmp_path, expires=expires), date.today() + timedelta(days=400)
    joiner.add_scores({"id": [1, 2], "p": [0.1, 0.2], "day": [first, future]})
    assert joiner.add_scores({"id": [3], "p": [0.3], "day": [first + timedelta(days=1)]}).late == 0
    assert joiner.add_labels(labels([1, 2, 3])).matched == 3


@pytest.mark.thorough
def test_a_clock_that_goes_back_loses_no_labels(tmp_path, monkeypatch):
    joiner = made(tmp_path, expires="3d")
    joiner.add_scores(scores([1]))
    joiner.add_scores(scores([2], 9))
    monkeypatch.setattr("streammetrics.monitor.joining.waiting.today", lambda: day(-300))
    assert joiner.add_labels(labels([2, 3])) == sm.Joined(matched=1, waiting=1)
    joiner.add_scores(scores([4], 20))
    monkeypatch.undo()
    assert joiner.add_scores(scores([3], 10)).matched == 1
    assert joiner.coverage().select("day", "expired").rows() == [(day(0), 1), (day(9), 0), (day(10), 0), (day(20), 0)]


@pytest.mark.thorough
@pytest.mark.parametrize("order", [range(8), (*range(4, 8), *range(4)), (0, 4, 1, 5, 2, 6, 3, 7)])
def test_many_files_are_merged_without_being_asked(order, tmp_path, monkeypatch):
    monkeypatch.setattr("streammetrics.monitor.joining.waiting.SCATTERED", 2)
    joiner = made(tmp_path)
    for number in order:
        add, batch = (joiner.add_scores, scores) if number < 4 else (joiner.add_labels, labels)
        add(batch([number % 4]))
    assert len(deltalake.DeltaTable(f"{joiner.store.uri}/_waiting").file_uris()) <= 2 + 2
    assert len(deltalake.DeltaTable(joiner.store.uri).file_uris()) <= 2
    assert joiner.store.query(every="1d").to_bytes() == joined(range(4)).to_bytes()
    assert joiner.coverage().select("scores", "labeled").row(0) == (4, 4)


@pytest.mark.thorough
def test_days_without_expired_rows_rewrite_nothing(tmp_path):
    joiner = made(tmp_path, expires="9d")
    for number in range(3):
        joiner.add_scores(scores([number], number))
        joiner.add_labels(labels([number]))
    log = deltalake.DeltaTable(f"{joiner.store.uri}/_waiting")
    assert len(log.file_uris()) == 6
    modes = [commit.get("operationParameters", {}).get("mode") for commit in log.history()]
    assert "Append" in modes
    assert "Overwrite" not in modes
    assert joiner.add_scores(scores([7], -8)).late == 1


@pytest.mark.thorough
def test_compaction_merges_files_and_changes_nothing(tmp_path):
    joiner = made(tmp_path, expires="9d")
    for number in range(12):
        joiner.add_scores(scores([number], number))
        joiner.add_labels(labels([number, 50 + number]))
    before, log = joiner.coverage(), str(tmp_path / "history" / "_waiting")
    rows = pl.read_delta(log)
    with rival(lambda: joiner.compact(vacuum=False), (deltalake, "write_deltalake")):
        joiner.compact(vacuum=False)
    left = deltalake.DeltaTable(log)
    assert_frame_equal(pl.read_delta(log), rows, check_row_order=False)
    assert len(left.file_uris()) == len(left.partitions()) < 24
    joiner.compact(vacuum=False)
    assert deltalake.DeltaTable(log).version() == left.version()
    assert joiner.coverage().equals(before)
    assert joiner.add_labels(labels([11, 5])).duplicates == 2
    assert joiner.store.query().seen == 12


def test_windows_with_a_time_zone_and_keys_of_several_columns(tmp_path):
    zone = ZoneInfo("Asia/Tokyo")
    by = [pl.col("at").dt.truncate("1d").alias("day"), pl.col("kind").cast(pl.String).alias("of")]
    joiner = made(tmp_path, task(by), key=["shop", "id"])
    rows = pl.DataFrame(
        {
            "shop": ["a", "b", "a"],
            "id": [1, 1, 2],
            "p": [0.1, 0.9, 0.4],
            "at": [datetime(2026, 1, 1, 23, tzinfo=zone), datetime(2026, 1, 2, 1, tzinfo=zone), None],
            "kind": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
        }
    )
    joiner.add_scores(rows.drop_nulls())
    truth = {"shop": ["a", "b"], "id": [1, 1], "clicked": [0, 1]}
    assert joiner.add_labels(truth).matched == 2
    direct = task(by).update(rows.drop_nulls().join(pl.DataFrame(truth), on=["shop", "id"]))
    assert joiner.store.query(every="1d", by="of").to_bytes() == direct.to_bytes()
    joiner.add_labels({"shop": ["b"], "id": [1], "clicked": [0]}, correct=True)
    assert joiner.store.query().finalize()["prevalence"].value == 0


def test_scores_of_another_time_zone_count_on_the_day_of_the_first(tmp_path):
    joiner = made(tmp_path, task([pl.col("at").dt.truncate("1d").alias("day")]))
    times = [datetime(2026, 1, 1, 16, tzinfo=UTC), datetime(2026, 1, 2, 1, tzinfo=ZoneInfo("Asia/Tokyo"))]
    for number, time in enumerate(times):
        joiner.add_scores({"id": [number], "p": [0.5], "at": [time]})
    joiner.add_labels({"id": [0, 1], "clicked": [0, 0]})
    assert joiner.add_labels({"id": [1], "clicked": [1]}, correct=True).corrected == 1
    assert joiner.coverage().select("day", "labeled").rows() == [(day(0), 2)]
    assert joiner.store.query().finalize()["prevalence"].value == 0.5


def test_the_window_is_named_if_there_are_several_times(tmp_path):
    store, by = sm.MetricStore(tmp_path / "history", window="day"), ["day", "signed_up"]
    joiner = sm.Joiner(store, task(by), key="id", expires="45d")
    joiner.add_scores(scores([1, 2], 7) | {"signed_up": [day(0), day(1)]})
    joiner.add_labels(labels([1, 2]))
    assert store.windows()["day"].to_list() == [day(7)]


def test_labels_can_bring_further_columns(tmp_path):
    acc = sm.regression(y_true="paid", y_pred="p", sample_weight="weight", by=["day", "channel"])
    joiner = made(tmp_path, acc, labels=["paid", "weight", "channel"])
    joiner.add_scores(scores([1, 2]))
    truth = {"id": [1, 2], "paid": [3.0, 4.0], "weight": [1.0, 2.0], "channel": ["a", "b"]}
    joiner.add_labels(truth)
    expected = acc.update(scores([1, 2]) | truth)
    assert joiner.store.query(every="1d", by="channel").to_bytes() == expected.to_bytes()


def test_rows_of_another_specification_do_not_wait(tmp_path):
    sm.MetricStore(tmp_path / "history").append(joined([0]), batch_id="another")
    other, joiner = made(tmp_path, sm.binary(y_true="clicked", y_score="p", by="day", nulls="drop")), made(tmp_path)
    null = pl.Series([None], dtype=pl.Float64)
    for waiting in (0, 3):
        with pytest.raises(sm.errors.MergeError):
            other.add_labels({"id": [2], "clicked": null})
        with pytest.raises(sm.errors.MergeError):
            other.add_scores({"id": [4], "p": null, "day": [FIRST]})
        assert other.coverage()["scores"].sum() == waiting
        joiner.add_scores(scores([1, 2, 3]))
    assert joiner.add_labels(labels([2, 3, 4])) == sm.Joined(matched=2, waiting=1)


def test_refused_rows_do_not_wait_and_fix_no_type(tmp_path):
    """What is refused stands in ``tests/refusals/late_labels.py``."""
    joiner, good = made(tmp_path), scores([5])
    for bad in ({"p": [7.0]}, {"id": [None]}, {"day": [None]}, {"id": pl.Series([1], dtype=pl.Int128)}):
        with pytest.raises(sm.StreamMetricsError):
            joiner.add_scores(good | bad)
        with pytest.raises(sm.StreamMetricsError):
            joiner.add_labels(labels([5]) | {"clicked": [3]} | {"id": bad.get("id", [5])})
    joiner.add_scores(good | {"id": ["any"]})
    assert joiner.coverage()["scores"].to_list() == [1]
    with pytest.raises(sm.StreamMetricsError):
        joiner.add_scores(good | {"id": [FIRST]})
    assert joiner.add_labels(labels([1, 5]) | {"id": ["5", "any"]}) == sm.Joined(matched=1, waiting=1)


def test_a_joiner_whose_first_scores_were_refused_has_no_coverage_yet(tmp_path):
    joiner = sm.Joiner(sm.MetricStore(tmp_path), sm.binary(by="day", **CLICKS), key="id", expires="45d")
    with pytest.raises(sm.StreamMetricsError):
        joiner.add_scores({"id": [1], "score": [0.7], "day": [None]})
    assert joiner.add_labels({"id": [], "clicked": []}) == sm.Joined()
    assert joiner.coverage().is_empty()
    assert not [*tmp_path.iterdir()]

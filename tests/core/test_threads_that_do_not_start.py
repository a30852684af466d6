"""Threads that cannot start, for lack of memory or because there are too many: work is done without them."""

import threading

import polars as pl
import pytest

import streammetrics as sm
from streammetrics import pipeline
from streammetrics.base import threads
from streammetrics.statistics.state import content

BATCH = pl.DataFrame({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})


def raising(error):
    def start(*_):
        raise error

    return start


FAILURES = {
    "no memory for its first line": lambda *_: 7,  # a thread that ended, as if it had started
    "too many": raising(RuntimeError("can't start new thread")),
    "no memory": raising(MemoryError()),
}


@pytest.fixture(autouse=True, params=FAILURES.values(), ids=FAILURES.keys())
def _no_threads(request, monkeypatch):
    monkeypatch.setattr(threads, "start_new_thread", request.param)
    monkeypatch.setattr(threading, "_start_new_thread", request.param, raising=False)
    monkeypatch.setattr(threads, "STEPS", 2)
    monkeypatch.setattr(pipeline, "STEPS", 2)
    monkeypatch.setattr(pipeline, "GRACE", 2)
    monkeypatch.setattr(content, "BUFFER", 4)


def test_an_update_ends_and_its_lock_is_free():
    acc = sm.binary(y_true="y", y_score="p").update(BATCH).update(BATCH[:1]).update(BATCH[:1])
    assert acc.flush().seen == 5
    assert not acc._own_lock._is_owned()


def test_a_pass_without_any_thread_says_so_and_changes_nothing():
    acc = sm.binary(y_true="y", y_score="p").update(BATCH)
    with pytest.raises(sm.StreamMetricsError, match="Cannot start a thread"):
        sm.accumulate([BATCH], into=acc)
    assert acc.seen == 3


def test_states_are_loaded_without_further_threads(tmp_path):
    for name in "ab":
        sm.binary(y_true="y", y_score="p").update(BATCH).save(tmp_path / f"{name}.state")
    assert sm.Accumulator.load(tmp_path).seen == 6
    (tmp_path / "b.state").write_bytes(b"")
    with pytest.raises(sm.errors.StateError, match=r"b\.state"):
        sm.Accumulator.load(tmp_path)

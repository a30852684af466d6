"""Processes that append, and are killed at any moment or race with others: every batch is there exactly once."""

import os
import random
import signal
import time
from datetime import date
from itertools import count

import pytest
from processes import received, start

import streammetrics as sm

DAYS = 3


def batch(number):
    """One row in a segment of its own, and one that it shares with other batches."""
    acc = sm.Accumulator(sm.statistics.ErrorMoments(), y_true="y", y_pred="p", by=["day", "segment"])
    day = date(2026, 1, 1 + number % DAYS)
    return acc.update({"y": [1.0, number], "p": [0.1, 0.3], "day": [day, day], "segment": [f"{number}", "all"]})


def append_batches(uri, numbers, sender):
    """Append batches, and say which are there; compact now and then."""
    store = sm.MetricStore(uri)
    for number in numbers:
        store.append(batch(number), batch_id=f"{number}")
        sender.send(number)
        if number % 3 == 1:
            store.compact()


def append_forever(uri, first, sender):
    append_batches(uri, count(first), sender)


def require_each_once(uri, numbers):
    store = sm.MetricStore(uri)
    rows = store.query(by="segment").finalize(["rows"]).frame
    rows = dict(rows.select("segment", "value").iter_rows())
    assert rows.pop("all") == len(numbers)
    assert rows == dict.fromkeys(map(str, numbers), 1)
    assert not any(store.append(batch(number), batch_id=f"{number}") for number in numbers)


def kill(uri, times, seed):
    rng = random.Random(seed)
    acknowledged = []
    for _ in range(times):
        process, receiver = start(append_forever, uri, len(acknowledged))
        if rng.random() < 0.8:
            receiver.poll(60)
        time.sleep(rng.uniform(0, 0.08))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        acknowledged += received(receiver)
    found = sm.MetricStore(uri).query(by="segment").state.keys["segment"].to_list()
    committed = len(acknowledged) + (str(len(acknowledged)) in found)  # one may have been killed before it said so
    assert acknowledged == list(range(len(acknowledged)))
    require_each_once(uri, range(committed))
    return len(acknowledged)


@pytest.mark.thorough
def test_what_a_killed_process_said_is_there_is_there_once(tmp_path):
    assert kill(str(tmp_path / "store"), times=16, seed=0) > 6


@pytest.mark.long
def test_what_many_killed_processes_said_is_there_is_there_once(tmp_path):
    assert kill(str(tmp_path / "store"), times=200, seed=1) > 80


@pytest.mark.thorough
def test_processes_that_race_lose_nothing_and_double_nothing(tmp_path):
    uri, ours, theirs = str(tmp_path / "store"), range(14), range(10, 24)
    writers = [start(append_batches, uri, numbers) for numbers in (ours, theirs)]
    for numbers, (process, receiver) in zip((ours, theirs), writers, strict=True):
        assert list(received(receiver)) == list(numbers)
        process.join()
        assert process.exitcode == 0
    require_each_once(uri, range(24))

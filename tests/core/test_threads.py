"""Accumulators shared by threads: every row that was acknowledged is seen exactly once."""

import contextlib
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from data import CLICKS, clicks

import streammetrics as sm
from streammetrics.base.threads import uninterrupted
from streammetrics.data.rows import batches
from streammetrics.statistics.state import content
from streammetrics.statistics.state.counters import Counters

BATCH = clicks()[:1_000]


def task():
    return sm.binary(by="country", capacity=64, **CLICKS)


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch):
    monkeypatch.setattr(content, "BUFFER", 4_000)


def together(*works):
    """Run functions at once, each in a thread of its own, and raise what one of them raises."""
    with ThreadPoolExecutor(len(works)) as pool:
        ready = threading.Barrier(len(works))

        def run(work):
            ready.wait()
            work()

        for future in [pool.submit(run, work) for work in works]:
            future.result(timeout=120)


def counts(acc):
    return acc.to_arrow().select(["country", "row_counts", "confusion_counts", "score_histogram"])


def many(acc, batches):
    def work():
        for _ in range(batches):
            acc.update(BATCH)

    return work


def test_many_threads_update_and_absorb_into_one_accumulator():
    parts, total = [task().update(BATCH) for _ in range(40)], task()
    shares = [parts[i::4] for i in range(4)]
    together(*(lambda share=share: [total.absorb(part) for part in share] for share in shares), *[many(total, 20)] * 4)
    assert total.seen == 120 * BATCH.height
    assert all(part.seen == BATCH.height for part in parts)
    assert counts(total).equals(counts(task().update(pl.concat([BATCH] * 120))))


def test_rows_are_read_while_others_write():
    acc, seen, writing = task(), [], threading.Event()
    writing.set()

    def write():
        many(acc, 40)()
        writing.clear()

    def read():
        while writing.is_set():
            seen.append(acc.finalize().rows("rows")["value"].sum())
            repr(acc), acc.to_bytes(), acc.rollup(), acc.filter(pl.col("country") == "FR"), pickle.dumps(acc)

    together(write, read, read)
    assert all(rows % BATCH.height == 0 for rows in seen)
    assert acc.seen == 40 * BATCH.height


def test_accumulators_absorb_each_other_at_once():
    one, other = task().update(BATCH), task().update(BATCH)

    def absorb(acc, more):
        for _ in range(10):
            acc.absorb(more)

    together(lambda: absorb(one, other), lambda: absorb(other, one))
    assert one.seen >= 11 * BATCH.height
    assert one.seen % BATCH.height == other.seen % BATCH.height == 0


@pytest.mark.whole
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_step_ends_before_handlers_of_signals_run(number):
    """In the main thread alone, and handlers are back also if the step fails."""
    events = []

    def handler(*_):
        events.append("handler")
        raise KeyboardInterrupt

    def step():
        with uninterrupted():
            signal.raise_signal(number)
            events.append("step")

    before = signal.signal(number, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            step()
        with pytest.raises(ZeroDivisionError), uninterrupted():
            raise ZeroDivisionError
        assert signal.getsignal(number) is handler
        with contextlib.suppress(KeyboardInterrupt):
            together(step)  # in another thread, which no handler interrupts
    finally:
        signal.signal(number, before)
    assert events[:2] == ["step", "handler"]
    assert events.count("step") == 2


def test_a_signal_handler_in_the_middle_of_an_update_is_told_and_does_no_harm(monkeypatch):
    acc, append, told = task().update(BATCH), batches.append, []

    def handler(*_):
        for use in (lambda: acc.seen, lambda: acc.update(BATCH), lambda: acc.save("never")):
            with pytest.raises(sm.StreamMetricsError, match="Set a flag in the handler") as caught:
                use()
            told.append(caught.value)

    def interrupted(held, more):
        signal.raise_signal(signal.SIGINT)
        return append(held, more)

    monkeypatch.setattr(content, "append", interrupted)
    before = signal.signal(signal.SIGINT, handler)
    try:
        acc.update(BATCH)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(told) == 3
    assert acc.seen == 2 * BATCH.height


@pytest.mark.parametrize("rows", [10, 3_000], ids=["held", "counted"])
def test_an_interrupted_update_is_finished_first(rows, monkeypatch):
    acc, add = task().update(BATCH), Counters.count
    before = pickle.dumps(acc)
    acc.update(BATCH[:2]).update(BATCH[:3])
    interrupted = pl.concat([BATCH] * 4)[:rows]

    def slow(*args):
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.1)
        add(*args)

    def update():
        acc.update(interrupted)
        time.sleep(1)  # the main thread may notice the signal of another one late

    with monkeypatch.context() as patch:
        patch.setattr(content, "BUFFER", 6)
        patch.setattr(Counters, "count", slow)
        with pytest.raises(KeyboardInterrupt):
            update()
    expected = pickle.loads(before).update(BATCH[:2]).update(BATCH[:3]).update(interrupted)
    together(lambda: acc.update(BATCH))  # the lock is free
    assert counts(acc).equals(counts(expected.update(BATCH)))

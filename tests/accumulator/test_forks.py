"""Processes made by fork never hang: they work if Polars starts there, else a clear error names spawn."""

import multiprocessing
import os
import subprocess
import sys

import pytest

SETUP = """
import multiprocessing, os, threading
import polars as pl
import streammetrics as sm

batch = {"y": [1, 0], "p": [0.9, 0.1]}

def run(made):
    try:
        return made()
    except sm.StreamMetricsError as error:
        return f"{type(error).__name__}: {error}"

def new(_=None):
    return run(lambda: sm.binary(y_true="y", y_score="p").update(batch).seen)
"""
USED = """
from streammetrics.base import forks

forks.PATIENCE = 0.2
acc = sm.binary(y_true="y", y_score="p").update(batch)
state, report = acc.to_bytes(), acc.finalize()
doors = [
    new,
    lambda: acc.update(batch), lambda: acc.seen, lambda: repr(acc), lambda: acc.absorb(acc), lambda: acc.finalize(),
    lambda: acc.to_bytes(), lambda: sm.Accumulator.from_bytes(state), lambda: sm.merge([acc, acc]), lambda: acc.copy(),
    lambda: sm.evaluate([batch], acc), lambda: sm.accumulate(pl.LazyFrame(batch), acc), lambda: report.frame,
    lambda: report["roc_auc"], lambda: str(report), lambda: report.curve("roc"),
]
"""
HISTORIES = """
from datetime import date

acc = sm.binary(y_true="y", y_score="p", by="day").update({"day": [date(2026, 1, 1)] * 2, **batch})
store, rule = sm.MetricStore(%r + "/store"), sm.Rule("rows >= 1")
store.append(acc, batch_id="1")
joiner = sm.Joiner(sm.MetricStore(store.uri + "joined"), acc.empty(), key="id", expires="9d")
doors = [
    store.query, store.windows, store.compact, lambda: store.offset("s"), lambda: sm.check(store, rule),
    lambda: sm.Rule("rows >= 1"), joiner.coverage, lambda: joiner.add_labels({"id": [1], "y": [1]}),
]
"""
IN_A_FORK = """
if os.fork():
    os.wait()
else:
    for door in doors:
        print(run(door), flush=True)
    os._exit(0)
"""


def output(code):
    quiet = ["-W", "ignore::DeprecationWarning"]  # of forks with threads, since Python 3.12
    result = subprocess.run([sys.executable, *quiet, "-c", SETUP + code], capture_output=True, text=True, timeout=120)
    assert result.stderr == ""
    return result.stdout.splitlines()


pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods() or not hasattr(os, "fork"), reason="no fork"
)


@pytest.mark.thorough
@pytest.mark.parametrize("doors", ["accumulators", "histories"])
def test_a_fork_after_use_is_told(doors, tmp_path):
    if doors == "histories":
        pytest.importorskip("deltalake")
    found = output(USED + (HISTORIES % str(tmp_path) if doors == "histories" else "") + IN_A_FORK)
    assert len(found) == {"accumulators": 16, "histories": 8}[doors]
    for line in found:
        assert line.startswith("StreamMetricsError: This process was forked after Polars")
        assert "multiprocessing.get_context('spawn')" in line


@pytest.mark.thorough
def test_a_fork_before_the_first_use_is_told_if_polars_was_used():
    code = """
pl.DataFrame({"a": range(99)}).lazy().group_by("a").len().collect()
if os.fork():
    os.wait()
else:
    from streammetrics.base import forks

    forks.PATIENCE = 0.2
    print(new(), flush=True)
    os._exit(0)
"""
    assert "'spawn'" in output(code)[0]


@pytest.mark.thorough
def test_a_fork_before_use_works_and_locks_are_free_there():
    code = """
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(*pool.map(new, range(4)), flush=True)
acc = sm.binary(y_true="y", y_score="p")

def hold():
    with acc._own_lock:
        held.set()
        done.wait()

held, done = threading.Event(), threading.Event()
threading.Thread(target=hold, daemon=True).start()
held.wait()
if os.fork():
    os.wait()
else:
    print(acc._own_lock.acquire(timeout=5), flush=True)
    os._exit(0)
"""
    assert output(code) == ["2 2 2 2", "True"]

"""Other threads can run while a large state is saved and loaded."""

import threading
import time

import numpy as np
import pytest

import streammetrics as sm

GROUPS = 1_500_000  # a state of 120 MB
LONGEST = 0.1  # seconds


@pytest.fixture(scope="module")
def acc():
    rows = {"y": np.ones(GROUPS, dtype=np.int8), "g": np.arange(GROUPS)}
    statistics = sm.statistics.ConfusionCounts(())
    return sm.Accumulator(statistics, y_true="y", y_pred="y", by="g", max_groups=None).update(rows).compact()


def longest_pause(step):
    """The longest time for which another thread did not run."""
    pauses, ended = [], threading.Event()

    def tick():
        last = time.perf_counter()
        while not ended.is_set():
            time.sleep(0.001)
            pauses.append(time.perf_counter() - last)
            last = time.perf_counter()

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        step()
    finally:
        ended.set()
        thread.join()
    return max(pauses)


@pytest.mark.thorough
@pytest.mark.parametrize("step", ["to_bytes", "from a view", "save", "load"])
def test_other_threads_run_meanwhile(acc, step, tmp_path):
    path = tmp_path / "all.state"
    if step == "load":
        acc.save(path)
    content = acc.to_bytes() if step == "from a view" else b""
    steps = {
        "to_bytes": acc.to_bytes,
        "from a view": lambda: sm.Accumulator.from_bytes(memoryview(content)),
        "save": lambda: acc.save(path),
        "load": lambda: sm.Accumulator.load(path),
    }
    pauses = []
    while min(pauses, default=1) > LONGEST and len(pauses) < 3:  # on a busy machine, a pause can be of another process
        pauses.append(longest_pause(steps[step]))
    assert min(pauses) < LONGEST

"""Ctrl-C ends a pass at once, and keeps what was processed."""

import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

import streammetrics as sm
from streammetrics.base import uninterrupted
from streammetrics.statistics.state.content import Content

PASS = """
import itertools, sys, time, threading
import polars as pl
import streammetrics as sm

batch, drawn = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.1]}), 0

def batches():
    global drawn
    for drawn in itertools.count(1):
        print(drawn, flush=True)
        yield batch
        time.sleep(PAUSE if drawn > 3 else 0)

acc = sm.binary(y_true="y", y_score="p")
try:
    sm.accumulate(batches(), into=acc, workers=WORKERS)
except KeyboardInterrupt:
    print("kept", acc.seen, "of", 2 * drawn)
"""


def interrupted(command, ready, **options):
    """The process and the seconds that it runs on after an interrupt, which comes when it has said so many lines."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        lines = [process.stdout.readline() for _ in range(ready)]
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, "".join(lines) + out, err, time.monotonic() - start


@pytest.mark.thorough
@pytest.mark.parametrize(("workers", "pause"), [(1, 0.02), (2, 3600)], ids=["a slow source", "a stuck source"])
def test_an_interrupt_ends_a_pass_over_an_iterable(workers, pause):
    code = PASS.replace("WORKERS", str(workers)).replace("PAUSE", str(pause))
    code, out, err, seconds = interrupted([sys.executable, "-c", code], ready=4)
    assert (code, err) == (0, "")
    kept, rows = map(int, out.splitlines()[-1].removeprefix("kept ").split(" of "))
    assert kept == rows
    assert seconds < 20


@pytest.mark.thorough
def test_an_interrupted_command_exits_with_130(tmp_path):
    pl.DataFrame({"y": [1, 0], "p": [0.9, 0.1]}).write_csv(tmp_path / "a.csv")
    code = f"""
import streammetrics.cli.evaluate as commands, time
from streammetrics.cli import main

def slow():
    print("reading", flush=True)
    while True:
        time.sleep(0.01)
        yield {{"y": [1, 0], "p": [0.9, 0.1]}}

accumulate = commands.accumulate
commands.accumulate = lambda paths, **options: accumulate(slow(), **options)
main(["evaluate", {str(tmp_path / "a.csv")!r}, "--y-true", "y", "--y-score", "p"])
"""
    code, _, err, seconds = interrupted([sys.executable, "-c", code], ready=1)
    assert (code, err) == (130, "Interrupted.\n")
    assert seconds < 20


def test_an_interrupt_of_the_merge_at_the_end_is_raised_after_it(monkeypatch):
    accumulators = {name: sm.binary(y_true="y", y_score="p") for name in ("first", "second")}
    first, absorb = accumulators["first"]._content, Content.absorb

    def interrupted_once(self, other):
        absorb(self, other)
        if self is first:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Content, "absorb", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        sm.accumulate([{"y": [1, 0], "p": [0.9, 0.1]}], into=accumulators, workers=2)
    assert [acc.seen for acc in accumulators.values()] == [2, 2]


def test_an_interrupt_during_imports_leaves_no_traceback(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Slow:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'streammetrics.cli':\n"
        "            import time\n"
        "            print('importing', flush=True)\n"
        "            time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    code, _, err, seconds = interrupted([sys.executable, "-m", "streammetrics", "-h"], ready=1, env=environment)
    assert (code, err) == (-signal.SIGINT, "")
    assert seconds < 20


def test_handlers_of_two_signals_run_after_a_step():
    ended = []
    before = signal.signal(signal.SIGTERM, lambda *_: ended.append("terminated"))
    try:
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            [os.kill(os.getpid(), number) for number in (signal.SIGINT, signal.SIGTERM)]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended == ["terminated"]

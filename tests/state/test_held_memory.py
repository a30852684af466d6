"""Memory that loading, merging, reporting, and saving take does not grow with the number of times."""

import subprocess
import sys

import numpy as np
import pytest

import streammetrics as sm

ROWS = 100_000
LINES = """
import gc, sys
from pathlib import Path
import streammetrics as sm

path = Path(sys.argv[1])
total = sm.Accumulator.load(path)

def round():
    loaded = sm.Accumulator.load(path)
    loaded = sm.Accumulator.from_bytes(loaded.to_bytes())
    (loaded + total).finalize(["roc_auc"]).frame
    loaded.save(path.with_name("saved" + path.suffix))

def used():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1])

for _ in range(5):
    round()
before = used()
for _ in range(15):
    round()
print((used() - before) * 4096)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("suffix", [".state", ".arrow"])
def test_rounds_of_load_merge_report_and_save_hold_the_memory(suffix, tmp_path):
    rng = np.random.default_rng(0)
    rows = {"y": rng.random(ROWS) < 0.4, "p": rng.random(ROWS), "g": rng.integers(0, 10, ROWS)}
    sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / f"all{suffix}")
    command = [sys.executable, "-c", LINES, tmp_path / f"all{suffix}"]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown < 12 << 20  # rounds that leak take 30 MB

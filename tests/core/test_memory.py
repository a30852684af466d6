"""Memory of counters: a multiple of their capacity, however many rows there are. Tasks are in bench/memory.py."""

import subprocess
import sys

import pytest

from streammetrics import core

pytestmark = pytest.mark.skipif(core.compiled is None, reason="there are no compiled loops")

CODE = """
import sys
import numpy as np
from streammetrics import core
from streammetrics.core.lattice import Lattice
from streammetrics.statistics.paired_scores import keys_of_pairs

ROWS, GROUPS, CAPACITY = 100_000, 2, 1_000
rng = np.random.default_rng(0)
one = rng.random(ROWS) ** 4
side, weight = rng.integers(0, 3, ROWS), rng.random(ROWS)
label = (side > 0).astype("u1")
runs = core.Runs(np.array([0, ROWS // 2, ROWS]), np.array([0, 1]))
values = {
    "pairs": keys_of_pairs(one, np.clip(one + rng.normal(0, 0.01, ROWS), 0, 1), "probability"),
    "margins": rng.normal(size=ROWS),
    "exponents": rng.normal(size=ROWS) * 10.0 ** rng.integers(-300, 300, ROWS),
}
counters = [
    (core.Bins(CAPACITY, False, Lattice("real").atom_keys, sides, weighted), kind, sides, weighted)
    for kind in values for sides in (1, 2, 3) for weighted in (False, True)
]

def peak():  # kB
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

def count(times):
    for bins, kind, sides, weighted in counters:
        rows = values[kind], {1: None, 2: label, 3: side}[sides], weight if weighted else None, runs, GROUPS
        for _ in range(times):
            (bins.add_classes if sides == 3 else bins.add)(*rows)
    return peak()

print(count(1), count(8))
"""


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_the_memory_of_counters_does_not_grow_with_the_rows():
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    few, many = map(int, run.stdout.split())
    assert many <= 1.05 * few, (few, many)

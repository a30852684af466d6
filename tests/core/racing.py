"""Loops over arrays that another thread changes meanwhile: ``python tests/core/racing.py [seconds]`` must end well.

A process of its own, since a loop that trusts a value which it has checked before writes outside of its cells.
"""

import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pyarrow as pa
from fuzz import REFUSED
from loops import LOOPS, Rows, arrays

import streammetrics as sm
from streammetrics import core
from streammetrics.core import Runs
from streammetrics.core.lattice import Lattice

ROWS = 300_000
WRONG = {
    "f": [0.5, 1e300, -1e300, np.nan, -np.inf, 2.0**62, -1.0],
    "i": [0, 1, 1 << 40, -(1 << 40)],
    "u": [0, 1, 255],
    "b": [True, False],
}
OF_CELLS = {"as_decimals", "fit", "is_fitted"}  # which are their own, and no columns of a user


def while_written(columns: list[np.ndarray], run, seconds: float) -> None:
    """Run again and again while another thread writes wrong values into some columns, and the right ones."""
    right, ended = [column.copy() for column in columns], threading.Event()
    run()  # which is not rejected

    @np.errstate(all="ignore")
    def write() -> None:
        random = np.random.default_rng(1)
        while not ended.is_set():
            for column, valid in zip(columns, right, strict=True):
                column[:] = valid
                wrong = np.array(random.choice(WRONG[column.dtype.kind]))
                column[random.integers(len(column)) :] = wrong.astype(column.dtype)
                column[:] = valid

    writer = threading.Thread(target=write)
    writer.start()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            with suppress(*REFUSED, sm.StreamMetricsError):
                run()
    finally:
        ended.set()
        writer.join()


def race_loops(seconds: float) -> None:
    """Loops over columns, of few groups with weights, and of many groups without them."""
    for seed, groups in ((7, 2), (9, 300)):
        for name in sorted(LOOPS.keys() - OF_CELLS):
            arguments, loop = LOOPS[name](Rows(np.random.default_rng(seed), ROWS, groups)), getattr(core.compiled, name)
            columns = [array for array in arrays(arguments) if len(array) > 1_000 and array.flags.writeable]
            while_written(columns, lambda loop=loop, arguments=arguments: loop(*arguments), seconds)
            print(name, flush=True)


def race_bins(seconds: float) -> None:
    """Histograms: dense and hashed, of labels, classes, and weights, with atoms."""
    random = np.random.default_rng(0)
    for domain, atoms, sides, weighted in (
        ("probability", (), 2, False),
        ("probability", (0.25, 0.3), 2, False),
        ("real", (), 1, False),
        ("real", (0.5,), 4, False),
        ("probability", (), 2, True),
    ):
        lattice = Lattice(domain, atoms)
        values, weight = random.random((2, ROWS))
        side = random.integers(0, sides, ROWS)
        side = side if sides > 2 else side.astype("u1")
        runs = Runs(np.array([0, 1_000, ROWS]), np.array([1, 0]))
        bins = core.compiled.Bins(200, domain == "probability", lattice.atom_keys, sides, weighted)
        labels = () if sides == 1 else (side,)
        add = bins.add_classes if sides > 2 else bins.add
        arguments = values, labels[0] if labels else None, weight if weighted else None, runs, 2
        while_written([values, *labels], lambda add=add, arguments=arguments: add(*arguments), seconds)
        bins.cells()
        print("Bins", domain, sides, flush=True)


def race_updates(seconds: float) -> None:
    """Whole updates, which borrow columns of floats and integers."""
    random = np.random.default_rng(0)
    columns = {name: random.random(ROWS) for name in ("p", "q", "w", "t")}
    columns |= {"g": random.integers(0, 100, ROWS), "y": random.integers(0, 2, ROWS)}
    table = pa.table(columns)  # of the same memory
    tasks = {
        "binary": sm.binary(y_true="y", y_score={"a": "p", "b": "q"}, by="g"),
        "weights": sm.binary(y_true="y", y_score="p", sample_weight="w"),
        "regression": sm.regression(y_true="t", y_pred="p", by="g"),
    }
    for name, task in tasks.items():
        while_written([*columns.values()], lambda task=task: task.empty().update(table).compact(), seconds)
        print(name, flush=True)


if __name__ == "__main__":
    each = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3
    race_bins(each)
    race_updates(each)
    race_loops(each)

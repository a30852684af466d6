"""Loops over arrays that another thread changes meanwhile: ``python tests/core/racing.py [seconds]`` must end well.

A process of its own, since a loop that trusts a value which it has checked before writes outside of its cells.
"""

import sys
import threading
import time
from contextlib import suppress

import fuzz
import numpy as np
import pyarrow as pa

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


def calls() -> dict[str, tuple]:
    """The loops with valid columns of many rows, as evaluations call them, and the columns that others can change."""
    random = np.random.default_rng(0)
    label, truth = random.integers(0, 2, ROWS).astype("u1"), random.integers(0, 5, ROWS)
    one, other, weight = random.random((3, ROWS))
    classes, others = [*random.random((5, ROWS))], [*random.random((5, ROWS))]
    codes, few = random.integers(0, 300, ROWS), np.sort(random.integers(0, 2, ROWS))
    views = random.integers(0, 9, (ROWS, 2))
    decisions = [one >= 0.5], [other >= 0.5]
    edges, thresholds = np.linspace(0, 1, 16), np.linspace(0.1, 0.9, 30)
    runs = Runs(np.array([0, 1_000, ROWS]), np.array([1, 0]))

    def cells(*shape: int, kind: str = "i8") -> np.ndarray:
        return np.zeros((2, *shape), dtype=kind)

    reference, extremes = np.zeros((2, 2)), np.zeros((2, 5))
    return {
        "arrange": ((codes, 300, [one, label]), [codes]),
        "arrange in order": ((few, 2, [one]), [few]),
        "count_outcomes": ((label, one, thresholds, None, runs, cells(31, 2)), [label, one]),
        "count_outcomes at one": ((label, one, thresholds[:1], None, runs, cells(2, 2)), [label, one]),
        "count_pairs": ((label, *decisions, None, runs, cells(1, 8)), [label, *decisions[0], *decisions[1]]),
        "count_ranks": ((truth, classes, None, runs, cells(5)), [truth, classes[0]]),
        "extent": ((one,), [one]),
        "interleave": ((one, other, True, np.zeros(ROWS, dtype="i8")), [one, other]),
        "likeliest": ((classes,), classes),
        "number_integers": ((codes,), [codes]),
        "number_views": (([views],), [views[:, 0]]),
        "sum_calibration": ((label, one, edges, None, runs, cells(15, 2, 5)), [label, one]),
        "sum_calibration of weights": ((label, one, edges, weight, runs, cells(15, 2, 3, kind="f8")), [one, weight]),
        "sum_class_loss_differences": ((truth, classes, others, None, runs, cells(5, 13)), [truth, classes[0]]),
        "sum_class_losses": ((truth, classes, None, runs, cells(5, 9)), [truth, classes[0]]),
        "sum_error_differences": ((one, other, weight, None, runs, cells(13, kind="f8")), [one, other]),
        "sum_errors": ((one, other, weight, reference, runs, cells(29, kind="f8"), extremes), [one, other]),
        "sum_loss_differences": ((label, one, other, None, runs, cells(2, 13)), [label, one, other]),
        "sum_losses": ((label, one, None, runs, cells(2, 9)), [label, one]),
        "sum_values": ((one, other, weight, runs, cells(3, kind="f8")), [one, other]),
    }


def while_written(columns: list[np.ndarray], run, seconds: float) -> None:
    """Run again and again while another thread writes wrong values into some columns, and the right ones."""
    right, ended = [column.copy() for column in columns], threading.Event()
    run()  # which is not rejected

    def write() -> None:
        random = np.random.default_rng(1)
        while not ended.is_set():
            for column, valid in zip(columns, right, strict=True):
                column[:] = valid
                column[random.integers(len(column)) :] = random.choice(WRONG[column.dtype.kind])
                column[:] = valid

    writer = threading.Thread(target=write)
    writer.start()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            with suppress(*fuzz.REFUSED, OverflowError, sm.StreamMetricsError):
                run()
    finally:
        ended.set()
        writer.join()


def race_loops(seconds: float) -> None:
    for name, (arguments, columns) in calls().items():
        loop = getattr(core.compiled, name.split(" ")[0])
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

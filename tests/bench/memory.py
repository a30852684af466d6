"""Memory must not grow with the rows: peaks of processes that count batches, one of them ten times as many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import inputs
from measure import Figure, peak

MEMORY = "Peak memory of ten times the rows, relative to the peak memory of the rows (lower is better)"
TASKS = {  # each as an expression of the process that is measured
    "`sm.binary`": "sm.binary(y_true='y', y_score='p')",
    "`sm.binary`, 50 groups": "sm.binary(y_true='y', y_score='p', by='few')",
    "`sm.binary`, two models": "sm.binary(y_true='y', y_score={'a': 'p', 'b': 'm1'})",
    "`sm.binary`, ten models": "sm.binary(y_true='y', y_score={m: m for m in MODELS})",
    "`sm.binary`, two models of any score": "sm.binary(y_true='y', y_score={'a': 'p', 'b': 'm1'}, domain='real')",
    "`sm.binary`, two models with weights": "sm.binary(y_true='y', y_score={'a': 'p', 'b': 'm1'}, sample_weight='w')",
    "`sm.binary`, two models with units": "sm.binary(y_true='y', y_score={'a': 'p', 'b': 'm1'}, unit='user')",
    "`sm.multiclass`": "sm.multiclass(y_true='class', y_score={i: f'm{i}' for i in range(3)}, renormalize=True)",
    "`sm.multilabel`": "sm.multilabel(y_true={'a': 'y', 'b': 'z'}, y_score={'a': 'p', 'b': 'm1'})",
    "`sm.regression`, two models": "sm.regression(y_true='t', y_pred={'a': 'p', 'b': 'm1'})",
}
CODE = """
import sys
import numpy as np, polars as pl, streammetrics as sm

rows, task, rng = int(sys.argv[1]), sys.argv[2], np.random.default_rng(0)
MODELS = [f"m{i}" for i in range(10 if "MODELS" in task else 3)]
acc = eval(task)
for size in [1_000_000] * (rows // 1_000_000) + [rows % 1_000_000]:
    p = rng.random(size) ** 4
    models = {m: np.clip(p + 0.02 * (rng.random(size) - 0.5), 1e-9, 1) for m in MODELS}
    labels = {"y": rng.random(size) < p, "z": rng.random(size) < p, "class": rng.integers(0, 3, size)}
    numbers = {"t": p + rng.normal(0, 0.1, size), "w": rng.random(size)}
    groups = {"few": rng.integers(0, 50, size), "user": rng.integers(0, 100_000, size)}
    acc.update(pl.DataFrame({"p": p} | models | labels | numbers | groups))
acc.compact()
"""


def memory_of_rows(path: Path) -> Iterator[Figure]:
    """Every task, with batches of a million rows."""
    rows = inputs.height(path)
    for name, task in TASKS.items():
        few, many = (peak(CODE, str(count), task) for count in (rows, 10 * rows))
        yield Figure(MEMORY, name, many / few, "<=", 1.05)


CASES = (memory_of_rows,)

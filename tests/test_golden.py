"""Saved states of earlier versions: they load, and give the numbers that they gave when they were written.

``golden/0.1.0-without-checksum`` holds what was written before files carried a checksum. To add the files of another
version, run this file with the name of a new folder: ``python tests/test_golden.py tests/golden/0.2.0``.
"""

import json
import math
import sys
from contextlib import nullcontext
from datetime import date
from pathlib import Path

import polars as pl
import pytest

import streammetrics as sm

GOLDEN = Path(__file__).parent / "golden"
BARE = ("0.1.0-without-checksum",)
ROWS = range(24)
DATA = pl.DataFrame(
    {
        "clicked": [i * 7 % 5 == 0 for i in ROWS],
        "p": [(i * 37 % 61) / 61 for i in ROWS],
        "country": [("DE", "FR", None)[i % 3] for i in ROWS],
        "day": [date(2026, 1, 1 + i % 2) for i in ROWS],
        "user": [i % 5 for i in ROWS],
        "animal": [("cat", "dog", "emu")[i * i % 3] for i in ROWS],
        "seen": [("cat", "dog", "emu")[i * i * i % 7 % 3] for i in ROWS],
        "red": [i % 4 == 0 for i in ROWS],
        "round": [i % 3 == 0 for i in ROWS],
        "y": [math.sqrt(i) for i in ROWS],
        "y_hat": [math.sqrt(i) + (i % 7 - 3) / 8 for i in ROWS],
        "w": [0.25 * (1 + i % 4) for i in ROWS],
    }
).with_columns(q=(1 - pl.col("p")) * 0.75, r=(1 - pl.col("p")) * 0.25)
STATES = {
    "binary": (
        lambda: sm.binary(y_true="clicked", y_score="p", by=["country"], unit="user", capacity=16),
        ["rows", "roc_auc", "precision", "recall", "log_loss", "brier", "ece"],
    ),
    "multiclass": (
        lambda: sm.multiclass(
            y_true="animal", y_score={"cat": "p", "dog": "q", "emu": "r"}, by="country", one_vs_one=True, capacity=16
        ),
        ["rows", "accuracy", "kappa", "f1(average=macro)", "roc_auc(average=micro)", "roc_auc_ovo", "top_k_accuracy"],
    ),
    "labels": (
        lambda: sm.multiclass(y_true="animal", y_pred={"a": "seen", "b": "animal"}),
        ["rows", "accuracy", "f1(average=macro)"],
    ),
    "multilabel": (
        lambda: sm.multilabel(y_true={"red": "red", "round": "round"}, y_score={"red": "p", "round": "q"}),
        ["rows", "precision", "roc_auc", "subset_accuracy", "hamming_loss"],
    ),
    "regression": (
        lambda: sm.regression(
            y_true="y", y_pred="y_hat", sample_weight="w", by="country", families=["poisson", "log_cosh"], capacity=16
        ),
        ["rows", "mae", "rmse", "r2", "bias", "max_error", "mean_poisson_deviance"],
    ),
    "digest": (
        lambda: sm.Accumulator(sm.TDigest(compression=50), sm.Histogram(16, of="y_pred"), y_true="y", y_pred="y_hat"),
        ["rows"],
    ),
    "predictions": (
        lambda: sm.predictions(y_score="p", by="day"),
        ["rows", "predicted_positive_rate"],
    ),
}
FORMS = {
    "binary": ("parquet", "arrow", "bytes"),
    "multiclass": ("parquet",),
    "labels": ("arrow",),
    "multilabel": ("bytes",),
    "regression": ("parquet", "arrow", "bytes"),
    "digest": ("bytes",),
    "predictions": ("arrow",),
}
SAVED = [(name, form) for name, forms in FORMS.items() for form in forms]


def load(path):
    return sm.Accumulator.from_bytes(path.read_bytes()) if path.suffix == ".bytes" else sm.Accumulator.load(path)


def values(acc, metrics):
    """What the metrics are, by group and in the order of the report."""
    return json.loads(acc.finalize(metrics).frame.drop("note", strict=False).write_json())


def write(folder):
    folder.mkdir(parents=True)
    expected = {}
    for name, (make, metrics) in STATES.items():
        acc = make().update(DATA)
        for path in (folder / f"{name}.{form}" for form in FORMS[name]):
            path.write_bytes(acc.to_bytes()) if path.suffix == ".bytes" else acc.save(path)
        expected[name] = values(acc, metrics)
    lines = json.dumps(expected).replace("}, {", "},\n{").replace("], ", "],\n")
    (folder / "expected.json").write_text(lines + "\n", encoding="utf-8")


@pytest.mark.parametrize(("name", "form"), SAVED)
@pytest.mark.parametrize("folder", sorted(GOLDEN.iterdir()), ids=lambda folder: folder.name)
def test_states_of_earlier_versions_give_their_numbers(folder, name, form):
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))[name]
    with pytest.warns(sm.StateWarning, match="No checksum in") if folder.name in BARE else nullcontext():
        acc = load(folder / f"{name}.{form}")
    found = values(acc, STATES[name][1])
    assert len(found) == len(expected)
    for row, before in zip(found, expected, strict=True):
        numbers = {k: pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for k, v in before.items()}
        assert {k: row[k] for k in before} == numbers
    assert acc.seen * 2 == acc.update(DATA).seen


if __name__ == "__main__":
    write(Path(sys.argv[1]))

"""Saved states and histories of earlier versions: they load, and give the numbers and bounds that they gave then.

The folders in ``golden`` are named by what the states of their version did not have yet; ``docs/state-format.md`` lists
them. To add those of another version, name a new folder: ``python tests/test_golden.py tests/golden/0.2.0``.
"""

import json
import math
import sys
import zipfile
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

import streammetrics as sm

GOLDEN = Path(__file__).parent / "golden"
BARE = ("0.1.0-first", "0.1.0-without-checksum")
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
    "predictions": (lambda: sm.predictions(y_score="p", by="day"), ["rows", "predicted_positive_rate"]),
    "models": (
        lambda: sm.binary(y_true="clicked", y_score={"new": "p", "old": "q"}, capacity=16),
        ["rows", "roc_auc", "f1", "log_loss"],
    ),
    "others": (
        lambda: sm.multiclass(y_true="animal", y_pred="seen", by="animal", max_groups=2, overflow="other"),
        ["rows", "accuracy"],
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
    "models": ("parquet",),
    "others": ("parquet",),
}
STORE = (
    lambda: sm.binary(y_true="clicked", y_score="p", by=["day", "country"], capacity=16),
    ["rows", "roc_auc", "f1", "brier"],
)
FILES = sorted(path for path in GOLDEN.rglob("*.*") if path.suffix in (".parquet", ".arrow", ".bytes"))
STORES = sorted(GOLDEN.rglob("store.zip"))


def place(path):
    return f"{path.parent.name}/{path.name}"


def load(path):
    return sm.Accumulator.from_bytes(path.read_bytes()) if path.suffix == ".bytes" else sm.Accumulator.load(path)


def values(acc, metrics):
    """What the metrics are, by group and in the order of the report."""
    return json.loads(acc.finalize(metrics).frame.drop("note", strict=False).write_json())


def write_store(path):
    """A history of two appends, as a zip archive; what its metrics are."""
    with TemporaryDirectory() as directory:
        store = sm.MetricStore(directory)
        for batch, rows in (("first", DATA.head(10)), ("second", DATA.tail(14))):
            store.append(STORE[0]().update(rows), batch_id=batch)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(file for file in Path(directory).rglob("*") if file.is_file()):
                archive.write(file, file.relative_to(directory))
        return values(store.query(), STORE[1])


def write(folder):
    folder.mkdir(parents=True)
    expected = {}
    for name, (make, metrics) in STATES.items():
        acc = make().update(DATA)
        for path in (folder / f"{name}.{form}" for form in FORMS[name]):
            path.write_bytes(acc.to_bytes()) if path.suffix == ".bytes" else acc.save(path)
        expected[name] = values(acc, metrics)
    expected["store"] = write_store(folder / "store.zip")
    lines = json.dumps(expected).replace("}, {", "},\n{").replace("], ", "],\n")
    (folder / "expected.json").write_text(lines + "\n", encoding="utf-8")


def require_same(acc, metrics, path):
    """The metrics of a state are those written beside it; columns may have come since."""
    expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))[path.stem]
    found = values(acc, metrics)
    assert len(found) == len(expected) > 0
    for row, before in zip(found, expected, strict=True):
        numbers = {k: pytest.approx(v, rel=1e-12) if isinstance(v, float) else v for k, v in before.items()}
        assert {k: row[k] for k in before} == numbers


def require_saved_as_today(acc, fresh):
    """A state of an earlier version is saved with the format and the types of today, and merges with those of today."""
    ours, theirs = (some.to_arrow().schema for some in (acc, fresh))
    assert json.loads(ours.metadata[b"streammetrics"])["format"] == 2
    known = {field.name: field.type for field in theirs}
    assert {f.name: f.type for f in ours if f.name in acc.state.tables}.items() <= known.items()
    if acc.statistics == fresh.statistics:
        for total in (acc + fresh, fresh + acc):
            assert total.to_arrow().schema.remove_metadata() == theirs.remove_metadata()
            assert total.seen == 2 * fresh.seen


@pytest.mark.parametrize("path", FILES, ids=place)
def test_states_of_earlier_versions_give_their_numbers(path):
    with pytest.warns(sm.StateWarning, match="No checksum in") if path.parent.name in BARE else nullcontext():
        acc = load(path)
    require_same(acc, STATES[path.stem][1], path)
    require_saved_as_today(acc, STATES[path.stem][0]().update(DATA))
    assert acc.seen * 2 == acc.update(DATA).seen


@pytest.mark.parametrize("path", STORES, ids=place)
def test_histories_of_earlier_versions_give_their_numbers_and_go_on(path, tmp_path):
    pytest.importorskip("deltalake")
    zipfile.ZipFile(path).extractall(tmp_path)
    store, make = sm.MetricStore(tmp_path), STORE[0]
    require_same(store.query(), STORE[1], path)
    assert not store.append(make().update(DATA.head(10)), batch_id="first")
    assert store.append(make().update(DATA), batch_id="third")
    finer = sm.binary(y_true="clicked", y_score="p", by=["day", "country", "user"])
    assert store.append(finer.update(DATA), batch_id="fourth")
    store.compact()
    assert store.query().seen == 3 * DATA.height


if __name__ == "__main__":
    write(Path(sys.argv[1]))

"""Numbers of any width: narrow scores meet thresholds as they do in numpy, and no integer is rounded in silence."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from strategies import merged_as_a_tree, shards, use_small_chunks

import streammetrics as sm

TENTHS = np.arange(1, 10) / 10
HUNDREDTHS = np.arange(101) / 100


def binary(thresholds=TENTHS, **options):
    return sm.binary(**{"y_true": "y", "y_score": "p", "thresholds": thresholds} | options)


def recalls(acc):
    return acc.finalize(["recall"]).frame["value"].to_list()


def reached(scores, thresholds):
    """The share of scores that reach each threshold, as numpy compares an array with a number."""
    return [float((scores >= float(t)).mean()) for t in thresholds]


@pytest.mark.parametrize("width", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("thresholds", [[0.7], TENTHS, HUNDREDTHS, [0.7, 0.7 + 1e-12, 0.7 + 1e-6]], ids=len)
def test_thresholds_are_compared_in_the_type_of_the_scores(width, thresholds):
    scores = HUNDREDTHS.astype(width)
    batch = pa.table({"y": np.ones(101, dtype=np.int8), "p": scores})
    assert recalls(binary(thresholds).update(batch)) == reached(scores, thresholds)
    assert recalls(binary(thresholds, by="y").update(batch)) == reached(scores, thresholds)
    predicted = sm.predictions(y_score="p", thresholds=thresholds).update(batch)
    found = predicted.finalize(["predicted_positive_rate"]).frame["value"].to_list()
    assert found == reached(scores, thresholds)


def test_each_model_and_label_has_its_own_width():
    frame = pl.DataFrame({"y": [1], "narrow": pl.Series([0.7], dtype=pl.Float32)}).with_columns(
        wide=pl.col("narrow").cast(pl.Float64)
    )
    scores = {"narrow": "narrow", "wide": "wide"}
    acc = binary([0.7], y_score=scores).update(frame)
    assert recalls(acc) == [1, 0]
    assert acc.finalize().flip_rate("narrow", "wide")["flips"].to_list() == [1]
    labels = sm.multilabel(y_true={"narrow": "y", "wide": "y"}, y_score=scores, threshold=0.7).update(frame)
    assert labels.finalize()["hamming_loss"].value == 0.5
    assert labels.finalize().get("recall", label="narrow").value == 1
    lists = frame.select("y", p=pl.concat_list("narrow", "narrow"), y2=pl.concat_list("y", "y"))
    listed = sm.multilabel(y_true="y2", y_score="p", labels=["a", "b"], threshold=0.7).update(lists)
    assert listed.finalize()["subset_accuracy"].value == 1


@pytest.mark.parametrize("small", [False, True])
def test_widths_that_differ_between_batches_obey_the_law(small, monkeypatch):
    def task():
        return sm.Accumulator(
            sm.statistics.ConfusionCounts(TENTHS), sm.statistics.ScoreHistogram(16), y_true="y", y_score="p"
        )

    if small:
        use_small_chunks(monkeypatch)
    rng = np.random.default_rng(0)
    frames = [
        pl.DataFrame({"y": rng.integers(0, 2, 400), "p": pl.Series(rng.choice(HUNDREDTHS, 400), dtype=kind)})
        for kind in (pl.Float32, pl.Float64, pl.Float16, pl.Float64)
    ]
    whole = sm.merge(task().update(frame) for frame in frames)
    batches = [piece for frame in frames for piece in shards(frame, rng, 9)]
    one = task()
    for batch in rng.permutation(len(batches)):
        one.update(batches[batch])
    assert one.to_bytes() == whole.to_bytes()
    assert merged_as_a_tree([task().update(batch) for batch in batches], rng).to_bytes() == whole.to_bytes()
    assert sm.accumulate(iter(batches), task(), workers=3).to_bytes() == whole.to_bytes()


def test_widths_change_nothing_else():
    rng = np.random.default_rng(1)
    p, q = rng.random((2, 500), dtype=np.float32)
    y = rng.integers(0, 2, 500)
    thresholds = np.arange(9) / 8  # the same in every width
    for task in (binary(thresholds), sm.multilabel(y_true={"a": "y", "b": "z"}, y_score={"a": "p", "b": "q"})):
        states = {
            task.empty().update({"y": y, "z": 1 - y, "p": p.astype(width), "q": q.astype(width)}).to_bytes()
            for width in (np.float32, np.float64)
        }
        assert len(states) == 1


@pytest.mark.parametrize("threshold", [1e39, -1e39, np.inf, -np.inf, 1e-50])
def test_thresholds_beyond_a_width(threshold):
    scores = np.array([-np.inf, -3e38, 0.0, 3e38, np.inf], dtype=np.float32)
    acc = binary([threshold], domain="real").update({"y": np.ones(5, dtype=int), "p": scores})
    rounded = 0.0 if abs(threshold) < 1 else threshold
    assert recalls(acc) == [(scores.astype(float) >= rounded).mean()]


ODD = 2**53 + 1  # the first integer that no 64-bit float equals


def test_large_integers_are_labels():
    acc = sm.multiclass(y_true="k", y_pred="k").update({"k": [ODD, ODD - 1]})
    assert acc.finalize().confusion_matrix().height == 2

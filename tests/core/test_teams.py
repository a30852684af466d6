"""Threads that count in the same bins: the same counts, and a batch enters whole or not at all."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from data import CLICKS, clicks
from polars.testing import assert_frame_equal
from strategies import shards

import streammetrics as sm
from streammetrics.pipeline import _Part
from streammetrics.statistics.state import content

SIZE = 4_000
rng = np.random.default_rng(5)
DATA = clicks().with_columns(
    q=pl.Series(rng.random(SIZE)),
    w=pl.Series(rng.integers(0, 4, SIZE) / 2),
    user=pl.int_range(SIZE) % 500,
    g=pl.Series(rng.integers(0, 60, SIZE)).cast(pl.String),
    measured=pl.Series(rng.normal(size=SIZE)),
    holes=pl.when(pl.int_range(SIZE) % 7 > 0).then("score"),
)
SKEWED = DATA.with_columns(g=pl.when(pl.int_range(SIZE) % 5 < 2).then(pl.lit("large")).otherwise(pl.col("g")))
COUNTS = {"row_counts", "confusion_counts", "confusion_matrix", "score_histogram", "error_histogram"}
TASKS = {
    "binary": partial(sm.binary, **CLICKS, by="g"),
    "weights and nulls": partial(sm.binary, y_true="clicked", y_score="holes", sample_weight="w", by="g", nulls="drop"),
    "unit": partial(sm.binary, **CLICKS, unit="user", by="g"),
    "two models": partial(sm.binary, y_true="clicked", y_score={"one": "score", "two": "q"}, by=["g", "country"]),
    "regression": partial(sm.regression, y_true="measured", y_pred="q", by="g"),
    "classes": partial(
        sm.multiclass,
        y_true="country",
        y_score={"DE": "score", "FR": "q", "IN": "w"},
        by="g",
        renormalize=True,
        capacity=64,
        one_vs_one=True,
    ),
}


@pytest.fixture
def together(monkeypatch):
    """Threads count small batches together too. Returns the sizes of these batches."""
    found, add = [], _Part.add_together

    def spy(self, rows):
        added = add(self, rows)
        found.extend([rows[0].height] * added)
        return added

    monkeypatch.setattr(content, "BLOCK", 1_000)
    monkeypatch.setattr(_Part, "add_together", spy)
    return found


@pytest.mark.parametrize(("workers", "rows"), [(2, DATA), (5, SKEWED)], ids=["even", "skewed"])
@pytest.mark.parametrize("make", TASKS.values(), ids=TASKS.keys())
def test_threads_count_together_what_one_thread_counts(make, workers, rows, together):
    batches = shards(rows, rng, 4)
    found = sm.accumulate(batches, make(), workers=workers)
    expected = make().update(rows)
    assert found.seen == expected.seen
    for name in COUNTS & set(found.to_arrow().column_names):
        assert found.to_arrow()[name].equals(expected.to_arrow()[name])
    assert_frame_equal(found.finalize().frame, expected.finalize().frame, rel_tol=1e-9)
    assert len(together) == sum(batch.height >= 1_000 for batch in batches)


def test_groups_can_become_floats_and_cannot_become_text(together):
    whole = DATA.with_columns(g=pl.col("g").cast(pl.Int64))
    halves = whole.with_columns(g=pl.col("g") + 0.5)
    found = sm.accumulate([whole, halves, whole], TASKS["binary"](), workers=2)
    assert found.state.groups["g"].dtype == pl.Float64
    assert found.state.groups.height == 120
    with pytest.raises(sm.errors.ColumnError, match="'g' has different types"):
        sm.accumulate([DATA], into=found, workers=2)
    assert found.seen == 3 * SIZE
    assert len(together) == 2


@pytest.mark.usefixtures("together")
def test_what_threads_count_alone_and_together_adds_up():
    batches = [DATA[:900], DATA[900:], DATA[:50]]
    accumulators = {"groups": TASKS["binary"](), "all": sm.binary(**CLICKS)}
    sm.accumulate(batches, into=accumulators, workers=2)
    assert [acc.seen for acc in accumulators.values()] == [SIZE + 50] * 2
    expected = TASKS["binary"]().update(pl.concat(batches))
    assert accumulators["groups"].to_arrow()["score_histogram"].equals(expected.to_arrow()["score_histogram"])


def test_many_threads_count_in_the_same_bins(monkeypatch):
    """Groups appear, lists become arrays, and shifts rise while other threads count."""
    rows = pl.DataFrame({"y": rng.random(200_000) < 0.3, "p": rng.random(200_000), "g": rng.integers(0, 300, 200_000)})
    task = sm.Accumulator(sm.statistics.ScoreHistogram(capacity=64), y_true="y", y_score="p", by="g")
    monkeypatch.setattr(content, "BLOCK", 1_000)
    found = sm.accumulate((rows[i::80].sort("g", "p") for i in range(80)), task, workers=8)
    assert found.to_bytes() == sm.accumulate([rows], task, workers=1).to_bytes()

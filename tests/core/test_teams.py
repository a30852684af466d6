"""Threads that count in the same bins, which the laws hold for all tasks: types of groups, and many threads at once."""

import numpy as np
import polars as pl
import pytest
from data import CLICKS, clicks

import streammetrics as sm
from streammetrics.pipeline import _Part
from streammetrics.statistics.state import content

SIZE = 4_000
DATA = clicks().with_columns(g=(pl.int_range(SIZE) % 60).cast(pl.String))
TASK = sm.binary(by="g", **CLICKS)


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


def test_groups_can_become_floats_and_cannot_become_text(together):
    whole = DATA.with_columns(g=pl.col("g").cast(pl.Int64))
    halves = whole.with_columns(g=pl.col("g") + 0.5)
    found = sm.accumulate([whole, halves, whole], TASK.empty(), workers=2)
    assert found.state.groups["g"].dtype == pl.Float64
    assert found.state.groups.height == 120
    with pytest.raises(sm.errors.ColumnError, match="'g' has different types"):
        sm.accumulate([DATA], into=found, workers=2)
    assert found.seen == 3 * SIZE
    assert len(together) == 2


def test_what_threads_count_alone_and_together_adds_up(together):
    batches = [DATA[:900], DATA[900:], DATA[:50]]
    accumulators = {"groups": TASK.empty(), "all": sm.binary(**CLICKS)}
    sm.accumulate(batches, into=accumulators, workers=2)
    assert [acc.seen for acc in accumulators.values()] == [SIZE + 50] * 2
    assert together == [SIZE - 900]
    expected = TASK.empty().update(pl.concat(batches))
    assert accumulators["groups"].to_arrow()["score_histogram"].equals(expected.to_arrow()["score_histogram"])


def test_many_threads_count_in_the_same_bins(monkeypatch):
    """Groups appear, lists become arrays, and shifts rise while other threads count."""
    rng = np.random.default_rng(5)
    rows = pl.DataFrame({"y": rng.random(200_000) < 0.3, "p": rng.random(200_000), "g": rng.integers(0, 300, 200_000)})
    task = sm.Accumulator(sm.statistics.ScoreHistogram(capacity=64), y_true="y", y_score="p", by="g")
    monkeypatch.setattr(content, "BLOCK", 1_000)
    found = sm.accumulate((rows[i::80].sort("g", "p") for i in range(80)), task, workers=8)
    assert found.to_bytes() == sm.accumulate([rows], task, workers=1).to_bytes()

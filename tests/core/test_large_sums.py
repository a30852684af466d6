"""Sums of losses that do not fit 64-bit integers, in millionths, are an error of the library."""

import numpy as np
import polars as pl
import pytest

import streammetrics as sm

ROWS = pl.DataFrame({"y": [1, 0], "p": [0.2, 0.4]})


def nearly_full():
    """An accumulator whose sums are the largest that fit."""
    acc = sm.Accumulator(sm.statistics.ProbabilityLoss(), y_true="y", y_score="p")
    acc.update(ROWS)
    acc._content.observe()
    losses = acc._content._counters.counters[acc.statistics.index(sm.statistics.ProbabilityLoss())]
    losses.values[..., 1::2] = (1 << 62) - 1
    return acc


def test_rows_that_do_not_fit_are_refused_and_the_accumulator_has_failed():
    acc = nearly_full()
    acc.update(ROWS)
    with pytest.raises(sm.errors.DataError, match="exceeds 4e12"):
        acc.finalize()
    with pytest.raises(sm.StreamMetricsError):
        acc.update(ROWS)


def test_losses_of_many_counts_are_refused_in_the_update_or_summed():
    """A batch is refused by itself, and changes nothing. Sums of several batches, and of workers, have no limit."""
    task, few = sm.binary(y_true="y", y_score="p", count="n"), {"y": [1], "p": [0.0], "n": [3 * 10**9]}
    acc = task.copy().update(few).update(few)
    before = acc.to_bytes()
    with pytest.raises(sm.errors.DataError, match="exceeds 4e12"):
        acc.update({"y": [1], "p": [0.0], "n": [10**11]})
    assert acc.to_bytes() == before
    single = task.copy().update(few).finalize()["log_loss"].value
    for total in (acc, sm.accumulate([few] * 5, task, workers=2)):
        assert total.finalize()["log_loss"].value == pytest.approx(single, rel=1e-15)


def test_counters_that_do_not_fit_together_stay_unchanged():
    one, other = (nearly_full()._content for _ in range(2))
    before = [counter.values.copy() for counter in one._counters.counters]
    with pytest.raises(sm.errors.MergeError, match="exceeds 4e12"):
        one.absorb(other)
    changed = [not np.array_equal(c.values, b) for c, b in zip(one._counters.counters, before, strict=True)]
    assert not changed[[s.name for s in one.statistics].index("probability_loss")]

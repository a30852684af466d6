"""Intervals that hold at every look at a growing set of rows: ``finalize(confidence=, always=)``."""

from functools import partial
from itertools import product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.intervals.sequences import errors_wide, share_limits

LIMITS = ["ci_lower", "ci_upper"]
METRICS = ["accuracy", "recall", "f1", "log_loss"]


def rows(random, streams=1, count=1_000):
    y = random.random((streams, count)) < 0.4
    p = 1 / (1 + np.exp(0.5 - random.normal(1.2 * y, 1)))
    stream = np.repeat(np.arange(streams), count)
    return pl.DataFrame({"y": y.ravel(), "p": p.ravel(), "stream": stream, "w": 1 + stream % 2, "u": stream})


def binary(**options):
    return sm.binary(y_true="y", y_score="p", **options)


def test_shares_are_exact_and_others_so_many_standard_errors_wide():
    acc = binary().update(rows(np.random.default_rng(0)))
    metrics = [*METRICS, "jaccard"]
    once, found = acc.finalize(metrics, confidence=0.9), acc.finalize(metrics, confidence=0.9, always=5_000)
    counts = acc.finalize().confusion_counts().row(0, named=True)
    for metric, cells in (("accuracy", "tp fp fn tn"), ("recall", "tp fn"), ("jaccard", "tp fp fn")):
        n = sum(counts[cell] for cell in cells.split())
        expected = share_limits(round(found[metric].value * n), n, 5_000, 0.1)
        assert (found[metric].ci_lower, found[metric].ci_upper) == pytest.approx([float(x) for x in expected])
    wider = float(errors_wide(1_000, 5_000, 0.1)) / 1.6448536269514722
    for metric in ("f1", "log_loss"):
        value = found[metric].value
        assert value - found[metric].ci_lower == pytest.approx(wider * (value - once[metric].ci_lower))
        assert found[metric].ci_upper - value == pytest.approx(wider * (once[metric].ci_upper - value))
    for metric in METRICS:
        assert found[metric].note == "valid at every look at one growing set of rows"


def test_each_group_and_each_rollup_is_a_stream():
    acc = binary(by="stream").update(rows(np.random.default_rng(1), streams=3))
    found = acc.finalize(METRICS, confidence=0.95, always=1_000)
    for stream in range(3):
        alone = binary().update(rows(np.random.default_rng(1), streams=3).filter(stream=stream))
        own = found.frame.filter(stream=stream).drop("stream")
        assert_frame_equal(own, alone.finalize(METRICS, confidence=0.95, always=1_000).frame)
    total = acc.rollup().finalize(METRICS, confidence=0.95, always=1_000).frame
    assert_frame_equal(found.rollup().frame, total)
    assert found.showing("f1").frame["note"].n_unique() == 1
    assert found.with_confidence(0.95).frame.equals(acc.finalize(METRICS, confidence=0.95).frame)


def test_a_threshold_that_is_not_kept_has_the_intervals_of_one_that_is():
    frame = rows(np.random.default_rng(5), streams=2)
    kept, other = (
        binary(by="stream", thresholds=(t,)).update(frame).finalize(METRICS, confidence=0.95, always=1_000)
        for t in (0.37, 0.5)
    )
    for metric, stream in product(("accuracy", "recall", "f1"), (0, 1)):
        assert other.get(metric, stream=stream, threshold=0.37) == kept.get(metric, stream=stream)


def test_weights_are_no_rows():
    """Whole weights must not pass for rows, of which a share would be exact."""
    acc = binary(sample_weight="w").update(rows(np.random.default_rng(2), streams=2, count=500))
    once, found = (acc.finalize("accuracy", confidence=0.95, always=always)["accuracy"] for always in (None, 1_000))
    wider = float(errors_wide(1_000, 1_000, 0.05)) / 1.959963984540054
    assert found.value - found.ci_lower == pytest.approx(wider * (found.value - once.ci_lower))


def test_a_threshold_inside_a_bin():
    """Half of the bin counts as reaching it, so a share can lack half a row and is not exact."""
    random = np.random.default_rng(2)
    p = random.random(61)
    acc = sm.Accumulator(sm.ScoreHistogram(capacity=8), y_true="y", y_score="p")
    acc.update({"y": random.random(61) < p, "p": p})
    at = partial(acc.finalize(["rows"], confidence=0.9, always=1_000).get, threshold=0.6)
    once = acc.finalize(["rows"], confidence=0.9).get("recall", threshold=0.6)
    recall, specificity = at("recall"), at("specificity")
    assert (recall.value * at("positives").value, at("negatives").value) == (15.5, 29)
    wider = float(errors_wide(61, 1_000, 0.1)) / 1.6448536269514722
    assert recall.value - recall.ci_lower == pytest.approx(wider * (recall.value - once.ci_lower))
    expected = share_limits(round(specificity.value * 29), 29, 1_000, 0.1)
    assert (specificity.ci_lower, specificity.ci_upper) == pytest.approx([float(x) for x in expected])


def test_metrics_without_an_interval_say_why():
    found = binary().update(rows(np.random.default_rng(3))).finalize("ece", confidence=0.95, always=1_000)["ece"]
    assert found.ci_lower is None
    assert found.note.startswith("no interval: it is biased upwards")


def test_what_is_refused():
    acc = binary()
    with pytest.raises(sm.SpecificationError, match=r"'always' must be a positive integer, such as 100_000, got "):
        acc.finalize(confidence=0.95, always=True)
    with pytest.raises(sm.SpecificationError, match=r"always= requires confidence=, such as 0\.95"):
        acc.finalize(always=1_000)
    with pytest.raises(sm.SpecificationError, match="always= cannot be combined with unit="):
        binary(unit="u").finalize(confidence=0.95, always=1_000)


def ever_missed(looks, streams, step):
    """The share of streams in which the interval of each metric misses the truth at some look, and for one look."""
    random, metrics = np.random.default_rng(0), ["accuracy", "f1", "log_loss"]
    few = partial(sm.Accumulator, sm.ConfusionCounts(), sm.ProbabilityLoss(), y_true="y", y_score="p", metrics=metrics)
    truth = few().update(rows(random, count=2_000_000)).finalize().frame["value"].to_numpy()[:, None]
    acc, missed = few(by="stream"), np.zeros((2, len(metrics), streams), dtype=bool)
    for look in range(looks):
        acc.update(rows(random, streams, 500 if look == 0 else step))
        for missed_so_far, always in zip(missed, (1_000, None), strict=True):
            limits = acc.finalize(confidence=0.95, always=always).frame.select(LIMITS).to_numpy()
            lower, upper = limits.reshape(streams, len(metrics), 2).T
            missed_so_far |= (lower > truth) | (upper < truth)
    return missed.mean(axis=2)


@pytest.mark.parametrize(
    ("looks", "streams", "most"),
    [
        pytest.param(300, 100, 0.115, marks=pytest.mark.long),  # 0.05 and three standard errors
        pytest.param(3_000, 200, 0.096, marks=pytest.mark.long),
    ],
)
def test_how_often_the_truth_is_ever_missed(looks, streams, most):
    always, once = ever_missed(looks, streams, 20)
    assert (always <= most).all()
    assert (once > 0.2).all()

"""Intervals that hold at every look at a growing set of rows: ``finalize(confidence=, always=)``."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from data import CLICKS, VISITS, clicks, visits
from polars.testing import assert_frame_equal
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy

import streammetrics as sm

METRICS = ["accuracy", "recall", "f1", "log_loss"]


def density(always, alpha):
    return (-2 * np.log(alpha) + np.log(1 - 2 * np.log(alpha))) / always


def times_as_wide(rows, always, confidence):
    """The width of Waudby-Smith et al. (2021), relative to that of one look."""
    spread, z = rows * density(always, 1 - confidence), {0.9: 1.6448536269514722, 0.95: 1.959963984540054}[confidence]
    return np.sqrt((spread + 1) / spread * 2 * np.log(np.sqrt(spread + 1) / (1 - confidence))) / z


def share_limits(successes, rows, always, confidence):
    """The shares to which the beta mixture around them is at most 1 / alpha times as likely."""
    weight = 1 / density(always, 1 - confidence)

    def beyond(p):
        a, b, failures = weight * p, weight * (1 - p), rows - successes
        mixture = betaln(a + successes, b + failures) - betaln(a, b)
        return mixture - xlogy(successes, p) - xlog1py(failures, -p) + np.log(1 - confidence)

    share = successes / rows
    return brentq(beyond, 1e-9, share), brentq(beyond, share, 1 - 1e-9)


def test_shares_are_exact_and_others_so_many_standard_errors_wide():
    acc = sm.binary(**CLICKS).update(clicks()[:1_000])
    metrics = [*METRICS, "jaccard"]
    once, found = acc.finalize(metrics, confidence=0.9), acc.finalize(metrics, confidence=0.9, always=5_000)
    counts = acc.finalize().confusion_counts().row(0, named=True)
    for metric, cells in (("accuracy", "tp fp fn tn"), ("recall", "tp fn"), ("jaccard", "tp fp fn")):
        n = sum(counts[cell] for cell in cells.split())
        expected = share_limits(round(found[metric].value * n), n, 5_000, 0.9)
        assert (found[metric].ci_lower, found[metric].ci_upper) == pytest.approx(expected, abs=1e-7)
    wider = times_as_wide(1_000, 5_000, 0.9)
    for metric in ("f1", "log_loss"):
        value = found[metric].value
        assert value - found[metric].ci_lower == pytest.approx(wider * (value - once[metric].ci_lower))
        assert found[metric].ci_upper - value == pytest.approx(wider * (once[metric].ci_upper - value))
    assert found.frame["note"].n_unique() == 1


def test_each_group_and_each_rollup_is_a_stream():
    rows = clicks()[:1_500]
    acc = sm.binary(by="country", metrics=METRICS, **CLICKS).update(rows)
    found = acc.finalize(confidence=0.95, always=1_000)
    for country, own in rows.group_by("country"):
        alone = sm.binary(metrics=METRICS, **CLICKS).update(own).finalize(confidence=0.95, always=1_000)
        assert_frame_equal(found.frame.filter(country=country[0]).drop("country"), alone.frame)
    assert_frame_equal(found.rollup().frame, acc.rollup().finalize(confidence=0.95, always=1_000).frame)
    assert found.with_confidence(0.95).frame.equals(acc.finalize(confidence=0.95).frame)
    at = partial(acc.finalize(confidence=0.95, always=1_000).get, country="DE", threshold=0.37)
    kept = sm.binary(by="country", metrics=METRICS, thresholds=0.37, **CLICKS).update(rows)
    for metric in ("accuracy", "recall", "f1"):  # of a threshold that is not kept, too
        assert at(metric) == kept.finalize(confidence=0.95, always=1_000).get(metric, country="DE")


def test_weights_are_no_rows_and_half_a_row_of_a_bin_is_no_share():
    """Such shares are not exact: whole weights must not pass for rows, and a threshold can cut a bin."""
    rows = visits()[:1_000].with_columns(w=1 + pl.col("visitor") % 2)
    acc = sm.binary(**VISITS | {"sample_weight": "w", "unit": None}).update(rows)
    once, found = (acc.finalize("accuracy", confidence=0.95, always=n)["accuracy"] for n in (None, 1_000))
    wider = times_as_wide(1_000, 1_000, 0.95)
    assert found.value - found.ci_lower == pytest.approx(wider * (found.value - once.ci_lower))
    random = np.random.default_rng(2)  # 61 scores in 8 bins
    p = random.random(61)
    acc = sm.Accumulator(sm.statistics.ScoreHistogram(capacity=8), y_true="y", y_score="p")
    acc.update({"y": random.random(61) < p, "p": p})
    at = partial(acc.finalize(["rows"], confidence=0.9, always=1_000).get, threshold=0.6)
    once = acc.finalize(["rows"], confidence=0.9).get("recall", threshold=0.6)
    recall, specificity = at("recall"), at("specificity")
    assert (recall.value * at("positives").value, at("negatives").value) == (15.5, 29)
    wider = times_as_wide(61, 1_000, 0.9)
    assert recall.value - recall.ci_lower == pytest.approx(wider * (recall.value - once.ci_lower))
    expected = share_limits(round(specificity.value * 29), 29, 1_000, 0.9)
    assert (specificity.ci_lower, specificity.ci_upper) == pytest.approx(expected, abs=1e-7)
    without = sm.binary(**CLICKS).update(clicks()).finalize("ece", confidence=0.95, always=1_000)["ece"]
    assert without.ci_lower is None
    assert "no interval" in without.note

"""Quantiles, spread and shares of rows that carry weights."""

import numpy as np
import polars as pl
import pytest
from value_bins import read_one

import streammetrics as sm
from streammetrics.metrics import median, quantile


def test_rounded_sums_of_weights_do_not_decide_the_median():
    values = list(range(10))
    for weight in (0.1, 0.7, 1e6 / 3, 1e-20):
        assert read_one(median, values, values, [weight] * 10, weighted=True) == (4.5, 4, 5)
    assert read_one(median, values, values, [0.1] * 9 + [0.1001], weighted=True) == (5, 5, 5)
    assert read_one(quantile(q=1), values, values, [0.1] * 9 + [1e-30], weighted=True) == (8.5, 8, 9)


TWINS = np.repeat(2.0 ** np.arange(16), 2) * np.tile([1, 1 + 1e-13], 16)
KEPT = {
    "error_quantile(q=0.9)": lambda capacity: sm.statistics.ErrorHistogram(capacity=capacity),
    "digest_quantile(q=0.9)": lambda capacity: sm.statistics.TDigest(compression=capacity),
}


@pytest.mark.parametrize("metric", KEPT)
@pytest.mark.parametrize("weight", [0.5, 1.0, 0.1])
@pytest.mark.parametrize("parts", [1, 3])
def test_weights_are_weights_however_they_add_up(metric, weight, parts):
    """Twins that fall in one bin have a weight that is a whole number, and that of each is none."""
    truth = np.quantile(TWINS, 0.9, method="averaged_inverted_cdf")
    rows = pl.DataFrame({"y": 0.0, "p": TWINS, "w": weight})
    for capacity in (16, 24, 40):
        acc = sm.Accumulator(KEPT[metric](capacity), y_true="y", y_pred="p", sample_weight="w")
        total = sm.merge(acc.empty().update(rows[i::parts]) for i in range(parts))
        found = total.finalize()[metric]
        assert found.lower <= truth <= found.upper
        assert capacity < 40 or found.value == truth
        assert sm.Accumulator.from_bytes(total.to_bytes()).finalize()[metric] == found

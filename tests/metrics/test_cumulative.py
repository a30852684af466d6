"""ECCE: its definition row by row, bounds by brute force, weights, few (p-values: bench/calibration_p_values.py)."""

from itertools import permutations, product

import numpy as np
import polars as pl
import polars.testing
import pytest
from references import range_exceeds, rise
from scipy.optimize import brentq

import streammetrics as sm
from streammetrics.metrics import ecce

ALL = ["ecce", "expected_ecce", "ecce_p_value"]
BINS = [(0.0, 0.125), (0.25, 0.4375), (0.5, 0.5), (0.5625, 1.0)]  # the third is a single score


def by_rows(label, score):
    """The largest |sum of labels minus scores| between two scores, tied rows together, divided by all rows."""
    sums = [0.0] + [sum(y - s for y, s in zip(label, score, strict=True) if s <= end) for end in sorted(set(score))]
    return (max(sums) - min(sums)) / len(label)


def in_order(label, score):
    """The same, where rows with equal scores are as far apart as the next float."""
    sums = np.cumsum([0.0, *(y - s for y, s in zip(label, score, strict=True))])
    return (sums.max() - sums.min()) / len(label)


def evaluated(label, score, weight=None, metrics=ALL, confidence=None, **options):
    columns = {"y": np.asarray(label, int), "p": score} | ({} if weight is None else {"w": weight})
    acc = sm.binary(y_true="y", y_score="p", sample_weight=None if weight is None else "w", **options)
    return acc.update(columns).finalize(metrics, confidence=confidence)


def rows(seed, number=400, distinct=10**6):
    random = np.random.default_rng(seed)
    score = random.integers(0, distinct, number) / distinct
    return random.random(number) < score**1.5, score


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_for_all_orders_and_scores_in_a_bin_and_are_attained(seed):
    random = np.random.default_rng(seed)
    own = sorted(random.choice(4, random.integers(1, 4), replace=False))
    counts = random.integers(0, 3, (len(own), 2))
    counts[0, seed % 2] += not counts.any()
    ends = np.array([BINS[b] for b in own])
    table = pl.DataFrame({"neg": counts[:, 0], "pos": counts[:, 1], "score_low": ends[:, 0], "score_high": ends[:, 1]})
    value, lower, upper = table.select(
        ecce.expression(), *(b.alias(str(i)) for i, b in enumerate(ecce.bounds_expressions()))
    ).row(0)
    found = []
    of_bins = [sorted(set(permutations([0] * n + [1] * p))) for n, p in counts]
    for order in product(*of_bins):
        label = [y for of_bin in order for y in of_bin]
        cuts = [range(len(of_bin) + 1) for of_bin in order]  # the scores of a bin are ascending: low, then high
        for cut in product(*cuts):
            score = [
                float(low if i < c else high)
                for (low, high), c, of_bin in zip(ends, cut, order, strict=True)
                for i in range(len(of_bin))
            ]
            tied = by_rows(label, score)
            apart = in_order(label, score) if all(low < high for low, high in ends) else tied
            found += [tied, apart]
            if apart > tied:
                assert apart <= upper + 1e-12
    assert lower - 1e-12 <= min(found)
    assert max(found) <= upper + 1e-12
    if all(low < high for low, high in ends):
        assert max(found) == pytest.approx(upper)
    assert lower <= value <= upper


def test_lower_bound_is_attained_by_scores_between_the_ends():
    table = {"neg": [1, 1], "pos": [1, 1], "score_low": [0.25, 0.5], "score_high": [0.49, 0.75]}
    lower, _ = ecce.bounds_expressions()
    assert pl.DataFrame(table).select(lower).item() == pytest.approx(by_rows([0, 1, 0, 1], [0.49, 0.49, 0.5, 0.5]))


def test_intervals_and_bounds_of_weighted_rows():
    label, score = rows(1)
    weight = np.random.default_rng(0).choice([0.5, 2, 3], len(label))
    exact, coarse = (evaluated(label, score, weight, confidence=0.95, capacity=n) for n in (4_096, 16))
    half = brentq(lambda size: range_exceeds(size) - 0.05, 1, 9) * np.sqrt((weight**2 * (label - score) ** 2).sum())
    assert exact["ecce"].ci_upper == pytest.approx((rise(label, score, weight) + half) / weight.sum())
    for name in ALL:
        assert coarse[name].lower < exact[name].value < coarse[name].upper, name


def test_equal_weights_change_nothing():
    label, score = rows(1)
    plain = evaluated(label, score, confidence=0.95).frame
    for weight in (1.0, 0.1, 1e80):
        found = evaluated(label, score, np.full(len(label), weight), confidence=0.95).frame
        pl.testing.assert_frame_equal(found, plain, rel_tol=1e-9)


def test_few_rows_carry_the_weight():
    label, score = rows(1)
    heavy = evaluated(label, score, np.where(np.arange(len(label)) < 10, 1e6, 1.0), confidence=0.95)
    assert heavy["ecce_p_value"].note == "too few expected positives or negatives"
    assert heavy["ecce"].ci_lower is None
    for weight in (1e-200, 1e200):
        report = evaluated(label, score, np.full(len(label), weight))
        for name in ("expected_ecce", "ecce_p_value"):
            assert (report[name].value, report[name].note) == (
                None,
                "the squares of the weights are unknown",
            )


def test_without_enough_variance_there_is_no_p_value():
    certain = [0.0, 1.0] * 50
    for label, score in (([0, 1] * 50, certain), ([1, 0] * 50, certain), ([0] * 100, [0.05] * 100)):
        report = evaluated(label, score, confidence=0.95)
        assert report["ecce_p_value"].note == "too few expected positives or negatives"
        assert (report["ecce"].ci_lower is None) is (label[0] == 0)
    assert evaluated([1, 0] * 50, certain)["ecce"].value == 0.5
    assert evaluated([1] * 100, [0.5] * 100)["ecce_p_value"].value < 1e-6
    assert evaluated([], [])["ecce"].value is None

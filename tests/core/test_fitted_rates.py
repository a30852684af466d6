"""Rates of positives fitted to labels: isotonic, never 0 or 1, and of few rows pooled."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from streammetrics.monitor.before_labels.rates import CELLS, cells, fitted, isotonic, within_odds


def test_rates_of_cells_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    for size in (1, 2, 5, 40, 100):
        neg, pos = random.integers(1, 30, (2, size)).astype(float)
        expected = IsotonicRegression().fit_transform(np.arange(size), pos / (neg + pos), sample_weight=neg + pos)
        assert isotonic(neg, pos) == pytest.approx(expected)
        assert isotonic(np.stack([neg, pos]), np.stack([pos, neg]))[0] == pytest.approx(expected)


def test_rates_stay_in_order_and_within_0_and_1():
    random = np.random.default_rng(1)
    for size in (1, 3, 30):
        neg, pos = random.integers(0, 3, (2, size)).astype(float)
        neg[0] += 1
        pos[-1] += 1
        rates = isotonic(neg + 1e-9 * (neg + pos == 0), pos)
        assert (np.diff(rates) >= 0).all()
        assert ((rates > 0) & (rates < 1)).all()


def test_a_perfect_model_keeps_rates_apart_by_half_a_row():
    assert isotonic(np.array([30.0, 0]), np.array([0.0, 19])) == pytest.approx([0.5 / 31, 1 - 0.5 / 20])


def test_bins_without_rows_lie_between_their_neighbors():
    rates = fitted(np.array([0, 90.0, 0, 0, 30, 0]), np.array([0, 10.0, 0, 0, 30, 0]))
    assert rates == pytest.approx([0.1, 0.1, 0.1 + 0.4 / 3, 0.1 + 0.8 / 3, 0.5, 0.5])


def test_cells_are_few_and_hold_rows():
    random = np.random.default_rng(2)
    score = np.sort(random.random(20_000))
    pos = (random.random(20_000) < score**3).astype(float)
    found = cells(1 - pos, pos)
    assert (np.diff(found) >= 0).all()
    assert found.max() < CELLS
    assert np.bincount(found).min() > 50
    few = cells(1 - pos[-60:], pos[-60:])
    assert few.max() < 3


def test_odds_within_a_factor():
    rates = np.array([0.01, 0.3, 0.99])
    low, high = within_odds(rates, 2.5)
    odds = rates / (1 - rates)
    assert low / (1 - low) == pytest.approx(odds / 2.5)
    assert high / (1 - high) == pytest.approx(odds * 2.5)

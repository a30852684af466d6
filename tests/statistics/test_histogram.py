"""The score histogram on adversarial inputs: bounds that hold, a small size, and growth from batch to batch."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score
from strategies import bins_of, histogram

import streammetrics as sm

METRICS = ("roc_auc", "average_precision", "ks")
ROUNDING = 1e-12
N = 600
HUGE = np.finfo(float).max


def spread(rng):
    """Values that share few of their bits."""
    return rng.choice([-1.0, 1.0], N) * np.exp(rng.uniform(-700, 700, N))


KINDS = {  # of real numbers, then of probabilities
    "two bulks": lambda rng: np.where(rng.random(N) < 0.5, rng.normal(1, 1e-6, N), rng.normal(1000, 1, N)),
    "outliers": lambda rng: np.where(rng.random(N) < 0.01, spread(rng), rng.normal(1e6, 1, N)),
    "any size": spread,
    "huge": lambda rng: rng.choice([-1.7e308, 1.7e308, HUGE, -HUGE, 1.0], N),
    "infinite": lambda rng: rng.choice([-np.inf, np.inf, 0.0, 1.0], N) + rng.normal(size=N),
    "median infinite": lambda rng: np.where(rng.random(N) < 0.7, np.inf, rng.normal(size=N)),
    "uniform": lambda rng: rng.random(N),
    "closing in": lambda rng: 0.3 + 0.7 ** rng.integers(0, 80, N) * rng.random(N) * 0.7,
    "zeros": lambda rng: rng.random(N) * (rng.random(N) < 0.05),
    "ones": lambda rng: 1 - rng.random(N) * (rng.random(N) < 0.05),
    "denormals": lambda rng: rng.integers(0, 1 << 40, N).view(np.float64),
    "few denormals": lambda rng: rng.integers(0, 40, N).view(np.float64),
    "all equal": lambda rng: np.full(N, 0.3),
    "last floats": lambda rng: 1 - rng.integers(0, 3000, N) * 2.0**-53,
    "very last floats": lambda rng: 1 - rng.integers(0, 2, N) * 2.0**-53,
    "powers of two": lambda rng: np.nextafter(2.0 ** -rng.integers(0, 1074, N), rng.choice([0.0, 0.5, 1.0], N)),
    "saturated": lambda rng: 1 / (1 + np.exp(-rng.normal(0, 30, N))),
}
REAL = ("two bulks", "outliers", "any size", "huge", "infinite", "median infinite")


def task(capacity, domain="probability", **options):
    return sm.Accumulator(sm.statistics.ScoreHistogram(capacity, domain), y_true="y", y_score="p", **options)


def assert_bounds_hold(acc, label, score):
    """The bounds contain the metrics of all rows, computed from ranks, as scikit-learn takes no infinite scores."""
    rank = np.unique(score, return_inverse=True)[1]
    below = [np.cumsum(np.bincount(rank[label == c], minlength=rank.max() + 1)) / (label == c).sum() for c in (0, 1)]
    truths = roc_auc_score(label, rank), average_precision_score(label, rank), np.abs(below[0] - below[1]).max()
    report = acc.finalize(METRICS)
    for metric, truth in zip(METRICS, truths, strict=True):
        found = report[metric]
        assert found.lower - ROUNDING <= truth <= found.upper + ROUNDING, metric
        assert found.lower <= found.value <= found.upper


@settings(max_examples=10)
@given(
    kind=st.sampled_from([*KINDS]),
    seed=st.integers(0, 999),
    capacity=st.sampled_from([8, 64, 2048]),
    weighted=st.booleans(),
)
def test_bounds_hold_with_as_many_bins_as_the_capacity(kind, seed, capacity, weighted):
    """Labels lean on the order of the scores. A row of weight 2 is two rows."""
    rng, domain = np.random.default_rng(seed), "real" if kind in REAL else "probability"
    score = KINDS[kind](rng)
    label, weight = rng.random(N) < 0.1 + 0.6 * score.argsort().argsort() / N, rng.integers(1, 4, N)
    acc = task(capacity, domain, sample_weight="w" if weighted else None).update({"p": score, "y": label, "w": weight})
    times = weight if weighted else 1
    assert_bounds_hold(acc, np.repeat(label, times), np.repeat(score, times))
    ends, distinct = 1 + (3 if domain == "real" else 2), len(np.unique(score))  # zero and what is infinite, or 0 and 1
    assert bins_of(acc).height <= max(capacity, 63 * 2 * ends)
    if capacity >= distinct:
        assert bins_of(acc).height == distinct
        assert bins_of(acc)["shift"].max() == 0
        assert weighted or all(acc.finalize([m])[m].exact for m in METRICS)


def test_what_widens_the_bounds_is_named():
    rng = np.random.default_rng(0)
    score = np.where(rng.random(20_000) < 0.3, 0.05, rng.beta(2, 8, 20_000))
    found = histogram(score, rng.random(20_000) < score, 1024).finalize()["roc_auc"]
    assert found.upper - found.lower > 0.01
    assert "declare the atom 0.05" in found.note
    # Half of the rows are in one octave, and half spread over a thousand: bins are wide for those in one octave.
    score = np.where(rng.random(N) < 0.5, rng.uniform(0.3, 0.4, N), np.exp(-rng.uniform(0, 700, N)))
    found = histogram(score, rng.random(N) < score**0.1, 8).finalize()["roc_auc"]
    assert found.upper - found.lower > 0.01
    assert "declare the atom" in found.note
    assert math.isfinite(found.value)

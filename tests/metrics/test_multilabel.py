"""Rows with several labels: scikit-learn, and what is undefined."""

import numpy as np
import pytest
import sklearn.metrics as sk
from sklearn.exceptions import UndefinedMetricWarning

from streammetrics.metrics import hamming_loss, samples_jaccard, subset_accuracy


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(weighted, seed):
    """Among them rows without any label, actual or predicted, whose Jaccard index counts 0."""
    rng = np.random.default_rng(seed)
    y, z = rng.random((2, 200, 3)) < rng.uniform(0.1, 0.6)
    w = rng.random(200) if weighted else np.ones(200)
    either = (y | z).sum(axis=1)
    assert (either == 0).any()
    jaccard = np.divide((y & z).sum(axis=1), either, out=np.zeros(200), where=either > 0)
    table = {
        "row_weight": w.sum(),
        "exact_match": w @ (y == z).all(axis=1),
        "label_errors": w @ (y != z).sum(axis=1),
        "label_decisions": 3 * w.sum(),
        "jaccard_sum": w @ jaccard,
    }
    expected = {
        subset_accuracy: sk.accuracy_score(y, z, sample_weight=w),
        hamming_loss: sk.hamming_loss(y, z, sample_weight=w),
        samples_jaccard: sk.jaccard_score(y, z, average="samples", sample_weight=w, zero_division=0),
    }
    for metric, value in expected.items():
        assert metric(**{c: table[c] for c in metric.columns}) == pytest.approx(value, rel=1e-12), metric


def test_by_hand():
    """Two rows of three labels: one all right, one with one wrong decision and one of two labels in common."""
    assert subset_accuracy(2, 1) == 0.5
    assert hamming_loss(1, 6) == 1 / 6
    assert samples_jaccard(2, 1 + 1 / 2) == 0.75


@pytest.mark.parametrize("metric", [subset_accuracy, hamming_loss, samples_jaccard], ids=str)
def test_nothing_is_undefined(metric):
    assert metric(**dict.fromkeys(metric.columns, 0)) is None


def test_scikit_learns_default_for_rows_without_labels_is_0():
    with pytest.warns(UndefinedMetricWarning):
        assert sk.jaccard_score(np.zeros((1, 2)), np.zeros((1, 2)), average="samples") == samples_jaccard(1, 0)

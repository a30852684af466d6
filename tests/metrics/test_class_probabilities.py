"""Losses of several classes and ranks of the actual label: scikit-learn, brute force, what is undefined."""

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk

import streammetrics as sm
from streammetrics.metrics import class_probabilities as m
from streammetrics.metrics import losses as binary
from streammetrics.metrics import top_k_accuracy

LABELS = np.array(["bird", "cat", "cow", "dog"])
LOSSES = [
    *(m.log_loss, m.brier_score, m.balanced_log_loss, m.balanced_brier_score),
    *(m.baseline_log_loss, m.baseline_brier_score, m.log_loss_skill, m.brier_skill_score),
]


def predictions(seed=0, rows=300, classes=4, weighted=False):
    """Actual classes, probabilities and weights."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.7), rows).clip(1e-9)
    p /= p.sum(axis=1, keepdims=True)
    actual = np.where(rng.random(rows) < 0.5, p.argmax(axis=1), rng.integers(0, classes, rows))
    return actual, p, rng.random(rows) if weighted else np.ones(rows)


def loss_table(actual, p, weight):
    """Weights and sums of losses of each class that occurs."""
    outcome = np.eye(p.shape[1])[actual]
    loss = {"class_weight": 1, "log_loss_sum": -np.log(p[outcome > 0]), "brier_sum": ((p - outcome) ** 2).sum(axis=1)}
    rows = pl.DataFrame({"label": actual, **{name: weight * value for name, value in loss.items()}})
    return rows.group_by("label").agg(pl.all().sum())


def read(metric, table):
    return table.select(metric.expression()).item()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_equal_scikit_learn(weighted, seed):
    actual, p, weight = predictions(seed, weighted=weighted)
    table = loss_table(actual, p, weight)
    y, w = LABELS[actual], {"sample_weight": weight if weighted else None}

    def balanced(loss):
        return np.mean([np.average(loss[actual == k], weights=weight[actual == k]) for k in range(4)])

    frequencies = np.tile(np.bincount(actual, weight) / weight.sum(), (len(y), 1))
    expected = {
        m.log_loss: sk.log_loss(y, p, **w),
        m.brier_score: sk.brier_score_loss(y, p, scale_by_half=False, **w),
        m.baseline_log_loss: sk.log_loss(y, frequencies, **w),
        m.baseline_brier_score: sk.brier_score_loss(y, frequencies, scale_by_half=False, **w),
        m.log_loss_skill: sk.d2_log_loss_score(y, p, **w),
        m.brier_skill_score: sk.d2_brier_score(y, p, **w),
        m.balanced_log_loss: balanced(-np.log(p[np.arange(len(p)), actual])),
        m.balanced_brier_score: balanced(((p - np.eye(4)[actual]) ** 2).sum(axis=1)),
    }
    for metric, value in expected.items():
        assert read(metric, table) == pytest.approx(value, rel=1e-12), metric
    assert set(expected) == set(LOSSES)


def test_no_other_constant_is_better():
    actual, p, weight = predictions(5, weighted=True)
    table = loss_table(actual, p, weight)
    for constant in np.random.default_rng(0).dirichlet(np.ones(4), 200):
        other = loss_table(actual, np.tile(constant, (len(actual), 1)), weight)
        assert read(m.log_loss, other) >= read(m.baseline_log_loss, table)
        assert read(m.brier_score, other) >= read(m.baseline_brier_score, table)


@pytest.mark.parametrize("name", [x.name for x in LOSSES])
def test_two_classes_equal_binary_losses(name):
    """Brier's own form counts both classes, so it is twice the binary score."""
    actual, p, weight = predictions(classes=2, weighted=True)
    table = loss_table(actual, p, weight)
    one_class = table.select(
        actual="label", weight="class_weight", log_loss_sum="log_loss_sum", brier_sum=pl.col("brier_sum") / 2
    )
    twice = 2 if name.endswith("brier_score") else 1
    assert read(getattr(m, name), table) == pytest.approx(twice * read(getattr(binary, name), one_class), rel=1e-12)


@pytest.mark.parametrize(("given", "score"), [(0, 0), (1, 2)])
def test_ends_of_the_brier_score(given, score):
    """All probability on the actual class 0, or all of it on another."""
    p = np.eye(3)[[given]].clip(1e-300)
    assert read(m.brier_score, loss_table(np.array([0]), p, np.ones(1))) == score in m.brier_score.range


def test_constants_of_nearly_one_class():
    """1 - p is lost where p is all but 1, and with it most of the entropy."""
    n = 1e15
    assert m.baseline_log_loss([n, 1]) == pytest.approx((1 + np.log(n)) / n, rel=1e-12, abs=0)
    assert m.baseline_brier_score([n, 1]) == pytest.approx(2 / n, rel=1e-12, abs=0)


@pytest.mark.parametrize("metric", LOSSES, ids=str)
def test_one_class_or_none(metric):
    assert metric(*[[0] for _ in metric.columns]) is None
    assert metric(*[[] for _ in metric.columns]) is None
    no_loss, some_loss = ([[3, 0], *[[loss, 0]] * (len(metric.columns) - 1)] for loss in (0, 1))
    skill = metric.name.endswith(("skill", "skill_score"))
    assert metric(*no_loss) == (None if skill else 0)
    if len(metric.columns) > 1:
        assert metric(*some_loss) == (-np.inf if skill else pytest.approx(1 / 3))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:'k' .* greater than or equal to 'n_classes'")
def test_top_k_equals_scikit_learn(weighted, k):
    actual, p, weight = predictions(weighted=weighted)
    rank = 1 + (p > p[np.arange(len(p)), actual][:, None]).sum(axis=1)
    table = pl.DataFrame({"rank": rank, "count": weight}).group_by("rank").agg(pl.sum("count"))
    expected = sk.top_k_accuracy_score(LABELS[actual], p, k=k, sample_weight=weight)
    found = table.group_by(pl.lit(0)).agg(top_k_accuracy(k=k).expression().alias("value"))["value"].item()
    assert found == pytest.approx(expected, rel=1e-12)


def test_top_k_of_nothing_and_options():
    assert top_k_accuracy([], []) is None
    assert top_k_accuracy([1, 2], [1, 3], k=1) == top_k_accuracy([1, 2], [1, 3], k=1.0) == 0.25
    assert str(top_k_accuracy(k=5)) == "top_k_accuracy(k=5)"
    for k in (0, -1, 1.5, float("nan"), float("inf")):
        with pytest.raises(sm.MetricError, match="k= must be an integer of at least 1"):
            top_k_accuracy(k=k).expression()

"""The bounds before labels hold for all rates of positives, orders of rows and scores that the assumption allows."""

from itertools import product

import numpy as np
import pytest
import sklearn.metrics as sk

from streammetrics.monitor.before_labels.bounds import Positives
from streammetrics.monitor.before_labels.bounds import bounds as bounds_of
from streammetrics.monitor.before_labels.filled import DECISIONS, METRICS, read
from streammetrics.monitor.before_labels.groups import Group
from streammetrics.monitor.before_labels.rates import within_odds

PIECES = 6  # that the rows of a bin are split into


def a_group(random, bins):
    """A few bins, some of them with rows of different scores, and one that the threshold may cut."""
    rows = random.integers(1, 30, bins).astype(float)
    rows[random.integers(bins)] *= random.choice([1, 20])
    hidden = random.random(bins) < 0.5
    edges = np.sort(random.random(2 * bins))
    low, high = edges[::2], np.where(hidden, edges[1::2], edges[::2])
    rates = np.sort(random.random(bins) ** random.integers(1, 4)).clip(0.001, 0.999)
    cut = random.integers(bins)
    reaching = random.random() if hidden[cut] else 1.0
    return a_group_of(rows, rates, low, high, hidden, rows[cut + 1 :].sum() + reaching * rows[cut])


def a_group_of(rows, rates, low, high, hidden, reaching):
    group = Group(
        keys=(),
        rows=rows,
        neg=rows,
        pos=rows,
        low=low,
        high=high,
        hidden=hidden,
        start=np.arange(len(rows)),
        squares={},
        reaching={0.5: float(reaching)},
        number=0,
        reference=0,
    )
    group.__dict__["rates"] = rates  # instead of those fitted to the reference
    return group


def bounds(positives, metric):
    return bounds_of(positives, metric, 0.5 if metric in DECISIONS else None)


def single_scores(group, reaching):
    return a_group_of(group.rows, group.rates, group.low, group.low, np.zeros_like(group.hidden), reaching)


def assignments(random, group, odds):
    """Numbers of positives in each bin: all ends of the allowed rates, and many within."""
    low, high = within_odds(group.rates, odds)
    bins = len(low)
    corners = np.array(list(product([0.0, 1.0], repeat=bins)))
    part = random.random((50, bins)) * random.integers(0, 2, (50, bins))
    shares = np.concatenate([corners, random.random((50, bins)), part, 1 - part])
    return group.rows * (low + shares * (high - low))


def orders(random, group, positives):
    """Rows and positives of pieces of each bin by ascending score, with their scores; one way to order them."""
    way = random.choice(["tied", "best", "worst", "any"])
    pieces = []
    for i, m in enumerate(group.rows):
        p = positives[i]
        n = m - p
        if not group.hidden[i] or way == "tied":
            splits = [(p, n)]
        elif way == "any":
            splits = list(
                zip(random.dirichlet(np.ones(PIECES)) * p, random.dirichlet(np.ones(PIECES)) * n, strict=True)
            )
        else:
            splits = [(0.0, n), *[(p / PIECES, 0.0)] * PIECES]
            splits = splits if way == "best" else splits[::-1]
        scores = np.sort(random.uniform(group.low[i], group.high[i], len(splits)))
        scores = scores if random.random() < 0.5 else random.choice([group.low[i], group.high[i]]) + 0 * scores
        pieces += [(*split, score) for split, score in zip(splits, scores, strict=True)]
    return np.array(pieces).T


def by_definition(group, pos, neg, score):
    """All metrics of pieces, which stand in order. The threshold lies where the rows predicted positive begin."""
    rows, place = pos + neg, np.arange(len(pos))
    total, others = pos.sum(), neg.sum()
    in_order = (place[:, None] > place) + 0.5 * (place[:, None] == place)
    down = np.cumsum(rows[::-1])[::-1]
    precision = np.cumsum(pos[::-1])[::-1] / np.where(down > 0, down, 1)
    reach = np.clip((group.reaching[0.5] - (down - rows)) / np.where(rows > 0, rows, 1), 0, 1)
    tp, fp = (pos * reach).sum(), (neg * reach).sum()
    fn, tn = total - tp, others - fp
    return {
        "expected_positives": total,
        "roc_auc": (pos[:, None] * neg * in_order).sum() / (total * others),
        "average_precision": (pos * precision).sum() / total,
        "log_loss": -(pos * np.log(score) + neg * np.log(1 - score)).sum() / rows.sum(),
        "brier_score": (pos * (1 - score) ** 2 + neg * score**2).sum() / rows.sum(),
        "accuracy": (tp + tn) / rows.sum(),
        "balanced_accuracy": (tp / total + tn / others) / 2,
        "precision": tp / (tp + fp) if tp + fp > 0 else np.nan,
        "recall": tp / total,
        "specificity": tn / others,
        "f1": 2 * tp / (2 * tp + fp + fn),
    }


@pytest.mark.parametrize("odds", [1.5, 1.0, 4.0, 100.0])
@pytest.mark.parametrize("bins", [4, 1, 2, 6])
def test_no_assignment_is_beyond_the_bounds(bins, odds):
    random = np.random.default_rng(bins)
    for _ in range(3):
        group = a_group(random, bins)
        positives = Positives.within(group, odds)
        limits = {metric: bounds(positives, metric) for metric in METRICS}
        for assigned in assignments(random, group, odds):
            found = by_definition(group, *orders(random, group, assigned))
            for metric, (low, high) in limits.items():
                assert np.isnan(found[metric]) or low - 1e-9 <= found[metric] <= high + 1e-9, metric


@pytest.mark.thorough
@pytest.mark.parametrize("odds", [3.0, 1.2, 10.0])
def test_bounds_of_bins_that_are_scores_are_attained(odds):
    """Where nothing is hidden, corners and a fine grid between them come as near as the grid allows."""
    random = np.random.default_rng(1)
    for _ in range(3):
        group = a_group(random, 3)
        group = single_scores(group, reaching=group.rows[1:].sum())
        positives = Positives.within(group, odds)
        low, high = within_odds(group.rates, odds)
        grid = np.array(list(product(np.linspace(0, 1, 17), repeat=3)))
        pieces = [(p, group.rows - p, group.low) for p in group.rows * (low + grid * (high - low))]
        found = [by_definition(group, *piece) for piece in pieces]
        for metric in METRICS:
            values = [one[metric] for one in found]
            lower, upper = bounds(positives, metric)
            assert 0 <= min(values) - lower + 1e-9 < 0.005 * max(1, lower), metric
            assert 0 <= upper - max(values) + 1e-9 < 0.005 * max(1, upper), metric


def test_the_definitions_are_those_of_scikit_learn():
    random = np.random.default_rng(2)
    group = a_group(random, 5)
    group = single_scores(group, reaching=group.rows[2:].sum())
    pos, neg, score = group.rows * group.rates, group.rows * (1 - group.rates), group.low
    found = by_definition(group, pos, neg, score)
    y, s, w = np.repeat([1, 0], 5), np.tile(score, 2), np.concatenate([pos, neg])
    assert found["roc_auc"] == pytest.approx(sk.roc_auc_score(y, s, sample_weight=w))
    assert found["average_precision"] == pytest.approx(sk.average_precision_score(y, s, sample_weight=w))
    assert found["log_loss"] == pytest.approx(sk.log_loss(y, s, sample_weight=w))
    assert found["f1"] == pytest.approx(sk.f1_score(y, s >= score[2], sample_weight=w))
    wanted = [(metric, 0.5 if metric in DECISIONS else None) for metric in METRICS]
    for (metric, _), at_rates in read([(group.bins, pos[None])], wanted).items():
        assert at_rates == pytest.approx(found[metric]), metric


def test_the_smallest_average_precision_is_found_over_many_bins():
    """The bound is certified at each step; here it also meets a point that attains it."""
    random = np.random.default_rng(3)
    rows = random.integers(1, 50, 2_000).astype(float)
    rates = 1 / (1 + np.exp(-np.linspace(-4, 2, 2_000)))
    group = a_group_of(rows, rates, rates, rates, np.zeros(2_000, bool), reaching=0)
    positives = Positives.within(group, 3.0)
    lower, upper = bounds(positives, "average_precision")
    switched = [np.where(np.arange(2_000) < i, *ends) for i in range(0, 2_001, 10) for ends in _ends(positives)]
    values = read([(group.bins, np.array(switched))], [("average_precision", None)])["average_precision", None]
    assert lower <= values.min() < lower + 1e-4
    assert values.max() <= upper < values.max() + 1e-4


def _ends(positives):
    return (positives.fewest, positives.most), (positives.most, positives.fewest)

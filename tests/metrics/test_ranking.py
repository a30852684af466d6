from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp
from sklearn import metrics as sk

from streammetrics.errors import MetricError
from streammetrics.metrics.metric import all_metrics
from streammetrics.metrics.ranking import (
    average_precision,
    best_accuracy,
    best_f1,
    best_fbeta,
    best_kappa,
    best_mcc,
    best_youden_j,
    equal_error_rate,
    gain,
    gini,
    ks,
    lift,
    partial_auc,
    pr_auc,
    precision_at_recall,
    recall_at_fpr,
    roc_auc,
)

RANKING = [m for m in all_metrics() if set(m.columns) == {"neg", "pos"}]
DEFINED_WITHOUT_NEGATIVES = {
    average_precision,
    pr_auc,
    precision_at_recall,
    gain,
    lift,
    best_f1,
    best_fbeta,
    best_accuracy,
}
DEFINED_WITHOUT_POSITIVES = {best_f1, best_fbeta, best_accuracy}


def sample(seed, distinct):
    """Labels, scores of so many distinct values, and weights."""
    random = np.random.default_rng(seed)
    score = random.integers(0, distinct, 200) / distinct
    label = random.random(200) < 0.1 + 0.6 * score
    return label, score, random.choice([0.25, 1, 3.7], 200)


def read(metric, label, score, weight=1.0):
    rows = pl.DataFrame({"bin": score, "neg": weight * ~label, "pos": weight * label})
    return rows.group_by("bin").agg(pl.sum("neg", "pos")).sort("bin").select(metric.expression()).item()


def exactly(value):
    return pytest.approx(value, rel=1e-12)


samples = pytest.mark.parametrize(("seed", "distinct"), [(0, 2), (1, 7), (2, 50), (3, 10**6)])


@samples
@pytest.mark.parametrize("weighted", [False, True])
def test_areas_equal_scikit_learn(seed, distinct, weighted):
    label, score, weight = sample(seed, distinct)
    weight = weight if weighted else np.ones(len(label))
    auc = sk.roc_auc_score(label, score, sample_weight=weight)
    assert read(roc_auc, label, score, weight) == exactly(auc)
    assert read(gini, label, score, weight) == exactly(2 * auc - 1)
    assert read(average_precision, label, score, weight) == exactly(
        sk.average_precision_score(label, score, sample_weight=weight)
    )
    for max_fpr in (0.05, 0.33, 1):
        partial = sk.roc_auc_score(label, score, sample_weight=weight, max_fpr=max_fpr)
        assert read(partial_auc(max_fpr=max_fpr), label, score, weight) == exactly(partial)


@samples
def test_readings_of_the_roc_curve(seed, distinct):
    label, score, _ = sample(seed, distinct)
    fpr, tpr, _ = sk.roc_curve(label, score, drop_intermediate=False)
    rows = fpr * (~label).mean() + tpr * label.mean()
    assert read(recall_at_fpr(fpr=0.1234), label, score) == exactly(np.interp(0.1234, fpr, tpr))
    assert read(equal_error_rate, label, score) == exactly(np.interp(1, fpr + tpr, fpr))
    assert read(gain(top=0.1234), label, score) == exactly(np.interp(0.1234, rows, tpr))
    assert read(lift(top=0.1234), label, score) == exactly(np.interp(0.1234, rows, tpr) / 0.1234)
    assert read(ks, label, score) == exactly(ks_2samp(score[label], score[~label]).statistic)


@pytest.mark.parametrize("seed", range(200))
def test_the_equal_error_rate_of_small_data_is_the_rational_number(seed):
    random = np.random.default_rng(seed)
    rows = int(random.integers(2, 12))
    label = np.append([True, False], random.random(rows) < 0.5)
    score = random.integers(0, random.integers(1, 9), rows + 2) + (seed % 3 - 1) * 9 * label  # inverted, mixed, perfect
    weight = random.choice([0.25, 0.5, 3], rows + 2) if seed % 2 else np.ones(rows + 2)
    truth = crossing(label, score, weight)
    found = read(equal_error_rate, label, score, weight)
    assert found == pytest.approx(float(truth), abs=1e-15)
    if truth in (0, 1):
        assert found == truth


def crossing(label, score, weight):
    """The equal error rate in rational numbers."""
    totals = [Fraction(weight[label == side].sum()) for side in (False, True)]
    fpr, fnr = Fraction(0), Fraction(1)
    for edge in np.unique(score)[::-1]:
        above = [Fraction(weight[(label == side) & (score >= edge)].sum()) for side in (False, True)]
        fpr_below, fnr_below = above[0] / totals[0], 1 - above[1] / totals[1]
        if fpr_below >= fnr_below:
            part = (fnr - fpr) / (fpr_below - fpr + fnr - fnr_below)
            return fpr + part * (fpr_below - fpr)
        fpr, fnr = fpr_below, fnr_below
    raise AssertionError


def test_a_perfect_ranking_has_an_equal_error_rate_of_0():
    label = np.append(np.zeros(45038, bool), np.ones(4962, bool))
    score = np.append(np.linspace(0.001, 0.1, 45038), np.linspace(0.9, 0.99, 4962))
    weight = np.random.default_rng(0).random(50_000)
    for weights in (1.0, weight):
        assert read(equal_error_rate, label, score, weights) == 0
        assert read(equal_error_rate, ~label, score, weights) == 1


@samples
def test_readings_of_the_precision_recall_curve(seed, distinct):
    label, score, _ = sample(seed, distinct)
    precision, recall, _ = sk.precision_recall_curve(label, score)
    assert read(precision_at_recall(recall=0.6), label, score) == exactly(precision[recall >= 0.6].max())
    true, rows = (np.array([w[score >= t].sum() for t in np.unique(score)[::-1]]) for w in (label, label >= 0))
    area, before = 0.0, (0, 0)
    for tp, n in zip(true, rows, strict=True):
        t = np.linspace(0, 1, 2001)[1:] - 1 / 4000
        grown = before[0] + t * (tp - before[0]), before[1] + t * (n - before[1])
        area += np.mean(grown[0] / grown[1]) * (tp - before[0]) / label.sum()
        before = tp, n
    assert read(pr_auc, label, score) == pytest.approx(area, rel=1e-6)


@samples
@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        (best_f1, sk.f1_score),
        (best_fbeta(beta=0.5), lambda y, p: sk.fbeta_score(y, p, beta=0.5, zero_division=0)),
        (best_accuracy, sk.accuracy_score),
        (best_youden_j, lambda y, p: sk.balanced_accuracy_score(y, p, adjusted=True)),
        (best_mcc, sk.matthews_corrcoef),
        (best_kappa, sk.cohen_kappa_score),
    ],
)
def test_best_over_thresholds(seed, distinct, metric, reference):
    label, score, _ = sample(seed, distinct)
    assert read(metric, label, score) == exactly(max(reference(label, score >= t) for t in [*np.unique(score), 2]))


def test_one_row_of_each_class_with_one_score_shows_no_skill():
    for metric in (best_youden_j, best_mcc, best_kappa):
        assert metric([1], [1]) == metric([0.5], [0.5]) == 0


@pytest.mark.parametrize("metric", RANKING, ids=str)
def test_missing_classes(metric):
    counts, none = [3, 1], [0, 0]
    assert metric([], []) is None
    assert (metric(counts, none) is not None) == (metric in DEFINED_WITHOUT_POSITIVES)
    assert (metric(none, counts) is not None) == (metric in DEFINED_WITHOUT_NEGATIVES)


@pytest.mark.parametrize("metric", [best_mcc, best_kappa, best_youden_j], ids=str)
def test_no_order_of_two_rows_is_worse_than_no_skill(metric):
    assert metric([0, 1], [1, 0]) == 0
    assert metric([1, 0], [0, 1]) == 1


@pytest.mark.parametrize("metric", RANKING, ids=str)
def test_groups_are_read_apart_and_empty_bins_do_nothing(metric):
    tables = {"a": ([4, 0, 1], [1, 2, 3]), "b": ([0, 2, 0, 2, 0], [0, 1, 0, 1, 0]), "c": ([1], [0])}
    rows = [(g, float(n), float(p)) for g, columns in tables.items() for n, p in zip(*columns, strict=True)]
    table = pl.DataFrame(rows, schema=["group", "neg", "pos"], orient="row")
    read = table.group_by("group", maintain_order=True).agg(value=metric.expression())
    assert read["value"].to_list() == [metric(*columns) for columns in tables.values()]
    assert metric(*tables["b"]) == metric([2, 2], [1, 1])


@pytest.mark.parametrize(
    ("neg", "pos", "note"),
    [
        ([1, 2], [0, 0], "no positives"),
        ([0, 0], [1, 2], "no negatives"),
        ([], [], "no positives"),
        ([0, 2], [2, 0], "below 0.5: chance, or labels swapped?"),
        ([2, 2], [2, 2], None),
        ([1, 0], [0, 1], None),
        ([2**40, 1], [1, 2**40], None),
    ],
)
def test_notes(neg, pos, note):
    table = pl.DataFrame({"neg": neg, "pos": pos}, schema={"neg": pl.Int64, "pos": pl.Int64})
    assert table.select(roc_auc.note_expression()).item() == note
    assert all(m.note_expression() is not None for m in RANKING)


def test_a_jump_at_the_level_itself_counts():
    assert recall_at_fpr([71, 0, 29], [1, 2, 1], fpr=0.29) == 0.75
    assert recall_at_fpr([71, 0, 29], [1, 2, 1], fpr=0.28) < 0.25


@pytest.mark.parametrize(
    "metric", [partial_auc(max_fpr=0), recall_at_fpr(fpr=1.5), gain(top=-1), precision_at_recall(recall=0)], ids=str
)
def test_shares_out_of_range(metric):
    with pytest.raises(MetricError, match="must be greater than 0 and at most 1"):
        metric([1, 2], [3, 4])

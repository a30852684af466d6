"""Metrics of confusion counts: scikit-learn, textbooks, and what is undefined."""

import math

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st

import streammetrics as sm
from streammetrics import metrics as m

COUNTS = ("tp", "fp", "fn", "tn")
TWO_BY_TWO = [x for x in sm.all_metrics() if set(x.columns) <= set(COUNTS)]
count = st.integers(0, 2**40)


def of(metric, tp, fp, fn, tn):
    given = dict(zip(COUNTS, (tp, fp, fn, tn), strict=True))
    return metric(*(given[c] for c in metric.columns))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        (m.accuracy, sk.accuracy_score),
        (m.error_rate, sk.zero_one_loss),
        (m.balanced_accuracy, sk.balanced_accuracy_score),
        (m.precision, sk.precision_score),
        (m.recall, sk.recall_score),
        (m.specificity, lambda y, z: sk.recall_score(y, z, pos_label=0)),
        (m.npv, lambda y, z: sk.precision_score(y, z, pos_label=0)),
        (m.f1, sk.f1_score),
        (m.negative_f1, lambda y, z: sk.f1_score(y, z, pos_label=0)),
        (m.fbeta(beta=2), lambda y, z: sk.fbeta_score(y, z, beta=2)),
        (m.fbeta(beta=0.5), lambda y, z: sk.fbeta_score(y, z, beta=0.5)),
        (m.jaccard, sk.jaccard_score),
        (m.mcc, sk.matthews_corrcoef),
        (m.kappa, sk.cohen_kappa_score),
        (m.positive_likelihood_ratio, lambda y, z: sk.class_likelihood_ratios(y, z)[0]),
        (m.negative_likelihood_ratio, lambda y, z: sk.class_likelihood_ratios(y, z)[1]),
    ],
    ids=lambda x: x.name if isinstance(x, sm.Metric) else None,
)
def test_equals_scikit_learn(metric, reference, seed):
    rng = np.random.default_rng(seed)
    y, z = rng.random(200) < 0.3, rng.random(200) < rng.random()
    (tn, fp), (fn, tp) = sk.confusion_matrix(y, z)
    assert of(metric, tp, fp, fn, tn) == pytest.approx(reference(y, z), rel=1e-12)


@pytest.mark.parametrize(
    ("metric", "table", "value"),
    [
        (m.recall, (94, 50, 6, 850), 0.94),
        (m.fpr, (94, 50, 6, 850), 50 / 900),
        (m.kappa, (25, 10, 15, 20), 0.2857),
        (m.chance_agreement, (2, 18, 8, 72), 0.74),
        (m.positive_likelihood_ratio, (20, 180, 10, 1820), 7.41),
        (m.diagnostic_odds_ratio, (20, 180, 10, 1820), 20.2),
        (m.f1, (3, 1, 2, 4), 2 * 0.75 * 0.6 / (0.75 + 0.6)),
        (m.fowlkes_mallows, (3, 1, 2, 4), math.sqrt(0.75 * 0.6)),
        (m.mcc, (3, 1, 2, 4), (3 * 4 - 1 * 2) / math.sqrt(4 * 5 * 5 * 6)),
        (m.youden_j, (3, 1, 2, 4), 3 / 5 + 4 / 5 - 1),
        (m.markedness, (3, 1, 2, 4), 3 / 4 + 4 / 6 - 1),
        (m.prevalence_threshold, (3, 1, 2, 4), (math.sqrt(0.6 * 0.2) - 0.2) / (0.6 - 0.2)),
        (m.prevalence, (3, 1, 2, 4), 0.5),
        (m.predicted_positive_rate, (3, 1, 2, 4), 0.4),
        (m.majority_accuracy, (1, 0, 0, 9), 0.9),
        (m.normalized_accuracy, (94, 50, 6, 850), 1 - (56 / 1000) / (100 / 1000)),
        (m.class_imbalance, (94, 50, 6, 850), 9.0),
        (m.class_imbalance, (850, 6, 50, 94), 9.0),
        (m.cost(fp=1, fn=10), (3, 1, 2, 4), 2.1),
        (m.cost(tp=-1, tn=-2), (3, 1, 2, 4), (-3 + 1 + 2 - 8) / 10),
        (m.support, (3, 1, 2, 4), 10),
    ],
    ids=lambda x: x.name if isinstance(x, sm.Metric) else None,
)
def test_textbook(metric, table, value):
    assert of(metric, *table) == pytest.approx(value, rel=2e-3 if round(value, 4) in (0.2857, 7.41, 20.2) else 1e-12)


@given(st.lists(st.tuples(count, count, count, count), min_size=1, max_size=20))
def test_every_metric_stays_in_its_range(tables):
    cells = pl.DataFrame(tables, schema=dict.fromkeys(COUNTS, pl.Float64), orient="row")
    values = cells.select(metric.expression().alias(metric.name) for metric in TWO_BY_TWO)
    for metric in TWO_BY_TWO:
        low, high = metric.range
        assert values[metric.name].drop_nulls().is_between(low - 1e-9, high + 1e-9).all(), metric


@pytest.mark.parametrize("rows", [800_000, 3_000_000_000])
def test_perfect_and_reversed_predictions_of_many_rows(rows):
    assert of(m.mcc, rows, 0, 0, rows) == 1.0
    assert of(m.mcc, 0, rows, rows, 0) == -1.0
    assert of(m.kappa, rows, 0, 0, rows) == 1.0


BANDS_OF_KAPPA = {
    (3, 0, 0, 0): (None, None),
    (0, 1, 1, 0): (-1.0, "poor"),
    (0, 9, 1, 0): (-18 / 82, "poor"),
    (0, 1, 9, 0): (-18 / 82, "poor"),
    (0, 1, 1, 9): (-2 / 20, "poor"),
    (1, 1, 1, 1): (0.0, "none to slight"),
    (3, 2, 2, 3): (0.2, "none to slight"),
    (25, 10, 15, 20): (2 / 7, "fair"),
    (7, 3, 3, 7): (0.4, "fair"),
    (8, 2, 2, 8): (0.6, "moderate"),
    (9, 1, 1, 9): (0.8, "substantial"),
    (99, 1, 1, 99): (0.98, "almost perfect"),
    (5, 0, 0, 5): (1.0, "perfect"),
    (9 * 10**8, 10**8, 10**8, 9 * 10**8): (0.8, "substantial"),
    (9 * 10**14, 10**14, 10**14, 9 * 10**14): (0.8, "substantial"),
}
BANDS_OF_IMBALANCE = {
    (2, 1, 1, 1): "balanced",
    (5, 1, 1, 1): "slightly imbalanced",
    (1, 11, 1, 7): "imbalanced",
    (1, 18, 1, 1): "highly imbalanced",
}


def of_tables(tables, expression):
    """An expression of each table of counts."""
    counts = pl.DataFrame([*tables], dict.fromkeys(COUNTS, pl.Int64), orient="row")
    return counts.select(expression).to_series().to_list()


def test_bands_are_exact_at_the_edges():
    kappas, bands = zip(*BANDS_OF_KAPPA.values(), strict=True)
    assert of_tables(BANDS_OF_KAPPA, m.kappa.expression()) == pytest.approx([*kappas], abs=1e-12)
    assert of_tables(BANDS_OF_KAPPA, m.kappa.note_expression()) == [band and f"{band} agreement" for band in bands]
    found = of_tables(BANDS_OF_IMBALANCE, m.class_imbalance.note_expression())
    assert found == [*BANDS_OF_IMBALANCE.values()]

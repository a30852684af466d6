"""Confusion-count metrics of binary classification.

A ratio with denominator 0 is null if its numerator is 0 too, else infinite; scikit-learn returns 0.
"""

from __future__ import annotations

from math import inf

import polars as pl
from polars import Expr

from streammetrics.metrics.metric import metric
from streammetrics.uncertainty import methods


@metric(range=(0, 1), better="high", aliases=("observed_agreement", "accuracy_score"))
def accuracy(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of rows predicted correctly.

    >>> accuracy(94, 50, 6, 850)
    0.944
    >>> accuracy(0, 0, 0, 0) is None
    True
    """
    return (tp + tn) / (tp + fp + fn + tn)


@metric(range=(0, 1), better="low", aliases=("misclassification_rate", "zero_one_loss"))
def error_rate(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of rows predicted incorrectly: 1 - accuracy.

    >>> error_rate(94, 50, 6, 850)
    0.056
    >>> error_rate(0, 0, 0, 0) is None
    True
    """
    return (fp + fn) / (tp + fp + fn + tn)


@metric(
    range=(0, 1),
    better="high",
    aliases=("balanced_accuracy_score",),
    interval=methods.sum_of_shares(0.5, 0.0, ("tp", "fn"), ("tn", "fp")),
)
def balanced_accuracy(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Mean of recall and specificity. 0.5 for any constant prediction; null if a class has no rows.

    >>> balanced_accuracy(3, 2, 1, 2)
    0.625
    >>> balanced_accuracy(3, 0, 1, 0) is None
    True
    """
    return (tp / (tp + fn) + tn / (tn + fp)) / 2


@metric(range=(0, 1), better="high", aliases=("ppv", "positive_predictive_value", "precision_score"))
def precision(tp: Expr, fp: Expr) -> Expr:
    """Share of predicted positives that are positive.

    >>> precision(3, 1)
    0.75
    >>> precision(0, 0) is None
    True
    """
    return tp / (tp + fp)


@metric(range=(0, 1), better="low", aliases=("false_discovery_rate",))
def fdr(tp: Expr, fp: Expr) -> Expr:
    """False discovery rate, the share of predicted positives that are negative: 1 - precision.

    >>> fdr(3, 1)
    0.25
    >>> fdr(0, 0) is None
    True
    """
    return fp / (tp + fp)


@metric(range=(0, 1), better="high", aliases=("negative_predictive_value", "negative_precision"))
def npv(fn: Expr, tn: Expr) -> Expr:
    """Negative predictive value, the share of predicted negatives that are negative: precision of the negative class.

    >>> npv(1, 4)
    0.8
    >>> npv(0, 0) is None
    True
    """
    return tn / (tn + fn)


@metric(range=(0, 1), better="low")
def false_omission_rate(fn: Expr, tn: Expr) -> Expr:
    """Share of predicted negatives that are positive, known as FOR: 1 - npv.

    >>> false_omission_rate(1, 4)
    0.2
    >>> false_omission_rate(0, 0) is None
    True
    """
    return fn / (tn + fn)


@metric(
    range=(0, 1),
    better="high",
    aliases=("sensitivity", "tpr", "true_positive_rate", "power", "hit_rate", "recall_score"),
)
def recall(tp: Expr, fn: Expr) -> Expr:
    """Share of positives that are predicted positive.

    >>> recall(94, 6)
    0.94
    >>> recall(0, 0) is None
    True
    """
    return tp / (tp + fn)


@metric(range=(0, 1), better="low", aliases=("miss_rate", "false_negative_rate", "type_ii_error"))
def fnr(tp: Expr, fn: Expr) -> Expr:
    """False negative rate, the share of positives that are predicted negative: 1 - recall.

    >>> fnr(94, 6)
    0.06
    >>> fnr(0, 0) is None
    True
    """
    return fn / (tp + fn)


@metric(range=(0, 1), better="high", aliases=("selectivity", "tnr", "true_negative_rate", "negative_recall"))
def specificity(fp: Expr, tn: Expr) -> Expr:
    """Share of negatives that are predicted negative: recall of the negative class.

    >>> specificity(1, 4)
    0.8
    >>> specificity(0, 0) is None
    True
    """
    return tn / (tn + fp)


@metric(range=(0, 1), better="low", aliases=("fall_out", "false_positive_rate", "type_i_error"))
def fpr(fp: Expr, tn: Expr) -> Expr:
    """False positive rate, the share of negatives that are predicted positive: 1 - specificity.

    >>> fpr(1, 4)
    0.2
    >>> fpr(0, 0) is None
    True
    """
    return fp / (tn + fp)


@metric(range=(0, 1), better="high", aliases=("f1_score", "dice"))
def f1(tp: Expr, fp: Expr, fn: Expr) -> Expr:
    """Harmonic mean of precision and recall.

    >>> f1(3, 1, 1)
    0.75
    >>> f1(0, 0, 0) is None
    True
    """
    return 2 * tp / (2 * tp + fp + fn)


@metric(range=(0, 1), better="high")
def negative_f1(fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """F1 of the negative class: harmonic mean of npv and specificity.

    >>> negative_f1(1, 1, 3)
    0.75
    >>> negative_f1(0, 0, 0) is None
    True
    """
    return 2 * tn / (2 * tn + fp + fn)


@metric(range=(0, 1), better="high", aliases=("fbeta_score",))
def fbeta(tp: Expr, fp: Expr, fn: Expr, *, beta: float = 1) -> Expr:
    """Weighted harmonic mean of precision and recall. Recall is ``beta`` times as important as precision.

    >>> fbeta(5, 5, 0, beta=2)
    0.8333333333333334
    >>> fbeta(0, 0, 0) is None
    True
    """
    return (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)


@metric(range=(0, 1), better="high", aliases=("fowlkes_mallows_index",))
def fowlkes_mallows(tp: Expr, fp: Expr, fn: Expr) -> Expr:
    """Geometric mean of precision and recall.

    >>> fowlkes_mallows(4, 12, 0)
    0.5
    >>> fowlkes_mallows(0, 3, 0) is None
    True
    """
    return (tp / (tp + fp) * (tp / (tp + fn))).sqrt()


@metric(
    range=(0, 1),
    better="high",
    aliases=("jaccard_index", "jaccard_score", "threat_score", "critical_success_index", "csi"),
)
def jaccard(tp: Expr, fp: Expr, fn: Expr) -> Expr:
    """Jaccard index: true positives as a share of the rows that are positive or predicted positive.

    >>> jaccard(3, 1, 2)
    0.5
    >>> jaccard(0, 0, 0) is None
    True
    """
    return tp / (tp + fp + fn)


@metric(
    range=(-1, 1),
    better="high",
    aliases=("informedness", "bookmaker_informedness"),
    interval=methods.sum_of_shares(1.0, -1.0, ("tp", "fn"), ("tn", "fp")),
)
def youden_j(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Youden's J: recall + specificity - 1 (Youden 1950); 0 for any constant prediction.

    >>> youden_j(3, 2, 1, 2)
    0.25
    >>> youden_j(3, 0, 1, 0) is None
    True
    """
    return tp / (tp + fn) - fp / (tn + fp)


@metric(
    range=(-1, 1),
    better="high",
    aliases=("delta_p",),
    interval=methods.sum_of_shares(1.0, -1.0, ("tp", "fp"), ("tn", "fn")),
)
def markedness(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Precision + npv - 1 (Powers 2011).

    >>> markedness(3, 1, 2, 2)
    0.25
    >>> markedness(3, 1, 0, 0) is None
    True
    """
    return tp / (tp + fp) - fn / (tn + fn)


@metric(range=(0, inf), better="high", aliases=("plr", "lr_plus"))
def positive_likelihood_ratio(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Positive likelihood ratio, LR+: recall / fpr.

    >>> round(positive_likelihood_ratio(20, 180, 10, 1820), 2)
    7.41
    >>> positive_likelihood_ratio(20, 0, 10, 2000)
    inf
    >>> positive_likelihood_ratio(0, 0, 30, 2000) is None
    True
    """
    return tp / (tp + fn) / (fp / (tn + fp))


@metric(range=(0, inf), better="low", aliases=("nlr", "lr_minus"))
def negative_likelihood_ratio(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Negative likelihood ratio, LR-: fnr / specificity.

    >>> negative_likelihood_ratio(1, 1, 1, 3)
    0.6666666666666666
    >>> negative_likelihood_ratio(2, 4, 0, 0) is None
    True
    """
    return fn / (tp + fn) / (tn / (tn + fp))


@metric(range=(0, inf), better="high", aliases=("dor",))
def diagnostic_odds_ratio(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Diagnostic odds ratio: LR+ / LR-, or (tp tn) / (fp fn).

    >>> diagnostic_odds_ratio(20, 180, 10, 1820)
    20.22222222222222
    >>> diagnostic_odds_ratio(20, 0, 10, 0) is None
    True
    """
    return tp / fp * (tn / fn)


@metric(range=(0, 1), aliases=("base_rate",))
def prevalence(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of rows that are positive.

    >>> prevalence(94, 50, 6, 850)
    0.1
    >>> prevalence(0, 0, 0, 0) is None
    True
    """
    return (tp + fn) / (tp + fp + fn + tn)


@prevalence.note
def _prevalence_note(tp: Expr, fn: Expr) -> Expr:
    return pl.when(tp + fn == 0).then(pl.lit("no row has the positive label"))


@metric(range=(0, 1), aliases=("selection_rate", "detection_prevalence"))
def predicted_positive_rate(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of rows that are predicted positive.

    >>> predicted_positive_rate(94, 50, 6, 850)
    0.144
    >>> predicted_positive_rate(0, 0, 0, 0) is None
    True
    """
    return (tp + fp) / (tp + fp + fn + tn)


@metric(range=(0, 1), better="low")
def prevalence_threshold(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Prevalence below which precision falls most steeply (Balayla 2020).

    Equal to ``sqrt(fpr) / (sqrt(recall) + sqrt(fpr))``.

    >>> prevalence_threshold(4, 1, 0, 3)
    0.3333333333333333
    >>> prevalence_threshold(0, 0, 4, 4) is None
    True
    """
    recall_root, fpr_root = (tp / (tp + fn)).sqrt(), (fp / (tn + fp)).sqrt()
    return fpr_root / (recall_root + fpr_root)


@metric(range=(-inf, inf), better="low", aliases=("expected_cost",))
def cost(
    tp: Expr, fp: Expr, fn: Expr, tn: Expr, *, tp_: float = 0, fp_: float = 1, fn_: float = 1, tn_: float = 0
) -> Expr:
    """Mean cost per row, from the costs ``tp``, ``fp``, ``fn``, and ``tn`` of each outcome; gains are negative.

    >>> cost(5, 2, 1, 2, fp=1, fn=10)
    1.2
    >>> cost(0, 0, 0, 0) is None
    True
    """
    return (tp_ * tp + fp_ * fp + fn_ * fn + tn_ * tn) / (tp + fp + fn + tn)


@metric(range=(0, inf), interval="a count")
def support(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Number of rows, or the sum of their weights. For scikit-learn's support of a class, use `positives`.

    >>> support(94, 50, 6, 850)
    1000.0
    """
    return tp + fp + fn + tn


@metric(range=(0, inf), interval="a count")
def positives(tp: Expr, fn: Expr) -> Expr:
    """Number of positive rows, or the sum of their weights.

    >>> positives(94, 6)
    100.0
    """
    return tp + fn


@metric(range=(0, inf), interval="a count")
def negatives(fp: Expr, tn: Expr) -> Expr:
    """Number of negative rows, or the sum of their weights.

    >>> negatives(50, 850)
    900.0
    """
    return fp + tn


@metric(range=(0, inf), interval="a count")
def predicted_positives(tp: Expr, fp: Expr) -> Expr:
    """Number of rows predicted positive, or the sum of their weights.

    >>> predicted_positives(94, 50)
    144.0
    """
    return tp + fp


@metric(range=(0, inf), interval="a count")
def predicted_negatives(fn: Expr, tn: Expr) -> Expr:
    """Number of rows predicted negative, or the sum of their weights.

    >>> predicted_negatives(6, 850)
    856.0
    """
    return fn + tn


@metric(range=(0, inf), better="high", aliases=("tp", "hits"), interval="a count")
def true_positives(tp: Expr) -> Expr:
    """Number of positives predicted positive, or the sum of their weights.

    >>> true_positives(94)
    94.0
    """
    return tp


@metric(range=(0, inf), better="low", aliases=("fp", "false_alarms"), interval="a count")
def false_positives(fp: Expr) -> Expr:
    """Number of negatives predicted positive, or the sum of their weights.

    >>> false_positives(50)
    50.0
    """
    return fp


@metric(range=(0, inf), better="low", aliases=("fn", "misses"), interval="a count")
def false_negatives(fn: Expr) -> Expr:
    """Number of positives predicted negative, or the sum of their weights.

    >>> false_negatives(6)
    6.0
    """
    return fn


@metric(range=(0, inf), better="high", aliases=("tn", "correct_rejections"), interval="a count")
def true_negatives(tn: Expr) -> Expr:
    """Number of negatives predicted negative, or the sum of their weights.

    >>> true_negatives(850)
    850.0
    """
    return tn

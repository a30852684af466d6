"""Confusion-count metrics of binary classification.

A ratio with denominator 0 is null if its numerator is 0 too, else infinite; scikit-learn returns 0.
"""

from __future__ import annotations

from math import inf

import polars as pl
from polars import Expr

from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric


@metric(range=(0, 1), better="high", aliases=("observed_agreement", "accuracy_score"))
def accuracy(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of rows predicted correctly.

    Equivalent to scikit-learn's ``accuracy_score``.

    >>> accuracy(94, 50, 6, 850), accuracy(0, 0, 0, 0)
    (0.944, None)
    """
    return (tp + tn) / (tp + fp + fn + tn)


@metric(range=(0, 1), better="low", aliases=("misclassification_rate", "zero_one_loss"))
def error_rate(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of rows predicted incorrectly: 1 - accuracy.

    Equivalent to scikit-learn's ``zero_one_loss``.

    >>> error_rate(94, 50, 6, 850), error_rate(0, 0, 0, 0)
    (0.056, None)
    """
    return (fp + fn) / (tp + fp + fn + tn)


@metric(
    range=(0, 1),
    better="high",
    aliases=("balanced_accuracy_score",),
    interval=methods.SumOfProportions(0.5, 0.0, (("tp", "fn"), ("tn", "fp"))),
)
def balanced_accuracy(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Mean of recall and specificity.

    1 for perfect predictions, 0.5 for any constant prediction. Null if a class has no rows; scikit-learn's
    ``balanced_accuracy_score`` then returns the recall of the other class.

    >>> balanced_accuracy(3, 2, 1, 2), balanced_accuracy(3, 0, 1, 0)
    (0.625, None)
    """
    return (tp / (tp + fn) + tn / (tn + fp)) / 2


@metric(
    range=(0, 1),
    better="high",
    aliases=("ppv", "positive_predictive_value", "precision_score"),
    interval=methods.Smooth(total="predicted"),
)
def precision(tp: Expr, fp: Expr) -> Expr:
    """Share of predicted positives that are positive.

    Null without predicted positives; scikit-learn's ``precision_score`` then returns 0.

    >>> precision(3, 1), precision(0, 0)
    (0.75, None)
    """
    return tp / (tp + fp)


@metric(range=(0, 1), better="low", aliases=("false_discovery_rate",))
def fdr(tp: Expr, fp: Expr) -> Expr:
    """False discovery rate, the share of predicted positives that are negative: 1 - precision.

    Null without predicted positives.

    >>> fdr(3, 1), fdr(0, 0)
    (0.25, None)
    """
    return fp / (tp + fp)


@metric(range=(0, 1), better="high", aliases=("negative_predictive_value", "negative_precision"))
def npv(fn: Expr, tn: Expr) -> Expr:
    """Negative predictive value, the share of predicted negatives that are negative: precision of the negative class.

    Null without predicted negatives.

    >>> npv(1, 4), npv(0, 0)
    (0.8, None)
    """
    return tn / (tn + fn)


@metric(range=(0, 1), better="low")
def false_omission_rate(fn: Expr, tn: Expr) -> Expr:
    """False omission rate, the share of predicted negatives that are positive: 1 - npv.

    Null without predicted negatives.

    >>> false_omission_rate(1, 4), false_omission_rate(0, 0)
    (0.2, None)
    """
    return fn / (tn + fn)


@metric(
    range=(0, 1),
    better="high",
    aliases=("sensitivity", "tpr", "true_positive_rate", "power", "recall_score"),
    interval=methods.Smooth(total="actual"),
)
def recall(tp: Expr, fn: Expr) -> Expr:
    """Share of positives that are predicted positive.

    Null without positives; scikit-learn's ``recall_score`` then returns 0.

    >>> recall(94, 6), recall(0, 0)
    (0.94, None)
    """
    return tp / (tp + fn)


@metric(range=(0, 1), better="low", aliases=("miss_rate", "false_negative_rate", "type_ii_error"))
def fnr(tp: Expr, fn: Expr) -> Expr:
    """False negative rate, the share of positives that are predicted negative: 1 - recall.

    Null without positives.

    >>> fnr(94, 6), fnr(0, 0)
    (0.06, None)
    """
    return fn / (tp + fn)


@metric(range=(0, 1), better="high", aliases=("selectivity", "tnr", "true_negative_rate", "negative_recall"))
def specificity(fp: Expr, tn: Expr) -> Expr:
    """Share of negatives that are predicted negative: recall of the negative class.

    Null without negatives.

    >>> specificity(1, 4), specificity(0, 0)
    (0.8, None)
    """
    return tn / (tn + fp)


@metric(range=(0, 1), better="low", aliases=("fall_out", "false_positive_rate", "type_i_error"))
def fpr(fp: Expr, tn: Expr) -> Expr:
    """False positive rate, the share of negatives that are predicted positive: 1 - specificity.

    Null without negatives.

    >>> fpr(1, 4), fpr(0, 0)
    (0.2, None)
    """
    return fp / (tn + fp)


@metric(range=(0, 1), better="high", aliases=("f1_score", "dice"))
def f1(tp: Expr, fp: Expr, fn: Expr) -> Expr:
    """Harmonic mean of precision and recall.

    Null if there are neither positives nor predicted positives; scikit-learn's ``f1_score`` then returns 0.

    >>> f1(3, 1, 1), f1(0, 0, 0)
    (0.75, None)
    """
    return 2 * tp / (2 * tp + fp + fn)


@metric(range=(0, 1), better="high")
def negative_f1(fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """F1 of the negative class: harmonic mean of npv and specificity.

    Null if there are neither negatives nor predicted negatives.

    >>> negative_f1(1, 1, 3), negative_f1(0, 0, 0)
    (0.75, None)
    """
    return 2 * tn / (2 * tn + fp + fn)


@metric(range=(0, 1), better="high", aliases=("fbeta_score",))
def fbeta(tp: Expr, fp: Expr, fn: Expr, *, beta: float = 1) -> Expr:
    """Weighted harmonic mean of precision and recall. Recall is ``beta`` times as important as precision.

    Null if there are neither positives nor predicted positives; scikit-learn's ``fbeta_score`` then returns 0.

    >>> fbeta(5, 5, 0, beta=2), fbeta(0, 0, 0)
    (0.8333333333333334, None)
    """
    return (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)


@metric(range=(0, 1), better="high", aliases=("fowlkes_mallows_index",))
def fowlkes_mallows(tp: Expr, fp: Expr, fn: Expr) -> Expr:
    """Geometric mean of precision and recall (Fowlkes & Mallows 1983).

    Null without positives or without predicted positives.

    >>> fowlkes_mallows(4, 12, 0), fowlkes_mallows(0, 3, 0)
    (0.5, None)
    """
    return (tp / (tp + fp) * (tp / (tp + fn))).sqrt()


@metric(
    range=(0, 1),
    better="high",
    aliases=("jaccard_index", "jaccard_score", "threat_score", "critical_success_index", "csi"),
)
def jaccard(tp: Expr, fp: Expr, fn: Expr) -> Expr:
    """Jaccard index: true positives as a share of the rows that are positive or predicted positive.

    Null without such rows; scikit-learn's ``jaccard_score`` then returns 0.

    >>> jaccard(3, 1, 2), jaccard(0, 0, 0)
    (0.5, None)
    """
    return tp / (tp + fp + fn)


@metric(
    range=(-1, 1),
    better="high",
    aliases=("informedness", "bookmaker_informedness"),
    interval=methods.SumOfProportions(1.0, -1.0, (("tp", "fn"), ("tn", "fp"))),
)
def youden_j(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Youden's J: recall + specificity - 1 (Youden 1950).

    1 for perfect predictions, 0 for any constant prediction, -1 if every prediction is wrong. Null if a class has no
    rows.

    >>> youden_j(3, 2, 1, 2), youden_j(3, 0, 1, 0)
    (0.25, None)
    """
    return tp / (tp + fn) - fp / (tn + fp)


@metric(
    range=(-1, 1),
    better="high",
    aliases=("delta_p",),
    interval=methods.SumOfProportions(1.0, -1.0, (("tp", "fp"), ("tn", "fn"))),
)
def markedness(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Markedness: precision + npv - 1 (Powers 2011).

    1 for perfect predictions, 0 for predictions independent of the labels, -1 if every prediction is wrong. Null
    without predicted positives or without predicted negatives.

    >>> markedness(3, 1, 2, 2), markedness(3, 1, 0, 0)
    (0.25, None)
    """
    return tp / (tp + fp) - fn / (tn + fn)


@metric(range=(0, inf), better="high", aliases=("plr", "lr_plus"))
def positive_likelihood_ratio(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Positive likelihood ratio, LR+: recall / fpr.

    1 for predictions independent of the labels, infinite without false positives. Null if recall is 0 too, or a class
    has no rows. Equivalent to the first value of scikit-learn's ``class_likelihood_ratios``.

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

    1 for predictions independent of the labels, 0 without false negatives. Null if a class has no rows. Equivalent to
    the second value of scikit-learn's ``class_likelihood_ratios``.

    >>> negative_likelihood_ratio(1, 1, 1, 3), negative_likelihood_ratio(2, 4, 0, 0)
    (0.6666666666666666, None)
    """
    return fn / (tp + fn) / (tn / (tn + fp))


@metric(range=(0, inf), better="high", aliases=("dor",))
def diagnostic_odds_ratio(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Diagnostic odds ratio: LR+ / LR-, or (tp tn) / (fp fn).

    1 for predictions independent of the labels, infinite without false positives or without false negatives.

    >>> diagnostic_odds_ratio(20, 180, 10, 1820), diagnostic_odds_ratio(20, 0, 10, 0)
    (20.22222222222222, None)
    """
    return tp / fp * (tn / fn)


@metric(range=(0, 1), aliases=("base_rate",))
def prevalence(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of rows that are positive.

    >>> prevalence(94, 50, 6, 850), prevalence(0, 0, 0, 0)
    (0.1, None)
    """
    return (tp + fn) / (tp + fp + fn + tn)


@prevalence.note
def _prevalence_note(tp: Expr, fn: Expr) -> Expr:
    return pl.when(tp + fn == 0).then(pl.lit("no row has the positive label"))


@metric(range=(0, 1), aliases=("selection_rate", "detection_prevalence"))
def predicted_positive_rate(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of rows that are predicted positive.

    >>> predicted_positive_rate(94, 50, 6, 850), predicted_positive_rate(0, 0, 0, 0)
    (0.144, None)
    """
    return (tp + fp) / (tp + fp + fn + tn)


@metric(range=(0, 1), better="low")
def prevalence_threshold(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Prevalence below which precision falls most steeply (Balayla 2020).

    Equal to ``sqrt(fpr) / (sqrt(recall) + sqrt(fpr))``. Null if a class has no rows, or without predicted positives.

    >>> prevalence_threshold(4, 1, 0, 3), prevalence_threshold(0, 0, 4, 4)
    (0.3333333333333333, None)
    """
    recall_root, fpr_root = (tp / (tp + fn)).sqrt(), (fp / (tn + fp)).sqrt()
    return fpr_root / (recall_root + fpr_root)


@metric(range=(-inf, inf), better="low", aliases=("expected_cost",))
def cost(
    tp: Expr, fp: Expr, fn: Expr, tn: Expr, *, tp_: float = 0, fp_: float = 1, fn_: float = 1, tn_: float = 0
) -> Expr:
    """Mean cost per row, from the costs ``tp``, ``fp``, ``fn``, and ``tn`` of each outcome; gains are negative.

    By default, each error costs 1.

    >>> cost(5, 2, 1, 2, fp=1, fn=10), cost(0, 0, 0, 0)
    (1.2, None)
    """
    return (tp_ * tp + fp_ * fp + fn_ * fn + tn_ * tn) / (tp + fp + fn + tn)

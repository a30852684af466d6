"""Every metric with its reference: scikit-learn or scipy where they have it, else its definition over the rows.

A reference takes arrays of the rows of its task, then their weights, or None. It returns NaN where the metric is
undefined. ``TASKS`` has the evaluations that compute the metrics, with rows for them: those of the shared data, and
what hypothesis may draw for each column.
"""

from functools import partial
from itertools import combinations
from math import log, nan
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import sklearn.metrics as sk
from data import CLICKS, DELIVERIES, TOPICS, clicks, deliveries, digits, topics
from hypothesis import strategies as st
from scipy import stats

import streammetrics as sm


def scikit(function, **options):
    """A function of scikit-learn, undefined without rows."""
    return lambda y, p, w: function(y, p, sample_weight=w, **options) if len(y) else nan


def both(reference):
    """A reference that is undefined unless both classes occur."""
    return lambda y, p, w: reference(y, p, w) if len({*y}) == 2 else nan


def mean(values, w):
    return np.average(values, weights=w) if len(values) else nan


def total(rows, w):
    return np.float64(np.sum(rows if w is None else rows * w))


# Labels y and predicted labels z, and with scores p at a threshold.


def of_counts(formula):
    return lambda y, z, w: formula(*(total(rows, w) for rows in (y & z, ~y & z, y & ~z, ~y & ~z)))


def mcc(tp, fp, fn, tn):
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


def kappa(tp, fp, fn, tn):
    return 2 * (tp * tn - fp * fn) / ((tp + fp) * (fp + tn) + (tp + fn) * (fn + tn))


def fbeta(tp, fp, fn, tn, beta):
    return (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)


LABELS = {
    "accuracy": scikit(sk.accuracy_score),
    "error_rate": scikit(sk.zero_one_loss),
    "balanced_accuracy": both(scikit(sk.balanced_accuracy_score)),
    "precision": scikit(sk.precision_score, zero_division=nan),
    "fdr": of_counts(lambda tp, fp, fn, tn: fp / (tp + fp)),
    "npv": scikit(sk.precision_score, zero_division=nan, pos_label=False),
    "false_omission_rate": of_counts(lambda tp, fp, fn, tn: fn / (fn + tn)),
    "recall": scikit(sk.recall_score, zero_division=nan),
    "fnr": of_counts(lambda tp, fp, fn, tn: fn / (tp + fn)),
    "specificity": scikit(sk.recall_score, zero_division=nan, pos_label=False),
    "fpr": of_counts(lambda tp, fp, fn, tn: fp / (fp + tn)),
    "f1": scikit(sk.f1_score, zero_division=nan),
    "negative_f1": scikit(sk.f1_score, zero_division=nan, pos_label=False),
    "fbeta(beta=2)": scikit(sk.fbeta_score, beta=2, zero_division=nan),
    "fbeta(beta=0.5)": scikit(sk.fbeta_score, beta=0.5, zero_division=nan),
    "fowlkes_mallows": of_counts(lambda tp, fp, fn, tn: np.sqrt(tp / (tp + fp) * tp / (tp + fn))),
    "jaccard": of_counts(lambda tp, fp, fn, tn: tp / (tp + fp + fn)),
    "youden_j": of_counts(lambda tp, fp, fn, tn: tp / (tp + fn) + tn / (tn + fp) - 1),
    "markedness": of_counts(lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (tn + fn) - 1),
    "mcc": lambda y, z, w: scikit(sk.matthews_corrcoef)(y, z, w) if len({*y}) == len({*z}) == 2 else nan,
    "kappa": scikit(sk.cohen_kappa_score),
    "positive_likelihood_ratio": of_counts(lambda tp, fp, fn, tn: tp / (tp + fn) / (fp / (fp + tn))),
    "negative_likelihood_ratio": of_counts(lambda tp, fp, fn, tn: fn / (tp + fn) / (tn / (fp + tn))),
    "diagnostic_odds_ratio": of_counts(lambda tp, fp, fn, tn: tp / fp * (tn / fn)),
    "prevalence": lambda y, z, w: mean(y, w),
    "predicted_positive_rate": lambda y, z, w: mean(z, w),
    "prevalence_threshold": of_counts(lambda tp, fp, fn, tn: 1 / (1 + np.sqrt(tp / (tp + fn) / (fp / (fp + tn))))),
    "majority_accuracy": lambda y, z, w: max(mean(y, w), mean(~y, w)),
    "chance_agreement": lambda y, z, w: mean(y, w) * mean(z, w) + mean(~y, w) * mean(~z, w),
    "normalized_accuracy": lambda y, z, w: 1 - mean(y != z, w) / min(mean(y, w), mean(~y, w)),
    "class_imbalance": lambda y, z, w: max(mean(y, w), mean(~y, w)) / min(mean(y, w), mean(~y, w)),
    "cost": lambda y, z, w: mean(y != z, w),
    "cost(tp=-3, fp=2, fn=10, tn=-1)": lambda y, z, w: mean(np.select([y & z, z, y], [-3, 2, 10], -1), w),
    "support": lambda y, z, w: total(y | ~y, w),
    "positives": lambda y, z, w: total(y, w),
    "negatives": lambda y, z, w: total(~y, w),
    "predicted_positives": lambda y, z, w: total(z, w),
    "predicted_negatives": lambda y, z, w: total(~z, w),
    "true_positives": lambda y, z, w: total(y & z, w),
    "false_positives": lambda y, z, w: total(~y & z, w),
    "false_negatives": lambda y, z, w: total(y & ~z, w),
    "true_negatives": lambda y, z, w: total(~y & ~z, w),
}

# Labels y and scores p: rankings, from the weights of each class at or above every score.


def along(reading):
    def reference(y, p, w):
        _, place = np.unique(-p, return_inverse=True)
        weights = np.ones(len(p)) if w is None else w
        return reading(*(np.append(0, np.bincount(place, weights * rows).cumsum()) for rows in (~y, y)))

    return reference


def reached(level, x, y):
    """How high a path is at a level of x, straight between its points; the end of a jump there."""
    here = np.flatnonzero(x <= level)[-1]
    if here == len(x) - 1:
        return y[-1]
    return y[here] + (level - x[here]) / (x[here + 1] - x[here]) * (y[here + 1] - y[here])


def best(formula):
    return along(lambda fp, tp: np.nanmax([nan, *formula(tp, fp, tp[-1] - tp, fp[-1] - fp)]))


def partial_area(fp, tp, level):
    fpr, recall = fp / fp[-1], tp / tp[-1]
    inside = fpr <= level
    return np.trapezoid([*recall[inside], reached(level, fpr, recall)], [*fpr[inside], level])


def area_of_precision(fp, tp):
    """Precision between two thresholds: rows of both classes come evenly (Davis & Goadrich 2006)."""
    n, rise, width = tp + fp, np.diff(tp), np.diff(tp + fp)
    steepness = rise / width
    start = tp[:-1] - steepness * n[:-1]
    mixed = np.where(n[:-1] > 0, start * np.log(n[1:] / n[:-1]), 0)
    return np.sum(steepness * (rise + mixed)) / tp[-1] if tp[-1] else nan


RANKING = {
    "roc_auc": both(scikit(sk.roc_auc_score)),
    "gini": both(lambda y, p, w: 2 * sk.roc_auc_score(y, p, sample_weight=w) - 1),
    "partial_auc(max_fpr=0.05)": both(scikit(sk.roc_auc_score, max_fpr=0.05)),
    "partial_auc(max_fpr=0.35, standardized=False)": both(along(partial(partial_area, level=0.35))),
    "average_precision": lambda y, p, w: scikit(sk.average_precision_score)(y, p, w) if y.any() else nan,
    "pr_auc": along(area_of_precision),
    "ks": along(lambda fp, tp: np.max(np.abs(tp / tp[-1] - fp / fp[-1]))),
    "recall_at_fpr(fpr=0.123)": both(along(lambda fp, tp: reached(0.123, fp / fp[-1], tp / tp[-1]))),
    "precision_at_recall(recall=0.61)": along(
        lambda fp, tp: np.nanmax([nan, *(tp / (tp + fp))[1:][tp[1:] >= 0.61 * tp[-1]]]) if tp[-1] else nan
    ),
    "equal_error_rate": both(along(lambda fp, tp: reached(1, fp / fp[-1] + tp / tp[-1], fp / fp[-1]))),
    "gain(top=0.123)": along(lambda fp, tp: reached(0.123 * (fp + tp)[-1], fp + tp, tp / tp[-1])),
    "lift(top=0.123)": along(lambda fp, tp: reached(0.123 * (fp + tp)[-1], fp + tp, tp / tp[-1]) / 0.123),
    "best_f1": best(partial(fbeta, beta=1)),
    "best_fbeta(beta=0.5)": best(partial(fbeta, beta=0.5)),
    "best_accuracy": best(lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn)),
    "best_youden_j": best(lambda tp, fp, fn, tn: tp / (tp + fn) + tn / (tn + fp) - 1),
    "best_mcc": both(best(lambda *counts: np.nan_to_num(mcc(*counts)))),  # 0 if all are predicted alike
    "best_kappa": both(best(kappa)),
}

# Labels y and probabilities p: losses, and calibration in ten bins.


def clipped(p):
    return np.clip(p, 1e-15, 1 - 1e-15)


def log_losses(y, p):
    return -np.log(np.abs(clipped(p) - ~y))


def squares(y, p):
    return (p - y) ** 2


def weighted(y, w, positive):
    return np.where(y, positive, 1) * (1 if w is None else w)


def of_class(losses, label):
    return lambda y, p, w: mean(losses(y, p)[y == label], None if w is None else w[y == label])


def balanced(losses):
    return lambda y, p, w: (of_class(losses, True)(y, p, w) + of_class(losses, False)(y, p, w)) / 2


def baseline(losses):
    return lambda y, p, w: mean(losses(y, np.full(len(y), mean(y, w))), w)


def skill(losses, base):
    return lambda y, p, w: 1 - np.float64(mean(losses(y, p), w)) / base(y, p, w)


def entropy(y, p, w):
    return stats.entropy([mean(y, w), mean(~y, w)]) if len(y) else nan


LOSSES = {
    "log_loss": lambda y, p, w: scikit(sk.log_loss, labels=[False, True])(y, clipped(p), w),
    "log_loss(label=positive)": of_class(log_losses, True),
    "log_loss(label=negative)": of_class(log_losses, False),
    "log_loss(positive_weight=3)": lambda y, p, w: mean(log_losses(y, p), weighted(y, w, 3)),
    "balanced_log_loss": balanced(log_losses),
    "baseline_log_loss": entropy,
    "log_loss_skill": skill(log_losses, entropy),
    "brier_score": scikit(sk.brier_score_loss, labels=[False, True], pos_label=True),
    "brier_score(label=positive)": of_class(squares, True),
    "brier_score(label=negative)": of_class(squares, False),
    "brier_score(negative_weight=0.5)": lambda y, p, w: mean(squares(y, p), weighted(y, w, 2)),
    "balanced_brier_score": balanced(squares),
    "baseline_brier_score": baseline(squares),
    "brier_skill_score": skill(squares, baseline(squares)),
}


def of_bins(formula):
    """A formula of the shares of rows, the rates of positives and the mean scores of bins that have rows."""

    def reference(y, p, w):
        place = np.maximum(np.searchsorted(np.linspace(0, 1, 11), p) - 1, 0)
        w = np.ones(len(p)) if w is None else w
        weight, pos, score = (np.bincount(place, values)[np.unique(place)] for values in (w, w * y, w * p))
        return formula(weight / weight.sum(), pos / weight, score / weight) if len(p) else nan

    return reference


CALIBRATION = {
    "ece": of_bins(lambda share, rate, score: share @ abs(rate - score)),
    "mce": of_bins(lambda share, rate, score: max(abs(rate - score))),
    "rmsce": of_bins(lambda share, rate, score: np.sqrt(share @ (rate - score) ** 2)),
    "mean_score": lambda y, p, w: mean(p, w),
    "observed_rate": lambda y, p, w: mean(y, w),
    "calibration_ratio": lambda y, p, w: np.float64(mean(p, w)) / mean(y, w),
    "calibration_in_the_large": lambda y, p, w: mean(y - p, w),
    "brier_reliability": of_bins(lambda share, rate, score: share @ (rate - score) ** 2),
    "brier_resolution": of_bins(lambda share, rate, score: share @ (rate - share @ rate) ** 2),
    "brier_uncertainty": lambda y, p, w: mean(y, w) * mean(~y, w),
}
CALIBRATION["brier_within_bin"] = lambda y, p, w: (  # what is left of the Brier score
    mean(squares(y, p), w)
    - CALIBRATION["brier_reliability"](y, p, w)
    + CALIBRATION["brier_resolution"](y, p, w)
    - CALIBRATION["brier_uncertainty"](y, p, w)
)


def rise(y, p, w):
    """The largest difference of two sums of labels minus scores, in the order of the scores, ties together."""
    _, place = np.unique(p, return_inverse=True)
    sums = np.append(0, np.bincount(place, (y - p) * (1 if w is None else w)).cumsum())
    return np.ptp(sums)


def of_chance(p, w):
    """The standard deviation of the sum of labels minus scores, if the scores are the probabilities."""
    return np.sqrt(np.sum(p * (1 - p) * (1 if w is None else w**2)))


def range_exceeds(size):
    """The probability that the range of a Brownian motion is larger (Feller 1951)."""
    k = np.arange(1, 1_000)
    return 8 * np.sum((-1.0) ** (k - 1) * k * stats.norm.sf(k * size))


def not_by_chance(y, p, w):
    usual = len(p) if w is None else np.sum(w**2) / np.sum(w)
    if np.sum(p * (1 - p)) < 10 if w is None else of_chance(p, w) ** 2 / usual**2 < 10:
        return nan
    return range_exceeds(rise(y, p, w) / of_chance(p, w))


CUMULATIVE = {
    "ecce": lambda y, p, w: np.float64(rise(y, p, w)) / total(y | ~y, w),
    "expected_ecce": lambda y, p, w: np.sqrt(8 / np.pi) * of_chance(p, w) / total(y | ~y, w),
    "ecce_p_value": not_by_chance,
}


def at_a_half(reference):
    return lambda y, p, w: reference(y, p >= 0.5, w)


SCORES = RANKING | LOSSES | CALIBRATION
BINARY = {name: at_a_half(reference) for name, reference in LABELS.items()} | SCORES | CUMULATIVE

# Labels y and predicted labels z of several classes, and averages over pairs of columns, one for each label.


def averaged(references, average):
    """Metrics of columns, by an average."""

    def of_columns(reference):
        def values(truth, columns, w):
            if average == "micro":
                weights = None if w is None else np.tile(w, len(truth))
                return reference(*(np.concatenate([np.zeros(0, bool), *each]) for each in (truth, columns)), weights)
            each = np.array([reference(y, p, w) for y, p in zip(truth, columns, strict=True)], float)
            support = np.array([total(y, w) if average == "weighted" else 1.0 for y in truth])
            known = ~np.isnan(each) & (support > 0)
            return np.average(each[known], weights=support[known]) if known.any() else nan

        return values

    option = f"average={average})"
    return {
        f"{name[:-1]}, {option}" if ")" in name else f"{name}({option}": of_columns(reference)
        for name, reference in references.items()
    }


def some(references, *names):
    return {name: references[name] for name in names}


def of_labels(reference):
    """An average over the labels that occur, each against the rest."""
    return lambda y, z, w: reference(*([side == label for label in sorted({*y, *z})] for side in (y, z)), w)


def several(function, **options):
    """Cohen's and Matthews' measures, which are undefined for one label."""
    return lambda y, z, w: scikit(function, **options)(y, z, w) if len({*y, *z}) > 1 else nan


def frequencies(y, w):
    return np.array([mean(y == label, w) for label in sorted({*y})])


AVERAGED_LABELS = {
    **averaged(some(LABELS, "precision", "recall", "f1", "jaccard", "fbeta(beta=2)", "fpr", "npv"), "macro"),
    **averaged(some(LABELS, "precision", "recall", "f1", "specificity", "accuracy", "false_positives"), "micro"),
    **averaged(some(LABELS, "precision", "recall", "f1", "fbeta(beta=0.5)", "fpr"), "weighted"),
}
CLASSES = {
    "accuracy": scikit(sk.accuracy_score),
    "error_rate": scikit(sk.zero_one_loss),
    "balanced_accuracy": scikit(sk.balanced_accuracy_score),
    "majority_accuracy": lambda y, z, w: max(frequencies(y, w), default=nan),
    "chance_agreement": lambda y, z, w: sum(mean(y == k, w) * mean(z == k, w) for k in {*y}) if len(y) else nan,
    "mcc": lambda y, z, w: scikit(sk.matthews_corrcoef)(y, z, w) if min(len({*y}), len({*z})) > 1 else nan,
    "kappa": several(sk.cohen_kappa_score),
    "kappa(weights=linear)": several(sk.cohen_kappa_score, weights="linear"),
    "kappa(weights=quadratic)": several(sk.cohen_kappa_score, weights="quadratic"),
    **{name: of_labels(reference) for name, reference in AVERAGED_LABELS.items()},
}

# Labels y, as a column of whether it is this label for each, and probabilities p, a column for each.


def of_truth(losses):
    """The mean of a loss of rows, and of equally heavy labels."""

    def by_label(y, p, w):
        rows = [(losses(y, p)[own], None if w is None else w[own]) for own in y if own.any()]
        return np.mean([mean(*each) for each in rows]) if rows else nan

    return (lambda y, p, w: mean(losses(y, p), w)), by_label


def log_losses_of_classes(y, p):
    return -np.log(np.sum(clipped(p) * y, axis=0))


def squares_of_classes(y, p):
    return np.sum((p - y) ** 2, axis=0)


def constant(y, p, w):
    return np.repeat([[mean(label, w)] for label in y], y.shape[1], axis=1)


def entropy_of_classes(y, p, w):
    return stats.entropy([mean(label, w) for label in y]) if y.size else nan


def squares_of_constant(y, p, w):
    return mean(squares_of_classes(y, constant(y, p, w)), w)


def top(k):
    """Of equal probabilities the first label is ahead; in scikit-learn, the last."""
    return lambda y, p, w: mean(np.any(y[np.argsort(-p, axis=0, kind="stable"), np.arange(y.shape[1])][:k], axis=0), w)


def one_vs_one(average):
    """ROC AUC of the rows of every two labels, by the score of each (Hand & Till 2001)."""

    def reference(y, p, w):
        found = []
        for one, other in combinations(range(len(y)), 2):
            rows = y[one] | y[other]
            if both(lambda *_: 0)(y[one][rows], None, None) == 0:
                weights = None if w is None else w[rows]
                aucs = [sk.roc_auc_score(y[k][rows], p[k][rows], sample_weight=weights) for k in (one, other)]
                found.append((np.mean(aucs), total(rows, w) if average == "weighted" else 1))
        aucs, sizes = zip(*found, strict=True) if found else ([], None)
        return mean(aucs, sizes)

    return reference


LOG_LOSS, BALANCED_LOG_LOSS = of_truth(log_losses_of_classes)
BRIER, BALANCED_BRIER = of_truth(squares_of_classes)
OF_COLUMNS = {
    **averaged(some(SCORES, "roc_auc", "average_precision", "ece", "best_f1", "brier_uncertainty"), "macro"),
    **averaged(some(SCORES, "roc_auc", "average_precision", "ks", "mce", "recall_at_fpr(fpr=0.123)"), "micro"),
    **averaged(some(SCORES, "roc_auc", "average_precision", "pr_auc", "rmsce", "gain(top=0.123)"), "weighted"),
}
CLASS_SCORES = {
    "log_loss": LOG_LOSS,
    "balanced_log_loss": BALANCED_LOG_LOSS,
    "baseline_log_loss": entropy_of_classes,
    "log_loss_skill": skill(log_losses_of_classes, entropy_of_classes),
    "brier_score": BRIER,
    "balanced_brier_score": BALANCED_BRIER,
    "baseline_brier_score": squares_of_constant,
    "brier_skill_score": skill(squares_of_classes, squares_of_constant),
    "top_k_accuracy": top(1),
    "top_k_accuracy(k=2)": top(2),
    "top_k_accuracy(k=9)": top(9),
    "roc_auc_ovo": one_vs_one("macro"),
    "roc_auc_ovo(average=weighted)": one_vs_one("weighted"),
    **OF_COLUMNS,
}

# Several labels of a row: whether each is true, and its score p.


def of_rows(function, **options):
    return lambda y, p, w: function(y.T, (p >= 0.5).T, sample_weight=w, **options) if y.size else nan


LABEL_SETS = {
    "subset_accuracy": of_rows(sk.accuracy_score),
    "hamming_loss": of_rows(sk.hamming_loss),
    "samples_jaccard": of_rows(sk.jaccard_score, average="samples", zero_division=0),
    **{name: at_a_half(reference) for name, reference in AVERAGED_LABELS.items()},
    **OF_COLUMNS,
    **averaged(some(LOSSES, "log_loss", "brier_score"), "macro"),
}

# True values y and predictions p.


def of_errors(formula):
    return lambda y, p, w: mean(formula(y, p), w)


def root(reference):
    return lambda y, p, w: np.sqrt(reference(y, p, w))


def explained(lost, spread):
    """A share of a spread: 1 without a loss, and undefined if there is a loss but no spread."""
    return 1.0 if lost == 0 else nan if spread == 0 else 1 - lost / spread


def spread(y, w):
    return mean((y - mean(y, w)) ** 2, w)


def r2(y, p, w):
    return explained(mean((p - y) ** 2, w), spread(y, w)) if len(y) else nan


def adjusted(y, p, w, features):
    n = total(y == y, w)
    return 1 - (1 - r2(y, p, w)) * (n - 1) / (n - features - 1) if n > features + 1 else nan


def d2(power):
    def reference(y, p, w):
        if not len(y):
            return nan
        constant = np.full(len(y), mean(y, w))
        lost, spread = (
            sk.mean_tweedie_deviance(y, other, power=power, sample_weight=w) if (y != other).any() else 0.0
            for other in (p, constant)
        )
        return explained(lost, spread)

    return reference


def covariance(y, p, w):
    return mean((y - mean(y, w)) * (p - mean(p, w)), w)


def pearson(y, p, w):
    varied = len({*y}) > 1 and len({*p}) > 1
    return covariance(y, p, w) / np.sqrt(spread(y, w) * spread(p, w)) if varied else nan


ERRORS = {
    "mae": scikit(sk.mean_absolute_error),
    "mse": scikit(sk.mean_squared_error),
    "rmse": scikit(sk.root_mean_squared_error),
    "bias": of_errors(lambda y, p: p - y),
    "error_sd": lambda y, p, w: np.sqrt(spread(p - y, w)),
    "max_error": lambda y, p, w: sk.max_error(y, p) if len(y) else nan,
    "pinball_loss": scikit(sk.mean_pinball_loss),
    "pinball_loss(q=0.9)": scikit(sk.mean_pinball_loss, alpha=0.9),
    "pinball_loss(q=0)": scikit(sk.mean_pinball_loss, alpha=0),
    "mape": scikit(sk.mean_absolute_percentage_error),
    "rmspe": root(of_errors(lambda y, p: (p / y - 1) ** 2)),
    "smape": of_errors(lambda y, p: np.abs(p - y) / ((np.abs(y) + np.abs(p)) / 2)),
    "wape": lambda y, p, w: np.float64(mean(np.abs(p - y), w)) / mean(np.abs(y), w),
    "ss_res": lambda y, p, w: total((p - y) ** 2, w),
    "ss_tot": lambda y, p, w: total((y - mean(y, w)) ** 2, w),
    "r2": r2,
    "adjusted_r2": partial(adjusted, features=1),
    "adjusted_r2(features=3)": partial(adjusted, features=3),
    "explained_variance": lambda y, p, w: explained(spread(p - y, w), spread(y, w)) if len(y) else nan,
    "pearson_r": pearson,
    "concordance": lambda y, p, w: (
        2 * covariance(y, p, w) / (spread(y, w) + spread(p, w) + np.float64(mean(p - y, w)) ** 2)
    ),
    "mean_actual": lambda y, p, w: mean(y, w),
    "mean_predicted": lambda y, p, w: mean(p, w),
    "msle": scikit(sk.mean_squared_log_error),
    "rmsle": scikit(sk.root_mean_squared_log_error),
    "log_cosh": of_errors(lambda y, p: np.logaddexp(p - y, y - p) - log(2)),
    "poisson_deviance": scikit(sk.mean_poisson_deviance),
    "gamma_deviance": scikit(sk.mean_gamma_deviance),
    "tweedie_deviance": scikit(sk.mean_tweedie_deviance, power=1.5),
    "d2_poisson": d2(1),
    "d2_gamma": d2(2),
    "d2_tweedie": d2(1.5),
}

# Values v alone, such as errors. Weights are multiples of a quarter, so that they are that many rows.


def quantile(q):
    def reference(v, w):
        rows = v if w is None else np.repeat(v, (4 * w).astype(int))
        method = "linear" if w is None else "averaged_inverted_cdf"  # which the scale of weights does not change
        return np.quantile(rows, q, method=method) if len(v) else nan

    return reference


def iqr(v, w):
    return quantile(0.75)(v, w) - quantile(0.25)(v, w)


def mad(v, w):
    return quantile(0.5)(np.abs(v - quantile(0.5)(v, w)), w)


def share(x):
    return lambda v, w: mean(v <= x, w)


def of_sizes(reference):
    return lambda v, w: reference(np.abs(v), w)


VALUES = {
    "median": quantile(0.5),
    **{f"quantile(q={q})": quantile(q) for q in (0, 0.1, 0.25, 1 / 3, 0.5, 0.9, 0.999, 1)},
    "mean": mean,
    "iqr": iqr,
    "cdf": share(0),
    "cdf(x=1.5)": share(1.5),
    "minimum": lambda v, w: min(v, default=nan),
    "maximum": lambda v, w: max(v, default=nan),
}
ERROR_VALUES = {
    "median_error": quantile(0.5),
    "median_absolute_error": of_sizes(quantile(0.5)),
    "mad": mad,
    "error_quantile(q=0.9)": quantile(0.9),
    "absolute_error_quantile(q=0.9)": of_sizes(quantile(0.9)),
    "error_iqr": iqr,
    "error_cdf": share(0),
    "error_cdf(x=2.5)": share(2.5),
    "within(x=0.5)": of_sizes(share(0.5)),
    "within(x=5)": of_sizes(share(5)),
    "rec_auc": lambda v, w: mean(np.maximum(0, 1 - np.abs(v)), w),
    "rec_auc(limit=5)": lambda v, w: mean(np.maximum(0, 1 - np.abs(v) / 5), w),
}
REGRESSION = ERRORS | {
    name: lambda y, p, w, reference=reference: reference(p - y, w) for name, reference in ERROR_VALUES.items()
}
DIGESTS = {
    "digest_quantile": quantile(0.5),
    "digest_quantile(q=0.9)": quantile(0.9),
    "digest_cdf": share(0),
    "digest_cdf(x=2.5)": share(2.5),
}
PREDICTIONS = {
    "predicted_positive_rate": lambda p, w: mean(p >= 0.5, w),
    "predicted_positives": lambda p, w: total(p >= 0.5, w),
    "predicted_negatives": lambda p, w: total(p < 0.5, w),
    **VALUES,
}
"""Of predictions, before there are labels."""


class Task(NamedTuple):
    """What evaluates rows, the shared ones, small ones to draw, the arrays of rows, and what takes these."""

    make: Any
    data: pl.DataFrame
    row: st.SearchStrategy
    arrays: Any
    references: dict[str, Any]


def columns(*names):
    return lambda rows: [rows[name].to_numpy() for name in names]


def of_each_label(labels, scores, truth):
    """A row of arrays for each label, whether it is true and its score."""
    return lambda rows: [
        np.array([rows.select(truth(label)).to_series().to_numpy() for label in labels]),
        rows.select(scores).to_numpy().T,
    ]


boolean = st.booleans()
score = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5, 0.7, 1.0]) | st.floats(0, 1, width=16)
amount = st.sampled_from([0.5, 1.0, 1.0, 2.0, 3.5, 10.0])
small_class = st.sampled_from("abc")
shares = st.tuples(*[st.integers(0, 3)] * 3).filter(any).map(lambda n: np.array(n) / sum(n))
ABC = {label: label for label in "abc"}
digits_of_three = (
    digits()
    .filter(pl.col("digit").is_in([*"149"]))
    .select(
        y=pl.col("digit").replace_strict({"1": "a", "4": "b", "9": "c"}),
        z=pl.col("predicted").replace({"1": "a", "4": "b", "9": "c"}),
        **{
            label: pl.col(f"p{n}") / pl.sum_horizontal("p1", "p4", "p9")
            for label, n in zip("abc", (1, 4, 9), strict=True)
        },
    )
)
TASKS = {
    "labels and scores": Task(
        partial(sm.binary, **CLICKS),
        clicks(),
        st.fixed_dictionaries({"clicked": boolean, "score": score}),
        columns("clicked", "score"),
        BINARY,
    ),
    "labels and predicted labels": Task(
        partial(sm.binary, y_true="clicked", y_pred="z"),
        clicks().with_columns(z=pl.col("score") > 0.3),
        st.fixed_dictionaries({"clicked": boolean, "z": boolean}),
        columns("clicked", "z"),
        LABELS,
    ),
    "classes": Task(
        partial(sm.multiclass, y_true="y", y_pred="z"),
        digits_of_three.select("y", "z").filter(pl.col("z").is_in([*"abc"])),
        st.fixed_dictionaries({"y": small_class, "z": st.sampled_from("abcd")}),
        columns("y", "z"),
        CLASSES,
    ),
    "probabilities of classes": Task(
        partial(sm.multiclass, y_true="y", y_score=ABC, one_vs_one=True),
        digits_of_three,
        st.tuples(small_class, shares).map(lambda row: {"y": row[0]} | dict(zip("abc", row[1], strict=True))),
        of_each_label("abc", [*"abc"], lambda label: pl.col("y") == label),
        CLASS_SCORES,
    ),
    "several labels": Task(
        partial(sm.multilabel, **TOPICS),
        topics(),
        st.fixed_dictionaries(
            dict.fromkeys(TOPICS["y_true"], boolean) | dict.fromkeys(TOPICS["y_score"].values(), score)
        ),
        of_each_label(TOPICS["y_true"], [*TOPICS["y_score"].values()], pl.col),
        LABEL_SETS,
    ),
    "regression": Task(
        partial(sm.regression, families=("log", "log_cosh", "poisson", "gamma", "tweedie"), **DELIVERIES),
        deliveries(),
        st.fixed_dictionaries({"minutes": amount, "forecast": amount}),
        columns("minutes", "forecast"),
        REGRESSION,
    ),
    "values": Task(
        lambda capacity=4_096, **options: sm.Accumulator(
            sm.statistics.Histogram(capacity, of="y_pred"), task="regression", y_pred="forecast", **options
        ),
        deliveries(),
        st.fixed_dictionaries({"forecast": amount | st.floats(-1, 2, width=32)}),
        columns("forecast"),
        VALUES,
    ),
    "digests of errors": Task(
        lambda capacity=200, **options: sm.Accumulator(
            sm.statistics.TDigest(max(capacity, 20)), **DELIVERIES, **options
        ),
        deliveries(),
        st.fixed_dictionaries({"minutes": amount, "forecast": amount}),
        lambda rows: [(rows["forecast"] - rows["minutes"]).to_numpy()],
        DIGESTS,
    ),
    "predictions": Task(
        partial(sm.predictions, y_score="score"),
        clicks(),
        st.fixed_dictionaries({"score": score}),
        columns("score"),
        PREDICTIONS,
    ),
}

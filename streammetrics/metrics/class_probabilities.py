"""Metrics of multiclass probabilities: mean losses, top-k accuracy, and one-vs-one ROC AUC.

The table of losses has a row for each true label; ``class_weight`` is the number of its rows, or the sum of their
weights. The loss of a row uses the probabilities of all classes. The table of pairs has a row for each ordered pair of
labels.
"""

from __future__ import annotations

from math import inf

import polars as pl
from polars import Expr

from streammetrics.errors import Argument, MetricError
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.losses import class_mean, entropy, impurity, skill
from streammetrics.metrics.metric import metric


@metric(
    range=(0, inf),
    better="low",
    aliases=("cross_entropy", "logistic_loss"),
    interval=methods.mean_of(methods.LOG_LOSS_OF_CLASSES, fewest=0, fewest_of_pairs=1),
)
def log_loss(class_weight: Expr, log_loss_sum: Expr) -> Expr:
    """Mean negative logarithm of the predicted probability of the true class, in nats.

    0 for perfect predictions; probabilities are clipped at 1e-15, so it stays finite. Equivalent to scikit-learn's
    ``log_loss``, which clips at 2.2e-16.

    >>> log_loss([3, 1], [0.3, 0.9])
    0.3
    """
    return log_loss_sum.sum() / class_weight.sum()


@metric(
    range=(0, 2),
    better="low",
    aliases=("brier", "brier_score_loss"),
    interval=methods.mean_of(methods.BRIER_OF_CLASSES, fewest=0, fewest_of_pairs=1),
)
def brier_score(class_weight: Expr, brier_sum: Expr) -> Expr:
    """Mean over rows of the squared difference between probability and outcome, summed over classes (Brier 1950).

    The outcome is 1 for the true class and 0 for the others. For two classes, this is twice the binary Brier score,
    which uses the positive class only. Equivalent to scikit-learn's ``brier_score_loss`` with ``scale_by_half=False``.

    >>> brier_score([3, 1], [0.5, 1.5])
    0.5
    """
    return brier_sum.sum() / class_weight.sum()


@metric(range=(0, inf), better="low")
def balanced_log_loss(class_weight: Expr, log_loss_sum: Expr) -> Expr:
    """Mean of the log losses of the labels that occur, with equal weights.

    >>> balanced_log_loss([3, 1], [0.75, 0.5])
    0.375
    """
    return class_mean(class_weight, log_loss_sum)


@metric(range=(0, 2), better="low")
def balanced_brier_score(class_weight: Expr, brier_sum: Expr) -> Expr:
    """Mean of the Brier scores of the labels that occur, with equal weights.

    >>> balanced_brier_score([3, 1], [0.75, 0.5])
    0.375
    """
    return class_mean(class_weight, brier_sum)


@metric(range=(0, inf), interval=methods.AT_MAXIMUM)
def baseline_log_loss(class_weight: Expr) -> Expr:
    """Log loss of the best constant prediction, the class frequencies. Equals the entropy of the classes, in nats.

    0 if only one class occurs, ln n for n classes of equal size.

    >>> baseline_log_loss([2, 2, 0])
    0.6931471805599453
    >>> baseline_log_loss([2])
    0.0
    """
    return entropy(class_weight)


@metric(range=(0, 1), interval=methods.AT_MAXIMUM)
def baseline_brier_score(class_weight: Expr) -> Expr:
    """Brier score of the best constant prediction, the class frequencies: 1 minus the sum of their squares.

    >>> baseline_brier_score([2, 1, 1])
    0.625
    """
    return impurity(class_weight)


@metric(range=(-inf, 1), better="high", aliases=("d2_log_loss_score", "mcfadden_r2", "relative_information_gain"))
def log_loss_skill(class_weight: Expr, log_loss_sum: Expr) -> Expr:
    """Relative reduction of the log loss over the best constant prediction: 1 - log_loss / baseline_log_loss.

    1 for perfect predictions, 0 for predictions as good as the class frequencies, below 0 for worse ones. If only one
    class occurs, the baseline is 0: null if the log loss is 0 too, else -infinity. Equivalent to scikit-learn's
    ``d2_log_loss_score``.

    >>> round(log_loss_skill([2, 2], [0.6, 0.6]), 4)
    0.5672
    """
    return skill(class_weight, log_loss_sum, entropy(class_weight))


@metric(range=(-inf, 1), better="high", aliases=("d2_brier_score",))
def brier_skill_score(class_weight: Expr, brier_sum: Expr) -> Expr:
    """Relative reduction of the Brier score over the best constant prediction: 1 - brier_score / baseline_brier_score.

    1 for perfect predictions, 0 for predictions as good as the class frequencies, below 0 for worse ones. If only one
    class occurs, the baseline is 0: null if the Brier score is 0 too, else -infinity. Equivalent to scikit-learn's
    ``d2_brier_score``.

    >>> brier_skill_score([2, 2], [0.5, 0.5])
    0.5
    """
    return skill(class_weight, brier_sum, impurity(class_weight))


@metric(
    range=(0, 1),
    better="high",
    aliases=("top_k_accuracy_score(k=2)",),
    interval=methods.ShareOfRows(),
)
def top_k_accuracy(rank: Expr, count: Expr, *, k: int = 1) -> Expr:
    """Share of rows whose true label is among the ``k`` labels with the highest probabilities.

    The table has the number of rows, ``count``, for each ``rank`` of the true label; the label with the highest
    probability has rank 1. Of equal probabilities, the first label has the lower rank; in scikit-learn, the last.
    Otherwise equivalent to scikit-learn's ``top_k_accuracy_score``. By that name, the default is ``k=2``, as in
    scikit-learn.

    >>> top_k_accuracy([1, 2, 5], [6, 3, 1], k=2)
    0.9
    """
    if not (k >= 1 and float(k).is_integer()):
        raise MetricError(Argument("k"), f" must be an integer of at least 1, got {k!r}.")
    return count.filter(rank <= k).sum() / count.sum()


@metric(range=(0, 1), better="high", aliases=("hand_till_auc",), interval=methods.SEPARATE)
def roc_auc_ovo(one_rows: Expr, other_rows: Expr, ordered_pairs: Expr, *, average: str = "macro") -> Expr:
    """One-vs-one ROC AUC: mean over all pairs of labels of the ROC AUC within the pair (Hand & Till 2001).

    For each pair, only the rows with one of its two labels count. The result is the mean of two ROC AUCs, one for the
    score of each label. ``ordered_pairs`` is the number of pairs of rows, one of each label, in which the row of the
    first label has the higher score for it. Ties count half. With ``average=weighted``, a pair of labels is weighted by
    its rows. Labels without rows are skipped. Equivalent to scikit-learn's ``roc_auc_score(multi_class="ovo")``.

    >>> roc_auc_ovo([2, 4], [4, 2], [7, 6])
    0.8125
    >>> pairs = {"one_rows": [2, 4, 2, 8], "other_rows": [4, 2, 8, 2], "ordered_pairs": [8, 8, 8, 8]}
    >>> roc_auc_ovo(**pairs), roc_auc_ovo(**pairs, average="weighted")
    (0.75, 0.6875)
    >>> roc_auc_ovo([2, 0], [0, 2], [0, 0]) is None
    True
    """
    if average not in ("macro", "weighted"):
        raise MetricError(Argument("average"), f" of roc_auc_ovo must be macro or weighted, got {average!r}.")
    pairs = one_rows * other_rows
    weight = pl.when(pairs > 0).then(one_rows + other_rows if average == "weighted" else 1)
    return (weight * ordered_pairs / pairs).sum() / weight.sum()


@roc_auc_ovo.note
def _pairs_left_out(one_rows: Expr, other_rows: Expr) -> Expr:
    undefined = (one_rows == 0) | (other_rows == 0)
    some = pl.format("undefined for {} of {} pairs of labels", undefined.sum() // 2, pl.len() // 2)
    return pl.when(undefined.all()).then(pl.lit("no pair of labels has rows of both")).when(undefined.any()).then(some)

"""Log loss and Brier score of binary tasks, from sums of losses by true class (0 or 1), and their formulas.

Formulas hold for any number of classes (see `class_probabilities`). ``actual`` distinguishes the table from others.
"""

from __future__ import annotations

import math
from math import inf

import polars as pl
from polars import Expr

from streammetrics.errors import Argument, MetricError
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric

LOG_LOSS = methods.mean_of(methods.LOG_LOSS, fewest=2, fewest_of_pairs=2)
BRIER = methods.mean_of(methods.BRIER, fewest=2, fewest_of_pairs=20)


@metric(range=(0, inf), better="low", aliases=("cross_entropy", "logistic_loss"), interval=LOG_LOSS)
def log_loss(
    actual: Expr,
    weight: Expr,
    log_loss_sum: Expr,
    *,
    label: str | None = None,
    positive_weight: float = 1,
    negative_weight: float = 1,
) -> Expr:
    """Mean negative logarithm of the predicted probability of the true class, in nats.

    0 for perfect predictions; scores are clipped at 1e-15, so it stays finite. ``label=positive`` or ``label=negative``
    uses the rows of that class only, and is null if there are none. ``positive_weight`` and ``negative_weight``
    multiply the weights of the rows of a class. Equivalent to scikit-learn's ``log_loss``, which clips at 2.2e-16.

    >>> log_loss([0, 1], [3, 1], [0.3, 0.9])
    0.3
    >>> log_loss([0, 1], [3, 1], [0.3, 0.9], label="positive")
    0.9
    >>> log_loss([0], [3], [0.3], label="positive") is None
    True
    """
    factor = _class_weight(actual, label, positive_weight, negative_weight)
    return (factor * log_loss_sum).sum() / (factor * weight).sum()


@metric(range=(0, 1), better="low", aliases=("brier", "brier_score_loss"), interval=BRIER)
def brier_score(
    actual: Expr,
    weight: Expr,
    brier_sum: Expr,
    *,
    label: str | None = None,
    positive_weight: float = 1,
    negative_weight: float = 1,
) -> Expr:
    """Mean squared difference between score and label, 0 or 1 (Brier 1950).

    0 for perfect predictions, 0.25 for a constant score of 0.5. ``label=positive`` or ``label=negative`` uses the rows
    of that class only, and is null if there are none. ``positive_weight`` and ``negative_weight`` multiply the weights
    of the rows of a class. Equivalent to scikit-learn's ``brier_score_loss``.

    >>> brier_score([0, 1], [3, 1], [0.25, 0.75])
    0.25
    >>> brier_score([0, 1], [3, 1], [0.25, 0.75], positive_weight=3)
    0.4166666666666667
    >>> brier_score([0], [3], [0.25], label="positive") is None
    True
    """
    factor = _class_weight(actual, label, positive_weight, negative_weight)
    return (factor * brier_sum).sum() / (factor * weight).sum()


def _class_weight(actual: Expr, label: str | None, positive_weight: float, negative_weight: float) -> Expr:
    if label not in (None, "positive", "negative"):
        raise MetricError(Argument("label"), f" must be positive or negative, got {label!r}.")
    positive_weight = 0 if label == "negative" else positive_weight
    negative_weight = 0 if label == "positive" else negative_weight
    return positive_weight * actual + negative_weight * (1 - actual)


@metric(range=(0, inf), better="low")
def balanced_log_loss(actual: Expr, weight: Expr, log_loss_sum: Expr) -> Expr:
    """Mean of the log losses of the two classes.

    Null if a class has no rows.

    >>> balanced_log_loss([0, 1], [3, 1], [0.75, 0.5]), balanced_log_loss([0], [3], [0.75])
    (0.375, None)
    """
    return _mean_of_both(weight, log_loss_sum)


@metric(range=(0, 1), better="low")
def balanced_brier_score(actual: Expr, weight: Expr, brier_sum: Expr) -> Expr:
    """Mean of the Brier scores of the two classes.

    Null if a class has no rows.

    >>> balanced_brier_score([0, 1], [3, 1], [0.75, 0.5]), balanced_brier_score([0], [3], [0.75])
    (0.375, None)
    """
    return _mean_of_both(weight, brier_sum)


def _mean_of_both(weight: Expr, loss_sum: Expr) -> Expr:
    return pl.when((weight > 0).sum() == 2).then(class_mean(weight, loss_sum))


@metric(range=(0, math.log(2)), interval=methods.AT_MAXIMUM)
def baseline_log_loss(actual: Expr, weight: Expr) -> Expr:
    """Log loss of the best constant score, the share of positives. Equals the entropy of the classes, in nats.

    0 if only one class occurs, ln 2 = 0.693 for classes of equal size.

    >>> baseline_log_loss([0, 1], [2, 2])
    0.6931471805599453
    >>> baseline_log_loss([0], [2])
    0.0
    """
    return entropy(weight)


@metric(range=(0, 0.25), interval=methods.AT_MAXIMUM)
def baseline_brier_score(actual: Expr, weight: Expr) -> Expr:
    """Brier score of the best constant score, the share p of positives: p (1 - p).

    0 if only one class occurs, 0.25 for classes of equal size.

    >>> baseline_brier_score([0, 1], [3, 1])
    0.1875
    """
    return impurity(weight) / 2


@metric(range=(-inf, 1), better="high", aliases=("d2_log_loss_score", "mcfadden_r2", "relative_information_gain"))
def log_loss_skill(actual: Expr, weight: Expr, log_loss_sum: Expr) -> Expr:
    """Relative reduction of the log loss over the best constant score: 1 - log_loss / baseline_log_loss.

    1 for perfect predictions, 0 for predictions as good as the share of positives, below 0 for worse ones. If only one
    class occurs, the baseline is 0: null if the log loss is 0 too, else -infinity. Equivalent to scikit-learn's
    ``d2_log_loss_score``.

    >>> round(log_loss_skill([0, 1], [2, 2], [0.6, 0.6]), 4)
    0.5672
    """
    return skill(weight, log_loss_sum, entropy(weight))


@metric(range=(-inf, 1), better="high", aliases=("d2_brier_score",))
def brier_skill_score(actual: Expr, weight: Expr, brier_sum: Expr) -> Expr:
    """Relative reduction of the Brier score over the best constant score: 1 - brier_score / baseline_brier_score.

    1 for perfect predictions, 0 for predictions as good as the share of positives, below 0 for worse ones. If only one
    class occurs, the baseline is 0: null if the Brier score is 0 too, else -infinity. Equivalent to scikit-learn's
    ``d2_brier_score``.

    >>> brier_skill_score([0, 1], [2, 2], [0.25, 0.25])
    0.5
    """
    return skill(weight, brier_sum, impurity(weight) / 2)


def class_mean(weight: Expr, loss_sum: Expr) -> Expr:
    """The mean of the losses of the classes that occur, with equal weights."""
    return (loss_sum / weight).filter(weight > 0).mean()


def entropy(weight: Expr) -> Expr:
    """The entropy of classes with these numbers of rows, in nats, also if a share is close to 1."""
    rows = weight.filter(weight > 0)
    others = rows.sum() - rows
    return (rows * (others / rows).log1p()).sum() / rows.sum()


def impurity(weight: Expr) -> Expr:
    """The chance that two rows have different classes: 1 minus the sum of the squared shares."""
    rows = weight.sum()
    return (weight * ((rows - weight) / rows)).sum() / rows


def skill(weight: Expr, loss_sum: Expr, baseline: Expr) -> Expr:
    """Relative reduction of the mean loss over a baseline."""
    return 1 - loss_sum.sum() / weight.sum() / baseline

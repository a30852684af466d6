"""Agreement of true and predicted labels in multiclass tasks.

The table (`streammetrics.statistics.confusion.overall_view`) has a row for each label, in order. ``actual`` is the
number of rows with the true label, ``predicted`` the number of rows with the predicted label, and ``correct`` the
number of rows with both. ``distance`` and ``square_distance`` are sums over the rows with the label: the number of
steps from true to predicted label, and its square.
"""

from __future__ import annotations

import polars as pl
from polars import Expr

from streammetrics.errors import Argument, MetricError
from streammetrics.metrics.agreement import NOT_SMOOTH, banded, widened
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric
from streammetrics.metrics.ranking import rows_above
from streammetrics.metrics.scale import near_one


@metric(
    range=(0, 1),
    better="high",
    aliases=("observed_agreement", "accuracy_score"),
    interval=methods.share_of_labels(correct=True),
)
def accuracy(correct: Expr, actual: Expr) -> Expr:
    """Share of rows predicted correctly.

    Equivalent to scikit-learn's ``accuracy_score``.

    >>> accuracy([3, 2, 1], [4, 4, 2])
    0.6
    """
    return correct.sum() / actual.sum()


@metric(
    range=(0, 1),
    better="low",
    aliases=("misclassification_rate", "zero_one_loss"),
    interval=methods.share_of_labels(correct=False),
)
def error_rate(correct: Expr, actual: Expr) -> Expr:
    """Share of rows predicted incorrectly: 1 - accuracy.

    Equivalent to scikit-learn's ``zero_one_loss``.

    >>> error_rate([3, 2, 1], [4, 4, 2])
    0.4
    """
    return (actual - correct).sum() / actual.sum()


@metric(
    range=(0, 1),
    better="high",
    aliases=("balanced_accuracy_score",),
    interval=methods.MeanOfProportions("correct", "actual"),
)
def balanced_accuracy(correct: Expr, actual: Expr) -> Expr:
    """Unweighted mean of the recalls of the labels that occur as true labels.

    1 for perfect predictions, 1 / n for any constant prediction of n labels. Equivalent to scikit-learn's
    ``balanced_accuracy_score``.

    >>> balanced_accuracy([3, 2, 0], [4, 4, 0])
    0.625
    """
    return (correct / actual).filter(actual > 0).mean()


@metric(range=(0, 1), aliases=("majority_class_accuracy", "no_information_rate"), interval=NOT_SMOOTH)
def majority_accuracy(correct: Expr, actual: Expr) -> Expr:
    """Accuracy of the best constant prediction, the most frequent label.

    >>> majority_accuracy([3, 2, 1], [4, 4, 2])
    0.4
    """
    # `correct` distinguishes the table from others, whose `actual` is a label.
    return actual.max() / actual.sum()


@metric(range=(0, 1), aliases=("p_e", "expected_agreement"))
def chance_agreement(actual: Expr, predicted: Expr) -> Expr:
    """Expected accuracy of independent predictions with the same label frequencies: p_e in Cohen's kappa.

    >>> chance_agreement([46, 44, 10], [52, 32, 16])
    0.396
    """
    return (actual * (predicted / predicted.sum())).sum() / actual.sum()


@metric(range=(-1, 1), better="high", aliases=("cohen_kappa", "cohen_kappa_score"))
def kappa(
    correct: Expr, actual: Expr, predicted: Expr, distance: Expr, square_distance: Expr, *, weights: str | None = None
) -> Expr:
    """Cohen's kappa: 1 minus the error rate divided by the expected error rate of independent predictions.

    1 for perfect predictions, 0 for predictions independent of the labels. By default, every error counts 1 (Cohen
    1960). For ordered labels, use ``weights=linear`` or ``weights=quadratic``: an error then counts as the number of
    steps from the true to the predicted label, or its square (Cohen 1968). The expected error rate assumes the same
    label frequencies. The note is a verbal band, as in binary tasks. Null if only one label occurs. Equivalent to
    scikit-learn's ``cohen_kappa_score``.

    >>> rows = {"correct": [46, 32, 10], "actual": [46, 44, 10], "predicted": [52, 32, 16]}
    >>> round(kappa(**rows, distance=[0, 12, 0], square_distance=[0, 12, 0]), 4)
    0.8013
    >>> round(kappa(**rows, distance=[0, 12, 0], square_distance=[0, 12, 0], weights="linear"), 4)
    0.8355
    >>> kappa([3], [3], [3], [0], [0]) is None
    True
    """
    rows = near_one(actual.sum(), correct, actual, predicted, distance, square_distance)
    excess, possible = _beyond_chance(*rows, weights=weights)
    return excess / possible


@kappa.note
def _kappa_note(
    correct: Expr, actual: Expr, predicted: Expr, distance: Expr, square_distance: Expr, *, weights: str | None = None
) -> Expr:
    # Exact while 5 * (rows * steps)^2 fits 127 bits, as for 10^18 rows of two labels, 10^15 of a thousand.
    columns, total = (correct, actual, predicted, distance, square_distance), actual.sum()
    exact = _beyond_chance(*map(widened, columns), weights=weights)
    return banded(total, exact, _beyond_chance(*near_one(total, *columns), weights=weights))


@metric(range=(-1, 1), better="high", aliases=("matthews_corrcoef", "phi", "phi_coefficient"))
def mcc(correct: Expr, actual: Expr, predicted: Expr) -> Expr:
    """Multiclass Matthews correlation coefficient, R_K (Gorodkin 2004).

    1 for perfect predictions, 0 for predictions independent of the labels. For two classes, Pearson's correlation of
    true and predicted class. Null if all rows have the same true label or the same predicted label; scikit-learn's
    ``matthews_corrcoef`` then returns 0.

    >>> round(mcc([46, 32, 10], [46, 44, 10], [52, 32, 16]), 4), mcc([3, 0], [3, 1], [4, 0])
    (0.816, None)
    """
    correct, actual, predicted = near_one(actual.sum(), correct, actual, predicted)
    excess = _apart(actual, predicted) - actual.sum() * (actual - correct).sum()
    scale = _apart(actual, actual) * _apart(predicted, predicted)
    return pl.when(scale > 0).then(excess / scale.sqrt())  # excess of one label is 0 only up to rounding


def _beyond_chance(
    correct: Expr, actual: Expr, predicted: Expr, distance: Expr, square_distance: Expr, *, weights: str | None
) -> tuple[Expr, Expr]:
    """Numerator and denominator of kappa, without a division, which would round."""
    errors = {None: actual - correct, "linear": distance, "quadratic": square_distance}
    if weights not in errors:
        raise MetricError(Argument("weights"), f" must be linear, quadratic, or None, got {weights!r}.")
    expected = _apart(actual, predicted, weights)
    return expected - actual.sum() * errors[weights].sum(), expected


def _apart(one: Expr, other: Expr, weights: str | None = None) -> Expr:
    """Sum of distances between labels over all pairs of a row of ``one`` and a row of ``other``.

    The distance of two labels is 1, the number of steps, or its square. All terms are positive, so nothing cancels,
    unlike with moments, and no table of label pairs is needed.
    """
    return (_reach(one, weights) * rows_above(other) + _reach(other, weights) * rows_above(one)).sum()


def _reach(rows: Expr, weights: str | None) -> Expr:
    """Contribution of the rows of a label, and of lower labels, to each higher row. The sum is the distance."""
    if weights is None:
        return rows
    at_or_below = rows.cum_sum()
    if weights == "linear":
        return at_or_below
    steps = at_or_below.cum_sum()  # the first d odd numbers, 2 * step - 1, add up to d squared
    return steps + steps.shift(1, fill_value=0)

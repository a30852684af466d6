"""Agreement beyond chance, and skill over always predicting the majority class, from confusion counts."""

from __future__ import annotations

from math import inf

import polars as pl
from polars import Expr

from streammetrics.base import each
from streammetrics.metrics.metric import metric
from streammetrics.metrics.scale import LARGE, SMALL, each_near_one, near_one

NOT_SMOOTH = "the most frequent class can change by chance"


@metric(range=(-1, 1), better="high", aliases=("matthews_corrcoef", "phi", "phi_coefficient"))
def mcc(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Matthews correlation coefficient: Pearson's correlation of true and predicted class (Matthews 1975).

    1 for perfect predictions, 0 for predictions independent of the labels, -1 if every prediction is wrong. Null if a
    class or a predicted class does not occur; scikit-learn's ``matthews_corrcoef`` then returns 0.

    >>> mcc(6, 1, 2, 3), mcc(3, 1, 0, 0)
    (0.47809144373375745, None)
    """

    def formula(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
        # Paired so that a perfect table gives sqrt(x * x), which is exactly x.
        scale = ((tp + fp) * (tn + fn)) * ((tp + fn) * (tn + fp))
        return (tp * tn - fp * fn) / scale.sqrt()

    return each_near_one(formula, tp, fp, fn, tn)


@metric(range=(-1, 1), better="high", aliases=("cohen_kappa", "cohen_kappa_score"))
def kappa(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Cohen's kappa: agreement beyond chance, as a share of the largest possible agreement beyond chance (Cohen 1960).

    Equal to ``(accuracy - chance_agreement) / (1 - chance_agreement)``. 1 for perfect predictions, 0 for predictions
    independent of the labels. Null if only one class occurs in labels and predictions. Equivalent to scikit-learn's
    ``cohen_kappa_score``.

    The note names the band of Landis and Koch (1977), in the words of McHugh (2012): below 0 poor, up to 0.2 none to
    slight, up to 0.4 fair, up to 0.6 moderate, up to 0.8 substantial, below 1 almost perfect, 1 perfect.

    >>> round(kappa(25, 10, 15, 20), 4), kappa(3, 0, 0, 0)
    (0.2857, None)
    """

    def formula(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
        excess, possible = _beyond_chance(tp, fp, fn, tn)
        return excess / possible

    return each_near_one(formula, tp, fp, fn, tn)


@kappa.note
def _kappa_note(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    counts, total = (tp, fp, fn, tn), tp + fp + fn + tn
    return banded(total, _beyond_chance(*map(widened, counts)), _beyond_chance(*near_one(total, *counts)))


def banded(total: Expr, exact: tuple[Expr, Expr], scaled: tuple[Expr, Expr]) -> Expr:
    """The verbal band of kappa. Exact for integer counts. Weights are scaled so that products do not overflow."""
    return pl.when(total.is_between(SMALL, LARGE)).then(kappa_band(*exact)).otherwise(kappa_band(*scaled))


def kappa_band(excess: Expr, possible: Expr) -> Expr:
    """The verbal band of ``kappa = excess / possible``, exact for integers; null if kappa is null."""
    return each(_band, excess=excess, possible=possible)


def _band(excess: Expr, possible: Expr) -> Expr:
    degree = (
        pl.when(possible == 0)
        .then(None)
        .when(excess < 0)
        .then(pl.lit("poor"))
        .when(5 * excess <= possible)
        .then(pl.lit("none to slight"))
        .when(5 * excess <= 2 * possible)
        .then(pl.lit("fair"))
        .when(5 * excess <= 3 * possible)
        .then(pl.lit("moderate"))
        .when(5 * excess <= 4 * possible)
        .then(pl.lit("substantial"))
        .when(excess < possible)
        .then(pl.lit("almost perfect"))
        .otherwise(pl.lit("perfect"))
    )
    return degree + " agreement"


def _beyond_chance(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> tuple[Expr, Expr]:
    """Numerator and denominator of kappa, without a division, which would round."""
    return 2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)


def widened(count: Expr) -> Expr:
    """Int128 for integers, whose products would overflow Int64; weights stay Float64."""
    return pl.lit(0, dtype=pl.Int128) + count


@metric(range=(0, 1), aliases=("p_e", "expected_agreement"))
def chance_agreement(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Expected accuracy of independent predictions with the same class frequencies: p_e in Cohen's kappa.

    >>> chance_agreement(2, 18, 8, 72)
    0.74
    >>> chance_agreement(0, 0, 0, 0) is None
    True
    """
    total = tp + fp + fn + tn
    return ((tp + fp) * ((tp + fn) / total) + (tn + fn) * ((tn + fp) / total)) / total


@metric(range=(0.5, 1), aliases=("majority_class_accuracy", "no_information_rate"), interval=NOT_SMOOTH)
def majority_accuracy(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Accuracy of always predicting the more frequent class.

    >>> majority_accuracy(94, 50, 6, 850)
    0.9
    >>> majority_accuracy(0, 0, 0, 0) is None
    True
    """
    return pl.max_horizontal(tp + fn, fp + tn) / (tp + fp + fn + tn)


@metric(range=(-inf, 1), better="high", interval=NOT_SMOOTH)
def normalized_accuracy(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Share of errors avoided, relative to always predicting the majority class.

    Equal to ``1 - (1 - accuracy) / (1 - majority_accuracy)``. 1 for perfect predictions, 0 for as many errors as the
    majority class has, below 0 for more. If only one class occurs, null for no errors, else -infinity.

    >>> normalized_accuracy(94, 50, 6, 850), normalized_accuracy(3, 0, 0, 0)
    (0.43999999999999995, None)
    """
    return 1 - (fp + fn) / pl.min_horizontal(tp + fn, fp + tn)


@metric(range=(1, inf), aliases=("imbalance_ratio",), interval=NOT_SMOOTH)
def class_imbalance(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    """Number of rows of the larger class divided by that of the smaller; infinite if one class has no rows.

    The note names a band, with the limits of the KEEL repository (Fernández et al. 2008): up to 1.5 balanced, up to 3
    slightly imbalanced, up to 9 imbalanced, above 9 highly imbalanced. At these limits, the minority class has 40%,
    25%, and 10% of the rows.

    >>> class_imbalance(94, 50, 6, 850)
    9.0
    >>> class_imbalance(0, 0, 0, 0) is None
    True
    """
    return pl.max_horizontal(tp + fn, fp + tn) / pl.min_horizontal(tp + fn, fp + tn)


@class_imbalance.note
def _class_imbalance_note(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
    majority, minority = pl.max_horizontal(tp + fn, fp + tn), pl.min_horizontal(tp + fn, fp + tn)
    return (
        pl.when(majority == 0)
        .then(None)
        .when(2 * majority <= 3 * minority)
        .then(pl.lit("balanced"))
        .when(majority <= 3 * minority)
        .then(pl.lit("slightly imbalanced"))
        .when(majority <= 9 * minority)
        .then(pl.lit("imbalanced"))
        .otherwise(pl.lit("highly imbalanced"))
    )

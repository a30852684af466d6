"""Ranking metrics, computed from a score histogram.

The histogram has one row per bin in ascending order of score. ``neg`` and ``pos`` count the rows of each class, and the
rows of a bin are tied. Bounds come from the order cases of coarse bins (`streammetrics.statistics.cases`), or from the
metric itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from polars import Expr

from streammetrics.base import at_least, at_most, each, shares
from streammetrics.errors import Argument, MetricError
from streammetrics.metrics.agreement import kappa, mcc
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import Metric, metric
from streammetrics.metrics.ratios import accuracy, f1, fbeta, precision, recall, youden_j
from streammetrics.metrics.scale import near_one


@metric(range=(0, 1), better="high", aliases=("auc", "auroc", "c_statistic", "roc_auc_score"), interval=methods.AUC)
def roc_auc(neg: Expr, pos: Expr) -> Expr:
    """Probability that a random positive scores above a random negative, ties counted half.

    Area under the ROC curve: 1 for a perfect ranking, 0.5 for a random one. Null if a class has no rows. The bounds are
    attained with the best and the worst order of rows within coarse bins. Equivalent to scikit-learn's
    ``roc_auc_score``.

    >>> roc_auc([2, 1, 0], [0, 1, 2]), roc_auc([2, 1], [0, 0])
    (0.9444444444444444, None)
    """
    neg, twice_above, positives = near_one(neg.sum() + pos.sum(), neg, 2 * rows_above(pos) + pos, pos.sum())
    return (neg * twice_above).sum() / (2 * neg.sum() * positives)


@metric(range=(-1, 1), better="high", aliases=("gini_coefficient", "somers_d"), interval=methods.AUC)
def gini(neg: Expr, pos: Expr) -> Expr:
    """Twice the ROC AUC minus one: 0 for a random ranking, 1 for a perfect one.

    Nulls and bounds are as for `roc_auc`.

    >>> gini([2, 1, 0], [0, 1, 2]), gini([2, 1], [0, 0])
    (0.8888888888888888, None)
    """
    area: Expr = roc_auc.formula(neg, pos)
    return 2 * area - 1


@metric(range=(0, 1), better="high", aliases=("pauc",), interval=methods.AREA)
def partial_auc(neg: Expr, pos: Expr, *, max_fpr: float = 0.1, standardized: bool = True) -> Expr:
    """Area under the ROC curve up to the false positive rate ``max_fpr``.

    Standardized after McClish (1989): 0.5 for a random ranking, 1 for a perfect one. With ``standardized=False``, it is
    the plain area, at most ``max_fpr``. Null if a class has no rows. The bounds come from the best and the worst order
    of rows within coarse bins. Equivalent to scikit-learn's ``roc_auc_score(max_fpr=)``.

    >>> partial_auc([2, 1, 0], [0, 1, 2], max_fpr=0.5)
    0.9259259259259258
    >>> partial_auc([2, 1, 0], [0, 1, 2], max_fpr=0.5, standardized=False)
    0.4444444444444444
    >>> partial_auc([2, 1], [0, 0]) is None
    True
    """
    _check_share("max_fpr", max_fpr)
    part = _reached(neg, max_fpr)
    neg, pos = near_one(neg.sum() + pos.sum(), neg, pos)
    pairs = each(_pairs, neg=neg, pos=pos, above=rows_above(pos), part=part)
    area = pairs.sum() / (neg.sum() * pos.sum())
    if not standardized:
        return area
    chance = max_fpr**2 / 2
    return (1 + (area - chance) / (max_fpr - chance)) / 2


def _pairs(neg: Expr, pos: Expr, above: Expr, part: Expr) -> Expr:
    """Number of pairs of a part of the negatives of each bin with the positives above them, ties counted half."""
    return neg * part * (above + pos * part / 2)


@metric(range=(0, 1), better="high", aliases=("ap", "average_precision_score"))
def average_precision(neg: Expr, pos: Expr) -> Expr:
    """Mean, over the positives, of the precision at their score, without interpolation.

    1 for a perfect ranking, about the prevalence for a random one. Null without positives. It also depends on ties
    among positives. The upper bound places the positives of a coarse bin tied above its negatives, the lower bound
    places them below, each with its own score. Equivalent to scikit-learn's ``average_precision_score``.

    >>> average_precision([2, 1, 0], [0, 1, 2]), average_precision([2, 1], [0, 0])
    (0.9166666666666666, None)
    """
    tp, rows = pos.cum_sum(reverse=True), (neg + pos).cum_sum(reverse=True)
    return _mean_over_positives(tp / rows, pos)


@average_precision.bounds
def _average_precision_bounds(neg: Expr, pos: Expr, shift: Expr) -> tuple[Expr, Expr]:
    """Bounds, from the precisions t / (t + fp) of positives with distinct scores below ``fp`` negatives.

    Their sum is at least the integral over t from ``tp - pos`` to ``tp``.
    """
    tp, fp = pos.cum_sum(reverse=True), neg.cum_sum(reverse=True)
    tied = tp / (neg + pos).cum_sum(reverse=True)
    best = tp / (tp + rows_above(neg))
    worst = pl.when(fp > 0).then(1 - fp / pos * (pos / (rows_above(pos) + fp)).log1p()).otherwise(1)
    exact = pl.when(shift == 0).then(tied)
    return _mean_over_positives(exact.otherwise(worst), pos), _mean_over_positives(exact.otherwise(best), pos)


@metric(range=(0, 1), better="high", aliases=("auprc",))
def pr_auc(neg: Expr, pos: Expr) -> Expr:
    """Area under the precision-recall curve, interpolated after Davis and Goadrich (2006).

    1 for a perfect ranking, about the prevalence for a random one. Null without positives. Between two thresholds, true
    and false positives grow in proportion, so the curve is not a straight line, and trapezoids would overstate the
    area. The bounds come from the best and the worst order of rows within coarse bins.

    >>> pr_auc([25, 5], [5, 5]), pr_auc([2, 1], [0, 0])
    (0.41034968672888283, None)
    """
    rows = neg + pos
    segment = each(_mean_precision, pos=pos, rows=rows, tp_before=rows_above(pos), rows_before=rows_above(rows))
    return _mean_over_positives(segment, pos)


def _mean_precision(pos: Expr, rows: Expr, tp_before: Expr, rows_before: Expr) -> Expr:
    """Mean precision over the segment of a bin, from the precision above it to its own."""
    growth = rows / rows_before
    weight = growth.log1p() / growth
    between = weight * tp_before / rows_before + (1 - weight) * pos / rows
    return pl.when(rows_before > 0).then(between).otherwise(pos / rows)


@metric(range=(0, 1), better="high", aliases=("kolmogorov_smirnov", "ks_statistic"), interval=methods.MAXIMUM)
def ks(neg: Expr, pos: Expr) -> Expr:
    """Kolmogorov-Smirnov distance between the scores of positives and negatives.

    The largest ``abs(recall - fpr)`` over all thresholds: 1 if the classes are separated, 0 if their scores have the
    same distribution. Null if a class has no rows. The lower bound treats coarse bins as ties; the upper bound is the
    larger of the values in the best and the worst order. Equivalent to the statistic of scipy's ``ks_2samp``.

    >>> ks([2, 1, 0], [0, 1, 2]), ks([2, 1], [0, 0])
    (0.6666666666666667, None)
    """
    return (shares(pos.cum_sum(reverse=True), pos.sum()) - shares(neg.cum_sum(reverse=True), neg.sum())).abs().max()


@metric(range=(0, 1), better="high", aliases=("tpr_at_fpr", "sensitivity_at_fpr"), interval=methods.LEVEL)
def recall_at_fpr(neg: Expr, pos: Expr, *, fpr: float = 0.01) -> Expr:
    """Recall at the false positive rate ``fpr`` on the linearly interpolated ROC curve.

    If the curve is vertical at this rate, the highest recall. Rates within a relative distance of 1e-12 of ``fpr`` are
    equal to it. Null if a class has no rows. The bounds come from the best and the worst order of rows within coarse
    bins.

    >>> recall_at_fpr([2, 1, 0], [0, 1, 2], fpr=0.1), recall_at_fpr([2, 1], [0, 0])
    (0.7666666666666666, None)
    """
    _check_share("fpr", fpr)
    return (pos * _reached(neg, fpr)).sum() / pos.sum()


@metric(range=(0, 1), better="high", aliases=("ppv_at_recall",), interval="single rows can move its threshold far")
def precision_at_recall(neg: Expr, pos: Expr, *, recall_: float = 0.9) -> Expr:
    """Largest precision over the thresholds whose recall is at least ``recall``.

    A recall within a relative distance of 1e-12 of ``recall`` is equal to it, to allow for rounding. Null without
    positives. The lower bound is attained at bin edges; the upper bound comes from the best order of rows within coarse
    bins.

    >>> precision_at_recall([2, 1, 0], [0, 1, 2], recall=0.8), precision_at_recall([2, 1], [0, 0])
    (0.75, None)
    """
    _check_share("recall", recall_)
    counts = confusion_counts(neg, pos)
    enough = at_least(at_thresholds(recall, counts), recall_)
    return at_thresholds(precision, counts).filter(enough).max()


@metric(range=(0, 1), better="low", aliases=("eer",), interval=methods.STEPS)
def equal_error_rate(neg: Expr, pos: Expr) -> Expr:
    """Equal error rate: the false positive rate at which it equals the false negative rate.

    0 for a perfect ranking, 0.5 for a random one. Null if a class has no rows. It is found on the linearly interpolated
    ROC curve. The bounds come from the best and the worst order of rows within coarse bins.

    >>> equal_error_rate([2, 1, 0], [0, 1, 2]), equal_error_rate([2, 1], [0, 0])
    (0.16666666666666666, None)
    """
    part = each(
        _until_equal,
        fpr=shares(rows_above(neg), neg.sum()),
        fpr_below=shares(neg.cum_sum(reverse=True), neg.sum()),
        fnr=shares(pos.cum_sum(), pos.sum()),
        fnr_below=shares(pos.cum_sum().shift(1, fill_value=0), pos.sum()),
    )
    return pl.when(pos.sum() > 0).then((neg * part).sum() / neg.sum())


def _until_equal(fpr: Expr, fpr_below: Expr, fnr: Expr, fnr_below: Expr) -> Expr:
    """Part of each bin above the point where both rates are equal, given both at its upper and at its lower edge.

    The false negatives are counted from below, so that rates of 0 are exactly equal.
    """
    crossed = (fnr - fpr) / (fpr_below - fpr + fnr - fnr_below)
    return pl.when(at_most(fpr_below, fnr_below)).then(1).otherwise(crossed.clip(0, 1))


@metric(range=(0, 1), better="high", aliases=("capture_rate", "cumulative_gain"))
def gain(neg: Expr, pos: Expr, *, top: float = 0.1) -> Expr:
    """Share of all positives found in the top-scoring fraction ``top`` of rows.

    About ``top`` for a random ranking. A tie at the cut counts in proportion. Null without positives. The bounds come
    from the best and the worst order of rows within coarse bins.

    >>> gain([2, 1, 0], [0, 1, 2], top=0.5), gain([2, 1], [0, 0])
    (0.8333333333333334, None)
    """
    _check_share("top", top)
    return (pos * _reached(neg + pos, top)).sum() / pos.sum()


@metric(range=(0, float("inf")), better="high")
def lift(neg: Expr, pos: Expr, *, top: float = 0.1) -> Expr:
    """Prevalence in the top-scoring fraction ``top`` of rows, divided by the prevalence in all rows.

    About 1 for a random ranking, at most ``1 / top``. Nulls and bounds are as for `gain`.

    >>> lift([2, 1, 0], [0, 1, 2], top=0.5), lift([2, 1], [0, 0])
    (1.6666666666666667, None)
    """
    share: Expr = gain.formula(neg, pos, top=top)
    return share / top


@metric(range=(0, 1), better="high", aliases=("max_f1",), interval=methods.MAXIMUM)
def best_f1(neg: Expr, pos: Expr) -> Expr:
    """Largest F1 over all thresholds.

    For all metrics named ``best_``, predicting all or no rows positive counts as a threshold. The lower bound is
    attained at bin edges; the upper bound comes from the best order of rows within coarse bins.

    >>> best_f1([2, 1, 0], [0, 1, 2])
    0.8571428571428571
    >>> best_f1([2, 1], [0, 0])
    0.0
    """
    return _best(f1, neg, pos)


@metric(range=(0, 1), better="high", aliases=("max_fbeta",), interval=methods.MAXIMUM)
def best_fbeta(neg: Expr, pos: Expr, *, beta: float = 1) -> Expr:
    """Largest F-beta over all thresholds; ``beta`` above 1 gives more weight to recall, below 1 to precision.

    Bounds are as for `best_f1`.

    >>> best_fbeta([2, 1, 0], [0, 1, 2], beta=2)
    0.9375
    >>> best_fbeta([2, 1], [0, 0], beta=2)
    0.0
    """
    return _best(fbeta(beta=beta), neg, pos)


@metric(range=(0, 1), better="high", aliases=("max_accuracy",), interval=methods.MAXIMUM)
def best_accuracy(neg: Expr, pos: Expr) -> Expr:
    """Largest accuracy over all thresholds, at least that of predicting the majority class.

    Bounds are as for `best_f1`.

    >>> best_accuracy([2, 1, 0], [0, 1, 2])
    0.8333333333333334
    >>> best_accuracy([], []) is None
    True
    """
    return _best(accuracy, neg, pos)


@metric(range=(0, 1), better="high", aliases=("max_youden_j",), interval=methods.MAXIMUM)
def best_youden_j(neg: Expr, pos: Expr) -> Expr:
    """Largest Youden's J over all thresholds; 0 for predicting all or no rows positive.

    Like `ks`, without the absolute value. Bounds are as for `best_f1`.

    >>> best_youden_j([2, 1, 0], [0, 1, 2])
    0.6666666666666667
    >>> best_youden_j([2, 1], [0, 0]) is None
    True
    """
    return _best(youden_j, neg, pos)


@metric(range=(0, 1), better="high", aliases=("max_mcc",), interval=methods.MAXIMUM)
def best_mcc(neg: Expr, pos: Expr) -> Expr:
    """Largest Matthews correlation coefficient over all thresholds; 0 for predicting all or no rows positive.

    Bounds are as for `best_f1`.

    >>> best_mcc([2, 1, 0], [0, 1, 2])
    0.7071067811865476
    >>> best_mcc([2, 1], [0, 0]) is None
    True
    """
    return _best(mcc, neg, pos)


@metric(range=(0, 1), better="high", aliases=("max_kappa",), interval=methods.MAXIMUM)
def best_kappa(neg: Expr, pos: Expr) -> Expr:
    """Largest Cohen's kappa over all thresholds; 0 for predicting all or no rows positive.

    Null if a class has no rows. Bounds are as for `best_f1`.

    >>> best_kappa([2, 1, 0], [0, 1, 2])
    0.6666666666666666
    >>> best_kappa([2, 1], [0, 0]) is None
    True
    """
    both_classes = (neg.sum() > 0) & (pos.sum() > 0)
    return pl.when(both_classes).then(_best(kappa, neg, pos))


def _best(ratio: Metric, neg: Expr, pos: Expr) -> Expr:
    return at_thresholds(ratio, confusion_counts(neg, pos)).max()


@roc_auc.note
def _roc_auc_note(neg: Expr, pos: Expr) -> Expr:
    swapped = roc_auc.formula(neg.cast(pl.Float64), pos.cast(pl.Float64)) < 0.5
    return pl.coalesce(_missing_class(neg, pos), pl.when(swapped).then(pl.lit("below 0.5: chance, or labels swapped?")))


def _missing_class(neg: Expr, pos: Expr) -> Expr:
    no_positives, no_negatives = pos.sum() == 0, neg.sum() == 0
    return pl.when(no_positives).then(pl.lit("no positives")).when(no_negatives).then(pl.lit("no negatives"))


for _metric in (
    gini,
    partial_auc,
    average_precision,
    pr_auc,
    ks,
    recall_at_fpr,
    precision_at_recall,
    equal_error_rate,
    gain,
    lift,
    best_f1,
    best_fbeta,
    best_accuracy,
    best_youden_j,
    best_mcc,
    best_kappa,
):
    _metric.note(_missing_class)


def confusion_counts(neg: Expr, pos: Expr) -> dict[str, Expr]:
    """Return tp, fp, fn, and tn at every threshold, ascending: the low edge of each bin, then one above all scores.

    >>> table = pl.DataFrame({"neg": [2, 1, 0], "pos": [0, 1, 2]})
    >>> table.select(**confusion_counts(pl.col("neg"), pl.col("pos"))).rows()
    [(3, 3, 0, 0), (3, 1, 0, 2), (2, 0, 1, 3), (0, 0, 3, 3)]
    """
    neg, pos = neg.append(pl.lit(0)), pos.append(pl.lit(0))
    return {
        "tp": pos.cum_sum(reverse=True),
        "fp": neg.cum_sum(reverse=True),
        "fn": pos.cum_sum().shift(1, fill_value=0),
        "tn": neg.cum_sum().shift(1, fill_value=0),
    }


def at_thresholds(ratio: Metric, counts: Mapping[str, Expr]) -> Expr:
    """Return a metric of the confusion counts at every threshold.

    Predicting all or no rows positive has no skill. A metric that corrects for chance, with a range from -1 to 1, is
    therefore 0 there instead of undefined.

    >>> table = pl.DataFrame({"neg": [1, 0], "pos": [0, 1]})
    >>> counts = confusion_counts(pl.col("neg"), pl.col("pos"))
    >>> table.select(at_thresholds(mcc, counts)).to_series().to_list()
    [0.0, 1.0, 0.0]
    """

    def formula(tp: Expr, fp: Expr, fn: Expr, tn: Expr) -> Expr:
        columns = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        value: Expr = ratio(*(columns[c] for c in ratio.columns))
        if ratio.range != (-1, 1):
            return value
        both_classes = (tp + fn > 0) & (fp + tn > 0)
        return pl.when(both_classes).then(value.fill_null(0)).otherwise(value)

    return each(formula, **counts)


def rows_above(count: Expr) -> Expr:
    """The number of rows above each bin, or each label."""
    return count.cum_sum(reverse=True).shift(-1, fill_value=0)


def _reached(count: Expr, level: float) -> Expr:
    """Part of each bin within the ``level`` share of all rows, from the highest score down."""

    def part(start: Expr, end: Expr, share: Expr) -> Expr:
        return pl.when(at_most(end, level)).then(1).otherwise(((level - start) / share).clip(0, 1))

    total = count.sum()
    start, end = shares(rows_above(count), total), shares(count.cum_sum(reverse=True), total)
    return each(part, start=start, end=end, share=shares(count, total))


def _mean_over_positives(value: Expr, pos: Expr) -> Expr:
    return pl.when(pos > 0).then(pos * value).sum() / pos.sum()


def _check_share(option: str, value: float) -> None:
    if not 0 < value <= 1:
        raise MetricError(Argument(option), f" must be greater than 0 and at most 1, got {value!r}.")

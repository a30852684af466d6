"""Which confidence interval each metric has, if rows are independent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import polars as pl
from polars import Expr

from streammetrics import metrics as binary
from streammetrics.metrics import (
    Metric,
    class_probabilities,
    errors,
    multilabel,
    predictions,
    quantiles,
    ranking,
    several_classes,
)
from streammetrics.metrics.order_statistics import absolute, bins_between
from streammetrics.uncertainty import (
    Interval,
    as_proportion,
    counted,
    iqr_interval,
    mad_interval,
    mean_interval,
    quantile_interval,
    root_mean_interval,
    sum_interval,
    wilson_interval,
    with_products,
)
from streammetrics.uncertainty.moments import PRODUCTS

Method: TypeAlias = Callable[[Metric, float], Interval]

COUNT = pl.col("count")
OUTCOMES = {"tp", "fp", "fn", "tn"}
OLD = "the state lacks sums that it needs, as those of earlier versions do"
NEEDS_UNITS = "pass unit= for a confidence interval"
FEWEST = 20  # rows of a class
FEWEST_OF_STEPS = 100
FEWEST_OF_LOSSES = 50


@dataclass(frozen=True)
class Influence:
    """How the influence of a row on some metrics is found: see `influence_intervals`."""

    products: tuple[tuple[tuple[str, str], str], ...]
    added: float = 0.0
    fewest: int = 2
    sliced: bool = False
    prepared: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # where products follow from the table

    @property
    def columns(self) -> set[str]:
        """Those varied."""
        return {c for pair, _ in self.products for c in pair}

    @property
    def squares(self) -> list[str]:
        """Columns of products that are not varied."""
        return [column for _, column in self.products if column not in self.columns]

    def of_weights(self, twins: Mapping[str, str]) -> Influence:
        """The same for weighted rows: a product adds up over rows times the squares of their weights."""
        products = tuple((pair, twins[column]) for pair, column in self.products)
        return replace(self, products=products, fewest=2 * self.fewest)


def interval(metric: Metric, confidence: float) -> Interval | None:
    """The interval of a metric as expressions over its table; None if it is found in other ways, or not at all.

    Tables hold counts of rows, not weights.
    """
    if metric.average is not None:
        return None
    if set(metric.columns) <= OUTCOMES and (proportion := as_proportion(metric)) is not None:
        return wilson_interval(*proportion, confidence)
    method = _METHODS.get(metric.formula)
    return None if method is None else method(metric, confidence)


def influence(metric: Metric) -> Influence | None:
    """How the influence of a row on a metric is found; None if its interval is found in other ways, or not at all."""
    if metric.average is not None or metric.formula in {*_METHODS, *_AREAS, *_WITHOUT}:
        return None
    if set(metric.columns) <= OUTCOMES:
        return None if as_proportion(metric) is not None else _OF_OUTCOMES
    if set(metric.columns) == {"neg", "pos"}:
        return _OF_SCORES
    if metric.formula in _MOMENTS:
        return _OF_MOMENTS
    return next((way for way in _OTHERS if _fits(metric, way)), None)


def influence_of_weights(metric: Metric, twins: Mapping[str, str]) -> Influence | None:
    """How the influence of a weighted row is found, which serves all metrics; None if squared weights are not kept."""
    if metric.average is not None or metric.formula in _WITHOUT:
        return None
    ways = [_OF_OUTCOMES, _OF_PREDICTIONS, _OF_SCORES, *_OTHERS]
    if metric.formula in _METHODS:
        ways += _OF_WEIGHTED_SUMS
    known = (way for way in ways if {column for _, column in way.products} <= twins.keys() and _fits(metric, way))
    way = next(known, None)
    return None if way is None else way.of_weights(twins)


def fewest(metric: Metric, way: Influence) -> int:
    """How many rows of each class the influence on a metric needs."""
    if metric.formula in _STEPS:
        return FEWEST_OF_STEPS
    if metric.formula in _AREAS:
        return FEWEST
    return 2 if metric.formula in _METHODS else way.fewest


def _fits(metric: Metric, way: Influence) -> bool:
    """Whether a metric reads columns that are varied, and besides only columns that are the same for all rows."""
    return bool(way.columns & {*metric.columns}) and {*metric.columns} <= way.columns | _PLACES


def is_area(metric: Metric) -> bool:
    """Whether the interval follows from that of the ROC AUC."""
    return metric.formula in _AREAS


def of_area(metric: Metric, limit: Expr) -> Expr:
    """The limit of a metric that follows from the ROC AUC."""
    return limit if metric.formula is ranking.roc_auc.formula else 2 * limit - 1


def of_matrix(metric: Metric) -> bool:
    """Whether a metric of several classes, or an average over them, is smooth in the counts of pairs of labels."""
    return metric.formula not in _WITHOUT and (metric.average is not None or "correct" in metric.columns)


def jackknifed(metric: Metric) -> bool:
    """Whether leaving out folds gives a sound interval."""
    return metric.formula not in {**_WITHOUT, **_QUANTILES}


def reason(metric: Metric, units: bool, weights: Mapping[str, str] | None = None, known: bool = True) -> str:
    """Why a metric has no interval, for the note of a report.

    Args:
        metric: that without an interval.
        units: whether rows belong to units.
        weights: of weighted rows, the columns of squared weights.
        known: whether the state has all sums of today.
    """
    if metric.formula in _WITHOUT:
        return _WITHOUT[metric.formula]
    if units:
        return _QUANTILES.get(metric.formula, "too few units, or they do not vary")
    if weights is not None and not (of_matrix(metric) or influence_of_weights(metric, weights)):
        return "not available for weighted rows" + ("" if metric.formula in _QUANTILES else f"; {NEEDS_UNITS}")
    if weights is None and not (interval(metric, 0.5) or influence(metric) or is_area(metric)):
        return NEEDS_UNITS
    if not known:
        return OLD
    noise = metric.formula in MAXIMA
    return "too few rows, or " + ("the maximum could come from noise" if noise else "they do not vary")


def _share(count: Expr, total: Expr) -> Method:
    return lambda metric, confidence: wilson_interval(count, total, confidence)


def _share_of_rows(metric: Metric, confidence: float) -> Interval:
    rows = COUNT.sum()
    return wilson_interval(metric.expression() * rows, rows, confidence)


def _mean(total: Expr, square_total: Expr, weight: Expr) -> Method:
    return lambda metric, confidence: mean_interval(total, square_total, weight, confidence, range=metric.range)


def _quantile(low: Expr, high: Expr, q: float | None = None, count: Expr = COUNT) -> Method:
    def method(metric: Metric, confidence: float) -> Interval:
        return quantile_interval(low, high, count, float(metric.options["q"] or 0) if q is None else q, confidence)

    return method


def _absolute_quantile(q: float | None = None) -> Method:
    errors = absolute(bins_between(*_ERRORS, COUNT))
    return _quantile(errors.low, errors.high, q)


def _rec_auc(metric: Metric, confidence: float) -> Interval:
    """It is the mean of what each row adds to the area."""
    error = absolute(bins_between(*_ERRORS, COUNT)).middle
    area = (1 - error / float(metric.options["limit"] or 0)).clip(0)
    return mean_interval((area * COUNT).sum(), (area**2 * COUNT).sum(), COUNT.sum(), confidence, range=metric.range)


def _mad(metric: Metric, confidence: float) -> Interval:
    scale = quantiles.NORMAL_SCALE if metric.options["scaled"] else 1.0
    lower, upper = mad_interval(metric.expression() / scale, *_ERRORS, COUNT, confidence)
    return lower * scale, upper * scale


def _iqr(low: Expr, high: Expr) -> Method:
    return lambda metric, confidence: iqr_interval(metric.expression(), low, high, COUNT, confidence)


def _sum(factor: float, shift: float, *shares: tuple[str, str]) -> Method:
    parts = [(pl.col(count), pl.col(count) + pl.col(rest)) for count, rest in shares]
    return lambda metric, confidence: sum_interval(parts, factor, shift, confidence)


def _losses(name: str, weight: str) -> Method:
    return _mean(pl.sum(f"{name}_sum"), pl.sum(f"{name}_square_sum"), pl.sum(weight))


_OVER, _UNDER, _SQUARES, _WEIGHT = (pl.col(c) for c in ("over_sum", "under_sum", "square_error_sum", "weight"))
_FOURTHS = pl.col("error_fourth_sum")
_PREDICTED = pl.col("predicted_positives")
_ERRORS, _VALUES = ((pl.col(f"{what}_low"), pl.col(f"{what}_high")) for what in ("error", "value"))
_CENTROIDS = (pl.col("min"), pl.col("max"))
_MIDDLE = bins_between(*_VALUES, COUNT).middle

_METHODS: dict[Callable[..., Expr], Method] = {
    metric.formula: method
    for metric, method in {
        binary.dropped_rate: _share(pl.col("dropped"), pl.col("rows") + pl.col("dropped")),
        predictions.predicted_positive_rate: _share(_PREDICTED, _PREDICTED + pl.col("predicted_negatives")),
        binary.observed_rate: _share(pl.sum("pos"), pl.sum("weight")),
        binary.balanced_accuracy: _sum(0.5, 0.0, ("tp", "fn"), ("tn", "fp")),
        binary.youden_j: _sum(1.0, -1.0, ("tp", "fn"), ("tn", "fp")),
        binary.markedness: _sum(1.0, -1.0, ("tp", "fp"), ("tn", "fn")),
        binary.log_loss: _losses("log_loss", "weight"),
        binary.brier_score: _losses("brier", "weight"),
        class_probabilities.log_loss: _losses("log_loss", "class_weight"),
        class_probabilities.brier_score: _losses("brier", "class_weight"),
        class_probabilities.top_k_accuracy: _share_of_rows,
        several_classes.accuracy: _share(pl.sum("correct"), pl.sum("actual")),
        several_classes.error_rate: _share(pl.sum("actual") - pl.sum("correct"), pl.sum("actual")),
        multilabel.subset_accuracy: _share(pl.col("exact_match"), pl.col("row_weight")),
        errors.mae: _mean(_OVER + _UNDER, _SQUARES, _WEIGHT),
        errors.bias: _mean(_OVER - _UNDER, _SQUARES, _WEIGHT),
        errors.mse: _mean(_SQUARES, _FOURTHS, _WEIGHT),
        errors.rmse: lambda _, confidence: root_mean_interval(_SQUARES, _FOURTHS, _WEIGHT, confidence),
        errors.mape: _mean(pl.col("percentage_sum"), pl.col("percentage_square_sum"), _WEIGHT),
        quantiles.median_error: _quantile(*_ERRORS, q=0.5),
        quantiles.error_quantile: _quantile(*_ERRORS),
        quantiles.mad: _mad,
        quantiles.error_iqr: _iqr(*_ERRORS),
        quantiles.iqr: _iqr(*_VALUES),
        quantiles.median_absolute_error: _absolute_quantile(0.5),
        quantiles.absolute_error_quantile: _absolute_quantile(),
        quantiles.rec_auc: _rec_auc,
        quantiles.mean: _mean((_MIDDLE * COUNT).sum(), (_MIDDLE**2 * COUNT).sum(), COUNT.sum()),
        quantiles.median: _quantile(*_VALUES, q=0.5),
        quantiles.quantile: _quantile(*_VALUES),
        binary.digest_median: _quantile(*_CENTROIDS, q=0.5, count=pl.col("weight")),
        binary.digest_quantile: _quantile(*_CENTROIDS, count=pl.col("weight")),
        quantiles.within: _share_of_rows,
        quantiles.error_cdf: _share_of_rows,
        quantiles.cdf: _share_of_rows,
    }.items()
}
_AREAS = {ranking.roc_auc.formula, ranking.gini.formula}
MAXIMA = {
    m.formula
    for m in (
        *(ranking.ks, ranking.best_accuracy, ranking.best_f1, ranking.best_fbeta, ranking.best_kappa),
        *(ranking.best_mcc, ranking.best_youden_j),
    )
}
_STEPS = MAXIMA | {ranking.equal_error_rate.formula, ranking.recall_at_fpr.formula}
_PLACES = {"actual", *(f"{what}_{end}" for what in ("error", "value") for end in ("low", "high")), "weighted"}
_OF_OUTCOMES = Influence(tuple(counted("tp", "fp", "fn", "tn").items()), added=0.5)
_OF_SCORES = Influence(tuple(counted("neg", "pos").items()), fewest=FEWEST, sliced=True)
_OF_PREDICTIONS = Influence(tuple(counted("predicted_positives", "predicted_negatives").items()), added=0.5)
OF_MATRIX = Influence(tuple(counted("count").items()))


def _of_losses(weight: str, name: str) -> Influence:
    total, squares = f"{name}_sum", f"{name}_square_sum"
    products = (((weight, weight), weight), ((weight, total), total), ((total, total), squares))
    return Influence(products, fewest=FEWEST_OF_LOSSES)


_OTHERS = (
    Influence(tuple(counted("count").items()), sliced=True),
    _of_losses("weight", "log_loss"),
    _of_losses("weight", "brier"),
    Influence(
        (
            *((("weight", c), c) for c in ("weight", "pos", "score_sum")),
            *((("pos", "pos"), "pos"), (("pos", "score_sum"), "pos_score_sum")),
            (("score_sum", "score_sum"), "score_square_sum"),
        ),
        fewest=0,
    ),
)
_MOMENTS = {
    metric.formula
    for metric in (
        *(errors.r2, errors.adjusted_r2, errors.explained_variance, errors.pearson_r, errors.concordance),
        errors.error_sd,
    )
}
_OF_MOMENTS = Influence(tuple(PRODUCTS.items()), prepared=with_products)
_OF_WEIGHTED_SUMS = (
    _of_losses("class_weight", "log_loss"),
    _of_losses("class_weight", "brier"),
    Influence(
        (
            *((("weight", c), c) for c in ("weight", "over_sum", "under_sum")),
            (("over_sum", "over_sum"), "square_error_sum"),  # and of the other side: the influence on both is as large
        )
    ),
    Influence(
        (
            *((("weight", c), c) for c in ("weight", "square_error_sum")),
            (("square_error_sum", "square_error_sum"), "error_fourth_sum"),
        )
    ),
    Influence(
        (
            *((("weight", c), c) for c in ("weight", "percentage_sum")),
            (("percentage_sum", "percentage_sum"), "percentage_square_sum"),
        )
    ),
)
_QUANTILE = "the jackknife is not sound for quantiles"
_QUANTILES = {
    m.formula: _QUANTILE
    for m in (
        *(quantiles.median_error, quantiles.median_absolute_error, quantiles.mad, quantiles.error_quantile),
        *(quantiles.absolute_error_quantile, quantiles.error_iqr, quantiles.median, quantiles.quantile, quantiles.iqr),
        *(binary.digest_quantile, binary.digest_median),
    )
}
_WITHOUT = {
    m.formula: text
    for text, members in {
        "a count": (
            *(binary.support, binary.positives, binary.negatives, binary.true_positives, binary.false_positives),
            *(binary.false_negatives, binary.true_negatives, binary.rows, binary.dropped, errors.ss_res, errors.ss_tot),
            *(binary.predicted_positives, binary.predicted_negatives),
            *(predictions.predicted_positives, predictions.predicted_negatives),
        ),
        "an extreme value": (quantiles.minimum, quantiles.maximum, errors.max_error),
        "not smooth where classes are equally large": (
            *(binary.majority_accuracy, binary.class_imbalance, binary.normalized_accuracy),
            several_classes.majority_accuracy,
        ),
        "biased upwards by as much as it varies": (
            *(binary.ece, binary.mce, binary.rmsce, binary.brier_reliability, binary.brier_resolution),
        ),
        "not smooth in the rows": (ranking.precision_at_recall,),
    }.items()
    for m in members
}

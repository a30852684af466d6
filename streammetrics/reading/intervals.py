"""Which sampling interval each metric has, where rows do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable
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
    delong_interval,
    iqr_interval,
    mad_interval,
    mean_interval,
    quantile_interval,
    root_mean_interval,
    wilson_interval,
)

Method: TypeAlias = Callable[[Metric, float], Interval]

COUNT = pl.col("count")
OUTCOMES = {"tp", "fp", "fn", "tn"}
DRAWN = ({"neg", "pos"}, {"error_low", "error_high", "count"}, {"value_low", "value_high", "count"})


def interval(metric: Metric, confidence: float) -> Interval | None:
    """The interval of a metric as expressions over its table; None where it has none, or is found in other ways.

    Tables hold counts of rows, not weights.
    """
    if metric.average is not None:
        return None
    if set(metric.columns) <= OUTCOMES:
        proportion = as_proportion(metric)
        return None if proportion is None else wilson_interval(*proportion, confidence)
    method = _METHODS.get(metric.formula)
    return None if method is None else method(metric, confidence)


def by_delta(metric: Metric) -> bool:
    """Whether the interval is that of the delta method: a ratio of the 2x2 table that is no proportion."""
    fits = metric.average is None and set(metric.columns) <= OUTCOMES
    return fits and metric.formula not in _COUNTS | _OF_THE_LARGER_CLASS and as_proportion(metric) is None


def drawn(metric: Metric) -> tuple[str, ...]:
    """The columns of counts that a bootstrap draws anew for the interval of a metric; none where it has no use."""
    fits = [columns for columns in DRAWN if set(metric.columns) <= columns]
    if metric.average is not None or metric.formula in _METHODS or metric.formula in _EXTREMES or not fits:
        return ()
    return ("neg", "pos") if "neg" in fits[0] else ("count",)


def jackknifed(metric: Metric) -> bool:
    """Whether leaving out folds gives a sound interval: not of counts, which grow with the rows, nor of quantiles."""
    return metric.formula not in _COUNTS | _QUANTILES | _EXTREMES


def _share(count: Expr, total: Expr) -> Method:
    return lambda metric, confidence: wilson_interval(count, total, confidence)


def _share_of_rows(metric: Metric, confidence: float) -> Interval:
    rows = COUNT.sum()
    return wilson_interval(metric.expression() * rows, rows, confidence)


def _mean(total: Expr, square_total: Expr, weight: Expr) -> Method:
    return lambda metric, confidence: mean_interval(total, square_total, weight, confidence, range=metric.range)


def _quantile(low: Expr, high: Expr, q: float | None = None) -> Method:
    def method(metric: Metric, confidence: float) -> Interval:
        return quantile_interval(low, high, COUNT, float(metric.options["q"] or 0) if q is None else q, confidence)

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


def _gini(metric: Metric, confidence: float) -> Interval:
    lower, upper = delong_interval(pl.col("neg"), pl.col("pos"), confidence)
    return 2 * lower - 1, 2 * upper - 1


def _losses(name: str, weight: str) -> Method:
    return _mean(pl.sum(f"{name}_sum"), pl.sum(f"{name}_square_sum"), pl.sum(weight))


_OVER, _UNDER, _SQUARES, _WEIGHT = (pl.col(c) for c in ("over_sum", "under_sum", "square_error_sum", "weight"))
_FOURTHS = pl.col("error_fourth_sum")
_PREDICTED = pl.col("predicted_positives")
_ERRORS, _VALUES = ((pl.col(f"{what}_low"), pl.col(f"{what}_high")) for what in ("error", "value"))
_MIDDLE = bins_between(*_VALUES, COUNT).middle

_METHODS: dict[Callable[..., Expr], Method] = {
    metric.formula: method
    for metric, method in {
        binary.dropped_rate: _share(pl.col("dropped"), pl.col("rows") + pl.col("dropped")),
        predictions.predicted_positive_rate: _share(_PREDICTED, _PREDICTED + pl.col("predicted_negatives")),
        binary.observed_rate: _share(pl.sum("pos"), pl.sum("weight")),
        ranking.roc_auc: lambda _, confidence: delong_interval(pl.col("neg"), pl.col("pos"), confidence),
        ranking.gini: _gini,
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
        quantiles.within: _share_of_rows,
        quantiles.error_cdf: _share_of_rows,
        quantiles.cdf: _share_of_rows,
    }.items()
}
_COUNTS = {
    m.formula
    for m in (
        *(binary.support, binary.positives, binary.negatives, binary.predicted_positives, binary.predicted_negatives),
        *(binary.true_positives, binary.false_positives, binary.false_negatives, binary.true_negatives),
        *(predictions.predicted_positives, predictions.predicted_negatives),
        *(binary.rows, binary.dropped, errors.ss_res, errors.ss_tot),
    )
}
_QUANTILES = {
    m.formula
    for m in (
        *(quantiles.median_error, quantiles.median_absolute_error, quantiles.mad, quantiles.error_quantile),
        *(quantiles.absolute_error_quantile, quantiles.error_iqr, quantiles.median, quantiles.quantile, quantiles.iqr),
        *(binary.digest_quantile, binary.digest_median),
    )
}
_OF_THE_LARGER_CLASS = {binary.majority_accuracy.formula, binary.class_imbalance.formula}  # not smooth at 1 : 1
_EXTREMES = {m.formula for m in (quantiles.minimum, quantiles.maximum, errors.max_error)}

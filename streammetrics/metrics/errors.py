"""Regression metrics: mean errors, and shares of the variance of the true values that predictions explain.

They are computed from the moments and sums of `streammetrics.statistics.error_moments`. Errors are
``predicted - actual``.
"""

from __future__ import annotations

from math import inf

import polars as pl
from polars import Expr

from streammetrics.errors import Argument, MetricError
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric
from streammetrics.metrics.order_statistics import require_quantile

_OVER, _UNDER = pl.col("over_sum"), pl.col("under_sum")
_SIZES = methods.sums(over_sum="over_square_sum", under_sum="under_square_sum")
_ABSOLUTE = methods.with_loss(_SIZES, "absolute", _OVER + _UNDER, "square_error_sum")
_SIGNED = methods.with_loss(_SIZES, "error", _OVER - _UNDER, "square_error_sum", signed=True)
_PERCENTAGE = methods.sums(percentage_sum="percentage_square_sum")
_OF_SIZE = methods.sums(  # errors of both signs have the same influence, so either column can hold the product
    ("over_sum", "absolute_actual_sum", "absolute_product_sum"),
    over_sum="over_square_sum",
    under_sum="under_square_sum",
    absolute_actual_sum="actual_square_sum",
)


@metric(range=(0, inf), better="low", aliases=("mean_absolute_error",), interval=_ABSOLUTE)
def mae(weight: Expr, over_sum: Expr, under_sum: Expr) -> Expr:
    """Mean absolute error: the mean distance of predictions from true values, in their units.

    Equivalent to scikit-learn's ``mean_absolute_error``.

    >>> mae(4, 3, 5)
    2.0
    """
    return (over_sum + under_sum) / weight


@metric(
    range=(0, inf),
    better="low",
    aliases=("mean_squared_error",),
    interval=methods.SQUARE_ERROR,
)
def mse(weight: Expr, square_error_sum: Expr) -> Expr:
    """Mean squared error: the mean of squared errors, in squared units of the true values.

    Equivalent to scikit-learn's ``mean_squared_error``.

    >>> mse(4, 36)
    9.0
    """
    return square_error_sum / weight


@metric(
    range=(0, inf),
    better="low",
    aliases=("root_mean_squared_error",),
    interval=methods.SQUARE_ERROR,
)
def rmse(weight: Expr, square_error_sum: Expr) -> Expr:
    """Root mean squared error, in the units of the true values.

    Equivalent to scikit-learn's ``root_mean_squared_error``.

    >>> rmse(4, 36)
    3.0
    """
    return (square_error_sum / weight).sqrt()


@metric(range=(-inf, inf), aliases=("mean_error", "mean_bias_error"), interval=_SIGNED)
def bias(weight: Expr, over_sum: Expr, under_sum: Expr) -> Expr:
    """Mean error, in the units of the true values; above 0 if predictions are too high on average.

    >>> bias(4, 3, 5)
    -0.5
    """
    return (over_sum - under_sum) / weight


@metric(range=(0, inf), better="low", aliases=("error_standard_deviation",), interval=methods.MOMENTS)
def error_sd(
    weight: Expr,
    over_sum: Expr,
    under_sum: Expr,
    square_error_sum: Expr,
    actual_m2: Expr,
    predicted_m2: Expr,
    comoment: Expr,
) -> Expr:
    """Standard deviation of the errors, with denominator n: the part of rmse that is not bias.

    ``rmse**2 == bias**2 + error_sd**2``. In the units of the true values. Equivalent to numpy's ``std`` of the errors.

    >>> round(error_sd(2, 3, 0, 5, 2, 4.5, 3), 12)
    0.5
    """
    m2 = _error_m2(weight, over_sum - under_sum, square_error_sum, actual_m2 + predicted_m2, comoment)
    return (m2 / weight).sqrt()


def _error_m2(weight: Expr, total: Expr, square: Expr, spread: Expr, comoment: Expr) -> Expr:
    """Second moment of the errors about their mean, from their sum and the sum of their squares.

    Each of two formulas can subtract nearly equal numbers: one if the bias is large, the other if errors are small
    relative to the values, whose second moments sum to the spread. The one with the smaller terms is more precise.
    """
    m2 = pl.when(square <= spread).then(square - total * (total / weight)).otherwise(spread - 2 * comoment)
    return m2.clip(lower_bound=0)


@metric(range=(0, inf), better="low", aliases=("max_absolute_error",), interval="an extreme value")
def max_error(weight: Expr, absolute_error_max: Expr) -> Expr:
    """Largest absolute error, in the units of the true values.

    Equivalent to scikit-learn's ``max_error``.

    >>> max_error(4, 5)
    5.0
    """
    return _where_rows(weight, absolute_error_max)


@metric(range=(0, inf), better="low", aliases=("mean_pinball_loss", "quantile_loss"), interval=_SIZES)
def pinball_loss(weight: Expr, over_sum: Expr, under_sum: Expr, *, q: float = 0.5) -> Expr:
    """Mean pinball (quantile) loss of predictions of the ``q``-quantile (Koenker & Bassett 1978).

    Predicting too high costs ``1 - q`` per unit of error, predicting too low ``q``. At the default of 0.5, it is half
    the mean absolute error. Equivalent to scikit-learn's ``mean_pinball_loss(alpha=q)``.

    >>> pinball_loss(4, 3, 5, q=0.75)
    1.125
    """
    require_quantile(q)
    return ((1 - q) * over_sum + q * under_sum) / weight


@metric(
    range=(0, inf),
    better="low",
    aliases=("mean_absolute_percentage_error",),
    interval=methods.with_loss(_PERCENTAGE, "percentage", pl.col("percentage_sum"), "percentage_square_sum"),
)
def mape(weight: Expr, percentage_sum: Expr) -> Expr:
    """Mean absolute percentage error: mean of ``|error / actual|``, as a share: 0.1 is 10%.

    Infinite if a true value is 0, and null if its prediction is 0 too; scikit-learn's
    ``mean_absolute_percentage_error`` divides by 2.2e-16 instead. wape and smape stay finite.

    >>> mape(4, 0.5)
    0.125
    >>> mape(4, inf)
    inf
    """
    return percentage_sum / weight


@metric(
    range=(0, inf),
    better="low",
    aliases=("root_mean_squared_percentage_error",),
    interval=methods.sums(percentage_square_sum="percentage_fourth_sum"),
)
def rmspe(weight: Expr, percentage_square_sum: Expr) -> Expr:
    """Root mean squared percentage error: root mean square of ``error / actual``, as a share: 0.1 is 10%.

    Null and infinite as for mape.

    >>> rmspe(4, 0.25)
    0.25
    """
    return (percentage_square_sum / weight).sqrt()


@metric(
    range=(0, 2),
    better="low",
    aliases=("symmetric_mean_absolute_percentage_error",),
    interval=methods.sums(symmetric_percentage_sum="symmetric_percentage_square_sum"),
)
def smape(weight: Expr, symmetric_percentage_sum: Expr) -> Expr:
    """Symmetric percentage error: mean of ``2 |error| / (|actual| + |predicted|)``, as a share, at most 2.

    A row counts as 0 if both values are 0. This is the definition of the M3 competition (Makridakis & Hibon 2000).

    >>> smape(4, 0.5)
    0.125
    """
    return symmetric_percentage_sum / weight


@metric(
    range=(0, inf),
    better="low",
    aliases=("weighted_absolute_percentage_error", "wmape", "mad_mean_ratio"),
    interval=_OF_SIZE,
)
def wape(over_sum: Expr, under_sum: Expr, absolute_actual_sum: Expr) -> Expr:
    """Weighted absolute percentage error: sum of absolute errors divided by the sum of ``|actual|``, as a share.

    Finite even if some true values are 0 (Kolassa & Schütz 2007). If all are 0, infinite, or null if all predictions
    are 0 too.

    >>> wape(3, 5, 80)
    0.1
    """
    return (over_sum + under_sum) / absolute_actual_sum


@metric(range=(0, inf), better="low", aliases=("residual_sum_of_squares", "rss", "sse"), interval=methods.A_SUM)
def ss_res(square_error_sum: Expr) -> Expr:
    """Residual sum of squares: the sum of squared errors.

    >>> ss_res(36)
    36.0
    """
    return square_error_sum


@metric(range=(0, inf), aliases=("total_sum_of_squares", "tss"), interval=methods.A_SUM)
def ss_tot(actual_m2: Expr) -> Expr:
    """Total sum of squares: squared deviations of the true values from their mean.

    >>> ss_tot(48)
    48.0
    """
    return actual_m2


@metric(
    range=(-inf, 1),
    better="high",
    aliases=("r2_score", "coefficient_of_determination", "mse_skill", "nash_sutcliffe_efficiency"),
    interval=methods.MOMENTS,
)
def r2(weight: Expr, actual_m2: Expr, square_error_sum: Expr) -> Expr:
    """R²: proportion of the variance of the true values that the predictions explain, ``1 - ss_res / ss_tot``.

    1 for perfect predictions, 0 for predicting the mean, below 0 for worse predictions. If the true values do not vary,
    null, or 1 if every prediction is correct. scikit-learn's ``r2_score`` then returns 0 and 1, or -infinity and NaN
    with ``force_finite=False``.

    >>> r2(4, 48, 36), r2(4, 48, 48), r2(4, 48, 72)
    (0.25, 0.0, -0.5)
    >>> r2(4, 0, 0), r2(4, 0, 36), r2(0, 0, 0)
    (1.0, None, None)
    """
    return explained(weight, square_error_sum, actual_m2)


@metric(range=(-inf, 1), better="high", interval=methods.MOMENTS)
def adjusted_r2(weight: Expr, actual_m2: Expr, square_error_sum: Expr, *, features: float = 1) -> Expr:
    """R² adjusted for the number of ``features`` of the model (Ezekiel 1930).

    ``1 - (1 - r2) (n - 1) / (n - features - 1)``, where n is the number of rows, or the sum of their weights.
    Meaningful for the rows that the model was trained on. Null if n is at most ``features + 1``.

    >>> adjusted_r2(5, 48, 36, features=2), adjusted_r2(3, 48, 36, features=2)
    (-0.5, None)
    """
    if features < 0:
        raise MetricError(Argument("features"), f" must be at least 0, got {features!r}.")
    free = weight - features - 1
    unexplained = 1 - explained(weight, square_error_sum, actual_m2)
    return pl.when(free > 0).then(1 - unexplained * (weight - 1) / free)


@metric(range=(-inf, 1), better="high", aliases=("explained_variance_score",), interval=methods.MOMENTS)
def explained_variance(
    weight: Expr,
    over_sum: Expr,
    under_sum: Expr,
    square_error_sum: Expr,
    actual_m2: Expr,
    predicted_m2: Expr,
    comoment: Expr,
) -> Expr:
    """Explained variance: 1 - var(error) / var(actual). Unlike R², it ignores bias.

    1 for errors that do not vary, 0 for errors that vary as much as the true values. If the true values do not vary,
    null, or 1 if the errors do not vary either. Equivalent to scikit-learn's ``explained_variance_score``, except for
    true values that do not vary.

    >>> explained_variance(2, 3, 0, 5, 2, 4.5, 3)
    0.75
    """
    m2 = _error_m2(weight, over_sum - under_sum, square_error_sum, actual_m2 + predicted_m2, comoment)
    return explained(weight, m2, actual_m2)


def explained(weight: Expr, loss: Expr, baseline: Expr) -> Expr:
    """Relative reduction of a loss over a baseline. If the baseline is 0: 1 if the loss is 0 too, else null."""
    return pl.when(baseline > 0).then(1 - loss / baseline).when((loss == 0) & (weight > 0)).then(1.0)


@metric(range=(-1, 1), better="high", aliases=("pearson", "correlation"), interval=methods.MOMENTS)
def pearson_r(actual_m2: Expr, predicted_m2: Expr, comoment: Expr) -> Expr:
    """Pearson correlation of true and predicted values; null if one of them does not vary.

    1 or -1 if they lie on a line, 0 if they are uncorrelated. Equivalent to scipy's ``pearsonr``.

    >>> pearson_r(4, 9, 3), pearson_r(4, 0, 0)
    (0.5, None)
    """
    return (comoment / (actual_m2.sqrt() * predicted_m2.sqrt())).clip(-1, 1)


@metric(range=(-1, 1), better="high", aliases=("ccc", "concordance_correlation_coefficient"), interval=methods.MOMENTS)
def concordance(
    weight: Expr, over_sum: Expr, under_sum: Expr, actual_m2: Expr, predicted_m2: Expr, comoment: Expr
) -> Expr:
    """Lin's concordance correlation (1989): Pearson's, reduced if mean or variance of the predictions differ.

    ``2 cov / (var(actual) + var(predicted) + bias**2)``. 1 only for perfect predictions. Null if true values and
    predictions are all equal.

    >>> concordance(2, 2, 0, 4, 4, 4)
    0.8
    """
    total = over_sum - under_sum
    return 2 * comoment / (actual_m2 + predicted_m2 + total * (total / weight))


@metric(range=(-inf, inf), interval=methods.MeanOfMoments("actual"))
def mean_actual(weight: Expr, actual_mean: Expr) -> Expr:
    """Mean of the true values.

    >>> mean_actual(4, 10)
    10.0
    """
    return _where_rows(weight, actual_mean)


@metric(range=(-inf, inf), interval=methods.MeanOfMoments("predicted"))
def mean_predicted(weight: Expr, predicted_mean: Expr) -> Expr:
    """Mean of the predictions.

    >>> mean_predicted(4, 10)
    10.0
    """
    return _where_rows(weight, predicted_mean)


def _where_rows(weight: Expr, value: Expr) -> Expr:
    """The value, null for no rows."""
    return pl.when(weight > 0).then(value)


def does_not_vary(actual_min: Expr, actual_max: Expr) -> Expr:
    """Note that the true values are all equal."""
    return pl.when(actual_min == actual_max).then(pl.lit("true values do not vary"))


def underflows(total: Expr) -> Expr:
    """Note that a sum is unknown because its terms are below the smallest float."""
    tiny = "values or weights are so small that their sums or squares underflow; rescale the column"
    return pl.when(total.is_nan()).then(pl.lit(tiny))


def _squares_or_constant(square_error_sum: Expr, actual_m2: Expr, actual_min: Expr, actual_max: Expr) -> Expr:
    return pl.coalesce(underflows(square_error_sum + actual_m2), does_not_vary(actual_min, actual_max))


for _metric in (r2, adjusted_r2, explained_variance, pearson_r):
    _metric.note(_squares_or_constant)
for _metric in (mae, bias, pinball_loss, wape):
    _metric.note(lambda over_sum: underflows(over_sum))
for _metric in (mse, rmse, ss_res):
    _metric.note(lambda square_error_sum: underflows(square_error_sum))
for _metric in (error_sd, concordance):
    _metric.note(
        lambda actual_m2, predicted_m2, square_error_sum: underflows(actual_m2 + predicted_m2 + square_error_sum)
    )
ss_tot.note(lambda actual_m2: underflows(actual_m2))


mape.note(lambda percentage_sum: _true_zero(percentage_sum))
rmspe.note(lambda percentage_square_sum: _true_zero(percentage_square_sum))


def _true_zero(ratio_sum: Expr) -> Expr:
    """Note that some error is divided by a true value of 0."""
    undefined = pl.lit("a true value and its prediction are 0, which wape and smape allow")
    infinite = pl.lit("a true value is 0, which wape and smape allow")
    return pl.when(ratio_sum.is_nan()).then(undefined).when(ratio_sum.is_infinite()).then(infinite)

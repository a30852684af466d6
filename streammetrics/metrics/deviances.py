"""Regression losses that take a logarithm or a power per row, and shares of deviance explained.

Each requires its family in `streammetrics.statistics.error_moments`. A row outside the domain of a loss makes it null.
"""

from __future__ import annotations

from math import inf

import polars as pl
from polars import Expr

from streammetrics.metrics.errors import does_not_vary, explained, underflows
from streammetrics.metrics.intervals import methods
from streammetrics.metrics.metric import metric

_LOG = methods.sums(squared_log_error_sum="squared_log_error_square_sum")


@metric(range=(0, inf), better="low", aliases=("mean_squared_log_error",), interval=_LOG)
def msle(weight: Expr, squared_log_error_sum: Expr) -> Expr:
    """Mean squared log error: mean squared difference between ``log1p(predicted)`` and ``log1p(actual)``.

    Requires values above -1, else null. Equivalent to scikit-learn's ``mean_squared_log_error``.

    >>> msle(4, 1)
    0.25
    """
    return squared_log_error_sum / weight


@metric(range=(0, inf), better="low", aliases=("root_mean_squared_log_error",), interval=_LOG)
def rmsle(weight: Expr, squared_log_error_sum: Expr) -> Expr:
    """Root mean squared log error. For large values, 0.1 means an error of about 10%.

    Requires values above -1, else null. Equivalent to scikit-learn's ``root_mean_squared_log_error``.

    >>> rmsle(4, 1)
    0.5
    """
    return (squared_log_error_sum / weight).sqrt()


@metric(
    range=(0, inf),
    better="low",
    aliases=("log_cosh_loss",),
    interval=methods.sums(log_cosh_sum="log_cosh_square_sum"),
)
def log_cosh(weight: Expr, log_cosh_sum: Expr) -> Expr:
    """Mean log-cosh loss, ``log(cosh(error))``: about half the squared error if small, the absolute error if large.

    >>> log_cosh(4, 1)
    0.25
    """
    return log_cosh_sum / weight


@metric(
    range=(0, inf),
    better="low",
    aliases=("mean_poisson_deviance",),
    interval=methods.sums(poisson_deviance_sum="poisson_deviance_square_sum"),
)
def poisson_deviance(weight: Expr, poisson_deviance_sum: Expr) -> Expr:
    """Mean Poisson deviance: ``2 (actual log(actual / predicted) - actual + predicted)`` per row.

    0 for perfect predictions. Suited to counts (Nelder & Wedderburn 1972). Requires actual >= 0 and predicted > 0, else
    null; mae and wape have no such domain. Equivalent to scikit-learn's ``mean_poisson_deviance``.

    >>> poisson_deviance(4, 3)
    0.75
    """
    return poisson_deviance_sum / weight


@metric(
    range=(0, inf),
    better="low",
    aliases=("mean_gamma_deviance",),
    interval=methods.sums(gamma_deviance_sum="gamma_deviance_square_sum"),
)
def gamma_deviance(weight: Expr, gamma_deviance_sum: Expr) -> Expr:
    """Mean gamma deviance: ``2 (log(predicted / actual) + actual / predicted - 1)`` per row.

    0 for perfect predictions. Suited to amounts whose errors are proportional to them: scaling true values and
    predictions by the same factor does not change it (Nelder & Wedderburn 1972). Requires values above 0, else null.
    Equivalent to scikit-learn's ``mean_gamma_deviance``.

    >>> gamma_deviance(4, 3)
    0.75
    """
    return gamma_deviance_sum / weight


@metric(
    range=(0, inf),
    better="low",
    aliases=("mean_tweedie_deviance",),
    interval=methods.sums(tweedie_deviance_sum="tweedie_deviance_square_sum"),
)
def tweedie_deviance(weight: Expr, tweedie_deviance_sum: Expr) -> Expr:
    """Mean deviance of the Tweedie distribution with the ``power`` of the statistic (Jørgensen 1987).

    0 for perfect predictions. A power between 1 and 2 suits amounts with many zeros and requires actual >= 0 and
    predicted > 0. From 2 on, both must be above 0. Null for values outside this domain. Equivalent to scikit-learn's
    ``mean_tweedie_deviance``.

    >>> tweedie_deviance(4, 3)
    0.75
    """
    return tweedie_deviance_sum / weight


@metric(range=(-inf, 1), better="high", interval=methods.NO_SQUARES)
def d2_poisson(weight: Expr, poisson_deviance_sum: Expr, poisson_null_deviance_sum: Expr) -> Expr:
    """Share of the Poisson deviance that the predictions explain: R² with deviance instead of squared error.

    1 for perfect predictions, 0 for predicting the mean, below 0 for worse predictions. If the true values do not vary,
    null, or 1 if the deviance is 0 (Hastie, Tibshirani & Wainwright 2015, eq. 3.11). Equivalent to scikit-learn's
    ``d2_tweedie_score(power=1)``.

    >>> d2_poisson(4, 3, 4), d2_poisson(4, 0, 0), d2_poisson(4, 3, 0)
    (0.25, 1.0, None)
    """
    return explained(weight, poisson_deviance_sum, poisson_null_deviance_sum)


@metric(range=(-inf, 1), better="high", interval=methods.NO_SQUARES)
def d2_gamma(weight: Expr, gamma_deviance_sum: Expr, gamma_null_deviance_sum: Expr) -> Expr:
    """Share of the gamma deviance that the predictions explain. See `d2_poisson`.

    Equivalent to scikit-learn's ``d2_tweedie_score(power=2)``.

    >>> d2_gamma(4, 3, 4), d2_gamma(4, 0, 0), d2_gamma(4, 3, 0)
    (0.25, 1.0, None)
    """
    return explained(weight, gamma_deviance_sum, gamma_null_deviance_sum)


@metric(range=(-inf, 1), better="high", aliases=("d2_tweedie_score",), interval=methods.NO_SQUARES)
def d2_tweedie(weight: Expr, tweedie_deviance_sum: Expr, tweedie_null_deviance_sum: Expr) -> Expr:
    """Share of the Tweedie deviance that the predictions explain. See `d2_poisson`.

    Equivalent to scikit-learn's ``d2_tweedie_score`` with the power of the statistic.

    >>> d2_tweedie(4, 3, 4), d2_tweedie(4, 0, 0), d2_tweedie(4, 3, 0)
    (0.25, 1.0, None)
    """
    return explained(weight, tweedie_deviance_sum, tweedie_null_deviance_sum)


@msle.note
@rmsle.note
def _domain_of_log(squared_log_error_sum: Expr, actual_min: Expr, predicted_min: Expr) -> Expr:
    inside = pl.min_horizontal(actual_min, predicted_min) > -1
    return (
        pl.when(inside)
        .then(underflows(squared_log_error_sum))
        .otherwise(_needs("values above -1", squared_log_error_sum))
    )


@poisson_deviance.note
def _domain_of_poisson(poisson_deviance_sum: Expr) -> Expr:
    return _needs("actual >= 0 and predicted > 0", poisson_deviance_sum)


@gamma_deviance.note
def _domain_of_gamma(gamma_deviance_sum: Expr) -> Expr:
    return _needs("values above 0", gamma_deviance_sum)


@tweedie_deviance.note
def _domain_of_tweedie(tweedie_deviance_sum: Expr) -> Expr:
    return _needs("actual >= 0, or > 0 for powers from 2, and predicted > 0", tweedie_deviance_sum)


@d2_poisson.note
def _poisson_or_constant(poisson_deviance_sum: Expr, actual_min: Expr, actual_max: Expr) -> Expr:
    return pl.coalesce(_domain_of_poisson(poisson_deviance_sum), does_not_vary(actual_min, actual_max))


@d2_gamma.note
def _gamma_or_constant(gamma_deviance_sum: Expr, actual_min: Expr, actual_max: Expr) -> Expr:
    return pl.coalesce(_domain_of_gamma(gamma_deviance_sum), does_not_vary(actual_min, actual_max))


@d2_tweedie.note
def _tweedie_or_constant(tweedie_deviance_sum: Expr, actual_min: Expr, actual_max: Expr) -> Expr:
    return pl.coalesce(_domain_of_tweedie(tweedie_deviance_sum), does_not_vary(actual_min, actual_max))


def _needs(domain: str, loss_sum: Expr) -> Expr:
    """Note that the loss is undefined for some rows."""
    return pl.when(loss_sum.is_nan()).then(pl.lit(f"needs finite {domain}, unlike mae and wape"))

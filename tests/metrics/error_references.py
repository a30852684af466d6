"""Metrics of regression by scikit-learn where it has them, else by numpy, over rows and their weights."""

import math

import numpy as np
import sklearn.metrics as sk

from streammetrics import metrics as m


def residual(name):
    """A reference of the form f(actual, predicted), averaged."""
    return lambda y, p, w: np.average(name(y, p), weights=w)


def scikit(function, **options):
    return lambda y, p, w: function(y, p, sample_weight=w, **options)


def moments(y, p, w):
    w = np.ones_like(y) if w is None else w
    (a, b), (_, d) = np.cov(y, p, aweights=w, ddof=0)
    return a, d, b


def pearson(y, p, w):
    actual, predicted, both = moments(y, p, w)
    return both / math.sqrt(actual * predicted)


def concordance(y, p, w):
    actual, predicted, both = moments(y, p, w)
    return 2 * both / (actual + predicted + np.average(p - y, weights=w) ** 2)


def total(y, p, w):
    w = np.ones_like(y) if w is None else w
    return np.sum(w * (y - np.average(y, weights=w)) ** 2)


def adjusted(y, p, w):
    n = len(y) if w is None else w.sum()
    return 1 - (1 - sk.r2_score(y, p, sample_weight=w)) * (n - 1) / (n - 4)


REFERENCES = {
    m.mae: scikit(sk.mean_absolute_error),
    m.mse: scikit(sk.mean_squared_error),
    m.rmse: scikit(sk.root_mean_squared_error),
    m.bias: residual(lambda y, p: p - y),
    m.error_sd: lambda y, p, w: math.sqrt(np.cov(p - y, aweights=w, ddof=0)),
    m.max_error: lambda y, p, w: sk.max_error(y, p),
    m.pinball_loss: scikit(sk.mean_pinball_loss),
    m.pinball_loss(q=0.9): scikit(sk.mean_pinball_loss, alpha=0.9),
    m.pinball_loss(q=0): scikit(sk.mean_pinball_loss, alpha=0),
    m.mape: scikit(sk.mean_absolute_percentage_error),
    m.rmspe: lambda y, p, w: math.sqrt(np.average((p / y - 1) ** 2, weights=w)),
    m.smape: residual(lambda y, p: np.abs(p - y) / ((np.abs(y) + np.abs(p)) / 2)),
    m.wape: lambda y, p, w: np.average(np.abs(p - y), weights=w) / np.average(np.abs(y), weights=w),
    m.ss_res: lambda y, p, w: np.sum((p - y) ** 2 * (1 if w is None else w)),
    m.ss_tot: total,
    m.r2: scikit(sk.r2_score),
    m.adjusted_r2(features=3): adjusted,
    m.explained_variance: scikit(sk.explained_variance_score),
    m.pearson_r: pearson,
    m.concordance: concordance,
    m.mean_actual: lambda y, p, w: np.average(y, weights=w),
    m.mean_predicted: lambda y, p, w: np.average(p, weights=w),
    m.msle: scikit(sk.mean_squared_log_error),
    m.rmsle: scikit(sk.root_mean_squared_log_error),
    m.log_cosh: residual(lambda y, p: np.logaddexp(p - y, y - p) - math.log(2)),
    m.poisson_deviance: scikit(sk.mean_poisson_deviance),
    m.gamma_deviance: scikit(sk.mean_gamma_deviance),
    m.tweedie_deviance: scikit(sk.mean_tweedie_deviance, power=1.5),
    m.d2_poisson: scikit(sk.d2_tweedie_score, power=1),
    m.d2_gamma: scikit(sk.d2_tweedie_score, power=2),
    m.d2_tweedie: scikit(sk.d2_tweedie_score, power=1.5),
}

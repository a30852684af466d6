"""Confidence intervals: the sampling uncertainty of metrics, computed from the same tables.

Certified bounds account for binning, and confidence intervals for sampling. The two are never combined. Each interval
is a pair of expressions over a table, ``ci_lower`` and ``ci_upper``, for all groups at once. They are null if the
method is not valid.

| metric | interval |
|---|---|
| a proportion, such as accuracy or recall (see `as_proportion`) | `wilson_interval` |
| a sum of two proportions, such as balanced accuracy | `sum_interval` |
| ROC AUC | `auc_intervals` |
| a mean over the bins of a histogram | `mean_interval` |
| a quantile | `quantile_interval` |
| MAD, an interquartile range | `mad_interval`, `iqr_interval` |
| any other smooth metric of counts or sums, such as F1, average precision, or RMSE | `influence_intervals` |
| with ``unit``, any metric except counts, extremes, and quantiles | `jackknife_interval` |
"""

from streammetrics.uncertainty.auc import auc_intervals
from streammetrics.uncertainty.distributions import normal_quantile, t_quantile
from streammetrics.uncertainty.influence import counted, influence_intervals, sliced
from streammetrics.uncertainty.jackknife import jackknife_interval
from streammetrics.uncertainty.limits import Interval, limits
from streammetrics.uncertainty.means import mean_interval
from streammetrics.uncertainty.moments import with_products
from streammetrics.uncertainty.proportions import as_proportion, sum_interval, wilson_interval
from streammetrics.uncertainty.quantiles import quantile_interval
from streammetrics.uncertainty.spread import iqr_interval, mad_interval

__all__ = [
    "Interval",
    "as_proportion",
    "auc_intervals",
    "counted",
    "influence_intervals",
    "iqr_interval",
    "jackknife_interval",
    "limits",
    "mad_interval",
    "mean_interval",
    "normal_quantile",
    "quantile_interval",
    "sliced",
    "sum_interval",
    "t_quantile",
    "wilson_interval",
    "with_products",
]

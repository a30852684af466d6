"""Sampling intervals: where a metric would lie on other rows like those seen, read off the same tables.

They say nothing of what the bins of a table hide: that is what the certified bounds are for, and the two are never
mixed. Each interval is a pair of expressions over a table, ``ci_lower`` and ``ci_upper``, which work in every group at
once; a null means that the method is not sound there.

| metric | interval |
|---|---|
| a proportion, such as accuracy or recall (see `as_proportion`) | `wilson_interval` |
| any other metric of the 2x2 table, such as F1 or MCC | `delta_intervals` |
| ROC AUC | `delong_interval` |
| a mean of losses, such as log loss or MAE; its root, such as RMSE | `mean_interval`, `root_mean_interval` |
| a quantile | `quantile_interval` |
| MAD, an interquartile range | `mad_interval`, `iqr_interval` |
| any other metric that is read off counts | `bootstrap_intervals` |
| any metric but counts, extremes and quantiles, of rows of units | `jackknife_interval` over `leave_one_out` |
"""

from streammetrics.uncertainty.auc import delong_interval
from streammetrics.uncertainty.bootstrap import bootstrap_intervals
from streammetrics.uncertainty.delta import delta_intervals
from streammetrics.uncertainty.distributions import normal_quantile, t_quantile
from streammetrics.uncertainty.jackknife import jackknife_interval, leave_one_out
from streammetrics.uncertainty.limits import Interval, limits
from streammetrics.uncertainty.means import mean_interval, root_mean_interval
from streammetrics.uncertainty.proportions import as_proportion, effective_rows, wilson_interval
from streammetrics.uncertainty.quantiles import quantile_interval
from streammetrics.uncertainty.spread import iqr_interval, mad_interval

__all__ = [
    "Interval",
    "as_proportion",
    "bootstrap_intervals",
    "delong_interval",
    "delta_intervals",
    "effective_rows",
    "iqr_interval",
    "jackknife_interval",
    "leave_one_out",
    "limits",
    "mad_interval",
    "mean_interval",
    "normal_quantile",
    "quantile_interval",
    "root_mean_interval",
    "t_quantile",
    "wilson_interval",
]

"""Confidence intervals: the sampling uncertainty of metrics, computed from the same tables.

Certified bounds account for binning, and confidence intervals for sampling. The two are never combined. Each interval
is a pair of expressions over a table, ``ci_lower`` and ``ci_upper``, for all groups at once. They are null if the
method is not valid. A confidence level that is not between 0 and 1 is a `SpecificationError`.

| metric | interval |
|---|---|
| a proportion, such as accuracy or recall (see `as_proportion`) | `wilson_interval` |
| a sum of two proportions, such as balanced accuracy | `sum_interval` |
| ROC AUC | `auc_intervals` |
| a mean over the bins of a histogram | `mean_interval` |
| a quantile | `quantile_interval` |
| any other smooth metric of counts or sums, such as F1, average precision, or RMSE | `influence_intervals` |
| with ``unit``, any metric except counts, extremes, and quantiles | `jackknife_intervals` |
"""

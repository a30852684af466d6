"""Confidence intervals: the sampling uncertainty of metrics, computed from the same tables.

Certified bounds account for binning, and confidence intervals for sampling. The two are never combined. A metric names
its method where it is defined (`methods`), and a statistic the influence of a row on metrics that name none. A
confidence level that is not between 0 and 1 is a `SpecificationError`.

| metric | interval of independent rows |
|---|---|
| a proportion, such as accuracy or recall (see `as_proportion`) | `wilson_interval` |
| a sum or mean of proportions, such as balanced accuracy | `SumOfProportions`, `MeanOfProportions` |
| ROC AUC | `AUC` |
| a mean over the bins of a histogram | `MeanOfBins` |
| a quantile | `Quantile` |
| any other smooth metric of counts or sums, such as F1, average precision, or RMSE | `Influence` |

With ``unit``, any metric except counts, extremes, and quantiles has `jackknife_intervals`. Two models on the same rows
have the differences of the influences of their rows (`paired`), or `paired_limits` of proportions.
"""

"""Intervals are those of the influence of each row or fold of units: of the metrics of the rows without it.

The same holds for weighted rows, for differences between two models, and for metrics of each label.
"""

from functools import partial
from math import exp, inf, log

import polars as pl
import pytest
from data import CANDIDATES, CLICKS, DELIVERIES, DIGITS, TOPICS, candidates, clicks, deliveries, digits, topics, visits
from influences import limits_left_out, without_each
from scipy.special import expit

import streammetrics as sm

LIMITS = ["ci_lower", "ci_upper"]
FOLDS = [10, 18, 3, 33, 20, 61, 11, 5, 4, 47, 15, 1, 8, 9, 6, 13, 31, 0, 23, 44]  # a unit of each of 20 folds
FEW_FOLDS = FOLDS[:6]
ROW = pl.int_range(pl.len()).alias("row")
SHARES = "accuracy balanced_accuracy precision recall specificity npv error_rate fdr fnr fpr prevalence youden_j"
OF_CELLS = "f1 negative_f1 fbeta(beta=2) mcc kappa fowlkes_mallows chance_agreement"
RATIOS = "positive_likelihood_ratio negative_likelihood_ratio diagnostic_odds_ratio calibration_ratio"
OF_LOSSES = "log_loss log_loss_skill brier_score brier_skill_score"
MEANS = "balanced_log_loss balanced_brier_score mean_score calibration_in_the_large"
OF_SCORES = "average_precision pr_auc partial_auc(max_fpr=0.3)"
MOMENTS = "r2 explained_variance pearson_r concordance error_sd"
LOSSES = "mae mse rmse wape mape smape rmspe msle rmsle log_cosh pinball_loss(q=0.9)"
DEVIANCES = "poisson_deviance gamma_deviance tweedie_deviance"
ON_SCALE = f"{RATIOS} {MOMENTS} {LOSSES} {DEVIANCES}".split()
LABELS = {"labels": [str(label) for label in range(10)]}


def of_units(rows, unit, units):
    """The rows with as many units, each of which is a fold."""
    return rows.with_columns(unit=pl.Series(units).gather(rows[unit] % len(units)))


def scored(rows):
    """Rows with a true value near the scores, so that the errors of models are continuous."""
    return rows.with_columns(target=0.8 * pl.col("new") + 0.1 * pl.col("clicked") + 0.1, w=pl.col("old") + 0.3, row=ROW)


FORECASTS = {"y_true": "target", "y_pred": "old", "families": ["log", "log_cosh", "poisson"]}
UNIT = {"unit": "unit"}
VISIT = {"y_true": "bought", "y_score": "score", "thresholds": 0.3}
# The task, its rows, and how far limits may be from those by brute force, as a share of the width, for some metrics.
CASES = {
    "rows": (
        partial(sm.binary, thresholds=0.3, **CLICKS),
        clicks()[:400].with_columns(ROW),
        {0.005: f"roc_auc gini {OF_LOSSES}", 0.03: f"{OF_CELLS} {RATIOS}", 0.07: f"{OF_SCORES} {MEANS}", 0.08: SHARES},
    ),
    "weighted rows": (
        partial(sm.binary, sample_weight="w", thresholds=0.3, **CLICKS),
        clicks()[:600].with_columns(ROW, w=0.5 + pl.col("score")),
        {0.02: f"roc_auc gini {OF_LOSSES}", 0.07: f"{MEANS} {RATIOS}", 0.06: f"{OF_SCORES} {OF_CELLS}", 0.1: SHARES},
    ),
    "units": (
        partial(sm.binary, **VISIT, **UNIT),
        of_units(visits()[:600], "visitor", FOLDS),
        {0.02: f"roc_auc gini {OF_LOSSES} {OF_SCORES} {SHARES} {OF_CELLS}"},
    ),
    "few weighted units": (
        partial(sm.binary, sample_weight="weight", **VISIT, **UNIT),
        of_units(visits(), "visitor", FEW_FOLDS),
        {0.1: f"roc_auc gini {OF_LOSSES} {OF_SCORES} {SHARES} {OF_CELLS}"},
    ),
    "errors": (
        partial(sm.regression, **FORECASTS),
        scored(candidates()[:300]),
        {
            0.04: f"bias rmse mse wape mape {MOMENTS} rec_auc(limit=0.3)",
            0.1: "mae smape msle rmsle log_cosh poisson_deviance pinball_loss(q=0.9) rmspe",
        },
    ),
    "errors with tails": (
        partial(sm.regression, families=["log", "gamma", "tweedie"], **DELIVERIES),
        deliveries()[:200].with_columns(ROW),
        {0.1: "mae mse rmse wape mape rmspe msle rmsle gamma_deviance tweedie_deviance pinball_loss(q=0.9)"},
    ),
    "weighted errors": (
        partial(sm.regression, sample_weight="w", **FORECASTS),
        scored(candidates()[:300]),
        {0.04: f"bias {MOMENTS}", 0.15: "mae rmse mse wape smape mape rmspe msle log_cosh"},
    ),
    "errors of units": (
        partial(sm.regression, **FORECASTS, **UNIT),
        of_units(scored(candidates()), "row", FOLDS),
        {0.02: f"mae bias rmse mse {MOMENTS} mape wape smape msle"},
    ),
    "ten labels": (
        partial(sm.multiclass, **DIGITS, **LABELS),
        digits()[:300].with_columns(ROW),
        {
            0.02: "kappa mcc f1(average=macro) f1(average=weighted) chance_agreement",
            0.08: "log_loss brier_score",
            0.2: "accuracy top_k_accuracy(k=2) balanced_accuracy precision(average=macro)",
        },
    ),
    "ten labels, weighted": (
        partial(sm.multiclass, sample_weight="w", **DIGITS, **LABELS),
        digits()[:300].with_columns(ROW, w=0.5 + pl.col("p3")),
        {
            0.02: "kappa mcc f1(average=macro) f1(average=weighted)",
            0.08: "accuracy log_loss brier_score chance_agreement top_k_accuracy(k=2)",
            0.2: "balanced_accuracy precision(average=macro)",
        },
    ),
    "ten labels of units": (
        partial(sm.multiclass, one_vs_one=True, **DIGITS, **LABELS, **UNIT),
        of_units(digits()[:600].with_columns(ROW), "row", FOLDS),
        {0.02: "accuracy kappa mcc f1(average=macro) log_loss log_loss_skill brier_score roc_auc_ovo"},
    ),
    "sets of labels": (
        partial(sm.multilabel, **TOPICS),
        topics()[:300].with_columns(ROW),
        {0.05: "subset_accuracy hamming_loss samples_jaccard"},
    ),
    "sets of labels, weighted": (
        partial(sm.multilabel, sample_weight="w", **TOPICS),
        topics()[:300].with_columns(ROW, w=0.5 + pl.col("p_law")),
        {0.05: "subset_accuracy hamming_loss samples_jaccard"},
    ),
}
SECOND = [(0.7 * pl.col(p) + 0.3 * pl.col(p).reverse()).alias(f"new_{p}") for p in DIGITS["y_score"].values()]
DIGITS_OF_TWO = {"old": DIGITS["y_score"], "new": {label: f"new_{p}" for label, p in DIGITS["y_score"].items()}}
PAIRS = {
    "rows": (
        partial(sm.binary, thresholds=0.3, **CANDIDATES),
        candidates()[:400].with_columns(ROW),
        {
            0.005: "roc_auc gini log_loss log_loss_skill brier_score brier_skill_score f1 mcc kappa precision npv",
            0.03: "accuracy recall specificity fpr fnr",
            0.06: OF_SCORES,
        },
    ),
    "units": (
        partial(sm.binary, thresholds=0.3, **CANDIDATES, **UNIT),
        of_units(candidates().with_columns(ROW), "row", FOLDS),
        {0.02: "roc_auc gini log_loss brier_score f1 mcc accuracy recall average_precision"},
    ),
    "ten labels": (
        partial(sm.multiclass, y_true="digit", y_score=DIGITS_OF_TWO),
        digits()[:200].with_columns(ROW, *SECOND),
        {0.05: "log_loss brier_score accuracy error_rate"},
    ),
    "errors": (
        partial(sm.regression, y_true="target", y_pred=CANDIDATES["y_score"]),
        scored(candidates()[:300]),
        {0.01: "mae mse mape bias", 0.05: "rmse"},
    ),
    "errors of units": (
        partial(sm.regression, y_true="target", y_pred=CANDIDATES["y_score"], **UNIT),
        of_units(scored(candidates()), "row", FOLDS),
        {0.02: "mae mse mape rmse r2 pearson_r"},
    ),
}


def on_scale(row, end, low, high):
    """A limit on the logarithm or the square root of the distance to the end of a range, or on the logit."""
    below, above, step = row["value"] - low, high - row["value"], end - row["value"]
    if row["metric"] in RATIOS.split():
        return row["value"] * exp(step / row["value"])
    if high == inf:
        return low + below * max(1 + step / below / 2, 0) ** 2
    if low == -inf:
        return high - above * max(1 - step / above / 2, 0) ** 2
    return low + (high - low) * expit(log(below / above) + step * (1 / below + 1 / above))


def tolerances(table):
    return {metric: share for share, metrics in table.items() for metric in metrics.split()}


def keys_of(row):
    return {k: row[k] for k in ("label", "threshold") if row.get(k) is not None}


SLOW = ("ten labels, weighted", "ten labels of units")


def cases(table):
    return [pytest.param(case, marks=[pytest.mark.thorough] * (case in SLOW)) for case in table]


def left_out(task, rows, metrics, case):
    """The values of all metrics without each row, or each unit."""
    part = "unit" if "unit" in case else "row"
    return without_each(partial(task, metrics=metrics), rows, part).frame


@pytest.mark.whole
@pytest.mark.parametrize("case", cases(CASES))
def test_intervals_are_those_of_the_rows_without_each(case):
    task, rows, table = CASES[case]
    shares = tolerances(table)
    report = task().update(rows).finalize([*shares], confidence=0.9)
    ranges = {metric.name: metric.range for metric in report.metrics}
    without, seen, far = left_out(task, rows, [*shares], case), set(), {}
    for row in report.frame.iter_rows(named=True):
        values = without.filter(metric=row["metric"], **keys_of(row))["value"].to_numpy()
        low, high = ranges[row["metric"]]
        if row["metric"] in ON_SCALE and "unit" not in case:
            ends = limits_left_out(row["value"], values, False, 0.9, -inf, inf)
            lower, upper = (on_scale(row, end, low, high) for end in ends)
        else:
            lower, upper = limits_left_out(row["value"], values, "unit" in case, 0.9, low, high)
        apart = max(abs(row["ci_lower"] - lower), abs(row["ci_upper"] - upper)) / (upper - lower)
        seen.add(row["metric"])
        if apart > shares[row["metric"]]:
            far[row["metric"]] = apart
    assert (far, seen) == ({}, {*shares})


@pytest.mark.whole
@pytest.mark.parametrize("case", cases(PAIRS))
def test_intervals_of_differences_are_those_of_the_rows_without_each(case):
    task, rows, table = PAIRS[case]
    shares = tolerances(table)
    found = sm.compare(task().update(rows), models=("old", "new"), metrics=[*shares], confidence=0.9).frame
    without, far = left_out(task, rows, [*shares], case), {}
    for row in found.iter_rows(named=True):
        sides = [without.filter(metric=row["metric"], model=m, **keys_of(row))["value"] for m in ("old", "new")]
        difference = (sides[1] - sides[0]).to_numpy()
        lower, upper = limits_left_out(row["difference"], difference, "unit" in case, 0.9)
        apart = max(abs(row["ci_lower"] - lower), abs(row["ci_upper"] - upper)) / (upper - lower)
        if apart > shares[row["metric"]]:
            far[row["metric"]] = apart
    assert (far, found.height) == ({}, len(shares))

"""Bounds hold for every order and every tie of the rows inside coarse bins, by brute force over small histograms."""

import polars as pl
import pytest

import streammetrics as sm
from streammetrics.metrics import (
    at_thresholds,
    average_precision,
    best_fbeta,
    cost,
    fbeta,
    gain,
    lift,
    mcc,
    partial_auc,
    precision_at_recall,
    recall_at_fpr,
)
from streammetrics.reading.curves import threshold_table
from streammetrics.reading.thresholds import best_threshold
from streammetrics.statistics.cases import order_cases
from streammetrics.testing.metrics import all_rankings, promised, random_bins, table_of

RANKING = [
    *(m for m in sm.all_metrics() if {*m.columns} == {"neg", "pos"}),
    partial_auc(max_fpr=0.35, standardized=False),
    recall_at_fpr(fpr=0.5),
    precision_at_recall(recall=0.2),
    gain(top=0.5),
    lift(top=0.3),
    *(best_fbeta(beta=x) for x in (0.5, 2)),
]
OBJECTIVES = [
    *(m for m in sm.all_metrics() if set(m.columns) <= {"tp", "fp", "fn", "tn"} and m.better),
    *(fbeta(beta=x) for x in (0.5, 2)),
    cost(fp=1, fn=10),
    cost(tp=-2, fp=3, fn=1),
]
TP, FP, FN, TN = (pl.col(c) for c in ("tp", "fp", "fn", "tn"))
COUNTS = {"tp": TP, "fp": FP, "fn": FN, "tn": TN}
RECALL, FPR, PRECISION = ((n / (n + m)).fill_nan(None) for n, m in ((TP, FN), (FP, TN), (TP, FP)))
CONSTRAINTS = {
    None: pl.lit(True),
    "fpr <= 0.3": FPR <= 0.3,
    "recall > 0.6": RECALL > 0.6,
    "precision >= 0.6": PRECISION >= 0.6,
    "mcc >= 0.2 and fpr < .5": (at_thresholds(mcc, COUNTS) >= 0.2) & (FPR < 0.5),
    "fpr >= 0.2 and recall >= 5e-1": (FPR >= 0.2) & (RECALL >= 0.5),
    "predicted_positives <= 3": TP + FP <= 3,
}
ROUNDING = 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_every_order_lies_within_the_bounds_and_the_cases_attain_them(seed):
    bins = random_bins(seed)
    truth = all_rankings(bins).group_by("ranking").agg(m.expression().alias(m.name) for m in RANKING)
    for metric in RANKING:
        lower, upper = promised(metric, table_of(bins))
        lowest, highest = truth[metric.name].min(), truth[metric.name].max()
        if lower is None:
            assert highest is None, metric
            continue
        assert lower - ROUNDING <= lowest, metric
        assert highest <= upper + ROUNDING, metric
        assert truth[metric.name].null_count() == 0, metric
        if metric is not average_precision:
            assert (lowest, highest) == pytest.approx((lower, upper), abs=ROUNDING), metric


def test_average_precision_bounds_are_nearly_attained():
    bins = [(9, 50, 30), (9, 20, 40), (9, 3, 7)]
    lower, upper = promised(average_precision, table_of(bins))
    worst = [row for _, neg, pos in bins for row in [(0, 0, 1)] * pos + [(0, neg, 0)]]
    best = [row for _, neg, pos in bins for row in [(0, neg, 0), (0, 0, pos)]]
    assert table_of(best).select(average_precision.expression()).item() == pytest.approx(upper, abs=ROUNDING)
    assert table_of(worst).select(average_precision.expression()).item() == pytest.approx(lower, abs=0.01)


def test_average_precision_is_exact_where_bins_hold_one_value():
    bins = [(9, 1, 0), (9, 0, 1), (0, 2, 3), (9, 0, 1)]
    value = table_of(bins).select(average_precision.expression()).item()
    assert promised(average_precision, table_of(bins)) == (value, value)
    assert promised(average_precision, table_of(bins), weighted=True)[0] < value


@pytest.mark.parametrize("where", CONSTRAINTS)
@pytest.mark.parametrize("seed", range(2))
def test_no_order_has_a_better_threshold_than_the_operating_point_promises(seed, where):
    bins = random_bins(seed, most=100)
    cases = order_cases(with_low(table_of(bins)).with_columns(group=pl.lit(0)), weighted=False)
    points = threshold_table(with_low(all_rankings(bins)).rename({"ranking": "group"})).filter(CONSTRAINTS[where])
    values = points.select("group", **{metric.name: at_thresholds(metric, COUNTS) for metric in OBJECTIVES})
    best = {metric: pl.max if metric.better == "high" else pl.min for metric in OBJECTIVES}
    truth = values.group_by("group").agg(best[metric](metric.name) for metric in OBJECTIVES)
    for metric in OBJECTIVES:
        goal = "maximize" if metric.better == "high" else "minimize"
        found = best_threshold(cases, **{goal: metric}, subject_to=where).row(0, named=True)
        lowest, highest = truth[metric.name].min(), truth[metric.name].max()
        if found["value"] is None:
            continue
        assert found["lower"] - ROUNDING <= lowest, metric
        assert highest <= found["upper"] + ROUNDING, metric
        if where is None:
            bound = (found["lower"], found["upper"])
            assert (lowest, highest) == pytest.approx(bound, abs=ROUNDING), metric


def with_low(table):
    return table.with_row_index("low").with_columns(pl.col("low").cast(pl.Float64))

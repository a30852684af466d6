"""Numbers out of any range, and values that are no numbers, end in errors of the library, never in others."""

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from data import FIRST_DAY, candidates

import streammetrics as sm

VALUES = [10**400, 10**5000, Decimal("sNaN"), Fraction(10**400, 3), "x" * 100_000, np.array([1, 2]), 1e308, 5e-324]
OTHERS = [
    *(-(10**400), 2**63, 2**64, -1, 0, -0.0, True, np.bool_(True), 7, 1e16, -1e308),
    *(math.nan, math.inf, -math.inf, np.float64("nan"), np.float32(0.5), np.int64(7), np.uint64(2**64 - 1)),
    *(Decimal("0.5"), Decimal("1e999"), Decimal("NaN"), Fraction(1, 3), "0.5", b"1", 1 + 2j, [1], object()),
    *(np.array(3), dt.timedelta(days=1)),
]

ROWS = candidates()[:200].select(
    y="clicked", p="old", q="new", g="country", day=pl.lit(FIRST_DAY) + pl.duration(days=pl.int_range(200) % 5)
)
BINARY = sm.binary(y_true="y", y_score="p").update(ROWS)
GROUPED = sm.binary(y_true="y", y_score="p", by="g").update(ROWS)
MODELS = sm.binary(y_true="y", y_score={"a": "p", "b": "q"}).update(ROWS)
DAYS = sm.binary(y_true="y", y_score="p", by="day").update(ROWS)
CLASSES = sm.multiclass(y_true="g", y_pred="g").update(ROWS)
REPORT = BINARY.finalize(confidence=0.95)
COMPARISON = sm.compare(MODELS, models=("a", "b"))
RULE = {"require": "roc_auc >= 0.1"}
OF_RULES = "confidence min_rows always segments alarm severity open over against".split()

HISTOGRAMS = (
    sm.statistics.ScoreHistogram,
    sm.statistics.ErrorHistogram,
    sm.statistics.Histogram,
    sm.statistics.PairHistograms,
)
OPTIONS = {
    **{f"{s.__name__}.{o}": (lambda v, s=s, o=o: s(**{o: v})) for s in HISTOGRAMS for o in ("capacity", "atoms")},
    "PairedScores.capacity": lambda v: sm.statistics.PairedScores(capacity=v),
    "CalibrationBins": lambda v: sm.statistics.CalibrationBins(v),
    "ConfusionCounts": lambda v: sm.statistics.ConfusionCounts((v,)),
    "ConfusionCounts of values": lambda v: sm.statistics.ConfusionCounts(v),
    "PairedOutcomes": lambda v: sm.statistics.PairedOutcomes((v,)),
    "TDigest": lambda v: sm.statistics.TDigest(v),
    "LabelSets": lambda v: sm.statistics.LabelSets(v),
    "ErrorMoments": lambda v: sm.statistics.ErrorMoments(power=v),
    "binary.thresholds": lambda v: sm.binary(y_true="y", y_score="p", thresholds=[v]),
    "binary.atoms": lambda v: sm.binary(y_true="y", y_score="p", atoms=[v]),
    "binary.calibration_bins": lambda v: sm.binary(y_true="y", y_score="p", calibration_bins=v),
    "binary.folds": lambda v: sm.binary(y_true="y", y_score="p", unit="g", folds=v),
    "binary.max_groups": lambda v: sm.binary(y_true="y", y_score="p", by="g", max_groups=v),
    "multilabel.threshold": lambda v: sm.multilabel(y_true={"a": "y"}, y_score={"a": "p"}, threshold=v),
    "multiclass.order": lambda v: sm.multiclass(y_true="y", y_pred="p", order=[2, v if v is not VALUES[1] else 0]),
    "regression.power": lambda v: sm.regression(y_true="y", y_pred="p", power=v),
    "evaluate.workers": lambda v: sm.evaluate(ROWS[:0], BINARY.empty(), workers=v if few(v) else -1),
    "finalize.confidence": lambda v: BINARY.finalize(confidence=v).frame,
    "finalize.always": lambda v: BINARY.finalize(["accuracy"], confidence=0.9, always=v).frame,
    "receipt.confidence": lambda v: BINARY.receipt(confidence=v),
    "rollup.folds": lambda v: BINARY.rollup(folds=v),
    "with_confidence": lambda v: REPORT.with_confidence(v).frame,
    "get.threshold": lambda v: REPORT.get("precision", threshold=v),
    "get.g": lambda v: GROUPED.finalize(["accuracy"]).get("accuracy", g=v),
    "check.confidence": lambda v: REPORT.check(["roc_auc >= 0.2"], confidence=v).frame,
    "check.min_rows": lambda v: REPORT.check(["roc_auc >= 0.2"], min_rows=v).frame,
    "worst.n": lambda v: GROUPED.finalize(["accuracy"]).worst("accuracy", n=v),
    "most_confused.n": lambda v: CLASSES.finalize().most_confused(v),
    "slices.fdr": lambda v: GROUPED.finalize().slices("accuracy", fdr=v),
    "slices.min_rows": lambda v: GROUPED.finalize().slices("accuracy", min_rows=v),
    "flip_rate": lambda v: MODELS.finalize().flip_rate("a", "b", confidence=v),
    "operating_point": lambda v: REPORT.operating_point(maximize="recall", subject_to="precision >= 0.1", confidence=v),
    "compare.confidence": lambda v: sm.compare(MODELS, models=("a", "b"), confidence=v).frame,
    "gate.confidence": lambda v: COMPARISON.check(not_worse="roc_auc", confidence=v).frame,
    "gate.segments": lambda v: COMPARISON.check(not_worse="roc_auc", segments=v).frame,
    "gate.min_rows": lambda v: COMPARISON.check(not_worse="roc_auc", min_rows=v).frame,
    "gate.margin": lambda v: COMPARISON.check(not_worse={"roc_auc": v}).frame,
    "gate.not_worse": lambda v: COMPARISON.check(not_worse=[v]).frame,
    "gate.threshold": lambda v: COMPARISON.check(not_worse="precision", threshold=v).frame,
    "drift.bins": lambda v: sm.drift(BINARY, BINARY, bins=v).frame,
    "drift.confidence": lambda v: sm.drift(BINARY, BINARY, confidence=v).frame,
    "drift_over.reference": lambda v: sm.drift_over(DAYS, "day", reference=v).frame,
    "drift_over.start": lambda v: sm.drift_over(DAYS, "day", reference=(v, v)).frame,
    "expect.odds": lambda v: sm.expect(BINARY, BINARY, odds=v).frame,
    "expect.confidence": lambda v: sm.expect(BINARY, BINARY, confidence=v),
    "rows_needed.difference": lambda v: sm.rows_needed(REPORT, "roc_auc", difference=v),
    "rows_needed.power": lambda v: sm.rows_needed(REPORT, "roc_auc", difference=0.01, power=v),
    "rows_needed.confidence": lambda v: sm.rows_needed(REPORT, "roc_auc", difference=0.01, confidence=v),
    "rows_needed of two": lambda v: sm.rows_needed(COMPARISON, "roc_auc", difference=0.01, confidence=v),
    **{f"Rule.{o}": (lambda v, o=o: sm.Rule(**RULE | {o: v})) for o in OF_RULES},
    "Rule.odds": lambda v: sm.Rule(**RULE, before_labels=True, odds=v),
}
TEXTS = [
    *("1e308", "-1e308", "1e400", "1" + "0" * 400, "9" * 5000, "-" * 20_000 + "1", "(" * 300 + "1" + ")" * 300),
    *("nan", "inf", "'x'", "True", "None", "1j", "[1]", "0", "-0.0", "-1", "5e-324", str(2**63), str(2**64), "1e16"),
]
OF_METRICS = {
    "binary": "fbeta(beta best_fbeta(beta cost(fp partial_auc(max_fpr recall_at_fpr(fpr log_loss(positive_weight",
    "regression": "pinball_loss(q error_quantile(q within(x error_cdf(x rec_auc(limit adjusted_r2(features",
    "classes": "top_k_accuracy(k fbeta(beta",
}
TASKS = {
    "binary": BINARY,
    "regression": sm.regression(y_true="q", y_pred="p").update(ROWS),
    "classes": sm.multiclass(y_true="y", y_score={False: (1 - pl.col("p")).alias("r"), True: "p"}).update(ROWS),
}


def few(value):
    """A number of threads that a test can start."""
    return not isinstance(value, int | np.integer) or value < 8


def others_than_of_the_library(call, value):
    """The error of a call, if it is neither none nor one of the library."""
    try:
        call(value)
    except sm.StreamMetricsError:
        return []
    except BaseException as error:
        return [(type(value), type(error), str(error)[:200])]
    return []


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", [VALUES, OTHERS], ids=["worst", "others"])
def test_options_that_are_no_numbers_in_range(values):
    wrong = {name: [e for v in values for e in others_than_of_the_library(call, v)] for name, call in OPTIONS.items()}
    assert {name: errors for name, errors in wrong.items() if errors} == {}


@pytest.mark.parametrize("task", OF_METRICS)
def test_options_of_metrics_of_any_size(task):
    metrics = [f"{option}={text})" for option in OF_METRICS[task].split() for text in TEXTS]
    assert [e for m in metrics for e in others_than_of_the_library(lambda m: TASKS[task].finalize([m]).frame, m)] == []

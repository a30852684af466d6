"""Charts and curves of what a report does not have."""

import polars as pl
from data import CANDIDATES, CLICKS, candidates, clicks

import streammetrics as sm

FEW = clicks()[:50]
REPORT = sm.binary(by=["country", "day"], **CLICKS).update(FEW).finalize()
TOTAL = sm.binary(thresholds=[0.2, 0.5], **CLICKS).update(FEW).finalize()
MODELS = sm.binary(**CANDIDATES).update(candidates()[:50])
TWO_TIMES = sm.binary(by=["day", pl.col("day").cast(pl.Datetime).alias("time")], **CLICKS).update(FEW).finalize()
MARGINS = sm.binary(**CLICKS, domain="real", thresholds=[0.0]).update(FEW).finalize()
COMPARISON = sm.compare(MODELS, models=("old", "new"))


def of_column(name):
    return sm.binary(**CLICKS, by=name).update(FEW.with_columns(pl.lit("x").alias(name))).finalize()


REFUSALS = {
    "a chart over time of text": (
        lambda: REPORT.plot.over_time("roc_auc", "country"),
        sm.errors.ReportError,
        *("'country'", "Date", "Datetime", "String", "str.to_date()"),
    ),
    "a chart over time without dates": (
        lambda: REPORT.rollup("country").plot.over_time("roc_auc"),
        sm.errors.ReportError,
        *("Date", "Datetime", "str.to_date()"),
    ),
    "a chart over two times": (
        lambda: TWO_TIMES.plot.over_time("roc_auc"),
        sm.errors.ReportError,
        "window=",
        "day, time",
    ),
    "a chart of an unknown key": (lambda: REPORT.plot.roc(shop="DE"), sm.errors.ReportError, "'shop'", "country, day"),
    "a chart of an unknown group": (lambda: REPORT.plot.roc(country="XX"), sm.errors.ReportError, "country='XX'"),
    "segments without groups": (lambda: TOTAL.plot.segments("roc_auc"), sm.errors.ReportError, "no groups"),
    "a column named as one of a histogram": (
        lambda: of_column("count").plot.scores(),
        sm.errors.ReportError,
        "'count'",
    ),
    "a column named as one of a matrix": (
        lambda: of_column("actual").plot.confusion(),
        sm.errors.ReportError,
        "'actual'",
    ),
    "a matrix of two thresholds": (lambda: TOTAL.plot.confusion(), sm.errors.ReportError, "threshold="),
    "a matrix of two models": (lambda: MODELS.finalize().plot.confusion(), sm.errors.ReportError, "2", "model"),
    "a threshold of text": (lambda: TOTAL.plot.confusion(threshold="high"), sm.errors.ReportError, "Float64", "'high'"),
    "points without counts": (
        lambda: TOTAL.plot.roc(points=pl.DataFrame({"threshold": [0.5]})),
        sm.errors.ReportError,
        *("'tp'", "operating_point()"),
    ),
    "metrics by threshold of two models": (
        lambda: MODELS.finalize().plot.thresholds(),
        sm.errors.ReportError,
        "2",
        "model",
    ),
    "no metrics by threshold": (lambda: TOTAL.plot.thresholds([]), sm.errors.ReportError, "1 to 6", "0"),
    "a forest without groups": (lambda: COMPARISON.plot.forest("roc_auc"), sm.errors.ReportError, "no groups"),
    "a forest without a direction": (
        lambda: sm.compare(MODELS, models=("old", "new"), metrics=["prevalence"]).plot.forest(),
        sm.errors.ReportError,
        "preferred direction",
    ),
    "calibration of margins": (lambda: MARGINS.curve("quantile_calibration"), sm.errors.MetricError, "CalibrationBins"),
    "an unknown curve": (lambda: TOTAL.curve("f11"), sm.errors.ReportError, "'f11'", "f1", "roc"),
    "a curve of a metric of ranks": (
        lambda: TOTAL.curve("roc_auc"),
        sm.errors.ReportError,
        "'roc_auc'",
        "(tp, fp, fn, tn)",
    ),
    "a curve of a mean of labels": (
        lambda: TOTAL.curve("f1(average=macro)"),
        sm.errors.ReportError,
        "(tp, fp, fn, tn)",
    ),
}

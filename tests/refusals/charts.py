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
        *("'country'", "Date", "Datetime", "String", "str.to_date()"),
    ),
    "a chart over time without dates": (
        lambda: REPORT.rollup("country").plot.over_time("roc_auc"),
        *("Date", "Datetime", "str.to_date()"),
    ),
    "a chart over two times": (lambda: TWO_TIMES.plot.over_time("roc_auc"), "window=", "day, time"),
    "segments without groups": (lambda: TOTAL.plot.segments("roc_auc"), "no groups"),
    "a column named as one of a histogram": (lambda: of_column("count").plot.scores(), "'count'"),
    "a matrix of two thresholds": (lambda: TOTAL.plot.confusion(), "threshold="),
    "a matrix of two models": (lambda: MODELS.finalize().plot.confusion(), "2", "model"),
    "a threshold of text": (lambda: TOTAL.plot.confusion(threshold="high"), "Float64", "'high'"),
    "points without counts": (
        lambda: TOTAL.plot.roc(points=pl.DataFrame({"threshold": [0.5]})),
        *("'tp'", "operating_point()"),
    ),
    "thresholds without rows": (
        lambda: sm.binary(by="country", **CLICKS).finalize().plot.thresholds(["recall", "precision"]),
        "No group has rows",
    ),
    "no metrics by threshold": (lambda: TOTAL.plot.thresholds([]), "1 to 6", "0"),
    "a forest without groups": (lambda: COMPARISON.plot.forest("roc_auc"), "no groups"),
    "a forest without a direction": (
        lambda: sm.compare(MODELS, models=("old", "new"), metrics=["prevalence"]).plot.forest(),
        "preferred direction",
    ),
    "calibration of margins": (lambda: MARGINS.curve("quantile_calibration"), "CalibrationBins"),
    "a curve of a metric of ranks": (lambda: TOTAL.curve("roc_auc"), "'roc_auc'", "(tp, fp, fn, tn)"),
}

"""Models without use that pass a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

import streammetrics as sm
from streammetrics.errors import StreamMetricsError
from streammetrics.metrics import Requirement, metrics_of_name
from streammetrics.reading import columns_of, single_threshold
from streammetrics.statistics import GROUP, CalibrationBins, ConfusionCounts, ProbabilityLoss, RowCounts, ScoreHistogram

MOST: Final = 1_000_000  # bins to evaluate
SCALE: Final = 1e-4
LOSS: Final = ProbabilityLoss()
OF_SCORES: Final = (ScoreHistogram, ProbabilityLoss, ConfusionCounts, CalibrationBins)
ROWS, SCORE, POSITIVES, WEIGHT = pl.col("rows"), pl.col("score"), pl.col("pos"), "weight"
SHARE: Final = POSITIVES.sum().over(GROUP) / ROWS.sum().over(GROUP)
MODELS: Final = {  # score and number of positives of each bin
    f"scores times {SCALE:f}".rstrip("0"): (SCORE * SCALE, POSITIVES),
    "the same score for all rows": (SHARE, POSITIVES),
    "shuffled scores": (SCORE, ROWS * SHARE),
}


def warning(report: sm.Report, requirements: Sequence[str], threshold: float | None) -> str:
    """Return a sentence on models without use that meet all requirements, and a rule that they fail.

    They are made of the bins of scores of the report, and evaluated as any other model. The sentence is empty if there
    are none, or if the state has no probabilities of a binary task.
    """
    of_model = [text for text in requirements if not _is_of_rows(text)]
    bins = _bins(report)
    if bins is None or not of_model:
        return ""
    statistics = [s for s in report.state.statistics if type(s) in OF_SCORES]
    models = {name: _accumulated(bins, statistics, *model) for name, model in MODELS.items()}
    try:
        passing = [name for name, model in models.items() if _passes(model, of_model, threshold)]
    except StreamMetricsError:  # of a metric that requires other statistics
        return ""
    if not passing:
        return ""
    rule = _rule(report, models)
    advice = f" Add a requirement that they fail, such as --require '{rule}'." if rule else ""
    return f"Models without use would pass too: {', '.join(passing)}.{advice}"


def _is_of_rows(requirement: str) -> bool:
    """Whether a requirement is met by any model of the same rows."""
    metrics = metrics_of_name(Requirement.parse(requirement).metric)
    return any(metric.readable(view) for metric in metrics for view in columns_of([RowCounts()]))


def _bins(report: sm.Report) -> pl.DataFrame | None:
    """Rows, positives, and a score of each bin, if the state has probabilities of a binary task."""
    histogram = report.state.find(ScoreHistogram)
    if histogram is None or histogram.domain != "probability":
        return None
    table = report.state.tables[histogram.name]
    if not 0 < table.height <= MOST:
        return None
    score = (pl.col("low") + pl.col("high")) / 2
    return histogram.edges(table).select(GROUP, POSITIVES, rows=pl.col("neg") + POSITIVES, score=score)


def _accumulated(
    bins: pl.DataFrame, statistics: Sequence[sm.statistics.Statistic], score: pl.Expr, positives: pl.Expr
) -> sm.Accumulator:
    rows = bins.select(GROUP, score=score, pos=positives.cast(pl.Float64), neg=ROWS - positives)
    rows = rows.unpivot(["pos", "neg"], index=[GROUP, "score"], variable_name="label", value_name=WEIGHT)
    acc = sm.Accumulator(
        *statistics, y_true=pl.col("label") == "pos", y_score="score", sample_weight=WEIGHT, by=pl.col(GROUP).alias("g")
    )
    return acc.update(rows.filter(pl.col(WEIGHT) > 0))


def _passes(model: sm.Accumulator, requirements: Sequence[str], threshold: float | None) -> bool:
    report = model.finalize([Requirement.parse(text).metric for text in requirements])
    report = report if threshold is None else single_threshold(report, threshold)
    return report.check(requirements, confidence=None, open="fail").hold


def _rule(report: sm.Report, models: Mapping[str, sm.Accumulator]) -> str | None:
    """A requirement that none of the models meets in all rows: half of the highest skill of probabilities."""
    totals = [model.rollup().finalize() for model in models.values()]
    skills = [m for m in totals[0].metrics if m.better == "high" and any(map(m.readable, columns_of([LOSS])))]
    values = report.rollup().showing(skills).frame.group_by("metric", maintain_order=True).agg(pl.min("value"))
    for metric, value in values.sort("value", descending=True, nulls_last=True).iter_rows():
        limit = f"{(value or 0) / 2:.1g}"
        if float(limit) > 0 and all((total[metric].value or 0) < float(limit) for total in totals):
            return f"{metric}>={limit}"
    return None

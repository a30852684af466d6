"""Evaluate model predictions of any size in one pass, with exact metrics or certified bounds from mergeable states."""

from typing import TYPE_CHECKING

from streammetrics.accumulator import Accumulator, merge
from streammetrics.errors import (
    ColumnError,
    DataError,
    MergeError,
    MetricError,
    ReportError,
    SourceError,
    SpecificationError,
    StateError,
    StateWarning,
    StreamMetricsError,
)
from streammetrics.metrics import Bounded, Metric, all_metrics, metric
from streammetrics.pipeline import accumulate, evaluate
from streammetrics.report.comparison import Comparison
from streammetrics.report.estimate import Estimate
from streammetrics.report.report import Report
from streammetrics.statistics import (
    CalibrationBins,
    ClassLoss,
    ConfusionCounts,
    ConfusionMatrix,
    ErrorHistogram,
    ErrorMoments,
    Histogram,
    LabelSets,
    PairedClassLosses,
    PairedErrors,
    PairedLosses,
    PairedMatches,
    PairedOutcomes,
    PairedScores,
    PairHistograms,
    PredictedCounts,
    ProbabilityLoss,
    RankCounts,
    RowCounts,
    RowSums,
    ScoreHistogram,
    Statistic,
    TDigest,
)
from streammetrics.system.lazy import late_names
from streammetrics.system.public import publish
from streammetrics.tasks import binary, multiclass, multilabel, predictions, regression
from streammetrics.version import __version__

if TYPE_CHECKING:
    from streammetrics.before_labels.expectation import Expectation, expect
    from streammetrics.differences.drift import Drift, drift, drift_over
    from streammetrics.differences.evaluations import compare
    from streammetrics.gauges.opentelemetry import to_opentelemetry
    from streammetrics.gauges.prometheus import PrometheusCollector, to_prometheus
    from streammetrics.history.checks import Findings, check
    from streammetrics.history.rules import Rule, read_rules
    from streammetrics.history.store import MetricStore
    from streammetrics.joining.joiner import Joined, Joiner
else:
    __getattr__ = late_names(
        __name__,
        {
            "before_labels.expectation": ("Expectation", "expect"),
            "differences.drift": ("Drift", "drift", "drift_over"),
            "differences.evaluations": ("compare",),
            "gauges.opentelemetry": ("to_opentelemetry",),
            "gauges.prometheus": ("PrometheusCollector", "to_prometheus"),
            "history.checks": ("Findings", "check"),
            "history.rules": ("Rule", "read_rules"),
            "history.store": ("MetricStore",),
            "joining.joiner": ("Joined", "Joiner"),
        },
    )

__all__ = [
    "Accumulator",
    "Bounded",
    "CalibrationBins",
    "ClassLoss",
    "ColumnError",
    "Comparison",
    "ConfusionCounts",
    "ConfusionMatrix",
    "DataError",
    "Drift",
    "ErrorHistogram",
    "ErrorMoments",
    "Estimate",
    "Expectation",
    "Findings",
    "Histogram",
    "Joined",
    "Joiner",
    "LabelSets",
    "MergeError",
    "Metric",
    "MetricError",
    "MetricStore",
    "PairHistograms",
    "PairedClassLosses",
    "PairedErrors",
    "PairedLosses",
    "PairedMatches",
    "PairedOutcomes",
    "PairedScores",
    "PredictedCounts",
    "ProbabilityLoss",
    "PrometheusCollector",
    "RankCounts",
    "Report",
    "ReportError",
    "RowCounts",
    "RowSums",
    "Rule",
    "ScoreHistogram",
    "SourceError",
    "SpecificationError",
    "StateError",
    "StateWarning",
    "Statistic",
    "StreamMetricsError",
    "TDigest",
    "__version__",
    "accumulate",
    "all_metrics",
    "binary",
    "check",
    "compare",
    "drift",
    "drift_over",
    "evaluate",
    "expect",
    "merge",
    "metric",
    "multiclass",
    "multilabel",
    "predictions",
    "read_rules",
    "regression",
    "to_opentelemetry",
    "to_prometheus",
]

publish(__name__, Accumulator, Comparison, Estimate, Report, accumulate, binary, evaluate, merge, multiclass)
publish(__name__, multilabel, predictions, regression)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Evaluate model predictions of any size in one pass: exact metrics or certified bounds, from tables that add up."""

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
    StreamMetricsError,
)
from streammetrics.metrics import Metric, all_metrics, metric
from streammetrics.pipeline import accumulate, evaluate
from streammetrics.report import Estimate, Report
from streammetrics.statistics import (
    CalibrationBins,
    ConfusionCounts,
    ProbabilityLoss,
    RowCounts,
    ScoreHistogram,
    Statistic,
)
from streammetrics.tasks import binary
from streammetrics.version import __version__

__all__ = [
    "Accumulator",
    "CalibrationBins",
    "ColumnError",
    "ConfusionCounts",
    "DataError",
    "Estimate",
    "MergeError",
    "Metric",
    "MetricError",
    "ProbabilityLoss",
    "Report",
    "ReportError",
    "RowCounts",
    "ScoreHistogram",
    "SourceError",
    "SpecificationError",
    "StateError",
    "Statistic",
    "StreamMetricsError",
    "__version__",
    "accumulate",
    "all_metrics",
    "binary",
    "evaluate",
    "merge",
    "metric",
]

"""Statistics: what to keep of the rows. Each is one file and one table."""

from streammetrics.statistics.calibration_bins import CalibrationBins
from streammetrics.statistics.confusion_counts import ConfusionCounts
from streammetrics.statistics.probability_loss import ProbabilityLoss
from streammetrics.statistics.row_counts import RowCounts
from streammetrics.statistics.score_histogram import CAPACITY, CAPACITY_OF_A_GROUP, ScoreHistogram
from streammetrics.statistics.statistic import Statistic
from streammetrics.statistics.view import GROUP, View, exact

STATISTICS: dict[str, type[Statistic]] = {
    s.name: s for s in (RowCounts, ConfusionCounts, ScoreHistogram, ProbabilityLoss, CalibrationBins)
}

__all__ = [
    "CAPACITY",
    "CAPACITY_OF_A_GROUP",
    "GROUP",
    "STATISTICS",
    "CalibrationBins",
    "ConfusionCounts",
    "ProbabilityLoss",
    "RowCounts",
    "ScoreHistogram",
    "Statistic",
    "View",
    "exact",
]

"""Statistics: the counts and sums to accumulate. Each has one file and one table."""

from streammetrics.statistics.binned import CAPACITY, CAPACITY_OF_A_GROUP
from streammetrics.statistics.calibration_bins import CalibrationBins
from streammetrics.statistics.class_loss import ClassLoss
from streammetrics.statistics.confusion_counts import ConfusionCounts
from streammetrics.statistics.confusion_matrix import ConfusionMatrix
from streammetrics.statistics.error_moments import ErrorMoments
from streammetrics.statistics.histogram import ErrorHistogram, Histogram
from streammetrics.statistics.label_sets import LabelSets
from streammetrics.statistics.pair_histograms import PairHistograms
from streammetrics.statistics.paired_differences import PairedClassLosses, PairedErrors, PairedLosses
from streammetrics.statistics.paired_outcomes import PairedMatches, PairedOutcomes
from streammetrics.statistics.paired_scores import PairedScores
from streammetrics.statistics.predicted_counts import PredictedCounts
from streammetrics.statistics.probability_loss import ProbabilityLoss
from streammetrics.statistics.rank_counts import RankCounts
from streammetrics.statistics.row_counts import RowCounts
from streammetrics.statistics.row_fingerprint import RowFingerprint
from streammetrics.statistics.row_sums import RowSums
from streammetrics.statistics.score_histogram import ScoreHistogram
from streammetrics.statistics.statistic import STATISTICS, Statistic
from streammetrics.statistics.tdigest import TDigest
from streammetrics.statistics.view import GROUP, View, exact
from streammetrics.system.public import publish

__all__ = [
    "CAPACITY",
    "CAPACITY_OF_A_GROUP",
    "GROUP",
    "STATISTICS",
    "CalibrationBins",
    "ClassLoss",
    "ConfusionCounts",
    "ConfusionMatrix",
    "ErrorHistogram",
    "ErrorMoments",
    "Histogram",
    "LabelSets",
    "PairHistograms",
    "PairedClassLosses",
    "PairedErrors",
    "PairedLosses",
    "PairedMatches",
    "PairedOutcomes",
    "PairedScores",
    "PredictedCounts",
    "ProbabilityLoss",
    "RankCounts",
    "RowCounts",
    "RowFingerprint",
    "RowSums",
    "ScoreHistogram",
    "Statistic",
    "TDigest",
    "View",
    "exact",
]

publish(__name__, *STATISTICS.values(), RowSums, Statistic, View, exact)

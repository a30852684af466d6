"""Statistics: the counts and sums to accumulate. Each has one file and one table."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names, publish
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

__all__ = [
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
]

publish(__name__, *STATISTICS.values(), RowSums, Statistic)

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.statistics.binned import CAPACITY, Binned
    from streammetrics.statistics.cases import order_cases
    from streammetrics.statistics.confusion_counts import CutCounts
    from streammetrics.statistics.counter import GROUP, PAIR
    from streammetrics.statistics.paired import Paired, pairs_kept
    from streammetrics.statistics.paired_differences import powers_of
    from streammetrics.statistics.paired_outcomes import CELLS
    from streammetrics.statistics.state.content import MAX_GROUPS, Content, data_types, group_limit, no_state
    from streammetrics.statistics.state.fingerprints import (
        ROW,
        TRUTH,
        digest,
        fingerprints,
        fingerprints_of_models,
        identifies_rows,
        plain_number,
    )
    from streammetrics.statistics.state.header import KEY
    from streammetrics.statistics.state.saved import Saved
    from streammetrics.statistics.state.specification import brief, complete, difference, kind_of, require_equal
    from streammetrics.statistics.state.storage import from_bytes, read_states, restored_table, to_bytes, write
    from streammetrics.statistics.state.tables import (
        State,
        combine,
        join_label,
        split_label,
    )
    from streammetrics.statistics.statistic import View, exact
    from streammetrics.statistics.summed import Sums
else:
    __getattr__ = late_names(__name__, __file__)

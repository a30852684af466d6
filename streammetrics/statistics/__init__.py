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
from streammetrics.statistics.statistic import STATISTICS as STATISTICS
from streammetrics.statistics.statistic import Statistic
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
    from streammetrics.statistics.binned import CAPACITY as CAPACITY
    from streammetrics.statistics.binned import CAPACITY_OF_A_GROUP as CAPACITY_OF_A_GROUP
    from streammetrics.statistics.binned import Binned as Binned
    from streammetrics.statistics.cases import order_cases as order_cases
    from streammetrics.statistics.cases import threshold_cases as threshold_cases
    from streammetrics.statistics.confusion_counts import CutCounts as CutCounts
    from streammetrics.statistics.paired import Paired as Paired
    from streammetrics.statistics.paired import model_pairs as model_pairs
    from streammetrics.statistics.paired import pairs_kept as pairs_kept
    from streammetrics.statistics.paired_differences import PairedDifferences as PairedDifferences
    from streammetrics.statistics.paired_differences import powers_of as powers_of
    from streammetrics.statistics.paired_outcomes import CELLS as CELLS
    from streammetrics.statistics.paired_scores import CELLS_OF_FOLDS as CELLS_OF_FOLDS
    from streammetrics.statistics.probability_loss import Losses as Losses
    from streammetrics.statistics.score_histogram import tails_of_losses as tails_of_losses
    from streammetrics.statistics.state.content import MAX_GROUPS as MAX_GROUPS
    from streammetrics.statistics.state.content import Content as Content
    from streammetrics.statistics.state.content import data_types as data_types
    from streammetrics.statistics.state.content import group_limit as group_limit
    from streammetrics.statistics.state.content import no_state as no_state
    from streammetrics.statistics.state.fingerprints import ROW as ROW
    from streammetrics.statistics.state.fingerprints import TRUTH as TRUTH
    from streammetrics.statistics.state.fingerprints import digest as digest
    from streammetrics.statistics.state.fingerprints import fingerprint_of as fingerprint_of
    from streammetrics.statistics.state.fingerprints import fingerprints as fingerprints
    from streammetrics.statistics.state.fingerprints import fingerprints_of_models as fingerprints_of_models
    from streammetrics.statistics.state.fingerprints import identifies_rows as identifies_rows
    from streammetrics.statistics.state.fingerprints import plain_number as plain_number
    from streammetrics.statistics.state.header import KEY as KEY
    from streammetrics.statistics.state.header import checked as checked
    from streammetrics.statistics.state.header import specification as specification
    from streammetrics.statistics.state.header import to_json as to_json
    from streammetrics.statistics.state.saved import Saved as Saved
    from streammetrics.statistics.state.saved import from_arrow as from_arrow
    from streammetrics.statistics.state.saved import to_arrow as to_arrow
    from streammetrics.statistics.state.specification import brief as brief
    from streammetrics.statistics.state.specification import complete as complete
    from streammetrics.statistics.state.specification import difference as difference
    from streammetrics.statistics.state.specification import kind_of as kind_of
    from streammetrics.statistics.state.specification import require_equal as require_equal
    from streammetrics.statistics.state.storage import from_bytes as from_bytes
    from streammetrics.statistics.state.storage import read_states as read_states
    from streammetrics.statistics.state.storage import restored_table as restored_table
    from streammetrics.statistics.state.storage import to_bytes as to_bytes
    from streammetrics.statistics.state.storage import write as write
    from streammetrics.statistics.state.tables import State as State
    from streammetrics.statistics.state.tables import combine as combine
    from streammetrics.statistics.state.tables import filtered as filtered
    from streammetrics.statistics.state.tables import find_groups as find_groups
    from streammetrics.statistics.state.tables import for_reports as for_reports
    from streammetrics.statistics.state.tables import in_order as in_order
    from streammetrics.statistics.state.tables import join_label as join_label
    from streammetrics.statistics.state.tables import periods as periods
    from streammetrics.statistics.state.tables import roll_up as roll_up
    from streammetrics.statistics.state.tables import select as select
    from streammetrics.statistics.state.tables import split_label as split_label
    from streammetrics.statistics.state.tables import with_keys as with_keys
    from streammetrics.statistics.statistic import is_weighted as is_weighted
    from streammetrics.statistics.summed import Sums as Sums
    from streammetrics.statistics.view import GROUP as GROUP
    from streammetrics.statistics.view import PAIR as PAIR
    from streammetrics.statistics.view import View as View
    from streammetrics.statistics.view import exact as exact
    from streammetrics.statistics.view import first_case as first_case
else:
    __getattr__ = late_names(__name__, __file__)

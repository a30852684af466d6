"""Metrics by theme. Each is one formula over columns of one statistic's table.

Every metric that `all_metrics` lists can be imported from this package. If tasks share a name, such as ``kappa`` of
binary and multiclass tasks, the package exports the binary metric. The others are in their modules: `several_classes`,
`class_probabilities`, and `predictions`. In reports, as in ``report["kappa"]``, each task uses its own.

>>> from streammetrics.metrics import kappa, roc_auc, several_classes
>>> kappa is several_classes.kappa
False
"""

from typing import TYPE_CHECKING

from streammetrics.base import late_names, publish
from streammetrics.metrics.agreement import *
from streammetrics.metrics.calibration import *
from streammetrics.metrics.cumulative import *
from streammetrics.metrics.deviances import *
from streammetrics.metrics.digests import *
from streammetrics.metrics.errors import *
from streammetrics.metrics.losses import *
from streammetrics.metrics.metric import Bounded as Bounded
from streammetrics.metrics.metric import Metric as Metric
from streammetrics.metrics.metric import all_metrics as all_metrics
from streammetrics.metrics.metric import declared_metrics as declared_metrics
from streammetrics.metrics.metric import find_metric as find_metric
from streammetrics.metrics.metric import metric as metric
from streammetrics.metrics.metric import metrics_of_name as metrics_of_name
from streammetrics.metrics.metric import parse_metric as parse_metric
from streammetrics.metrics.multilabel import *
from streammetrics.metrics.quantiles import *
from streammetrics.metrics.ranking import *
from streammetrics.metrics.ratios import *
from streammetrics.metrics.totals import *
from streammetrics.metrics.volume import *

# isort: split
# Of metrics with the same name, the first declared is listed: the binary one.
from streammetrics.metrics import class_probabilities as class_probabilities
from streammetrics.metrics import predictions as predictions
from streammetrics.metrics import several_classes as several_classes
from streammetrics.metrics.class_probabilities import roc_auc_ovo as roc_auc_ovo
from streammetrics.metrics.class_probabilities import top_k_accuracy as top_k_accuracy


def __dir__() -> list[str]:
    modules = ["class_probabilities", "predictions", "several_classes"]
    own = (m.__name__ for m in all_metrics() if m.__name__ in globals())
    return sorted(["Bounded", "Metric", "all_metrics", "metric", *modules, *own])


for _metric in declared_metrics():
    if globals().get(_metric.__name__) is _metric:
        _metric.__module__ = __name__
publish(__name__, Bounded, Metric, all_metrics, metric)

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.metrics.agreement import widened as widened
    from streammetrics.metrics.cumulative import FEWEST_EXPECTED as FEWEST_EXPECTED
    from streammetrics.metrics.intervals.auc import FEW_PLACEMENTS as FEW_PLACEMENTS
    from streammetrics.metrics.intervals.beta import Values as Values
    from streammetrics.metrics.intervals.beta import log_beta as log_beta
    from streammetrics.metrics.intervals.beta import log_beta_below as log_beta_below
    from streammetrics.metrics.intervals.discoveries import as_normal as as_normal
    from streammetrics.metrics.intervals.discoveries import difference_of_shares as difference_of_shares
    from streammetrics.metrics.intervals.discoveries import discoveries as discoveries
    from streammetrics.metrics.intervals.discoveries import upper_tail as upper_tail
    from streammetrics.metrics.intervals.distributions import bisected as bisected
    from streammetrics.metrics.intervals.distributions import normal_quantile as normal_quantile
    from streammetrics.metrics.intervals.distributions import t_quantile as t_quantile
    from streammetrics.metrics.intervals.distributions import t_quantiles as t_quantiles
    from streammetrics.metrics.intervals.distributions import upper_level as upper_level
    from streammetrics.metrics.intervals.evalues import e_discoveries as e_discoveries
    from streammetrics.metrics.intervals.evalues import log_e_value as log_e_value
    from streammetrics.metrics.intervals.evalues import log_e_value_of_share as log_e_value_of_share
    from streammetrics.metrics.intervals.jackknife import HIGH as HIGH
    from streammetrics.metrics.intervals.jackknife import LOW as LOW
    from streammetrics.metrics.intervals.jackknife import TOTAL as TOTAL
    from streammetrics.metrics.intervals.jackknife import degrees_of_freedom as degrees_of_freedom
    from streammetrics.metrics.intervals.jackknife import jackknife_intervals as jackknife_intervals
    from streammetrics.metrics.intervals.limits import EVERYWHERE as EVERYWHERE
    from streammetrics.metrics.intervals.limits import LEAST_ERROR as LEAST_ERROR
    from streammetrics.metrics.intervals.limits import Range as Range
    from streammetrics.metrics.intervals.limits import Spread as Spread
    from streammetrics.metrics.intervals.limits import moved as moved
    from streammetrics.metrics.intervals.limits import tidy as tidy
    from streammetrics.metrics.intervals.method import FEWEST as FEWEST
    from streammetrics.metrics.intervals.method import Read as Read
    from streammetrics.metrics.intervals.method import Sample as Sample
    from streammetrics.metrics.intervals.methods import SEPARATE as SEPARATE
    from streammetrics.metrics.intervals.methods import limits_of as limits_of
    from streammetrics.metrics.intervals.methods import method_of as method_of
    from streammetrics.metrics.intervals.paired_influence import OUTCOMES as OUTCOMES
    from streammetrics.metrics.intervals.paired_influence import of_areas as of_areas
    from streammetrics.metrics.intervals.paired_influence import of_losses as of_losses
    from streammetrics.metrics.intervals.paired_influence import of_outcomes as of_outcomes
    from streammetrics.metrics.intervals.paired_influence import of_scores as of_scores
    from streammetrics.metrics.intervals.paired_influence import range_of_difference as range_of_difference
    from streammetrics.metrics.intervals.paired_influence import spread_of_matches as spread_of_matches
    from streammetrics.metrics.intervals.paired_proportions import paired_limits as paired_limits
    from streammetrics.metrics.intervals.pairs import difference_interval as difference_interval
    from streammetrics.metrics.intervals.pairs import ratio_interval as ratio_interval
    from streammetrics.metrics.intervals.planning import rows_to_decide as rows_to_decide
    from streammetrics.metrics.intervals.planning import rows_to_find as rows_to_find
    from streammetrics.metrics.intervals.planning import smallest_difference as smallest_difference
    from streammetrics.metrics.intervals.proportions import CELLS as CELLS
    from streammetrics.metrics.intervals.proportions import as_proportion as as_proportion
    from streammetrics.metrics.intervals.proportions import cells_of as cells_of
    from streammetrics.metrics.intervals.proportions import wilson_interval as wilson_interval
    from streammetrics.metrics.intervals.sequences import errors_wide as errors_wide
    from streammetrics.metrics.intervals.sequences import is_beyond as is_beyond
    from streammetrics.metrics.intervals.sequences import require_rows as require_rows
    from streammetrics.metrics.intervals.sequences import share_limits as share_limits
    from streammetrics.metrics.intervals.sign_flips import FoldSums as FoldSums
    from streammetrics.metrics.intervals.smooth import PAIRS_OF_LABELS as PAIRS_OF_LABELS
    from streammetrics.metrics.intervals.smooth import Influence as Influence
    from streammetrics.metrics.intervals.smooth import is_crowded as is_crowded
    from streammetrics.metrics.intervals.smooth import mixes_classes as mixes_classes
    from streammetrics.metrics.intervals.smooth import rows_of_heavier_class as rows_of_heavier_class
    from streammetrics.metrics.intervals.smooth import rows_of_heaviest as rows_of_heaviest
    from streammetrics.metrics.intervals.smooth import share_of_negatives as share_of_negatives
    from streammetrics.metrics.losses import brier_score as brier_score
    from streammetrics.metrics.losses import log_loss as log_loss
    from streammetrics.metrics.margin import Margin as Margin
    from streammetrics.metrics.margin import Margins as Margins
    from streammetrics.metrics.margin import margins as margins
    from streammetrics.metrics.ranking import at_thresholds as at_thresholds
    from streammetrics.metrics.ranking import average_precision as average_precision
    from streammetrics.metrics.ranking import confusion_counts as confusion_counts
    from streammetrics.metrics.ranking import roc_auc as roc_auc
    from streammetrics.metrics.ratios import accuracy as accuracy
    from streammetrics.metrics.ratios import balanced_accuracy as balanced_accuracy
    from streammetrics.metrics.ratios import f1 as f1
    from streammetrics.metrics.ratios import fnr as fnr
    from streammetrics.metrics.ratios import fpr as fpr
    from streammetrics.metrics.ratios import precision as precision
    from streammetrics.metrics.ratios import predicted_positive_rate as predicted_positive_rate
    from streammetrics.metrics.ratios import prevalence as prevalence
    from streammetrics.metrics.ratios import recall as recall
    from streammetrics.metrics.ratios import specificity as specificity
    from streammetrics.metrics.requirement import Requirement as Requirement
    from streammetrics.metrics.requirement import requirements as requirements
    from streammetrics.metrics.scale import near_one as near_one
    from streammetrics.metrics.wording import BEST as BEST
    from streammetrics.metrics.wording import better as better
    from streammetrics.metrics.wording import direction as direction
    from streammetrics.metrics.wording import in_a_sentence as in_a_sentence
    from streammetrics.metrics.wording import unsaid as unsaid
    from streammetrics.metrics.wording import with_defaults as with_defaults
    from streammetrics.metrics.wording import words as words
else:
    __getattr__ = late_names(__name__, __file__)

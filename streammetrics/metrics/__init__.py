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
    listed = (m.__name__ for m in all_metrics() if m.__name__ in globals())
    return sorted(["Bounded", "Metric", "all_metrics", "metric", *modules, *listed])


for _metric in declared_metrics():
    if globals().get(_metric.__name__) is _metric:
        _metric.__module__ = __name__
publish(__name__, Bounded, Metric, all_metrics, metric)

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.metrics.agreement import widened
    from streammetrics.metrics.cumulative import FEWEST_EXPECTED
    from streammetrics.metrics.intervals import methods
    from streammetrics.metrics.intervals.auc import FEW_PLACEMENTS
    from streammetrics.metrics.intervals.beta import binomial_tail
    from streammetrics.metrics.intervals.discoveries import as_normal, difference_of_shares, discoveries, upper_tail
    from streammetrics.metrics.intervals.distributions import (
        normal_quantile,
        t_quantile,
        t_quantiles,
        upper_level,
    )
    from streammetrics.metrics.intervals.evalues import e_discoveries, log_e_value, log_e_value_of_share
    from streammetrics.metrics.intervals.influence import PAIRS_OF_LABELS, Influence
    from streammetrics.metrics.intervals.jackknife import TOTAL, degrees_of_freedom, jackknife_intervals
    from streammetrics.metrics.intervals.limits import EVERYWHERE, LEAST_ERROR, moved
    from streammetrics.metrics.intervals.method import FEWEST, Method
    from streammetrics.metrics.intervals.paired import Pair, range_of_difference
    from streammetrics.metrics.intervals.pairs import difference_interval, ratio_interval
    from streammetrics.metrics.intervals.planning import rows_to_decide, rows_to_find, smallest_difference
    from streammetrics.metrics.intervals.proportions import CELLS, as_proportion, cells_of, wilson_interval
    from streammetrics.metrics.intervals.sample import Sample
    from streammetrics.metrics.intervals.sequences import (
        MOST_ROWS,
        require_rows,
        rows_to_decide_at_looks,
        with_limits_at_looks,
    )
    from streammetrics.metrics.intervals.sign_flips import FoldSums
    from streammetrics.metrics.margin import Margin, Margins, margins
    from streammetrics.metrics.ranking import at_thresholds, confusion_counts
    from streammetrics.metrics.ratios import (
        fnr,
        fpr,
        precision,
        predicted_positive_rate,
        prevalence,
        recall,
    )
    from streammetrics.metrics.requirement import Requirement, requirements
    from streammetrics.metrics.scale import near_one
    from streammetrics.metrics.wording import BEST, better, direction, in_a_sentence, unsaid, with_defaults, words
else:
    __getattr__ = late_names(__name__, __file__)

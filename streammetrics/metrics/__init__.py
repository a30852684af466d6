"""Metrics by theme. Each is one formula over columns of one statistic's table.

Every metric that `all_metrics` lists can be imported from this package. If tasks share a name, such as ``kappa`` of
binary and multiclass tasks, the package exports the binary metric. The others are in their modules: `several_classes`,
`class_probabilities`, and `predictions`. In reports, as in ``report["kappa"]``, each task uses its own.

>>> from streammetrics.metrics import kappa, roc_auc, several_classes
>>> kappa is several_classes.kappa
False
"""

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
from streammetrics.system.public import publish


def __dir__() -> list[str]:
    modules = ["class_probabilities", "predictions", "several_classes"]
    own = (m.__name__ for m in all_metrics() if m.__name__ in globals())
    return sorted(["Bounded", "Metric", "all_metrics", "metric", *modules, *own])


for _metric in declared_metrics():
    if globals().get(_metric.__name__) is _metric:
        _metric.__module__ = __name__
publish(__name__, Bounded, Metric, all_metrics, metric)

"""Names of metrics: what is listed can be imported, once, and scikit-learn's names are known."""

import inspect
import pkgutil
from importlib import import_module

import pytest
import sklearn.metrics

import streammetrics as sm
from streammetrics import metrics
from streammetrics.metrics import declared_metrics, find_metric

NOT_METRICS = {"check_scoring", "get_scorer", "get_scorer_names", "make_scorer", "cluster", "classification_report"}
CURVES = {
    *("class_likelihood_ratios", "confusion_matrix", "confusion_matrix_at_thresholds", "det_curve"),
    *("metric_at_thresholds", "multilabel_confusion_matrix", "precision_recall_curve"),
    *("precision_recall_fscore_support", "roc_curve"),
}
CLUSTERS = {
    *("adjusted_mutual_info_score", "adjusted_rand_score", "calinski_harabasz_score", "completeness_score"),
    *("consensus_score", "davies_bouldin_score", "fowlkes_mallows_score", "homogeneity_completeness_v_measure"),
    *("homogeneity_score", "mutual_info_score", "normalized_mutual_info_score", "pair_confusion_matrix", "rand_score"),
    *("silhouette_samples", "silhouette_score", "v_measure_score"),
}
NOT_COMPUTED = {  # they need the rows, or other baselines
    *("coverage_error", "d2_absolute_error_score", "d2_pinball_score", "dcg_score", "hinge_loss"),
    *("label_ranking_average_precision_score", "label_ranking_loss", "ndcg_score"),
}


def known(name):
    return any(name in (m.__name__, *m.aliases) for m in declared_metrics())


def test_every_metric_is_listed_once_and_can_be_imported():
    own = [m for m in sm.all_metrics() if m.__module__.startswith("streammetrics.")]
    names = [m.name for m in sm.all_metrics()]
    assert len(names) == len(set(names))
    assert set(names) == {m.__name__ for m in declared_metrics()}
    for metric in own:
        assert getattr(metrics, metric.__name__) is metric
    for metric in declared_metrics():
        if metric.__module__.startswith("streammetrics."):
            assert getattr(inspect.getmodule(metric.formula), metric.__name__) is metric


def test_every_module_of_metrics_is_collected():
    collected = declared_metrics()
    for module in pkgutil.iter_modules(metrics.__path__, "streammetrics.metrics."):
        import_module(module.name)
    assert declared_metrics() == collected


def test_of_one_name_the_package_has_the_metric_of_two_classes():
    for metric in declared_metrics():
        theme = metric.formula.__module__.rpartition(".")[2]
        if metric.__module__.startswith("streammetrics.") and getattr(metrics, metric.__name__) is not metric:
            assert theme in ("several_classes", "class_probabilities", "predictions"), metric.columns


def test_the_public_names_are_listed():
    assert dir(sm) == sorted(sm.__all__)
    assert all(hasattr(sm, name) for name in dir(sm))
    assert {"roc_auc", "kappa", "Metric", "several_classes"} <= set(dir(metrics))
    assert "pl" not in dir(metrics)


def test_every_metric_of_scikit_learn_is_known_or_left_out_on_purpose():
    functions = {n for n in sklearn.metrics.__all__ if n.islower() and "distances" not in n and "pairwise" not in n}
    left_out = NOT_METRICS | CURVES | CLUSTERS | NOT_COMPUTED
    assert {name for name in functions if not known(name)} <= left_out


def test_every_scorer_of_scikit_learn_is_known_or_told_how_to_write():
    columns = ("tp", "fp", "fn", "tn")
    for name in sklearn.metrics.get_scorer_names():
        if known(name) or name in CLUSTERS | NOT_COMPUTED or name.endswith("_samples"):
            continue
        with pytest.raises(sm.errors.MetricError) as caught:
            find_metric(name, columns)
        advice = str(caught.value)
        if name.startswith("neg_"):
            assert advice.endswith(f"scikit-learn scorers negate losses. Use {name[4:]}.")
        else:
            assert advice.endswith(("(average=macro).", "(average=micro).", "(average=weighted)."))

"""The decorator, names, aliases and options."""

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.metrics import declared_metrics, f1, fbeta, find_metric, log_loss, precision
from streammetrics.metrics.metric import parse_metric
from streammetrics.metrics.requirement import Requirement
from streammetrics.testing.check import run_all
from streammetrics.testing.metrics import of_metrics, statistic_of

CANONICAL = (
    "rows accuracy balanced_accuracy precision recall specificity fpr fnr npv f1 fbeta mcc kappa youden_j roc_auc "
    "average_precision pr_auc ks log_loss brier_score ece"
).split()
USUAL = (
    "ppv sensitivity tpr power selectivity tnr fall_out type_i_error miss_rate type_ii_error fdr false_omission_rate "
    "phi informedness delta_p threat_score critical_success_index jaccard negative_precision negative_recall "
    "negative_f1 fowlkes_mallows cohen_kappa p_e expected_cost gini partial_auc auc"
).split()


@pytest.fixture(scope="module")
def report():
    return sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]}).finalize()


def test_known_by_its_usual_names(report):
    for name in (*CANONICAL, *USUAL):
        assert report[name].value is not None, name


def test_laws():
    together = {}
    for metric in (m for m in declared_metrics() if m.__module__.startswith("streammetrics")):  # not of other tests
        assert ">>>" in metric.__doc__, metric
        together.setdefault(statistic_of(metric), []).append(metric)
    for statistic, metrics in together.items():
        run_all(of_metrics(metrics, statistic))


def test_called_with_numbers_arrays_expressions_or_options():
    assert precision(3, 1) == precision(tp=3, fp=1) == 0.75
    assert precision(0, 0) is None
    assert precision(np.array([3, 0]), [1, 0]) == [0.75, None]
    assert pl.DataFrame({"a": [3], "b": [1]}).select(precision(pl.col("a"), pl.col("b"))).item() == 0.75
    assert fbeta(beta=2)(5, 5, 0) == fbeta(5, 5, 0, beta=2)
    assert fbeta(beta=1) == fbeta(beta=1.0)
    assert fbeta(3, 1, 2) == f1(3, 1, 2)


@pytest.mark.parametrize("columns", [(3,), (3, 1, 2)], ids=len)
def test_called_with_too_few_or_too_many_columns(columns):
    with pytest.raises(sm.MetricError, match=r"^precision requires one value for each of its columns: tp, fp\.$"):
        precision(*columns)


@pytest.mark.parametrize("value", ["-" * 5_000 + "1", "(" * 3_000 + "1" + ")" * 3_000, "1+" * 20_000 + "1"])
def test_options_that_are_nested_too_deeply_are_rejected(value):
    with pytest.raises(sm.MetricError, match="Cannot read 'fbeta"):
        parse_metric(f"fbeta(beta={value})")


def test_an_option_and_an_average_are_read_together():
    found = find_metric("log_loss(label=positive, average=macro)", (*log_loss.columns, "label"))
    assert (found.options["label"], found.average) == ("positive", "macro")


def test_an_average_by_a_suffix_is_told_as_an_option(report):
    with pytest.raises(sm.MetricError, match=r"Use f1\(average=macro\)\."):
        report["f1_macro"]


def test_options_are_part_of_the_name(report):
    assert str(fbeta(beta=2.0)) == "fbeta(beta=2)"
    assert parse_metric("log_loss(label=positive)") == ("log_loss", {"label": "positive"})
    assert report["fbeta(beta=2)"] == report[fbeta(beta=2)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("presicion", r" Did you mean 'precision'[^.]*\?$"),
        ("AUROC", r" Did you mean 'auroc' "),
        ("acc", r" Did you mean 'accuracy' or "),
        ("xyz", r"Unknown metric 'xyz'\. `streammetrics metrics` lists all metrics\.$"),
        ("neg_xyz", r"Unknown metric 'neg_xyz'\. `streammetrics metrics` lists all metrics\.$"),
        ("xyz_ovr", r"Unknown metric 'xyz_ovr'\. `streammetrics metrics` lists all metrics\.$"),
        ("neg_presicion", r"Unknown metric 'neg_presicion'\. Did you mean "),
        ("psi(of='y_score')", r"Unknown metric 'psi'\. It measures drift: use `streammetrics drift`, or a rule with "),
        ("fbeta(gamma=2)", "Options: beta"),
        ("fbeta(2)", "as a metric"),
        ("recall @ 0.5", "as a metric. Write recall, and pass its threshold or label separately"),
        ("fbeta(**1)", "as a metric"),
        ("fbeta(beta=1, beta=2)", "as a metric"),
        ("fbeta(beta=abc)", "beta= of fbeta must be a number, got 'abc'"),
        ("cost(fp=tn)", "fp= of cost must be a number"),
        ("log_loss(label=both)", "label"),
        ("__import__('os')", "as a metric"),
        ("partial_auc(max_fpr=-1)", "max_fpr"),
    ],
)
def test_unknown_metrics_are_told_apart(report, name, message):
    with pytest.raises(sm.MetricError, match=message):
        report[name]


def test_a_call_with_an_unknown_keyword_names_the_options():
    for columns in ({}, {"tp": 1, "fp": 1, "fn": 0}):
        with pytest.raises(sm.MetricError, match=r"Unknown option 'gamma' of fbeta\. Options: beta\."):
            fbeta(gamma=2, **columns)


def test_a_metric_needs_its_statistic():
    acc = sm.Accumulator(sm.ConfusionCounts(), y_true="y", y_score="p")
    with pytest.raises(sm.MetricError, match="'roc_auc' requires the statistic ScoreHistogram"):
        acc.finalize(["roc_auc"])


def test_a_second_metric_of_one_name_is_refused():
    with pytest.raises(sm.MetricError, match="is already used"):

        @sm.metric(range=(0, 1), aliases=("ppv",))
        def another_precision(tp, fp):
            return tp / (tp + fp)


def test_requirements_are_read():
    assert Requirement.parse("roc_auc>=.8") == Requirement("roc_auc", ">=", 0.8)
    assert Requirement.parse(" cost(fp=1, fn=10) < 1e-3 ") == Requirement("cost(fp=1, fn=10)", "<", 1e-3)
    for text in ("roc_auc", "roc_auc => 1", "roc_auc == 1", ">= 1"):
        with pytest.raises(sm.MetricError, match=r"as a (requirement|metric)"):
            Requirement.parse(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"range": (0, 1), "better": "lower"}, r"better= must be 'high', 'low', or None, got 'lower'\."),
        ({"range": (0, None)}, r"range= must be two numbers in ascending order, got \(0, None\)\."),
        ({"range": (1, 0)}, r"range= must be two numbers in ascending order, got \(1, 0\)\."),
    ],
)
def test_declarations_are_checked(options, message):
    with pytest.raises(sm.MetricError, match=message):
        sm.metric(**options)

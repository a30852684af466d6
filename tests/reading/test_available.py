"""What to do about a metric whose statistic is missing: the message says it, and it is true."""

import re

import polars as pl
import pytest
from commands import run

import streammetrics as sm
from streammetrics import statistics
from streammetrics.metrics import declared_metrics

FAMILIES = ["log", "log_cosh", "poisson", "gamma", "tweedie"]
LABELS = {"a": "p_a", "b": "p_b"}
MAPPING = {"y_true": {"a": "a", "b": "b"}}
TASKS = {
    "binary": (sm.binary, {"y_true": "y", "y_score": "p"}),
    "binary labels": (sm.binary, {"y_true": "y", "y_pred": "z"}),
    "binary margins": (sm.binary, {"y_true": "y", "y_score": "p", "domain": "real"}),
    "multiclass": (sm.multiclass, {"y_true": "c", "y_score": LABELS}),
    "multiclass labels": (sm.multiclass, {"y_true": "c", "y_pred": "d"}),
    "multilabel": (sm.multilabel, {**MAPPING, "y_score": LABELS}),
    "multilabel labels": (sm.multilabel, {**MAPPING, "y_pred": {"a": "b", "b": "a"}}),
    "regression": (sm.regression, {"y_true": "v", "y_pred": "p"}),
    "predictions": (sm.predictions, {"y_score": "p"}),
    "predicted labels": (sm.predictions, {"y_pred": "z"}),
}
ROWS = pl.DataFrame(
    {
        "y": [1, 0, 1, 0],
        "z": [1, 1, 0, 0],
        "v": [1.0, 2.0, 3.0, 4.0],
        "p": [0.9, 0.2, 0.4, 0.3],
        "c": ["a", "b", "a", "b"],
        "d": ["a", "a", "b", "b"],
        "a": [1, 0, 1, 0],
        "b": [0, 1, 1, 0],
        "p_a": [0.75, 0.5, 0.25, 0.5],
        "p_b": [0.25, 0.5, 0.75, 0.5],
    }
)
FULL = {
    "binary": sm.binary(y_true="y", y_score="p").finalize(),
    "multiclass": sm.multiclass(y_true="c", y_score=LABELS, one_vs_one=True).finalize(),
    "multilabel": sm.multilabel(**MAPPING, y_score=LABELS).finalize(),
    "regression": sm.regression(y_true="v", y_pred="p", families=FAMILIES).finalize(),
}
HOW = "Evaluate with|In Python, pass it to Accumulator"
ADVICE = re.compile(rf"requires the statistic (.*)\. ({HOW})(?: with)? ?(.*)\.$")
OTHER_TASK = re.compile(r"requires a (.*) task, but this is a (.*) task\.$")


def refused(acc):
    """Metrics of the library that an accumulator lacks, plain and averaged over labels, each with the message."""
    own = dict.fromkeys(m.name for m in declared_metrics() if m.formula.__module__.startswith("streammetrics."))
    averages = ("macro", "weighted") if acc.roles.kind in ("multiclass", "multilabel") else ()
    report = acc.finalize()
    for name in [*own, *(f"{name}(average={average})" for name in own for average in averages)]:
        try:
            report.showing([name])
        except sm.errors.MetricError as error:
            yield name, str(error)


@pytest.mark.parametrize("task", TASKS)
def test_following_the_advice_makes_every_metric_available(task):
    function, roles = TASKS[task]
    acc = function(**roles)
    advice = {}
    for metric, message in refused(acc):
        assert message.startswith(f"Metric {metric!r} ")
        if message.endswith("it is not computed for each label."):
            assert "(average=" in metric
            assert not any(full.readable(metric) for full in FULL.values())
        elif other := OTHER_TASK.search(message):
            assert other[2] == acc.roles.kind
            assert all(FULL[kind].readable(metric) for kind in other[1].split(" or "))
        else:
            advice.setdefault(ADVICE.search(message).groups(), []).append(metric)
    assert len(advice) > 1
    for what, metrics in advice.items():
        report = advised(acc, function, roles, *what).update(ROWS).finalize(metrics)  # raises if one is still missing
        assert report.frame.height >= len(report.keys())


def advised(acc, function, roles, statistic, how, arguments):
    """The accumulator that a message advises."""
    roles = {name: value for name, value in roles.items() if name != "domain"}
    known = {"y_true": "y", "y_score": LABELS if acc.roles.kind == "multiclass" or acc.roles.labels else "p"}
    for argument in filter(None, arguments.split(" and ")):
        name, _, value = argument.partition("=")
        roles[name] = eval(value) if value else known[name]
    if how == "Evaluate with":
        return (sm.binary if function is sm.predictions else function)(**roles)
    added = eval(statistic if statistic.endswith(")") else f"{statistic}()", vars(statistics))
    return sm.Accumulator(*(s for s in acc.statistics if s.name != added.name), added, **roles)


def test_all_that_reads_a_metric_says_the_same():
    """What it says stands in ``tests/refusals/metrics.py``."""
    for task, metric in (("multiclass", "roc_auc_ovo"), ("binary labels", "auroc"), ("binary", "f1(average=macro)")):
        function, roles = TASKS[task]
        acc, messages = function(**roles), set()
        for read in (lambda acc, name: acc.finalize([name]), lambda acc, name: acc.finalize().get(name)):
            with pytest.raises(sm.errors.MetricError) as caught:
                read(acc, metric)
            messages.add(str(caught.value))
        with pytest.raises(sm.errors.MetricError) as caught:
            acc.finalize().showing(metric)
        assert messages == {str(caught.value)}


def test_the_command_line_names_its_options(tmp_path):
    path = tmp_path / "rows.parquet"
    ROWS.write_parquet(path)
    evaluate = ["evaluate", path, "--task", "multiclass", "--y-true", "c", "--y-score", "a=p_a", "--y-score", "b=p_b"]
    told = run(*evaluate, "--metric", "roc_auc_ovo", code=2)
    assert told.endswith("requires the statistic PairHistograms. Evaluate with --one-vs-one.\n")
    run(*evaluate, "--metric", "roc_auc_ovo", "--one-vs-one")

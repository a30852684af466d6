"""The decorator, names, aliases and options."""

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.metrics import declared_metrics, f1, fbeta, find_metric, log_loss, parse_metric, precision
from streammetrics.testing.check import run_all
from streammetrics.testing.metrics import checks_of_metrics, statistic_of


@pytest.fixture(scope="module")
def report():
    return sm.binary(y_true="y", y_score="p").update({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]}).finalize()


OURS = [m for m in declared_metrics() if m.__module__.startswith("streammetrics")]
QUICK = {"it is found by its names", "it has an interval or says why not"}
SLOW = {"values lie within bounds and range", "without rows a mean is null", "the better end is the better one"}


@pytest.mark.parametrize("part", [QUICK, SLOW], ids=["quick", "slow"])
def test_laws(part):
    """References hold the slow ones in the base suite, and bounds of bins, which core/test_bounds.py tries by hand."""
    together = {}
    for metric in OURS:
        assert ">>>" in metric.__doc__, metric
        together.setdefault(statistic_of(metric), []).append(metric)
    for statistic, metrics in together.items():
        chosen = [check for check in checks_of_metrics(metrics, statistic) if check.name in part]
        assert len(chosen) == len(part)
        run_all(chosen)


def test_called_with_numbers_arrays_expressions_or_options():
    assert precision(3, 1) == precision(tp=3, fp=1) == 0.75
    assert precision(0, 0) is None
    assert precision(np.array([3, 0]), [1, 0]) == [0.75, None]
    assert pl.DataFrame({"a": [3], "b": [1]}).select(precision(pl.col("a"), pl.col("b"))).item() == 0.75
    assert fbeta(beta=2)(5, 5, 0) == fbeta(5, 5, 0, beta=2)
    assert fbeta(beta=1) == fbeta(beta=1.0)
    assert fbeta(3, 1, 2) == f1(3, 1, 2)


def test_an_option_and_an_average_are_read_together():
    found = find_metric("log_loss(label=positive, average=macro)", (*log_loss.columns, "label"))
    assert (found.options["label"], found.average) == ("positive", "macro")


def test_options_are_part_of_the_name(report):
    assert str(fbeta(beta=2.0)) == "fbeta(beta=2)"
    assert parse_metric("log_loss(label=positive)") == ("log_loss", {"label": "positive"})
    assert report["fbeta(beta=2)"] == report[fbeta(beta=2)]


def test_requirements_are_read_with_any_spaces(report):
    verdicts = report.check(["roc_auc>=.8", " cost(fp=1, fn=10) < 1e-3 "], confidence=None).frame
    assert verdicts["rule"].to_list() == ["roc_auc >= 0.8", "cost(fp=1, fn=10) < 0.001"]

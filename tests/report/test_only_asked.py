"""Intervals of many groups take long, so reports compute those of the requested metrics only."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.gauges.samples import samples
from streammetrics.reading import confidence

GROUPS = 6


def batch(**more):
    random = np.random.default_rng(0)
    p = random.random(3_000)
    columns = {"y": random.random(3_000) < p, "p": p, "q": random.random(3_000), "k": random.integers(0, 3, 3_000)}
    return pl.DataFrame(columns | {"g": random.integers(0, GROUPS, 3_000), "u": random.integers(0, 90, 3_000)} | more)


TASKS = {
    "binary": {"y_score": "p"},
    "models": {"y_score": {"a": "p", "b": "q"}},
    "units": {"y_score": "p", "unit": "u"},
}


def report(task="binary", level=None):
    return sm.binary(y_true="y", by="g", **TASKS[task]).update(batch()).finalize(confidence=level)


@pytest.fixture
def asked(monkeypatch):
    """The metrics that got intervals."""
    names, before = set(), confidence.with_intervals

    def recording(frame, state, metrics, *options):
        names.update(metric.name for metric in metrics)
        return before(frame, state, metrics, *options)

    monkeypatch.setattr(confidence, "with_intervals", recording)
    return names


USES = {
    "check": lambda r: r.check(["roc_auc >= 0.7"]),
    "check of three": lambda r: r.check(["roc_auc >= 0.7", "log_loss <= 1", "f1 >= 0"]),
    "rows": lambda r: r.with_confidence(0.95).rows("roc_auc"),
    "get": lambda r: r.with_confidence(0.95).get("roc_auc", g=1),
    "brackets": lambda r: r.rollup().with_confidence(0.95)["roc_auc"],
    "worst": lambda r: r.with_confidence(0.95).worst("roc_auc"),
    "gaps": lambda r: r.with_confidence(0.95).gaps("accuracy", over="g"),
    "samples": lambda r: list(samples(r.showing(["roc_auc"]).with_confidence(0.95))),
    "gate": lambda r: sm.compare(r, r).check(not_worse={"roc_auc": 0.1}),
}
NEEDED = {"gaps": {"accuracy"}, "check of three": {"roc_auc", "log_loss", "f1"}}


@pytest.mark.parametrize("use", USES)
def test_only_requested_metrics_get_intervals(use, asked):
    USES[use](report())
    assert asked <= NEEDED.get(use, {"roc_auc"}) | {"rows", "positives", "negatives"}


def test_rules_of_a_history_compute_their_metrics_only(asked, tmp_path):
    store = sm.MetricStore(tmp_path / "history")
    for day in range(3):
        rows = batch(day=[date(2026, 1, 1) + timedelta(day)] * 3_000)
        store.append(sm.binary(y_true="y", y_score="p", by=["day", "g"]).update(rows), batch_id=str(day))
    sm.check(store, [sm.Rule("roc_auc >= 0.7", over="2d", by="g")])
    assert asked <= {"roc_auc", "rows"}


@pytest.mark.parametrize("task", TASKS)
def test_a_metric_is_the_same_alone_and_among_others(task):
    for level in (None, 0.95):
        whole = report(task, level)
        for metric in whole.metrics:
            alone = report(task, level).rows(metric)
            assert_frame_equal(alone, whole.frame.filter(metric=metric.name))


def test_a_dictionary_of_a_report_computes_all_metrics_together():
    one = sm.binary(y_true="y", y_score="p").update(batch()).finalize()
    assert "frame" not in vars(one)
    one["roc_auc"]
    assert "frame" not in vars(one)
    assert dict(one)["roc_auc"] == one["roc_auc"]
    assert "frame" in vars(one)

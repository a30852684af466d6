"""Intervals of many groups take long, so reports compute those of the requested metrics only."""

from datetime import date
from pkgutil import resolve_name

import pytest
from data import CANDIDATES, CLICKS, VISITS, candidates, clicks, visits
from polars.testing import assert_frame_equal

import streammetrics as sm

ROWS = clicks()[:1_000]
TASK = sm.binary(by="country", **CLICKS)


@pytest.fixture
def asked(monkeypatch):
    """The metrics that got intervals."""
    names, before = set(), resolve_name("streammetrics.reading.confidence.with_intervals")

    def recording(frame, state, metrics, *options):
        names.update(metric.name for metric in metrics)
        return before(frame, state, metrics, *options)

    monkeypatch.setattr("streammetrics.reading.confidence.with_intervals", recording)
    return names


USES = {
    "check": (lambda r: r.check(["roc_auc >= 0.7", "f1 >= 0"]), {"roc_auc", "f1"}),
    "rows": (lambda r: r.with_confidence(0.95).rows("roc_auc"), {"roc_auc"}),
    "get": (lambda r: r.with_confidence(0.95).get("roc_auc", country="DE"), {"roc_auc"}),
    "brackets": (lambda r: r.rollup().with_confidence(0.95)["roc_auc"], {"roc_auc"}),
    "worst": (lambda r: r.with_confidence(0.95).worst("roc_auc"), {"roc_auc"}),
    "gaps": (lambda r: r.with_confidence(0.95).gaps("accuracy", over="country"), {"accuracy"}),
    "gauges": (lambda r: sm.export.to_prometheus(r.showing(["roc_auc"]).with_confidence(0.95)), {"roc_auc"}),
    "gate": (lambda r: sm.compare(r, r).check(not_worse={"roc_auc": 0.1}), {"roc_auc"}),
}


@pytest.mark.whole
@pytest.mark.parametrize("use", USES)
def test_only_requested_metrics_get_intervals(use, asked):
    if use == "gauges":
        pytest.importorskip("prometheus_client")
    call, metrics = USES[use]
    call(TASK.empty().update(ROWS).finalize())
    assert asked <= metrics | {"rows", "positives", "negatives"}


def test_rules_of_a_history_compute_their_metrics_only(asked, tmp_path):
    pytest.importorskip("deltalake")
    store = sm.MetricStore(tmp_path / "history")
    store.append(sm.binary(by=["day", "country"], **CLICKS).update(ROWS), batch_id="1")
    sm.check(store, [sm.Rule("roc_auc >= 0.7", over="2d", by="country")], until=date(2026, 1, 10))
    assert asked <= {"roc_auc", "rows"}


@pytest.mark.parametrize("level", [0.95, None])
@pytest.mark.parametrize(
    ("task", "rows"),
    [
        (TASK, ROWS),
        (sm.binary(by="country", **CANDIDATES), candidates()[:500]),
        (sm.binary(by="shop", **VISITS), visits()[:500]),
    ],
    ids=["groups", "models", "units"],
)
def test_a_metric_is_the_same_alone_and_among_others(task, rows, level):
    whole = task.empty().update(rows).finalize(confidence=level)
    for metric in whole.metrics:
        again = task.empty().update(rows).finalize(confidence=level)
        assert_frame_equal(again.rows(metric), whole.frame.filter(metric=metric.name))


def test_a_dictionary_of_a_report_computes_all_metrics_together():
    one = sm.binary(**CLICKS).update(ROWS).finalize()
    assert "frame" not in vars(one)
    one["roc_auc"]
    assert "frame" not in vars(one)
    assert dict(one)["roc_auc"] == one["roc_auc"]
    assert "frame" in vars(one)

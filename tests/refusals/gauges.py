"""Reports whose groups would have the same labels in Prometheus, or the same attributes in OpenTelemetry."""

import pytest

import streammetrics as sm

for _package in ("prometheus_client", "opentelemetry.metrics"):
    pytest.importorskip(_package)
ROWS = {"y": ["a", "b"], "p": ["a", "a"], "a b": [1, 2], "a_b": [1, 2], "average": ["x", "y"], "text": [None, ""]}


def _report(*by):
    return sm.multiclass(y_true="y", y_pred="p", by=by).update(ROWS).finalize(["f1(average=macro)"])


REFUSALS = {
    "columns of the same label": (lambda: sm.export.to_prometheus(_report("a b", "a_b")), "'a b'", "'a_b'"),
    "a column of the name of a label": (lambda: sm.export.to_prometheus(_report("average")), "'average'"),
    "null and an empty text": (lambda: sm.export.to_prometheus(_report("text")), "null"),
    "null and an empty text in OpenTelemetry": (lambda: sm.export.to_opentelemetry(_report("text")), "null"),
}

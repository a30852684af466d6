"""Reports as gauges for Prometheus, through its official client."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from streammetrics import Report
from streammetrics.base import of_extra, publish
from streammetrics.export.samples import NAMES, samples

NO_LABEL = re.compile(r"^(?=\d)|^__+|[^a-zA-Z0-9_]")


def to_prometheus(report: Report) -> str:
    """Return a report in the text format of Prometheus, for the textfile collector of the node exporter.

    The gauges are ``streammetrics_metric_value``, ``_lower``, and ``_upper``, and with a confidence level ``_ci_lower``
    and ``_ci_upper``. Their labels are ``metric``, ``average``, the group columns, and keys such as ``threshold``.
    Characters of column names that are not allowed in labels become underscores. Undefined values and missing endpoints
    have no sample. Null group values have no label.

    Each group is a separate time series, so roll up windows and large numbers of groups first.

    Raises:
        SpecificationError: If the ``prometheus`` extra is not installed.
        ReportError: If two columns have the same label, or two groups the same values of labels.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p", by="country")
    >>> report = acc.update({"y": [1, 0], "p": [0.8, 0.3], "country": ["DE", "DE"]}).finalize(["roc_auc", "recall"])
    >>> print(sm.export.to_prometheus(report).splitlines()[2])
    streammetrics_metric_value{country="DE",metric="roc_auc"} 1.0
    """
    client = prometheus_client()
    registry = client.CollectorRegistry()
    registry.register(PrometheusCollector(lambda: report))
    written: bytes = client.generate_latest(registry)
    return written.decode()


class PrometheusCollector:
    """Collector for the ``/metrics`` endpoint of a service: each scrape reads a new report.

    For the gauges and their labels, see `to_prometheus`.

    Args:
        read: Function that returns the current report, such as ``lambda: acc.finalize(["roc_auc", "ece"])``.

    Raises:
        SpecificationError: If the ``prometheus`` extra is not installed.

    >>> import prometheus_client
    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p")
    >>> registry = prometheus_client.CollectorRegistry()
    >>> registry.register(sm.export.PrometheusCollector(lambda: acc.finalize(["rows"])))
    >>> updated = acc.update({"y": [1, 0], "p": [0.8, 0.3]})
    >>> registry.get_sample_value("streammetrics_metric_value", {"metric": "rows"})
    2.0
    """

    def __init__(self, read: Callable[[], Report]) -> None:
        prometheus_client()
        self._read = read

    def describe(self) -> list[Any]:
        """Return the gauges without samples, so that no report is read before the first scrape."""
        return list(self._gauges().values())

    def collect(self) -> Iterator[Any]:
        """Return the gauges of a new report."""
        gauges = self._gauges()
        for sample in samples(self._read(), partial(NO_LABEL.sub, "_")):
            gauge = gauges[sample.name]
            gauge.add_sample(gauge.name, sample.labels, sample.value)
        yield from (gauge for gauge in gauges.values() if gauge.samples)

    def _gauges(self) -> dict[str, Any]:
        from prometheus_client.core import GaugeMetricFamily  # when it is needed

        return {name: GaugeMetricFamily(f"streammetrics_metric_{name}", text) for name, text in NAMES.items()}


def prometheus_client() -> Any:
    """The official client."""
    return of_extra("prometheus", "prometheus_client", "Gauges for Prometheus require")


publish("streammetrics.export", PrometheusCollector, to_prometheus)
